// Reads what domio's policy was asked and how it answered, has the kernel's scheduler do the same, and compares the state
// of every cpu, queue, group and entity after each operation. The words are 64 bits each, in the order of `read_`.
//   oracle [-v] < operations
// Exits with 0 when all is the same, with 1 at the first difference, with 2 on words that make no sense.
#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op { GROUP = 1, GROUP_SET, THREAD, THREAD_SET, MOVE, WAKE, YIELD, PASS, TICK, QUOTA, END };
static const struct {
	const char *name;
	int args;
} OPS[] = {
	[GROUP] = { "group, parent", 2 },
	[GROUP_SET] = { "group, shares, idle, quota, period, burst, phase", 7 },
	[THREAD] = { "thread, group, cpu", 3 },
	[THREAD_SET] = { "thread, class, nice, slice", 4 },
	[MOVE] = { "thread to cpu", 2 },
	[WAKE] = { "wake thread, new", 2 },
	[YIELD] = { "yield on cpu", 1 },
	[PASS] = { "pass on cpu, state of prev", 2 },
	[TICK] = { "tick on cpu", 1 },
	[QUOTA] = { "quota timer of group", 1 },
	[END] = { "end", 0 },
};

enum { MAGIC = 0x6b65726e656c, WORDS = 65536, RECENT = 24 };
static const char *const CPU[] = { "clock", "current", "resched", "skips the clock" };
static const char *const QUEUE[] = { "count", "load", "current", "next", "threads", "V", "last", "skip", "idlers",
				     "remaining", "throttled", "throttles", "load_sum", "runnable_sum", "util_sum", "load_avg", "runnable", "util" };
static const char *const BANDWIDTH[] = { "shares", "pool", "period at", "slack at", "load" };
static const char *const ENTITY[] = { "weight", "on queue", "v", "sum", "sum before", "exec start", "deadline", "lag",
				      "slice", "delayed" };
int shim_averages;
static const char *const AVERAGE[] = { "load_sum", "runnable_sum", "util_sum", "load_avg", "runnable", "util" };

static int cpus, verbose;
static char known[MAX_VCPUS], known_groups[MAX_GROUPS] = { 1 };
static i64 theirs[WORDS], ours[WORDS], before[WORDS];
static char labels[WORDS][48];
static long operations;

void shim_fatal(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s after %ld operations: %s:%d\n", what, operations, file, line);
	exit(2);
}

void *shim_alloc(unsigned long size)
{
	void *at;

	if (posix_memalign(&at, 4096, size))
		exit(2);
	return memset(at, 0, size);
}

void shim_cpus(int cpus);

static int read_words(i64 *to, int n)
{
	return fread(to, sizeof(i64), n, stdin) == (size_t)n;
}

static int say(int n, int more, const char *const *names, int names_count, const char *whose)
{
	for (int i = 0; i < more; i++) {
		int extra = i - names_count;

		snprintf(labels[n + i], sizeof(labels[0]), "%s: %s", whose, extra < 0 ? names[i] : AVERAGE[extra]);
	}
	return n + more;
}
#define COUNT(names) (int)(sizeof(names) / sizeof(*names))

// The kernel's state, as domio writes its own.
static int state(int named)
{
	char who[24];
	int n = 0;

	for (int c = 0; c < cpus; c++) {
		int more = k_cpu(c, theirs + n);

		snprintf(who, sizeof(who), "cpu %d", c);
		n = named ? say(n, more, CPU, COUNT(CPU), who) : n + more;
	}
	for (int g = 0; g < MAX_GROUPS; g++) {
		if (!known_groups[g])
			continue;
		for (int c = 0; c < cpus; c++) {
			int more = k_queue(g, c, theirs + n);

			snprintf(who, sizeof(who), "queue of group %d on %d", g, c);
			n = named ? say(n, more, QUEUE, COUNT(QUEUE), who) : n + more;
		}
		if (!g)
			continue;
		int more = k_bandwidth(g, theirs + n);

		snprintf(who, sizeof(who), "group %d", g);
		n = named ? say(n, more, BANDWIDTH, COUNT(BANDWIDTH), who) : n + more;
		for (int c = 0; c < cpus; c++) {
			more = k_entity(GROUP_IDS + g, c, theirs + n);
			snprintf(who, sizeof(who), "group %d on %d", g, c);
			n = named ? say(n, more, ENTITY, k_entity_words(), who) : n + more;
		}
	}
	for (int v = 0; v < MAX_VCPUS; v++) {
		if (!known[v])
			continue;
		int more = k_entity(v, 0, theirs + n);

		snprintf(who, sizeof(who), "thread %d", v);
		n = named ? say(n, more, ENTITY, k_entity_words(), who) : n + more;
	}
	return n;
}

