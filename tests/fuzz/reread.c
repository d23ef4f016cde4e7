/*
 * reread.c - fuzz what reads JSON reports back: read, shown again, freed
 */
#include "fuzz.h"
#include "iops/names.h"
#include "iops/report.h"
#include "iops/reread.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct names *names = names_new();
	struct stats *stats = names ? stats_new(names, (1u << NDIMS) - 1) : NULL;
	struct stats *some = names ? stats_new(names, 0) : NULL;
	struct reread r, again;
	struct reread_args args = { (const char *)bytes, "memory", len, stats, 0, true };
	struct view view = { .by = { DIM_FILE, DIM_CALL }, .nby = 2, .text = TEXT_UTF8 };

	fuzz_quiet();
	if (!stats || !some)
		return 0;
	reread_probe(args.text, len);
	reread(&again, &args);
	args.into = some;
	if (!reread(&r, &args)) {
		struct report_in in = { some, names, &r.run, &view };
		FILE *out = fopen("/dev/null", "w");
		report_json.render(out, &in);
		report_table.render(out, &in);
		fclose(out);
	}
	reread_fini(&r);
	reread_fini(&again);
	stats_free(stats);
	stats_free(some);
	names_free(names);
	return 0;
}
