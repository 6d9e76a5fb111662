/* tests/tools/attn_bench.c - attention alone over a long cache laid out as an engine lays it out:
 * one decoded row against a plain read of the same memory, rows of a prompt against the rate of
 * fma.  By processor time, best of the turns.
 * attn_bench [-t THREADS] [-c CTX] [-T TYPE[,TYPE]] [-l LAYERS] [-n KV-HEADS] [-g HEADS-OF-ONE] [-d
 * DIM] [-m ROWS] [-i ISA] [-r TURNS] */
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "base/cpu.h"
#include "kern/kv.h"
#include "kern/data.h"

enum { READ, ATTN, FMA, WHATS, FMAS = 8 << 10 };
struct job {
	const struct kern *kern;
	int k_type, v_type, ctx, layers, kv_heads, group, dim, rows, threads, id, turns;
	char *at;
	size_t page_bytes, bytes;
	const float *q;
	pthread_barrier_t *bar;
	double best[WHATS], ops;
};

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t half(const struct job *j, int type)
{
	return (size_t)j->kv_heads * kern_kv_bytes(type, j->dim);
}

static unsigned char *place(const struct job *j, int page, int layer, int head, int is_v)
{
	size_t k = half(j, j->k_type), v = half(j, j->v_type);

	return (unsigned char *)j->at + (size_t)page * j->page_bytes + (size_t)layer * (k + v) +
	       (is_v ? k : 0) + (size_t)head * kern_kv_bytes(is_v ? j->v_type : j->k_type, j->dim);
}

struct out {
	float *m, *l, *o;
	void *scratch;
};

static void one(const struct job *j, const struct out *out, int layer, int head, int split)
{
	const void *k[KERN_SPLIT / KERN_PAGE], *v[KERN_SPLIT / KERN_PAGE],
		*next[KERN_SPLIT / KERN_PAGE];
	int heads = j->kv_heads * j->group;

	for (int i = 0; i < KERN_SPLIT / KERN_PAGE; i++) {
		k[i] = place(j, split * KERN_SPLIT / KERN_PAGE + i, layer, head, 0);
		v[i] = place(j, split * KERN_SPLIT / KERN_PAGE + i, layer, head, 1);
		next[i] = j->rows > 1 || (split + 1) * KERN_SPLIT >= j->ctx
		                  ? NULL
		                  : place(j, (split + 1) * KERN_SPLIT / KERN_PAGE + i, layer, head,
		                          0);
	}
	struct kern_attn a = {
		.q = j->q + head * j->group * j->dim,
		.q_row = (size_t)(heads * j->dim),
		.k = k,
		.v = v,
		.next = next,
		.k_type = (uint8_t)j->k_type,
		.v_type = (uint8_t)j->v_type,
		.rows = j->rows,
		.kv_heads = j->rows == 1 ? j->kv_heads : 1,
		.heads = j->group,
		.dk = j->dim,
		.dv = j->dim,
		.from = split * KERN_SPLIT,
		.to = (split + 1) * KERN_SPLIT,
		.pos = j->ctx,
		.scale = 1 / sqrtf((float)j->dim),
		.m = out->m,
		.l = out->l,
		.o = out->o,
		.ml_row = (size_t)heads,
		.o_row = (size_t)(heads * j->dim),
		.scratch = out->scratch,
	};
	j->kern->attn(&a);
}

/* this thread's share of the splits, as the pool deals them out: the KV heads of a split follow
 * each other */
static void attention(const struct job *j, const struct out *out)
{
	int each = j->rows == 1 ? 1 : j->kv_heads, tasks = j->ctx / KERN_SPLIT * each;

	for (int layer = 0; layer < j->layers; layer++)
		for (int i = tasks * j->id / j->threads; i < tasks * (j->id + 1) / j->threads; i++)
			one(j, out, layer, i % each, i / each);
}

static void *work(void *arg)
{
	struct job *j = arg;
	size_t each = j->bytes / (size_t)j->threads / 4096 * 4096;
	size_t pairs = (size_t)j->rows * (size_t)(j->kv_heads * j->group);
	struct out out = { malloc(pairs * 4), malloc(pairs * 4), malloc(pairs * (size_t)j->dim * 4),
		           aligned_alloc(64,
		                         (kern_attn_scratch(j->dim, j->dim) + 63) & ~(size_t)63) };
	uint64_t sum = 0;
	uint32_t read;
	float f;

	for (int i = 0; i < j->turns * WHATS; i++) {
		pthread_barrier_wait(j->bar);
		double t = cpu_s();
		if (i % WHATS == READ)
			j->kern->peak_read(&read, j->at + each * (size_t)j->id, each), sum += read;
		else if (i % WHATS == ATTN)
			attention(j, &out);
		else
			j->kern->peak_fma(&j->ops, &f, FMAS), sum += (uint64_t)f;
		t = cpu_s() - t;
		if (i < WHATS || t < j->best[i % WHATS])
			j->best[i % WHATS] = t;
	}
	*(volatile uint64_t *)&sum = sum;
	free(out.m), free(out.l), free(out.o), free(out.scratch);
	return NULL;
}

