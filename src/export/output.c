/*
 * output.c - a buffered file whose first error is said once
 */
#include "export.h"
#include "iops/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_open(struct output *o, const char *name)
{
	/* What stands in the place of a closed stream closes itself at exec. */
	bool std = !name || !strcmp(name, "-");
	if (std && fcntl(STDOUT_FILENO, F_GETFD) & FD_CLOEXEC)
		return diag_err(EBADF, "standard output");
	if (std)
		*o = (struct output){ .f = stdout, .name = "standard output" };
	else
		*o = (struct output){ .f = fopen(name, "we"), .name = name };
	return o->f ? 0 : diag_err(errno, "%s", name);
}

int output_fail(struct output *o, int err)
{
	if (!o->err)
		o->err = diag_err(err ? err : EIO, "cannot write to %s", o->name);
	return o->err;
}

/* stdio keeps the fact but not the reason: errno is asked right after the row. */
int output_check(struct output *o)
{
	return o->err ? o->err : ferror(o->f) ? output_fail(o, errno) : 0;
}

int output_close(struct output *o)
{
	if (fflush(o->f) || ferror(o->f))
		output_fail(o, errno);
	if (o->f != stdout && fclose(o->f))
		output_fail(o, errno);
	return o->err;
}

int array_room(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return 0;

	size_t more = *cap ? 2 * *cap : 16;
	void *bigger = realloc(*(void **)array, more * size);
	if (!bigger)
		return diag_err(ENOMEM, "export");
	*(void **)array = bigger;
	*cap = more;
	return 0;
}
