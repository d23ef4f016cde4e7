/*
 * test_snapshot_process.c - processes whose state is known, and the machine
 */
#include "snapshots.h"

#include "../../src/snapshot/cpu.h"

#include <ifaddrs.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>

enum {
	TIME,
	PID,
	NAME,
	CMDLINE,
	VMS,
	RSS,
	BEGAN,
	CPU_5S,
	CPU_2M,
	CPU_1H,
	STATUS,
	MONO_NS,
	PROCESS_COLUMNS
};

static int begin_test(void **state)
{
	struct shot *s = calloc(1, sizeof(*s));

	setup((void **)&s->r);
	*state = s;
	return 0;
}

static int end_test(void **state)
{
	struct shot *s = *state;

	teardown((void **)&s->r);
	free(s);
	return 0;
}

/* The row of a process; there is exactly one in a snapshot, and only one was made. */
static const struct row *row_of(const struct table *t, pid_t pid)
{
	const struct row *found = NULL;

	for (size_t i = 0; i < t->n; i++) {
		if (atoi(t->row[i].field[PID]) != pid)
			continue;
		assert_null(found);
		found = &t->row[i];
	}
	assert_non_null(found);
	return found;
}

/* A child that is ready when it has written a byte. */
static pid_t child(void (*run)(int ready))
{
	int pipes[2];
	char c;

	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipes[0]);
		run(pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	assert_true(pid > 0);
	assert_true(read(pipes[0], &c, 1) >= 0);
	close(pipes[0]);
	return pid;
}

static void tell(int ready)
{
	if (write(ready, "", 1) != 1)
		_exit(1);
}

static void run_named(int ready)
{
	prctl(PR_SET_NAME, "x) R 1 (,\"\n");
	tell(ready);
	for (;;)
		pause();
}

static void run_busy(int ready)
{
	tell(ready);
	for (volatile unsigned i = 0;; i++)
		;
}

static void run_zombie(int ready)
{
	(void)ready;
}

static void run_stopped(int ready)
{
	tell(ready);
	raise(SIGSTOP);
}

/* The descriptor is closed by exec: the read ends then. */
static void run_program(int ready)
{
	fcntl(ready, F_SETFD, FD_CLOEXEC);
	execl("/bin/sleep", "/opt/a name/sleep", "1000", NULL);
}

static void run_long(int ready)
{
	fcntl(ready, F_SETFD, FD_CLOEXEC);
	execl("./a-very-long-program-name", "./a-very-long-program-name", "1000", NULL);
}

struct known {
	char state;
	unsigned long utime, stime; /* ticks */
};

static struct known known_of(pid_t pid)
{
	char path[64], text[512];
	struct known k;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	assert_int_equal(sscanf(strrchr(text, ')'),
				 ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
				 &k.state, &k.utime, &k.stime),
		3);
	return k;
}

