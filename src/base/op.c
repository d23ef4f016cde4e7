/*
 * op.c - names of operation kinds, classes, notes and layers
 */
#include "iops/op.h"

const char *op_kind_name(unsigned kind)
{
	static const char *const name[] = {
#define X(name, text, class) [OP_##name] = text,
		OP_KINDS(X)
#undef X
	};

	return kind < OP_NKINDS ? name[kind] : "?";
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

const char *op_layer_name(unsigned layer)
{
	static const char *const name[] = {
#define X(name, text) [LAYER_##name] = text,
		OP_LAYERS(X)
#undef X
	};

	return layer < NLAYERS ? name[layer] : "?";
}
