/* tests/tools/kern_bench.c - how near the kernels come to the machine: decode against a plain read
 * of the same memory, tiles against the rate of the dot instruction (int8) or of fma.  By processor
 * time, best of the turns.  kern_bench [-t THREADS] [-b MIB] [-k K] [-m ROWS] [-i ISA] [-r TURNS]
 * [TYPE]... */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "base/cpu.h"
#include "kern/probe.h"
#include "type/type.h"

enum { READ, ROWS, TILE, PACK, WHATS, ROWS_TILE = 512, TILES = 16, PACKS = 200 };
struct job {
	const struct kern *kern;
	int type, m, k, threads, id, turns;
	char *w;
	size_t rows, bytes;
	struct kern_act x;
	float *y;
	void *panel;
	pthread_barrier_t *bar;
	double best[WHATS]; /* seconds of this thread on a processor */
};

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t rows_each(const struct job *j) { return j->rows / (size_t)j->threads / 16 * 16; }
static size_t bytes_each(const struct job *j)
{
	return j->bytes / (size_t)j->threads / 4096 * 4096;
}

/* Reads and products take turns, so that what else the machine does meets both. */
static void *work(void *arg)
{
	struct job *j = arg;
	uint64_t sum = 0;
	size_t row = type_row_bytes(j->type, j->k), id = (size_t)j->id;

	for (int i = 0; i < j->turns * WHATS; i++) {
		pthread_barrier_wait(j->bar);
		double t = cpu_s();
		switch (i % WHATS) {
		case READ:
			probe_time_read(j->w + bytes_each(j) * id, bytes_each(j), &sum);
			break;
		case ROWS:
			probe_time_rows(j->kern, j->type, j->y + rows_each(j) * id * (size_t)j->m,
			                j->w + row * rows_each(j) * id, &j->x, j->m, rows_each(j),
			                j->k);
			break;
		case TILE:
			probe_time_tile(j->kern, j->type, j->y + id * ROWS_TILE * 64, j->panel,
			                &j->x, ROWS_TILE, j->k, TILES);
			break;
		default:
			probe_time_pack(j->kern, j->type, j->panel, j->w, j->rows, j->k, PACKS);
		}
		t = cpu_s() - t;
		if (i < WHATS || t < j->best[i % WHATS])
			j->best[i % WHATS] = t;
	}
	*(volatile uint64_t *)&sum = sum;
	return NULL;
}

/* units a second, all threads together */
static double rate(const struct job *jobs, int what, double units_each)
{
	double sum = 0;

	for (int i = 0; i < jobs->threads; i++)
		sum += units_each / jobs[i].best[what];
	return sum * 1e-9;
}

static void report(const struct job *j, const struct job *jobs)
{
	const struct kern_mm *mm = &j->kern->mm[j->type];
	double read = rate(jobs, READ, (double)bytes_each(j));
	double rows = rate(jobs, ROWS, (double)(rows_each(j) * type_row_bytes(j->type, j->k)));
	double tile = rate(jobs, TILE, 2.0 * ROWS_TILE * mm->nr * j->k * TILES),
	       pack = jobs[0].best[PACK] / PACKS / mm->nr / j->k;

	printf(
	    "%-7s k %d m %d: rows %.2f GB/s of %.2f (%.3f)  tile %.0f GOP/s  pack %.3f ns/weight\n",
	    infer_type_info(j->type)->name, j->k, j->m, rows, read, rows / read, tile, pack * 1e9);
	fflush(stdout);
}

static void run(struct job j)
{
	pthread_t th[64];
	struct job jobs[64];
	pthread_barrier_t bar;

	pthread_barrier_init(&bar, NULL, (unsigned)j.threads);
	for (int i = 0; i < j.threads; i++) {
		jobs[i] = j;
		jobs[i].id = i, jobs[i].bar = &bar;
		pthread_create(&th[i], NULL, work, &jobs[i]);
	}
	for (int i = 0; i < j.threads; i++)
		pthread_join(th[i], NULL);
	pthread_barrier_destroy(&bar);
	report(&j, jobs);
}

static struct kern_act act(const struct kern_mm *mm, int m, int k)
{
	struct kern_act a;
	float *x = malloc((size_t)m * (size_t)k * 4);

	probe_floats(x, (size_t)m * (size_t)k, PROBE_PLAIN, 1);
	kern_act_init(&a, mm->form, aligned_alloc(64, kern_act_bytes(mm->form, m, k)), m, k);
	for (int t = 0; t < m; t++)
		mm->quant(&a, t, x + (size_t)t * (size_t)k, k);
	free(x);
	return a;
}

static void measure(struct job j)
{
	const struct kern_mm *mm = &j.kern->mm[j.type];
	size_t row = type_row_bytes(j.type, j.k);

	j.rows = j.bytes / row / 16 * 16;
	j.y = malloc(((size_t)j.rows * (size_t)j.m + 64 * 64 * ROWS_TILE) * 4);
	memset(j.y, 0, (size_t)j.rows * (size_t)j.m * 4);
	probe_weights(j.w, j.type, j.rows < 4096 ? j.rows : 4096, j.k, PROBE_PLAIN, 3);
	for (size_t at = 4096; at < j.rows; at += 4096)
		memcpy(j.w + at * row, j.w, (j.rows - at < 4096 ? j.rows - at : 4096) * row);
	j.panel = aligned_alloc(64, (mm->pack_bytes(j.k) + 63) & ~(size_t)63);
	mm->pack(j.panel, j.w, row, mm->nr, j.k);
	j.x = act(mm, j.m > ROWS_TILE ? j.m : ROWS_TILE, j.k);
	run(j);
	free(j.y), free(j.panel), free(j.x.q);
}

int main(int argc, char **argv)
{
	struct job j = {.threads = 2, .bytes = (size_t)700 << 20, .k = 2048, .m = 1, .turns = 7};
	uint64_t have = cpu_features();
	infer_error err;

	for (int c; (c = getopt(argc, argv, "t:b:k:m:i:r:")) != -1;)
		switch (c) {
		case 't':
			j.threads = atoi(optarg);
			break;
		case 'b':
			j.bytes = (size_t)atoi(optarg) << 20;
			break;
		case 'k':
			j.k = atoi(optarg);
			break;
		case 'r':
			j.turns = atoi(optarg);
			break;
		case 'm':
			j.m = atoi(optarg);
			break;
		case 'i':
			if (kern_limit(&have, optarg, &err))
				return fprintf(stderr, "kern_bench: %s\n", err.message), 2;
			break;
		default:
			return 2;
		}
	if (j.threads < 1 || j.threads > 64 || j.k < 256 || j.k % 256 || j.m < 1 || j.turns < 1 ||
	    j.bytes < (size_t)1 << 20)
		return fprintf(stderr, "kern_bench: out of range\n"), 2;
	const struct kern k = kern_select(have);
	j.kern = &k;
	j.w = mmap(NULL, j.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (j.w == MAP_FAILED)
		return perror("kern_bench"), 1;
	madvise(j.w, j.bytes, MADV_NOHUGEPAGE);
	memset(j.w, 1, j.bytes);
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		int wanted = optind == argc;
		for (int i = optind; i < argc; i++)
			wanted |= !strcmp(argv[i], infer_type_info(t)->name);
		if (wanted && k.mm[t].rows) {
			j.type = t;
			measure(j);
		}
	}
	return 0;
}
