/*
 * ptydrive: run a command on a new pseudo-terminal, as the leader of a session
 * with that as its controlling terminal, and drive it by a script.
 *
 *   ptydrive [-c COLSxROWS] [-t SECONDS] SCRIPT... -- COMMAND ARG...
 *
 * The words of the script, done in order:
 *   expect:TEXT	wait until TEXT appears in the output after the last match
 *   send:TEXT		type TEXT
 *   sleep:MS		let the time pass
 *   winsize:COLSxROWS	change the size of the terminal
 *   kill:SIG		send a signal, a name or a number, to the command
 *   hangup		close the terminal
 *   eof		wait for the end of the command, as the end of the script does
 *
 * TEXT may have \n \r \t \e \\ and octal escapes such as \003 (ctrl-C).  SECONDS
 * (10) is the limit of each wait.  All output goes to stdout.  The exit status
 * is that of the command, 128 + n if a signal ended it; 1 if a wait failed, with
 * the output so far on stderr; 2 for bad usage; 127 if there is no such command.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define SLICE_MS 10

static struct winsize size = { 24, 80, 0, 0 };
static int limit_ms = 10000;
static int master = -1;
static pid_t command;
static int ended, status;
static char *out;
static size_t nout, room, matched;

static const struct {
	const char *name;
	int sig;
} signals[] = {
	{ "HUP", SIGHUP },
	{ "INT", SIGINT },
	{ "QUIT", SIGQUIT },
	{ "ABRT", SIGABRT },
	{ "KILL", SIGKILL },
	{ "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE },
	{ "ALRM", SIGALRM },
	{ "TERM", SIGTERM },
	{ "CHLD", SIGCHLD },
	{ "CONT", SIGCONT },
	{ "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP },
	{ "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU },
	{ "URG", SIGURG },
	{ "WINCH", SIGWINCH },
};

static void __attribute__((noreturn)) usage(const char *word)
{
	fprintf(stderr,
		"ptydrive: %s\nusage: ptydrive [-c COLSxROWS] [-t SECONDS] "
		"SCRIPT... -- COMMAND ARG...\n",
		word);
	exit(2);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000L;
}

static void write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno != EINTR && errno != EAGAIN)
			break;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
}

static void look_for_end(void)
{
	if (!ended && waitpid(command, &status, WNOHANG) == command)
		ended = 1;
}

/* Takes what there is to read, waiting for at most ms; 0 if there was nothing. */
static int pump(int ms)
{
	struct pollfd pfd = { master, POLLIN, 0 };
	ssize_t n = -1;

	if (room - nout < 4096) {
		room = room * 2 + 8192;
		out = realloc(out, room);
		if (!out)
			abort();
	}
	if (poll(&pfd, 1, ms) > 0 && master >= 0) {
		n = read(master, out + nout, room - nout);
		if (n <= 0) /* nobody has the terminal open, perhaps not yet again */
			usleep((useconds_t)ms * 1000);
	}
	if (n > 0) {
		write_all(STDOUT_FILENO, out + nout, (size_t)n);
		nout += (size_t)n;
	}
	look_for_end();
	return n > 0;
}

static void hang_up(void)
{
	if (master >= 0)
		close(master);
	master = -1;
}

static int __attribute__((noreturn)) fail(const char *what, const char *text)
{
	fprintf(stderr, "ptydrive: %s: %s; output so far:\n", what, text);
	write_all(STDERR_FILENO, out, nout);
	fprintf(stderr, "\nptydrive: end of the output\n");
	hang_up();
	for (int i = 0; i < 50 && !ended; i++)
		pump(SLICE_MS);
	if (!ended)
		kill(command, SIGKILL);
	exit(1);
}

static void do_expect(char *text, size_t len, const char *word)
{
	long end = now_ms() + limit_ms;

	for (;;) {
		int was_ended = ended;
		char *p = NULL;

		if (nout > matched)
			p = memmem(out + matched, nout - matched, text, len);
		if (p) {
			matched = (size_t)(p - out) + len;
			return;
		}
		if (!pump(SLICE_MS) && was_ended)
			fail("the command has ended, not seen", word);
		if (now_ms() > end)
			fail("not seen in time", word);
	}
}

static void do_send(char *text, size_t len, const char *word)
{
	long end = now_ms() + limit_ms;

	while (len > 0) {
		ssize_t n = master < 0 ? -1 : write(master, text, len);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		} else if (master < 0 || (errno != EAGAIN && errno != EINTR)) {
			fail("cannot send", word);
		} else if (now_ms() > end) {
			fail("not taken in time", word);
		}
		if (len > 0)
			pump(SLICE_MS);
	}
}

static void do_sleep(char *text, size_t len, const char *word)
{
	long end = now_ms() + atol(text);

	(void)len;
	(void)word;
	while (now_ms() < end) {
		long left = end - now_ms();

		pump(left > SLICE_MS ? SLICE_MS : left > 0 ? (int)left : 0);
	}
}

