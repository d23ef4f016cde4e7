/*
 * json.h - parts of the JSON report that other reports have as well.
 */
#ifndef IOPS_REPORT_JSON_H
#define IOPS_REPORT_JSON_H

#include <cjson/cJSON.h>

struct report_in;
struct run;

/* What was run, where and how. */
cJSON *json_run(const struct run *run);

/* How many calls took the fast path; where nothing is known of it, nothing is added. */
void json_fast_path(cJSON *run, const struct report_in *in);

#endif
