/*
 * taskstate PID - what a tracer may have left behind in each thread of a process
 *
 * Prints how many differ from a task that was never traced, each with a word: a tracer,
 * a gs, syscall user dispatch, or a byte of code that is not as its file has it. Last a
 * line with masks and filters as /proc has them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int wrong;

static void task(pid_t tid)
{
	unsigned long long config[4] = { 0 };
	struct user_regs_struct r = { .gs_base = 0 };

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0) {
		printf("%d: traced\n", tid);
		wrong = 1;
		return;
	}
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	int status = 0;
	waitpid(tid, &status, __WALL);
	ptrace(PTRACE_GETREGS, tid, 0, &r);
	ptrace((enum __ptrace_request)0x4211, tid, sizeof(config), config);
	if (r.gs_base || config[0]) {
		printf("%d: gs %llx, dispatch %llu\n", tid, r.gs_base, config[0]);
		wrong = 1;
	}
	/* It may have stopped to be given a signal: looking is not to lose that. */
	long sig = WIFSTOPPED(status) && status >> 16 == 0 ? WSTOPSIG(status) : 0;
	ptrace(PTRACE_DETACH, tid, 0, sig);
}

static long compare(FILE *mem, const char *path, unsigned long from, unsigned long len,
	unsigned long offset)
{
	FILE *file = fopen(path, "re");
	unsigned char *a = malloc(len), *b = malloc(len);
	long differ = 0;

	if (file && a && b && !fseek(mem, (long)from, SEEK_SET) &&
		!fseek(file, (long)offset, SEEK_SET)) {
		size_t n = fread(b, 1, len, file);
		if (fread(a, 1, n, mem) != n)
			differ = -1;
		for (size_t i = 0; i < n && differ >= 0; i++)
			differ += a[i] != b[i];
	}
	if (file)
		fclose(file);
	free(a);
	free(b);
	return differ;
}

static void code(const char *pid)
{
	char path[64], line[512], mode[8], file[400];
	unsigned long from, to, offset;

	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	FILE *mem = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	FILE *maps = fopen(path, "re");
	while (mem && maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %399s", &from, &to, mode,
			    &offset, file) != 5)
			*file = 0;
		if (from >= 0x6fff0000 && from < 0x80000000) {
			printf("mapping left: %s", line);
			wrong = 1;
		}
		if (mode[2] != 'x' || *file != '/')
			continue;
		long n = compare(mem, file, from, to - from, offset);
		if (n) {
			printf("%s: %ld bytes differ\n", file, n);
			wrong = 1;
		}
	}
	if (mem)
		fclose(mem);
	if (maps)
		fclose(maps);
}

int main(int argc, char **argv)
{
	char path[64], line[256];
	struct dirent *d;

	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/task", argv[1]);
	DIR *dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (atoi(d->d_name))
			task(atoi(d->d_name));
	code(argv[1]);
	snprintf(path, sizeof(path), "/proc/%s/status", argv[1]);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Sig", 3) && strncmp(line, "SigQ", 4) &&
			strncmp(line, "SigPnd", 6))
			printf("%s ", strtok(line + 7, " \t\n"));
		else if (!strncmp(line, "NoNewPrivs", 10) ||
			 !strncmp(line, "Seccomp:", 8))
			printf("%s ", strtok(strchr(line, ':') + 1, " \t\n"));
	puts(wrong ? "" : "clean");
	return wrong;
}
