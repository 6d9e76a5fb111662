/* tests/tools/lora_bench.c - the cost of adapters: decoding steps of sequences with a different adapter each, and
 * of the same sequences without, in turns.
 *
 *	lora_bench MODEL THREADS ROUNDS ADAPTER...
 *
 * Prints the median time of a step of both kinds and the median of the rounds' ratios: of wall time, and of
 * the CPU time of the stepping thread, which other programs disturb less if THREADS is 1.  The last number is the
 * ratio to a step without plus the time in which one thread reads the bytes of the adapters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infer/engine.h>
#include <infer/lora.h>
#include "base/cpu.h"
#include "kern/kern.h"

enum { STEPS = 6, MOST = 64, ROUNDS = 1000, READ_BYTES = 256 << 20 };

struct times {
	double wall, cpu;
};

static double read_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void check(int rc, const infer_error *err)
{
	if (!rc)
		return;
	fprintf(stderr, "lora_bench: %s\n", err->message);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, compare);
	return v[n / 2];
}

static void submit(infer_engine *e, const struct infer_lora_use *uses, int n, int with)
{
	infer_error err;

	for (int i = 0; i < n; i++) {
		int32_t id = 100 + i;
		struct infer_request r = { .prompt = &id,
			                   .n_prompt = 1,
			                   .max_tokens = STEPS + 1,
			                   .flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT,
			                   .loras = &uses[i],
			                   .n_loras = with };
		check(infer_engine_submit(e, &r, NULL, &err), &err);
	}
}

/* Decode with n sequences; returns the medians of its steps. */
static struct times run(infer_engine *e, const struct infer_lora_use *uses, int n, int with)
{
	double wall[STEPS], cpu[STEPS];
	struct infer_event ev;
	infer_error err;

	submit(e, uses, n, with);
	for (int step = 0; infer_engine_busy(e); step++) {
		double from = read_ms(CLOCK_MONOTONIC), busy = read_ms(CLOCK_THREAD_CPUTIME_ID);

		check(infer_engine_step(e, &err), &err);
		if (step && step <= STEPS) { /* the first has the prompts */
			wall[step - 1] = read_ms(CLOCK_MONOTONIC) - from;
			cpu[step - 1] = read_ms(CLOCK_THREAD_CPUTIME_ID) - busy;
		}
		while (infer_engine_next(e, &ev))
			;
	}
	return (struct times){ median(wall, STEPS), median(cpu, STEPS) };
}

/* Time to read `bytes` bytes from memory, by the CPU time of this thread. */
static double time_read(const void *buffer, double bytes)
{
	const struct kern k = kern_select(cpu_features());
	double from = read_ms(CLOCK_THREAD_CPUTIME_ID);
	uint32_t sink;

	k.peak_read(&sink, buffer, READ_BYTES);
	return (read_ms(CLOCK_THREAD_CPUTIME_ID) - from) * bytes / READ_BYTES;
}

static void print(const char *what, double v[2][ROUNDS], const double *read, int rounds)
{
	static double ratio[ROUNDS], bound[ROUNDS];

	for (int r = 0; r < rounds; r++) {
		ratio[r] = v[1][r] / v[0][r];
		bound[r] = v[1][r] / (v[0][r] + read[r]);
	}
	printf("%s: without %.2f ms, with %.2f ms, ratio %.3f, to the bound %.3f\n", what,
	       median(v[0], rounds), median(v[1], rounds), median(ratio, rounds),
	       median(bound, rounds));
}

static void measure(infer_engine *e, const struct infer_lora_use *uses, int n, double bytes,
                    int rounds)
{
	static double wall[2][ROUNDS], cpu[2][ROUNDS], read[ROUNDS];
	char *buffer = aligned_alloc(64, READ_BYTES);

	if (!buffer)
		exit(1);
	memset(buffer, 1, READ_BYTES);
	for (int i = 0; i < 2; i++)
		run(e, uses, n, i);
	for (int r = 0; r < rounds; r++) {
		read[r] = time_read(buffer, bytes);
		for (int i = 0; i < 2; i++) {
			int with = (i + r) & 1;
			struct times t = run(e, uses, n, with);

			wall[with][r] = t.wall;
			cpu[with][r] = t.cpu;
		}
	}
	print("wall", wall, read, rounds);
	print("cpu", cpu, read, rounds);
	printf("reading the adapters: %.2f ms\n", median(read, rounds));
	free(buffer);
}

int main(int argc, char **argv)
{
	struct infer_lora_use uses[MOST];
	struct infer_engine_opts o = { .device = "cpu", .ctx = 64 };
	int n = argc - 4, rounds = argc > 3 ? atoi(argv[3]) : 0;
	uint64_t bytes = 0;
	infer_model *m;
	infer_engine *e;
	infer_error err;

	if (n < 1 || n > MOST || rounds < 1 || rounds > ROUNDS) {
		fputs("usage: lora_bench MODEL THREADS ROUNDS ADAPTER...\n", stderr);
		return 2;
	}
	check(infer_model_open(&m, argv[1], NULL, &err), &err);
	for (int i = 0; i < n; i++) {
		struct infer_lora_info info;

		check(infer_lora_open(&uses[i].lora, m, argv[4 + i], NULL, NULL, &err), &err);
		uses[i].factor = 1;
		infer_lora_info(uses[i].lora, &info);
		bytes += info.bytes;
		o.lora_rank = info.max_rank > o.lora_rank ? info.max_rank : o.lora_rank;
	}
	o.threads = atoi(argv[2]);
	o.max_seqs = n;
	check(infer_engine_open(&e, m, &o, &err), &err);
	printf("%d adapters, %.1f MB in all, %s threads\n", n, (double)bytes / 1e6, argv[2]);
	measure(e, uses, n, (double)bytes, rounds);
	infer_engine_close(&e);
	for (int i = 0; i < n; i++)
		infer_lora_close(&uses[i].lora);
	infer_model_close(&m);
	return 0;
}
