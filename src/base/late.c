/*
 * late.c - libraries that are loaded when they are asked for
 */
#include "iops/late.h"
#include "iops/diag.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* What the linker would have written into the program: see the Makefile. */
static const struct {
	const char *soname, *package; /* Debian's */
} library[NLATE] = {
#include "soname.h"
};

static int missing(enum late_library which)
{
	diag("%s (Debian: apt install %s)", dlerror(), library[which].package);
	return -ELIBACC;
}

int late_load(enum late_library which, const char *const name[], void *functions)
{
	void *handle = dlopen(library[which].soname, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return missing(which);
	for (size_t i = 0; name[i]; i++) {
		void *f = dlsym(handle, name[i]);
		if (!f)
			return missing(which);
		/* dlsym(3p): a pointer to a function is like one to an object. */
		memcpy((char *)functions + i * sizeof(f), &f, sizeof(f));
	}
	return 0;
}