static void wait_for_state(pid_t pid, char state)
{
	for (int i = 0; i < 5000; i++) {
		if (known_of(pid).state == state)
			return;
		usleep(1000);
	}
	fail();
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* In ns since 1970: the streams have a clock of their own, files and processes have not.
 */
static uint64_t real_of(const char *field)
{
	struct tm tm = { 0 };
	const char *dot = strptime(field, "%Y-%m-%d %H:%M:%S", &tm);

	assert_non_null(dot);
	assert_int_equal(*dot, '.');
	assert_int_equal(strlen(dot), 7);
	return timegm(&tm) * SECOND + strtoull(dot + 1, NULL, 10) * 1000;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

static void children(void **state)
{
	struct shot *s = *state;
	char here[256];

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(s->r->dir), 0);
	assert_int_equal(symlink("/bin/sleep", "a-very-long-program-name"), 0);
	uint64_t before = now();
	pid_t named = child(run_named), busy = child(run_busy),
	      zombie = child(run_zombie), stopped = child(run_stopped),
	      program = child(run_program), longer = child(run_long);
	uint64_t after = now();
	assert_int_equal(chdir(here), 0);
	wait_for_state(zombie, 'Z');
	wait_for_state(stopped, 'T');
	wait_for_state(named, 'S');
	wait_for_state(program, 'S');
	usleep(500000);
	begin(s, SNAPSHOT_PROCESS);
	assert_int_equal(snapshots_tick(s->p, s->mono), 0);
	end(s);
	uint64_t asked = now() + SECOND / 50;
	struct known idle = known_of(named);
	const pid_t all[] = { named, busy, zombie, stopped, program, longer };
	for (int i = 0; i < 6; i++)
		end_child(all[i]);

	struct table *t = table_of(s, "process", PROCESS_COLUMNS);
	for (int i = 0; i < 6; i++) {
		const struct row *r = row_of(t, all[i]);
		uint64_t began = real_of(r->field[BEGAN]);
		/* Ticks are of 10 ms at the least. */
		assert_true(
			began + SECOND / 50 >= before && began <= after + SECOND / 50);
		assert_string_equal(r->field[TIME], "2026-01-02 03:04:05.678901");
		assert_int_equal(strtoull(r->field[MONO_NS], NULL, 10), s->mono);
	}
	const struct row *r = row_of(t, named);
	assert_string_equal(r->field[NAME], "x) R 1 (,\"\n");
	assert_string_equal(r->field[STATUS], "sleeping");
	assert_true(
		strtoull(r->field[VMS], NULL, 10) >= strtoull(r->field[RSS], NULL, 10));
	assert_true(strtoull(r->field[RSS], NULL, 10) > 0);
	/* It sleeps, so it has used what it used to begin with: a tick of an emulator's. */
	double used = 100.0 * (idle.utime + idle.stime) / sysconf(_SC_CLK_TCK);
	assert_true(atof(r->field[CPU_5S]) <= used / 0.5 + 0.005);
	assert_true(atof(r->field[CPU_5S]) >= used * SECOND / (asked - before) - 0.005);
	r = row_of(t, busy);
	assert_string_equal(r->field[STATUS], "running");
	for (int i = CPU_5S; i <= CPU_1H; i++)
		assert_true(atof(r->field[i]) > 10 && atof(r->field[i]) < 110);
	r = row_of(t, zombie);
	assert_string_equal(r->field[STATUS], "zombie");
	assert_string_equal(r->field[CMDLINE], "");
	assert_string_equal(r->field[RSS], "0");
	assert_string_equal(row_of(t, stopped)->field[STATUS], "stopped");
	r = row_of(t, program);
	assert_string_equal(r->field[NAME], "sleep");
	assert_string_equal(r->field[CMDLINE], "/opt/a name/sleep 1000");
	assert_string_equal(row_of(t, longer)->field[NAME], "a-very-long-program-name");
	table_free(t);
}

/* Ticks that a process has used by a time, in s. */
static uint64_t steady(uint64_t t)
{
	return 25 * t;
}

/* All of a processor in the last minute before each snapshot, else nothing. */
static uint64_t bursts(uint64_t t)
{
	return 100 * (t / 300 * 60 + (t % 300 > 240 ? t % 300 - 240 : 0));
}

struct windows {
	double percent[CPU_WINDOWS];
};

static bool near(double got, double want)
{
	return got > want - 1.5 && got < want + 1.5;
}

/* A call each second, as in a run; what the snapshot at the end of until says of a
 * process that began at start. Returns how many passes there were in the last 300 s. */
static unsigned watch(
	uint64_t until, uint64_t start, uint64_t (*used)(uint64_t t), struct windows *out)
{
	enum { BOOT = 50000, HZ = 100 };
	struct cpu c = { .tick_ns = SECOND / HZ };
	unsigned passes = 0;

	for (uint64_t t = 0; t <= until; t++) {
		bool shot = t % 300 == 0;
		uint64_t next = (t + 299) / 300 * 300;
		/* Never quite on time. */
		uint64_t mono = 7 * SECOND + t * SECOND + t % 7 * (SECOND / 100);
		if (t + 300 == until)
			passes = 0;
		if (!cpu_due(&c, mono, (next + 7) * SECOND) && !shot)
			continue;
		passes++;
		cpu_begin(&c, (BOOT + t) * SECOND);
		if (t >= start)
			assert_int_equal(cpu_sample(&c, 77, (BOOT + start) * HZ,
						 used(t) - used(start), out->percent),
				0);
		assert_int_equal(cpu_end(&c), 0);
	}
	cpu_fini(&c);
	return passes;
}

static void windows(void **state)
{
	struct windows w;

	(void)state;
	/* Few passes, whatever the time: it is them that cost something. */
	assert_true(watch(7200, 0, steady, &w) <= 20);
	for (int i = 0; i < CPU_WINDOWS; i++)
		assert_true(near(w.percent[i], 25));
	watch(7200, 0, bursts, &w);
	assert_true(near(w.percent[0], 100));
	assert_true(near(w.percent[1], 50));
	assert_true(near(w.percent[2], 20));
	/* A process younger than a window: of its own life. */
	watch(7200, 7200 - 80, bursts, &w);
	assert_true(near(w.percent[0], 100));
	assert_true(near(w.percent[1], 75));
	assert_true(near(w.percent[2], 75));
	watch(7200, 7198, steady, &w);
	assert_true(near(w.percent[0], 25) && near(w.percent[2], 25));
	/* A watch shorter than a window: of as much as was seen. */
	watch(300, 0, bursts, &w);
	assert_true(near(w.percent[0], 100));
	assert_true(near(w.percent[1], 50));
	assert_true(near(w.percent[2], 20));
}

/* The first pass knows nothing but of those that are younger than a window. */
static void first_pass(void **state)
{
	struct cpu c = { .tick_ns = SECOND / 100 };
	double p[CPU_WINDOWS];

	(void)state;
	assert_true(cpu_due(&c, 0, 0));
	cpu_begin(&c, 10000 * SECOND);
	assert_int_equal(cpu_sample(&c, 1, 0, 5000, p), 0);
	assert_true(p[0] < 0 && p[1] < 0 && p[2] < 0);
	assert_int_equal(cpu_sample(&c, 2, (10000 - 60) * 100, 600, p), 0);
	assert_true(p[0] < 0 && near(p[1], 10) && near(p[2], 10));
	/* The pass takes a second, and what it comes to then has gone on meanwhile. */
	cpu_reached(&c, 10001 * SECOND);
	assert_int_equal(cpu_sample(&c, 3, 9999 * 100, 200, p), 0);
	assert_true(near(p[0], 100) && near(p[1], 100) && near(p[2], 100));
	assert_int_equal(cpu_end(&c), 0);
	/* The number is taken again by another, which has done nothing of that. */
	assert_true(cpu_due(&c, 2 * SECOND, 2 * SECOND));
	cpu_begin(&c, 10002 * SECOND);
	assert_int_equal(cpu_sample(&c, 2, 10001 * 100, 50, p), 0);
	assert_true(near(p[0], 50) && near(p[1], 50) && near(p[2], 50));
	assert_int_equal(cpu_sample(&c, 1, 0, 5100, p), 0);
	assert_true(near(p[0], 50));
	assert_int_equal(cpu_end(&c), 0);
	cpu_fini(&c);
}

static cJSON *spec(const struct shot *s, const char *name)
{
	char path[128];
	size_t len;

	snprintf(path, sizeof(path), "%s/system_spec/%s.json", s->r->out, name);
	char *text = slurp(path, &len);
	cJSON *o = cJSON_Parse(text);
	assert_non_null(o);
	free(text);
	return o;
}

/* The keys are there, in that order and no others. */
static void has_keys(const cJSON *o, const char *keys)
{
	char got[512] = "";
	const cJSON *c;

	assert_non_null(o);
	cJSON_ArrayForEach (c, o) {
		strcat(got, *got ? " " : "");
		strcat(got, c->string);
	}
	assert_string_equal(got, keys);
}

static const char *text_in(const cJSON *o, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(o, key));

	return text ? text : "";
}