static void show(const i64 *op)
{
	printf("%12.6f ms, here %lld: %s", op[1] / 1e6, op[2], OPS[op[0]].name);
	for (int i = 0; i < OPS[op[0]].args; i++)
		printf(" %lld", op[3 + i]);
	printf("\n");
}

static void carry_out(const i64 *op)
{
	const i64 *a = op + 3;

	k_at(EPOCH + op[1], op[2]);
	switch (op[0]) {
	case GROUP: k_group(a[0], a[1]); known_groups[a[0]] = 1; break;
	case GROUP_SET: k_group_set(a[0], a[1], a[2], a[3], a[4], a[5], a[6]); break;
	case THREAD: k_thread(a[0], a[1], a[2]); known[a[0]] = 1; break;
	case THREAD_SET: k_thread_set(a[0], a[1], a[2], a[3]); break;
	case MOVE: k_move(a[0], a[1]); break;
	case WAKE: k_wake(a[0], a[1]); break;
	case YIELD: k_yield(a[0]); break;
	case PASS: k_pass(a[0], a[1]); break;
	case TICK: k_tick(a[0]); break;
	case QUOTA: k_quota_timers(a[0]); break;
	}
}

int main(int argc, char **argv)
{
	static i64 recent[RECENT][16];
	i64 head[20], op[16], words;

	shim_averages = !!getenv("LINUX_ORACLE_AVERAGES");
	verbose = argc > 1 && !strcmp(argv[1], "-v");
	if (!read_words(head, 18) || head[0] != MAGIC || head[1] < 1 || head[1] > MAX_CPUS) {
		fprintf(stderr, "these are no operations of domio's\n");
		return 2;
	}
	cpus = head[1];
	shim_cpus(cpus);
	k_at(EPOCH, 0);
	k_boot(cpus);
	k_tunables(head + 2);
	k_features(head + 9);
	long compared = 0;
	for (; read_words(op, 3); operations++) {
		if (op[0] == END) {
			printf("same %ld operations %ld words\n", operations, compared);
			return 0;
		}
		if (op[0] < GROUP || op[0] > END || !read_words(op + 3, OPS[op[0]].args) || !read_words(&words, 1) ||
		    words > WORDS || !read_words(ours, words)) {
			fprintf(stderr, "words after operation %ld make no sense\n", operations);
			return 2;
		}
		memcpy(recent[operations % RECENT], op, sizeof(op));
		if (verbose)
			show(op);
		carry_out(op);
		if (!words)
			continue;
		int n = state(0);

		compared += n;
		if (n == words && !memcmp(ours, theirs, n * sizeof(i64))) {
			memcpy(before, theirs, n * sizeof(i64));
			continue;
		}
		state(1);
		printf("differs after %ld operations\n", operations);
		for (long i = operations - RECENT + 1; i <= operations; i++)
			if (i >= 0)
				show(recent[i % RECENT]);
		if (n != words)
			printf("domio has %lld words, the kernel %d\n", words, n);
		for (int i = 0; i < n && i < words; i++)
			if (ours[i] != theirs[i])
				printf("  %-36s domio %lld, kernel %lld (%+lld), was %lld\n", labels[i], ours[i],
				       theirs[i], theirs[i] - ours[i], before[i]);
		if (verbose)
			for (int i = 0; i < n; i++)
				printf("    %-36s %lld was %lld\n", labels[i], theirs[i], before[i]);
		return 1;
	}
	fprintf(stderr, "the operations end without an end\n");
	return 2;
}
