/*
 * resought - a position that one thread sets, by code made at run time, while another
 * reads
 *
 *   resought FILE WANT MS [locked]
 *
 * FILE is made, of 2 MB of numbers of 8 bytes: each is where it lies. WANT gets a line
 * for each number that was read: by read(2) in a loop, from wherever the position was,
 * which the other thread sets to 0 every millisecond for so long; locked: never at a
 * time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 1 << 18, MOST = 1 << 22 };

static int fd, locked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int over;
static uint32_t *seen;
static size_t nseen;

static void turn(int (*takes)(pthread_mutex_t *))
{
	if (locked)
		takes(&lock);
}

static void *reads(void *arg)
{
	uint64_t n;

	while (!over && nseen < MOST) {
		turn(pthread_mutex_lock);
		if (read(fd, &n, sizeof(n)) == sizeof(n))
			seen[nseen++] = (uint32_t)n;
		turn(pthread_mutex_unlock);
	}
	return arg;
}

static int prepare(const char *path)
{
	uint64_t *all = calloc(NUMBERS, sizeof(*all));

	for (uint64_t i = 0; all && i < NUMBERS; i++)
		all[i] = i * sizeof(*all);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	ssize_t n = all ? write(fd, all, NUMBERS * sizeof(*all)) : -1;
	free(all);
	seen = calloc(MOST, sizeof(*seen));
	return n < 0 || !seen ? -1 : 0;
}

int main(int argc, char **argv)
{
	/* mov $SYS_lseek, %eax; syscall; ret */
	static const uint8_t code[] = { 0xb8, 8, 0, 0, 0, 0x0f, 5, 0xc3 };
	long (*seek)(int, long, int) = mmap(NULL, 4096,
		PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct timespec ms = { .tv_nsec = 1000000 };
	pthread_t reader;

	locked = argc == 5 && !strcmp(argv[4], "locked");
	if ((argc != 4 && !locked) || (void *)seek == MAP_FAILED ||
		prepare(argv[1]) < 0) {
		fprintf(stderr, "usage: resought FILE WANT MS [locked]\n");
		return 2;
	}
#ifdef __x86_64__
	memcpy((void *)seek, code, sizeof(code));
#else
	seek = lseek;
#endif
	seek(fd, 0, SEEK_SET);
	if (pthread_create(&reader, NULL, reads, NULL))
		return 2;
	for (int i = 0; i < atoi(argv[3]); i++) {
		turn(pthread_mutex_lock);
		seek(fd, 0, SEEK_SET);
		turn(pthread_mutex_unlock);
		nanosleep(&ms, NULL);
	}
	over = 1;
	pthread_join(reader, NULL);
	FILE *want = fopen(argv[2], "w");
	for (size_t i = 0; want && i < nseen; i++)
		fprintf(want, "%u\n", seen[i]);
	return !want || fclose(want) ? 1 : 0;
}