static int set_size(const char *text)
{
	return sscanf(text, "%hux%hu", &size.ws_col, &size.ws_row) == 2;
}

static void do_winsize(char *text, size_t len, const char *word)
{
	(void)len;
	if (!set_size(text))
		usage(word);
	ioctl(master, TIOCSWINSZ, &size);
}

static int signal_number(const char *name)
{
	if (isdigit((unsigned char)*name))
		return atoi(name);
	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (int i = 0; i < COUNT(signals); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].sig;
	return -1;
}

static void do_kill(char *text, size_t len, const char *word)
{
	(void)len;
	look_for_end();
	if (ended || kill(command, signal_number(text)) < 0)
		fail("cannot send the signal", word);
}

static void do_hangup(char *text, size_t len, const char *word)
{
	(void)text;
	(void)len;
	(void)word;
	hang_up();
}

static void do_eof(char *text, size_t len, const char *word)
{
	long end = now_ms() + limit_ms;

	(void)text;
	(void)len;
	while (!ended) {
		pump(SLICE_MS);
		if (now_ms() > end && !ended)
			fail("the command has not ended in time", word);
	}
	while (pump(SLICE_MS) && now_ms() < end)
		; /* the rest, even if someone else has the terminal open */
}

static const struct verb {
	const char *name;
	void (*run)(char *text, size_t len, const char *word);
	int has_text;
} verbs[] = {
	{ "expect", do_expect, 1 },
	{ "send", do_send, 1 },
	{ "sleep", do_sleep, 1 },
	{ "winsize", do_winsize, 1 },
	{ "kill", do_kill, 1 },
	{ "hangup", do_hangup, 0 },
	{ "eof", do_eof, 0 },
};

static const struct verb *find_verb(const char *word)
{
	size_t n = strcspn(word, ":");

	for (int i = 0; i < COUNT(verbs); i++)
		if (strlen(verbs[i].name) == n && !strncmp(verbs[i].name, word, n) &&
			verbs[i].has_text == (word[n] == ':'))
			return &verbs[i];
	return NULL;
}

/* In place; there may be NUL characters in the result. */
static size_t unescape(char *s)
{
	static const char names[] = "nrtea", codes[] = "\n\r\t\033\a";
	char *from = s, *to = s;

	while (*from) {
		const char *p;
		int n = 0;

		if (*from != '\\' || !from[1]) {
			*to++ = *from++;
			continue;
		}
		from++;
		if (*from >= '0' && *from <= '7') {
			for (int i = 0; i < 3 && *from >= '0' && *from <= '7'; i++)
				n = n * 8 + *from++ - '0';
			*to++ = (char)n;
			continue;
		}
		p = strchr(names, *from);
		*to++ = p ? codes[p - names] : *from;
		from++;
	}
	*to = 0;
	return (size_t)(to - s);
}

static void run_word(const char *word)
{
	const struct verb *verb = find_verb(word);
	char *text = strdup(verb->has_text ? strchr(word, ':') + 1 : "");

	if (!text)
		abort();
	verb->run(text, unescape(text), word);
	free(text);
}

static void __attribute__((noreturn)) child(char **argv, const char *name)
{
	int tty;

	setsid();
	tty = open(name, O_RDWR); /* the first one becomes the controlling terminal */
	if (tty < 0 || ioctl(tty, TIOCSCTTY, 0) < 0)
		_exit(126);
	for (int fd = 0; fd < 3; fd++)
		dup2(tty, fd);
	if (tty > 2)
		close(tty);
	execvp(argv[0], argv);
	dprintf(2, "ptydrive: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void start(char **argv)
{
	char name[64];

	/* Keep 0 to 2 in use, or the terminal could get one of them. */
	while ((master = open("/dev/null", O_RDWR)) >= 0 && master < 3)
		;
	close(master);
	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || grantpt(master) || unlockpt(master) ||
		ptsname_r(master, name, sizeof(name))) {
		perror("ptydrive: no terminal");
		exit(1);
	}
	ioctl(master, TIOCSWINSZ, &size);
	command = fork();
	if (command < 0) {
		perror("ptydrive: fork");
		exit(1);
	}
	if (command == 0)
		child(argv, name);
	fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
}

int main(int argc, char **argv)
{
	int opt, dashes;

	while ((opt = getopt(argc, argv, "+c:t:")) != -1) {
		if (opt == 't')
			limit_ms = (int)(atof(optarg) * 1000);
		else if (opt != 'c' || !set_size(optarg))
			usage("bad option");
	}
	/* getopt() takes a "--" that comes before any word of the script. */
	dashes = optind > 1 && !strcmp(argv[optind - 1], "--") ? optind - 1 : optind;
	while (dashes < argc && strcmp(argv[dashes], "--")) {
		if (!find_verb(argv[dashes]))
			usage(argv[dashes]);
		dashes++;
	}
	if (dashes + 1 >= argc)
		usage("no command");
	start(argv + dashes + 1);
	for (int i = optind; i < dashes; i++)
		run_word(argv[i]);
	run_word("eof");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
