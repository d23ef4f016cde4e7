/*
 * test_fdtab_mounts.c - files on what is mounted while descriptors are asked about
 */
#include "iops/fdtab.h"
#include "iops/names.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { NOT_ALLOWED = 77 };

/* When it is looked what is mounted, but for when a file is asked about. */
enum foreseen { NEVER, ELSEWHERE, HERE };

/* Whether a new file there is said to be on a tmpfs of that name; ours: also where the
 * kernel is not asked. */
static bool is_at(struct fdtab *tab, struct names *names, const char *dir,
	const char *mount, bool ours)
{
	struct fd_task self = { .tid = getpid() };
	struct fd_view v;
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s/file", dir);
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	fdtab_ask(tab, &self, fd, &v);
	const struct file *f = v.file ? names_file(names, v.file) : NULL;
	struct stat st = { 0 };
	bool same =
		!ours || (!fstat(fd, &st) && fdtab_file(tab, &self, path, strlen(path),
						     FDTAB_MOUNT_OF_PATH, &st) == v.file);
	close(fd);
	fdtab_forget(tab, &self);
	return same && f && !strcmp(names_get(names, f->mount), mount) &&
	       !strcmp(names_get(names, f->fs), "tmpfs");
}

static bool is_on(struct fdtab *tab, struct names *names, const char *mount, bool ours)
{
	return is_at(tab, names, mount, mount, ours);
}

/* The same file system at another place, below itself, and over itself. */
static int bind_some(
	struct fdtab *tab, struct names *names, const char *of, const char *at)
{
	char below[PATH_MAX + 8], again[PATH_MAX + 16];

	snprintf(below, sizeof(below), "%s/below", of);
	snprintf(again, sizeof(again), "%s/again", below);
	if (mount(of, at, NULL, MS_BIND, NULL) < 0)
		return 4;
	if (!is_on(tab, names, at, true) || !is_on(tab, names, of, true))
		return 5;
	if (mkdir(below, 0700) < 0 || mkdir(again, 0700) < 0 ||
		mount(again, below, NULL, MS_BIND, NULL) < 0)
		return 6;
	if (!is_on(tab, names, below, true) || !is_on(tab, names, of, true) ||
		!is_on(tab, names, at, true))
		return 7;
	/* Over what has mounts below it: they are hidden, though their paths are there.
	 */
	snprintf(again, sizeof(again), "%s/below", at);
	if (mount(again, of, NULL, MS_BIND, NULL) < 0 || mkdir(below, 0700) < 0)
		return 8;
	if (!is_on(tab, names, of, true) || !is_at(tab, names, below, of, true))
		return 9;
	/* And again where one of those is: that is hidden, and hides nothing. */
	if (mount(at, below, NULL, MS_BIND, NULL) < 0)
		return 10;
	return is_on(tab, names, below, true) && is_on(tab, names, of, true) ? 0 : 11;
}

/* In a child, in a mount namespace of its own. */
static int mount_some(const char *dir, enum foreseen foreseen)
{
	struct names *names = names_new();
	struct fdtab *tab = fdtab_new(names);
	char at[3][PATH_MAX];
	bool ours = foreseen != ELSEWHERE;
	int err = 0;

	if (foreseen == ELSEWHERE)
		fdtab_foresee(tab);
	if (unshare(CLONE_NEWNS) < 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return NOT_ALLOWED;
	if (foreseen == HERE) { /* the id of what is gone will be given again */
		if (mount("none", dir, "tmpfs", 0, NULL) < 0)
			return 3;
		fdtab_foresee(tab);
		if (umount(dir) < 0)
			return 3;
	}
	for (int i = 0; !err && i < 3; i++) {
		snprintf(at[i], sizeof(at[i]), "%s/%d", dir, i);
		if (mkdir(at[i], 0700) < 0 || mount("none", at[i], "tmpfs", 0, NULL) < 0)
			err = 1;
		else if (!is_on(tab, names, at[i], ours) ||
			 !is_on(tab, names, at[0], ours))
			err = 2;
	}
	if (!err && ours)
		err = bind_some(tab, names, at[0], at[1]);
	fdtab_free(tab);
	names_free(names);
	return err;
}

static void mounted(enum foreseen foreseen)
{
	char dir[] = "/tmp/iops-mounts-XXXXXX", at[64];
	int status = -1;

	assert_non_null(mkdtemp(dir));
	pid_t pid = fork();
	if (pid == 0)
		_exit(mount_some(dir, foreseen));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 3; i++) {
		snprintf(at, sizeof(at), "%s/%d", dir, i);
		rmdir(at);
	}
	rmdir(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_ALLOWED)
		skip(); /* takes root */
	assert_int_equal(status, 0);
}

static void of_late(void **state)
{
	(void)state;
	mounted(NEVER);
}

static void in_another_namespace(void **state)
{
	(void)state;
	mounted(ELSEWHERE);
}

static void since_it_was_foreseen(void **state)
{
	(void)state;
	mounted(HERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_late),
		cmocka_unit_test(in_another_namespace),
		cmocka_unit_test(since_it_was_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
