/*
 * test_op.c - names and classes of operations
 */
#include "iops/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void kinds(void **state)
{
	static const struct {
		enum op_kind kind;
		const char *name;
		enum op_class class;
	} row[] = {
		{ OP_READ, "read", CLASS_READ },
		{ OP_WRITE, "write", CLASS_WRITE },
		{ OP_SYNC, "sync", CLASS_SYNC },
		{ OP_OPEN, "open", CLASS_META },
		{ OP_CLOSE, "close", CLASS_META },
		{ OP_META, "meta", CLASS_META },
		{ OP_PEEK, "peek", CLASS_PEEK },
		{ OP_FORK, "fork", CLASS_NOTICE },
		{ OP_EXEC, "exec", CLASS_NOTICE },
		{ OP_EXIT, "exit", CLASS_NOTICE },
		{ OP_VERIFY, "verify", CLASS_NOTICE },
		{ OP_NOTE, "note", CLASS_NOTICE },
		{ OP_LOST, "lost", CLASS_NOTICE },
		{ OP_RUN, "run", CLASS_NOTICE },
		{ OP_FAST, "fast", CLASS_NOTICE },
		{ OP_SPAN, "span", CLASS_NOTICE },
		{ OP_DEVICE, "device", CLASS_NOTICE },
		{ OP_LEDGER, "ledger", CLASS_NOTICE },
		{ OP_CHARS, "chars", CLASS_NOTICE },
		{ OP_NAME, "name", CLASS_NOTICE },
		{ OP_NKINDS, "?", CLASS_NOTICE },
		{ 255, "?", CLASS_NOTICE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		assert_string_equal(op_kind_name(row[i].kind), row[i].name);
		assert_int_equal(op_kind_class(row[i].kind), row[i].class);
	}
}

static void classes(void **state)
{
	static const char *const name[] = { "read", "write", "sync", "meta", "peek" };

	(void)state;
	for (unsigned c = 0; c < NCLASS; c++)
		assert_string_equal(op_class_name(c), name[c]);
	assert_string_equal(op_class_name(NCLASS), "?");
}

static void notes(void **state)
{
	(void)state;
	assert_string_equal(op_note_name(NOTE_IO_URING), "io_uring");
	assert_string_equal(op_note_name(NOTE_COMPAT), "unknown ABI");
	assert_string_equal(op_note_name(NNOTES), "?");
}

static void interrupted(void **state)
{
	static const struct {
		int64_t ret;
		int want;
	} row[] = { { -511, 0 }, { -512, 1 }, { -513, 1 }, { -514, 1 }, { -516, 1 },
		{ -517, 0 }, { -4, 0 }, { -11, 0 }, { 0, 0 }, { 512, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		assert_int_equal(op_interrupted(row[i].ret), row[i].want);
}

/* The bits above the row number do not run into it, nor into one another. */
static void bits(void **state)
{
	(void)state;
	assert_int_equal(OP_SECOND + OP_PART + OP_SUM + OP_CALL, 0xffff);
	assert_int_equal(OP_SECOND | OP_PART | OP_SUM | OP_CALL, 0xffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(classes),
		cmocka_unit_test(notes),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
