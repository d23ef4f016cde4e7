/*
 * cmd.h - the verbs.
 */
#ifndef IOPS_CMD_H
#define IOPS_CMD_H

#include "iops/opts.h"

enum {
	EXIT_USAGE = 2,   /* wrong usage, said what and how to get help */
	EXIT_DAMAGED = 3, /* a part of the input could not be read */
};

extern const struct command command_run, command_attach, command_trace, command_mount,
	command_report, command_export, command_merge, command_diff, command_tag,
	command_doctor, command_help;

#endif
