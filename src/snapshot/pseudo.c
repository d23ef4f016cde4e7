/*
 * pseudo.c - those that can be mounted, by the magic numbers of linux/magic.h and of
 * their own sources
 */
#include "pseudo.h"

#include <stddef.h>

static const struct pseudo table[] = {
	{ 0x00009fa0, "proc", false },
	{ 0x62656572, "sysfs", false },
	{ 0x00001cd1, "devpts", false },
	{ 0x00001373, "devfs", false },
	{ 0x0027e0eb, "cgroup", false },
	{ 0x63677270, "cgroup2", false },
	{ 0x07655821, "resctrl", false },
	{ 0x64626720, "debugfs", false },
	{ 0x74726163, "tracefs", false },
	{ 0x73636673, "securityfs", false },
	{ 0x62656570, "configfs", false },
	{ 0xcafe4a11, "bpf", false },
	{ 0xf97cff8c, "selinuxfs", false },
	{ 0x43415d53, "smackfs", false },
	{ 0x5a3c69f0, "apparmorfs", false },
	{ 0x6165676c, "pstore", false },
	{ 0xde5e81e4, "efivarfs", false },
	{ 0x19800202, "mqueue", false },
	{ 0x958458f6, "hugetlbfs", false },
	{ 0x65735543, "fusectl", false },
	{ 0x42494e4d, "binfmt_misc", false },
	{ 0x6c6f6f70, "binder", false },
	{ 0x6e736673, "nsfs", false },
	{ 0x67596969, "rpc_pipefs", false },
	{ 0x6e667364, "nfsd", false },
	{ 0xabba1974, "xenfs", false },
	{ 0x00009fa1, "openpromfs", false },
	{ 0x00009fa2, "usbdevfs", false },
	/* To look a name up in it mounts a file system: only those that are there. */
	{ 0x00000187, "autofs", true },
};

const struct pseudo *pseudo_find(uint32_t magic)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].magic == magic)
			return &table[i];
	return NULL;
}
