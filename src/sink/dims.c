/*
 * dims.c - the names of what operations can be summed by
 */
#include "iops/stats.h"

#include <string.h>

static const char *const dim_text[] = {
#define X(name, text) [DIM_##name] = text,
	DIMS(X)
#undef X
};

const char *dim_name(unsigned dim)
{
	return dim < NDIMS ? dim_text[dim] : "?";
}

int dim_of(const char *name)
{
	for (int d = 0; d < NDIMS; d++)
		if (!strcmp(name, dim_text[d]))
			return d;
	return -1;
}
