/*
 * sigown SECONDS [handles] - a program that ignores SIGSYS, as some servers do, and asks
 * all the time whether that is so: for itself, for its children, and for what they run.
 * It makes some calls meanwhile, says "begun", and at the end "good", or what was not.
 * Now and then it may handle the signal.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct action { /* the kernel's */
	unsigned long handler, flags, restorer, mask;
};

static const char *wrong;

static void expect(int is, const char *what)
{
	if (!is && !wrong)
		wrong = what;
}

static struct action own(void)
{
	struct action a;

	memset(&a, 0x55, sizeof(a));
	if (syscall(SYS_rt_sigaction, SIGSYS, NULL, &a, 8) < 0)
		abort();
	return a;
}

static void calls(int fd, int n)
{
	char byte[64];

	while (n--)
		if (read(fd, byte, sizeof(byte)) != sizeof(byte))
			abort();
}

/* What runs this program again; how: whether the signal is to be ignored there. */
static int child(int fd, int by_vfork, const char *how)
{
	pid_t pid = by_vfork ? vfork() : fork();
	int status;

	if (!pid) {
		if (!by_vfork) {
			calls(fd, 20);
			if (own().handler != strtoul(how, NULL, 10))
				_exit(2);
		}
		execl("/proc/self/exe", "sigown", "-", how, (char *)NULL);
		_exit(3);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
}

static volatile sig_atomic_t hits;

static void on_signal(int sig)
{
	hits += sig == SIGSYS;
}

static void handle(int fd)
{
	int before = hits;

	expect(signal(SIGSYS, on_signal) == SIG_IGN, "another handler than SIG_IGN");
	raise(SIGSYS);
	calls(fd, 20);
	expect(hits == before + 1, "not handled");
	expect((child(fd, 1, "0") & 0x7f) == SIGSYS, "a child survived what was handled");
	expect(signal(SIGSYS, SIG_IGN) == on_signal, "another handler than its own");
}

static void look(int fd, const struct action *ignored)
{
	struct action now = own();

	expect(!memcmp(&now, ignored, sizeof(now)), "not ignored as it was set");
	kill(getpid(), SIGSYS);
	raise(SIGSYS);
	expect(!child(fd, 0, "1"), "not ignored by a child, or by what that runs");
	expect(signal(SIGSYS, SIG_DFL) == SIG_IGN, "another handler than SIG_IGN");
	expect(own().handler == 0, "another handler than SIG_DFL");
	expect((child(fd, 0, "0") & 0x7f) == SIGSYS, "a child survived it");
	expect(signal(SIGSYS, SIG_IGN) == SIG_DFL, "another handler than SIG_DFL");
	expect(!child(fd, 1, "1"), "not ignored by what is run at once");
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (argc == 3 && *argv[1] == '-') {
		expect(own().handler == strtoul(argv[2], NULL, 10), "not as it was");
		kill(getpid(), SIGSYS);
		return wrong != NULL;
	}
	signal(SIGSYS, SIG_IGN);
	const struct action ignored = own();
	const time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	puts("begun");
	fflush(stdout);
	while (time(NULL) < until) {
		calls(fd, 2000);
		look(fd, &ignored);
		if (argc == 3)
			handle(fd);
	}
	puts(wrong ? wrong : "good");
	return wrong != NULL;
}
