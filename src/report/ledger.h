/*
 * ledger.h - bytes of calls beside those of the kernel's accounts, and why they differ.
 */
#ifndef IOPS_REPORT_LEDGER_H
#define IOPS_REPORT_LEDGER_H

#include <stdbool.h>
#include <stdio.h>

struct report_in;
struct row;

/* Of a type of file system: whether its files never touch storage. */
bool ledger_in_memory(const char *fs);

/* The JSON object; row is the total. */
void ledger_json(FILE *out, const struct report_in *in, const struct row *row);

/* A line for reading and one for writing, where there was any of it. */
enum { LEDGER_LINE = 200 };
int ledger_line(char text[LEDGER_LINE], const struct report_in *in, const struct row *row,
	int write);

#endif
