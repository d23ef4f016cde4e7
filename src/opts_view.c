/*
 * opts_view.c - what reports look like where they go to
 */
#include "iops/opts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* no-color.org, CLICOLOR_FORCE, and TERM=dumb for what is not a real terminal. */
static bool wants_colour(const struct options *o, bool terminal)
{
	const char *none = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"),
		   *term = getenv("TERM");

	if (o->colour != COLOUR_AUTO)
		return o->colour == COLOUR_ALWAYS;
	if (none && *none)
		return false;
	if (force && *force && strcmp(force, "0"))
		return true;
	return terminal && term && strcmp(term, "dumb");
}

void opts_terminal(struct options *o, int fd)
{
	struct winsize size;
	enum { WIDEST = 10000 };
	const char *columns = getenv("COLUMNS");
	const long wide = columns ? strtol(columns, NULL, 10) : 0;
	bool terminal = isatty(fd);

	if (wide > 0 && wide <= WIDEST)
		o->view.width = (unsigned)wide;
	else if (terminal && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		o->view.width = size.ws_col;
	else if (terminal)
		o->view.width = 80;
	o->view.colour = wants_colour(o, terminal);
	o->view.text = getenv("TERM") && !strcmp(getenv("TERM"), "dumb") && terminal
			       ? TEXT_ASCII
			       : TEXT_BY_LOCALE;
}
