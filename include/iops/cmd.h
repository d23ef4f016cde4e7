/*
 * cmd.h - the verbs.
 */
#ifndef IOPS_CMD_H
#define IOPS_CMD_H

#include "iops/opts.h"

extern const struct command command_run, command_attach, command_report, command_export,
	command_merge, command_diff, command_doctor, command_help;

#endif
