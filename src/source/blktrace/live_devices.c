/*
 * live_devices.c - which devices are traced live
 */
#include "devices.h"
#include "iops/diag.h"
#include "iops/trace.h"
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICES_MAX = 1024 };

/* What is no disk at the moment, as an empty drive, is left out where all are meant. */
static bool is_absent(int err)
{
	return err == -ENOMEDIUM || err == -ENXIO || err == -ENODEV || err == -ENOENT;
}

static int add(struct live *l, uint32_t dev, bool asked_for)
{
	struct capture *c = &l->capture[l->ncaptures];
	uint64_t buffer = l->trace ? l->trace->buffer_bytes : 0;

	for (unsigned i = 0; i < l->ncaptures; i++)
		if (l->capture[i].dev == dev)
			return 0;
	int err = capture_open(c, dev, asked_for);
	if (!asked_for && is_absent(err)) {
		capture_close(c);
		return 0;
	}
	if (err < 0 && !asked_for)
		diag_err(err, "%s", c->node);
	if (!err)
		err = capture_setup(c, buffer, true);
	l->ncaptures++; /* to be closed in any case */
	return err;
}

static void set_title(struct live *l)
{
	size_t at = 0;

	for (unsigned i = 0; i < l->ncaptures && at < sizeof(l->title); i++)
		at += snprintf(l->title + at, sizeof(l->title) - at, "%s%s", i ? " " : "",
			l->capture[i].node);
}

int live_devices_open(struct live *l, const struct source_args *args)
{
	const struct trace_options *t = args->trace;
	uint32_t all[DEVICES_MAX];
	unsigned n = t ? t->ndevices : 0;
	bool asked_for = n > 0;
	int err = 0;

	for (unsigned i = 0; i < n; i++)
		all[i] = devices_of(t->device[i]);
	if (!asked_for)
		n = devices_all(all, DEVICES_MAX, false);
	l->capture = calloc(n + 1, sizeof(*l->capture));
	if (!l->capture)
		return diag_err(ENOMEM, "cannot trace block devices");
	for (unsigned i = 0; i < n && !err; i++)
		err = add(l, all[i], asked_for);
	if (!err && !l->ncaptures) {
		diag("no block device to trace; --device names one");
		err = -ENODEV;
	}
	for (unsigned i = 0; i < l->ncaptures && !err; i++)
		err = capture_start(&l->capture[i]);
	set_title(l);
	return err;
}

void live_devices_free(struct live *l)
{
	for (unsigned i = 0; i < l->ncaptures; i++)
		capture_close(&l->capture[i]);
}

void live_devices_close(struct live *l)
{
	live_devices_free(l);
	free(l->capture);
	l->capture = NULL;
	l->ncaptures = 0;
}
