/*
 * leaver - ends after a second, while its other thread has a child by vfork(2) and so
 * comes to no stop before. That thread has read something before; it says "begun" then.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *reader(void *arg)
{
	char byte[100];
	int fd = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < 1000; i++)
		if (pread(fd, byte, sizeof(byte), 0) != sizeof(byte))
			abort();
	if (write(1, "begun\n", 6) != 6)
		abort();
	if (!vfork()) {
		sleep(2);
		_exit(0);
	}
	return arg;
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, reader, NULL))
		return 1;
	sleep(1);
	return 0;
}
