// Prints the rate of this machine's time stamp counter in kHz. Under software emulation the guest reads the same
// counter (cpu_get_host_ticks() of QEMU). Its kernel would measure the rate against an emulated timer, and gets a
// multiple of it if QEMU loses the processor meanwhile.
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	uint64_t ticks;
	int64_t ns;
};

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

// Reads both clocks many times, and returns the reading with the shortest interruption.
static struct sample look(void)
{
	struct sample best = {0, 0};
	int64_t shortest = INT64_MAX;
	for (int i = 0; i < 1000; i++) {
		const int64_t before = now();
		const uint64_t ticks = __rdtsc();
		const int64_t took = now() - before;
		if (took >= shortest)
			continue;
		shortest = took;
		best = (struct sample){ticks, before + took / 2};
	}
	return best;
}

int main(void)
{
	const struct timespec pause = {0, 50 * 1000 * 1000};
	const struct sample first = look();
	nanosleep(&pause, NULL);
	const struct sample second = look();
	const double ticks = (double)(second.ticks - first.ticks);
	printf("%.0f\n", ticks * 1e6 / (double)(second.ns - first.ns));
	return 0;
}
