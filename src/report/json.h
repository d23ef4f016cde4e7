/*
 * json.h - parts of the JSON report that other reports have as well.
 */
#ifndef IOPS_REPORT_JSON_H
#define IOPS_REPORT_JSON_H

#include <cjson/cJSON.h>

struct run;

/* What was run, where and how. */
cJSON *json_run(const struct run *run);

#endif
