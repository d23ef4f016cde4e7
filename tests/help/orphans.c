/*
 * orphans - children of a process that is killed while it makes them
 *
 *   orphans TIMES
 *
 * They sleep for a moment and end. Prints how many have not, and by which signal; "none"
 * if there were no such children.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void makes_children(void)
{
	for (;;)
		if (!fork()) {
			usleep(20000);
			_exit(0);
		}
}

int main(int argc, char **argv)
{
	int times = argc == 2 ? atoi(argv[1]) : 0, all = 0, killed = 0, by = 0, status;

	if (!times || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) {
		fprintf(stderr, "usage: orphans TIMES\n");
		return 2;
	}
	for (int i = 0; i < times; i++) {
		pid_t maker = fork(), pid;
		if (!maker)
			makes_children();
		usleep(1000 + i * 37 % 4000);
		kill(maker, SIGKILL);
		for (; (pid = wait(&status)) > 0; all += pid != maker)
			if (pid != maker && WIFSIGNALED(status)) {
				killed++;
				by = WTERMSIG(status);
			}
	}
	if (all)
		printf("%d killed, %d\n", killed, by);
	else
		puts("none");
	return 0;
}