static void machine(void **state)
{
	struct shot *s = *state;
	struct utsname u;

	uname(&u);
	begin(s, SNAPSHOT_SYSTEM);
	end(s);
	cJSON *o = spec(s, "cpu_info");
	has_keys(o, "brand cores_logical cores_physical frequency_mhz frequency_min_mhz "
		    "frequency_max_mhz");
	assert_int_equal(number(o, "cores_logical"), sysconf(_SC_NPROCESSORS_ONLN));
	cJSON_Delete(o);
	o = spec(s, "memory_info");
	has_keys(o, "total_bytes available_bytes used_bytes percent_used total_gb "
		    "available_gb swap_total_bytes swap_used_bytes swap_free_bytes");
	assert_int_equal(number(o, "total_bytes"),
		(uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	assert_int_equal(number(o, "used_bytes"),
		number(o, "total_bytes") - number(o, "available_bytes"));
	cJSON_Delete(o);
	o = spec(s, "disk_info");
	has_keys(o, "storage_devices partitions gpus");
	const cJSON *part;
	cJSON_ArrayForEach (part, cJSON_GetObjectItem(o, "partitions"))
		has_keys(part, "device mountpoint fstype opts total_bytes used_bytes "
			       "free_bytes percent_used");
	cJSON_Delete(o);
	o = spec(s, "network_info");
	has_keys(o, "interfaces hostname");
	const cJSON *face;
	cJSON_ArrayForEach (face, cJSON_GetObjectItem(o, "interfaces")) {
		has_keys(face, "addresses is_up speed_mbps mtu");
		const cJSON *a;
		cJSON_ArrayForEach (a, cJSON_GetObjectItem(face, "addresses"))
			has_keys(a, "family address netmask broadcast");
	}
	assert_string_equal(text_in(o, "hostname"), u.nodename);
	cJSON_Delete(o);
	o = spec(s, "os_info");
	has_keys(o, "system release version machine hostname country distribution");
	has_keys(cJSON_GetObjectItem(o, "distribution"), "name version codename");
	assert_string_equal(text_in(o, "release"), u.release);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(o, "country")));
	cJSON_Delete(o);
}

