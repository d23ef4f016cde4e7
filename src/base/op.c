/*
 * op.c - names of operation kinds, classes and notes
 */
#include "iops/op.h"

static const struct {
	const char *name;
	enum op_class class;
} kinds[] = {
#define X(name, text, class) [OP_##name] = { text, class },
	OP_KINDS(X)
#undef X
};

const char *op_kind_name(unsigned kind)
{
	return kind < OP_NKINDS ? kinds[kind].name : "?";
}

enum op_class op_kind_class(unsigned kind)
{
	return kind < OP_NKINDS ? kinds[kind].class : CLASS_NOTICE;
}

const char *op_class_name(unsigned class)
{
	static const char *const name[NCLASS] = { "read", "write", "sync", "meta",
		"peek" };

	return class < NCLASS ? name[class] : "?";
}

const char *op_note_name(unsigned note)
{
	static const char *const name[] = {
#define X(name, text) [NOTE_##name] = text,
		OP_NOTES(X)
#undef X
	};

	return note < NNOTES ? name[note] : "?";
}
