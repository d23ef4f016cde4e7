/*
 * exporters.c - the list of them
 */
#include "export.h"

const struct exporter *const exporters[] = {
	&export_csv,
	&export_jsonl,
	&export_sqlite,
	&export_avro,
	&export_chrome,
	&export_folded,
	&export_fio,
	NULL,
};