static void fill(struct job *j)
{
	float *x = malloc((size_t)j->dim * 4);

	for (int p = 0; p < j->ctx; p++)
		for (int l = 0; l < j->layers; l++)
			for (int h = 0; h < j->kv_heads && p < KERN_PAGE; h++) {
				kern_data_floats(x, (size_t)j->dim, KERN_DATA_PLAIN,
				                 (uint64_t)(p * 1000 + l * 10 + h));
				kern_k_put(j->kern, place(j, 0, l, h, 0), j->k_type, p, x, j->dim);
				kern_v_put(j->kern, place(j, 0, l, h, 1), j->v_type, p, x, j->dim);
			}
	for (int p = 1; p < j->ctx / KERN_PAGE; p++)
		memcpy(j->at + (size_t)p * j->page_bytes, j->at, j->page_bytes);
	free(x);
}

static void report(const struct job *j, const struct job *jobs)
{
	double s[WHATS] = { 0 };
	double flop = 4.0 * j->dim * j->ctx * j->group * j->kv_heads * j->layers * j->rows;

	for (int i = 0; i < j->threads; i++)
		for (int w = 0; w < WHATS; w++)
			s[w] += jobs[i].best[w] / j->threads;
	double fma = jobs[0].ops * j->threads / s[FMA];
	printf("%s,%s ctx %d heads %dx%d dim %d rows %d: attn %.3f ms, read %.3f ms (%.3f of %.1f "
	       "GB/s)  %.1f GFLOP/s of %.1f (%.3f)\n",
	       infer_type_info(j->k_type)->name, infer_type_info(j->v_type)->name, j->ctx,
	       j->kv_heads, j->group, j->dim, j->rows, s[ATTN] * 1e3, s[READ] * 1e3,
	       s[READ] / s[ATTN], (double)j->bytes / s[READ] * 1e-9, flop / s[ATTN] * 1e-9,
	       fma * 1e-9, flop / s[ATTN] / fma);
}

static int type_of(const char *name)
{
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (!strcmp(name, infer_type_info(t)->name) && kern_kv_block(t))
			return t;
	fprintf(stderr, "attn_bench: '%s' is no type of a cache\n", name);
	exit(2);
}

static void run(struct job j)
{
	struct job jobs[64];
	pthread_t th[64];
	pthread_barrier_t bar;
	size_t nq = (size_t)(j.rows * j.kv_heads * j.group * j.dim);
	float *q = malloc(nq * 4);

	kern_data_floats(q, nq, KERN_DATA_PLAIN, 1);
	j.q = q;
	j.page_bytes = (size_t)j.layers * (half(&j, j.k_type) + half(&j, j.v_type));
	j.bytes = j.page_bytes * (size_t)(j.ctx / KERN_PAGE);
	j.at = mmap(NULL, j.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (j.at == MAP_FAILED) {
		perror("attn_bench");
		exit(1);
	}
	madvise(j.at, j.bytes, MADV_NOHUGEPAGE);
	fill(&j);
	pthread_barrier_init(&bar, NULL, (unsigned)j.threads);
	for (int i = 0; i < j.threads; i++) {
		jobs[i] = j;
		jobs[i].id = i, jobs[i].bar = &bar;
		pthread_create(&th[i], NULL, work, &jobs[i]);
	}
	for (int i = 0; i < j.threads; i++)
		pthread_join(th[i], NULL);
	report(&j, jobs);
	munmap(j.at, j.bytes);
	free(q);
}

int main(int argc, char **argv)
{
	struct job j = { .k_type = INFER_Q8_0,
		         .v_type = INFER_Q8_0,
		         .ctx = 32768,
		         .layers = 4,
		         .kv_heads = 8,
		         .group = 4,
		         .dim = 64,
		         .rows = 1,
		         .threads = 2,
		         .turns = 5 };
	uint64_t have = cpu_features();
	infer_error err;

	for (int c; (c = getopt(argc, argv, "t:c:T:l:n:g:d:m:i:r:")) != -1;) {
		char *comma = c == 'T' ? strchr(optarg, ',') : NULL;
		int *to = c == 't'   ? &j.threads
		          : c == 'c' ? &j.ctx
		          : c == 'l' ? &j.layers
		          : c == 'n' ? &j.kv_heads
		          : c == 'g' ? &j.group
		          : c == 'd' ? &j.dim
		          : c == 'm' ? &j.rows
		          : c == 'r' ? &j.turns
		                     : NULL;
		if (to)
			*to = atoi(optarg);
		else if (c == 'T') {
			if (comma)
				*comma = 0;
			j.k_type = type_of(optarg);
			j.v_type = comma ? type_of(comma + 1) : j.k_type;
		} else if (c != 'i')
			return 2;
		else if (kern_limit(&have, optarg, &err))
			return fprintf(stderr, "attn_bench: %s\n", err.message), 2;
	}
	if (j.threads < 1 || j.threads > 64 || j.ctx < KERN_SPLIT || j.ctx % KERN_SPLIT ||
	    j.layers < 1 || j.kv_heads < 1 || j.group < 1 || j.rows < 1 || j.turns < 1 ||
	    !kern_kv_bytes(j.k_type, j.dim) || !kern_kv_bytes(j.v_type, j.dim))
		return fprintf(stderr, "attn_bench: out of range\n"), 2;
	const struct kern k = kern_select(have);
	j.kern = &k;
	run(j);
	return 0;
}
