// Preloaded into a server (LD_PRELOAD), this notes how much of its append-only file is on the disk: what was written when
// an fsync began that has succeeded. The size stands in the file that SYNCED names, as a decimal number of 20 digits.
//
// A machine that dies may lose all that came after: the test kills the server and cuts the file off there.
//
// While the file that HOLD names exists, an fsync of that file goes on, as on a slow disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int sync_and_note(const char *name, int fd) {
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	char link[64], path[4096];
	struct stat st;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	int ours = strstr(path, ".incr.aof") != NULL && fstat(fd, &st) == 0;
	while (ours && getenv("HOLD") && access(getenv("HOLD"), F_OK) == 0) usleep(1000);
	int result = real(fd);
	if (ours && result == 0) {
		char size[32];
		int to = open(getenv("SYNCED"), O_WRONLY | O_CREAT, 0600);
		snprintf(size, sizeof size, "%020lld", (long long)st.st_size);
		if (to < 0 || pwrite(to, size, 20, 0) != 20) abort();
		close(to);
	}
	return result;
}

int fsync(int fd) { return sync_and_note("fsync", fd); }
int fdatasync(int fd) { return sync_and_note("fdatasync", fd); }
