/*
 * opts_mount.c - the options of iops mount alone
 */
#include "iops/mount.h"

bool opts_mount_set(struct mount_options *m, int id)
{
	switch (id) {
	case '2':
	case '3':
		m->cached = id == '3';
		return true;
	case '4':
		m->daemon = true;
		return true;
	case '5':
		m->flush = true;
		return true;
	case '6':
		m->clear = true;
		return true;
	}
	return false;
}