/* The hardware's address of an interface that has one; "" if there is none. */
static void any_mac(char text[24])
{
	static const uint8_t none[6];
	struct ifaddrs *list = NULL;

	*text = 0;
	assert_int_equal(getifaddrs(&list), 0);
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_PACKET)
			continue;
		const uint8_t *m = ((struct sockaddr_ll *)i->ifa_addr)->sll_addr;
		if (memcmp(m, none, 6) != 0)
			sprintf(text, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2],
				m[3], m[4], m[5]);
	}
	freeifaddrs(list);
}

static void anonymous_machine(void **state)
{
	struct shot *s = *state;
	struct utsname u;
	char mac[24], *text;

	uname(&u);
	any_mac(mac);
	assert_int_equal(anon_new(&s->r->args.anon, NULL), 0);
	pid_t program = child(run_program);
	begin(s, SNAPSHOT_SYSTEM | SNAPSHOT_PROCESS);
	end(s);
	end_child(program);
	cJSON *network = spec(s, "network_info"), *os = spec(s, "os_info");
	assert_string_not_equal(text_in(network, "hostname"), u.nodename);
	/* The same for the same. */
	assert_string_equal(text_in(network, "hostname"), text_in(os, "hostname"));
	assert_non_null(text = cJSON_Print(network));
	assert_true(!*mac || !strstr(text, mac));
	assert_non_null(strstr(text, "127.0.0.1"));
	free(text);
	cJSON_Delete(network);
	cJSON_Delete(os);
	struct table *t = table_of(s, "process", PROCESS_COLUMNS);
	assert_null(strstr(row_of(t, program)->field[CMDLINE], "sleep"));
	assert_null(strstr(row_of(t, program)->field[NAME], "sleep"));
	table_free(t);
	anon_free(s->r->args.anon);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		TEST(children),
		cmocka_unit_test(windows),
		cmocka_unit_test(first_pass),
		TEST(machine),
		TEST(anonymous_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
