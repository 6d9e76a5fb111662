/* probe/machine.c - measure this machine: memory by number of threads, arithmetic, barriers,
 * sampling, engine steps, the disk */
#include <infer/engine.h>
#include <infer/machine.h>
#include <infer/sample.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/numa.h"
#include "base/os.h"
#include "base/pool.h"
#include "probe/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* memory is measured longer than the rest, because its rate varies within milliseconds */
enum { REPEAT = 3, MEMORY_REPEAT = 9, MEMORY_TURN_NS = 4000000, TURN_NS = 400000 };
enum { LEAST_BYTES = 64 << 20, MOST_BYTES = 256 << 20, CACHES = 4 };
enum { CACHED = 3 << 20, DISK_BYTES = 16 << 20, DISK_PIECE = 4 << 20, LOGITS = 32000 };

static int read_memory(struct infer_machine *m, infer_probe *p, infer_error *err)
{
	struct probe_memory all, some;
	struct infer_rate r;
	int32_t most = p->threads;
	int rc = INFER_OK;

	TRY(probe_weights(p, err));
	all = (struct probe_memory){ p->weights, p->bytes, 512 };
	for (int32_t t = 1; !rc && m->n_read < INFER_MACHINE_COUNTS;
	     t = 2 * t < most ? 2 * t : most) {
		p->threads = t;
		rc = probe_alone(p, probe_read, all, &r, err);
		m->read[m->n_read].threads = t;
		m->read[m->n_read++].gb_s = r.median;
		if (t == most)
			break;
	}
	p->threads = most;
	TRY(rc);
	m->memory_gb_s = m->read[m->n_read - 1].gb_s;
	some = (struct probe_memory){ p->weights, (size_t)most * CACHED, 512 };
	TRY(probe_alone(p, probe_read, some, &r, err));
	m->cached_gb_s = r.median;
	return INFER_OK;
}

static int read_huge(struct infer_machine *m, infer_probe *p, infer_error *err)
{
	size_t bytes = p->bytes;
	struct infer_rate r;
	void *at;

	TRY(os_reserve(&at, bytes, err));
	madvise(at, bytes, MADV_HUGEPAGE);
	for (size_t i = 0; i < bytes; i += 4096)
		((unsigned char *)at)[i] = 1;
	int rc = probe_alone(p, probe_read, (struct probe_memory){ at, bytes, 512 }, &r, err);

	os_release(at, bytes);
	m->huge_gb_s = rc ? 0 : r.median;
	return rc;
}

/* Measure arithmetic.  Other load can only reduce the rate, so the result is the best turn. */
static int measure_arithmetic(struct infer_machine *m, infer_probe *p, infer_error *err)
{
	const struct probe_memory none = { .grain = 1 };
	int32_t most = p->threads;
	struct infer_rate fma, dot, tile;
	int rc;

	p->threads = 1;
	rc = probe_alone(p, probe_fma, none, &fma, err);
	if (!rc)
		rc = probe_alone(p, probe_dot, none, &dot, err);
	p->threads = most;
	TRY(rc);
	m->f32_one_gflop_s = fma.most;
	m->i8_one_gop_s = dot.most;
	TRY(probe_alone(p, probe_fma, none, &fma, err));
	TRY(probe_alone(p, probe_dot, none, &dot, err));
	m->f32_gflop_s = fma.most;
	if (!(m->i8_gop_s > 0)) /* not yet set, because the kernels were not measured */
		m->i8_gop_s = dot.most;
	if (!p->widest.peak_tile)
		return INFER_OK;
	TRY(probe_alone(p, probe_tile_i8, none, &tile, err));
	m->tile_i8_gop_s = tile.most;
	TRY(probe_alone(p, probe_tile_bf16, none, &tile, err));
	m->tile_bf16_gflop_s = tile.most;
	return INFER_OK;
}

/* Pool item: compute for some microseconds, long enough for all other threads to start. */
static void some_work(void *user, int64_t i, int worker)
{
	const infer_probe *p = user;
	float sink[4];
	double ops;

	(void)i;
	(void)worker;
	p->widest.peak_fma(&ops, sink, 40);
}

/* Measure the overhead of a parallel region: the time of a region with one item for each thread
 * minus the time of one item, median of some turns. */
static int measure_barriers(struct infer_machine *m, infer_probe *p, infer_error *err)
{
	enum { TURNS = 15, REGIONS = 60 };
	double of[TURNS];
	struct pool *pool;

	TRY(pool_new(&pool, p->threads, err));
	for (int t = 0; t < TURNS; t++) {
		int64_t from = clock_now_ns(), middle;
		for (int i = 0; i < REGIONS; i++)
			some_work(p, 0, 0);
		middle = clock_now_ns();
		for (int i = 0; i < REGIONS; i++)
			pool_run(pool, p->threads, some_work, p);
		of[t] = (double)(clock_now_ns() - middle - (middle - from)) / REGIONS;
	}
	pool_free(pool);
	struct infer_rate r = probe_rate(of, TURNS, 1);

	m->barrier_ns = r.median > 100 ? r.median : 100;
	return INFER_OK;
}

/* Measure the time to sample a token with the programs' default options and to compute its
 * log-probability. */
static int measure_sampling(struct infer_machine *m, const struct kern *k, infer_error *err)
{
	enum { TURNS = 12 };
	const struct infer_sample_opts o = { .temp = 0.8f, .top_k = 40, .top_p = 0.95f };
	float *x = probe_floats(LOGITS, 3), sum;
	infer_sampler *s = NULL;
	int32_t token;
	int rc = x ? infer_sampler_new(&s, &o, LOGITS, err) : err_nomem(err);

	for (int t = 0; !rc && t < TURNS; t++) {
		int64_t from = clock_thread_ns();
		k->lse(&sum, x, LOGITS);
		rc = infer_sampler_draw(s, x, NULL, (uint64_t)t, &token, err);
		double ns = (double)(clock_thread_ns() - from) * 1000 / LOGITS;
		if (!t || ns < m->sample_ns)
			m->sample_ns = ns;
	}
	infer_sampler_free(s);
	mem_free(x);
	return rc;
}

/* Submit all requests at once, and step until they end.  Appends times of this thread, in ns, to of[*n], at most
 * STEPS: the time of each step that decodes a token for every request, or, if tokens is 1, the
 * total time. */
enum { STEPS = 3 * 48, BATCH = 8, PROMPT = 256, AHEAD = 4 };
static int some_steps(infer_engine *e, int requests, int prompt, int tokens, double *of, int *n,
                      infer_error *err)
{
	int32_t ids[PROMPT];
	struct infer_engine_stats s;
	struct infer_event ev;
	double all = 0;

	for (int i = 0; i < requests; i++) {
		for (int k = 0; k < prompt; k++)
			ids[k] = (37 * i + 11 * k + prompt + *n) % 500 + 3;
		TRY(infer_engine_submit(
			e,
			&(struct infer_request){
				.prompt = ids,
				.n_prompt = (size_t)prompt,
				.max_tokens = tokens,
				.sample = { .temp = 0.8f, .top_k = 40, .top_p = 0.95f },
				.flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT },
			NULL, err));
	}
	while (infer_engine_busy(e)) {
		infer_engine_stats(e, &s);
		uint64_t rows = s.decode_rows;
		int64_t from = clock_thread_ns();
		TRY(infer_engine_step(e, err));
		double ns = (double)(clock_thread_ns() - from);
		all += ns;
		infer_engine_stats(e, &s);
		if (*n < STEPS && tokens > 1 && s.decode_rows - rows == (uint64_t)requests)
			of[(*n)++] = ns;
		while (infer_engine_next(e, &ev))
			;
	}
	if (*n < STEPS && tokens == 1)
		of[(*n)++] = all;
	return INFER_OK;
}

/* Times (ns) of steps of the built-in model in an engine: decode of one sequence, decode of
 * BATCH, prefill of PROMPT tokens. */
struct steps {
	double one[STEPS], batch[STEPS], prompt[STEPS];
	int n_one, n_batch, n_prompt;
};
/* Append the times of decode steps to s. */
static int time_decode(struct steps *s, const infer_model *model, infer_error *err)
{
	enum { TOKENS = 48 };
	const struct infer_engine_opts o = { .ctx = 2 * TOKENS, .max_seqs = BATCH };
	infer_engine *e;

	TRY(infer_engine_open(&e, model, &o, err));
	int rc = some_steps(e, 1, 1, TOKENS, s->one, &s->n_one, err);

	if (!rc)
		rc = some_steps(e, BATCH, AHEAD, TOKENS / 2, s->batch, &s->n_batch, err);
	infer_engine_close(&e);
	return rc;
}

/* Append the times of prefill to s.  First reads other data to evict the model from the caches. */
static int time_prefill(struct steps *s, const infer_model *model, infer_probe *p, infer_error *err)
{
	enum { PROMPTS = 3 };
	const struct infer_engine_opts o = { .ctx = PROMPT + 2, .max_seqs = 1 };
	const struct probe_memory all = { p->weights, p->bytes, 512 };
	struct infer_rate none;
	infer_engine *e;
	int rc = INFER_OK;

	TRY(infer_engine_open(&e, model, &o, err));
	for (int i = 0; !rc && i < PROMPTS; i++) {
		rc = probe_alone(p, probe_read, all, &none, err);
		if (!rc)
			rc = some_steps(e, 1, PROMPT, 1, s->prompt, &s->n_prompt, err);
	}
	infer_engine_close(&e);
	return rc;
}

static int time_steps(struct steps *s, infer_probe *p, infer_error *err)
{
	infer_model *model;
	int rc;

	TRY(infer_model_open(&model, "demo", NULL, err));
	rc = time_decode(s, model, err);
	if (!rc)
		rc = time_prefill(s, model, p, err);
	infer_model_close(&model);
	return rc;
}

static void set_step_times(struct infer_machine *m, struct steps *s)
{
	if (s->n_one)
		m->step_ns = probe_rate(s->one, s->n_one, 1).median;
	if (s->n_batch)
		m->batch_ns = probe_rate(s->batch, s->n_batch, 1).median;
	if (s->n_prompt)
		m->prompt_ns = probe_rate(s->prompt, s->n_prompt, 1).median;
}

/* Measure reading a file with O_DIRECT.  disk_gb_s stays 0 if the file system refuses it. */
static void measure_disk(struct infer_machine *m, const char *dir, void *piece)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);
	size_t done = 0;

	if (fd < 0)
		return;
	memset(piece, 0x5a, DISK_PIECE);
	while (done < DISK_BYTES && write(fd, piece, DISK_PIECE) == DISK_PIECE)
		done += DISK_PIECE;
	if (done == DISK_BYTES && !fdatasync(fd)) {
		int64_t from = clock_now_ns();
		for (done = 0; done < DISK_BYTES; done += DISK_PIECE)
			if (pread(fd, piece, DISK_PIECE, (off_t)done) != DISK_PIECE)
				break;
		if (done == DISK_BYTES)
			m->disk_gb_s = (double)done / (double)(clock_now_ns() - from);
	}
	close(fd);
}

static void describe_machine(struct infer_machine *m, const infer_probe *p)
{
	struct cpu_caches caches;
	struct os_limits l;
	struct numa nodes;
	size_t at = 0;
	char cpu[64];

	cpu_model_name(cpu);
	cpu_caches(&caches);
	os_limits(&l);
	numa_find(&nodes, "");
	*m = (struct infer_machine){ .measured = 1,
		                     .threads = p->threads,
		                     .nodes = nodes.n,
		                     .memory_bytes = l.memory_bytes,
		                     .l1d_bytes = caches.l1d_bytes,
		                     .l2_bytes = caches.l2_bytes,
		                     .l3_bytes = caches.l3_bytes,
		                     .page_bytes = os_page() };
	snprintf(m->name, sizeof m->name, "%s", *cpu ? cpu : "unknown");
	for (unsigned i = 0; kern_name(i) && at < sizeof m->kernels; i++)
		if (p->widest.used >> i & 1) {
			int n = snprintf(m->kernels + at, sizeof m->kernels - at, "%s%s",
			                 at ? "+" : "", kern_name(i));
			at += n > 0 ? (size_t)n : 0;
		}
}

int infer_machine_measure(struct infer_machine *m, uint32_t flags, const char *dir,
                          infer_error *err)
{
	const struct infer_probe_opts o = { .repeat = MEMORY_REPEAT, .flags = INFER_PROBE_QUICK };
	infer_probe *p;
	int loops = (flags & INFER_MACHINE_LOOPS) != 0, rc;
	struct steps s = { .n_one = 0 };
	void *piece;

	TRY(infer_probe_open(&p, &o, err));
	p->flags |= PROBE_UNCHECKED;
	describe_machine(m, p);
	/* memory to read: several times the size of the caches */
	p->bytes = (size_t)num_max(LEAST_BYTES, num_min(CACHES * (int64_t)m->l3_bytes, MOST_BYTES));
	p->bytes = num_round_up(p->bytes, 2 << 20);
	if (p->bytes < (size_t)p->threads * 2 * CACHED)
		p->bytes = (size_t)p->threads * 2 * CACHED;
	p->turn_ns = MEMORY_TURN_NS;
	rc = read_memory(m, p, err);
	if (!rc)
		rc = read_huge(m, p, err);
	p->turn_ns = TURN_NS;
	p->repeat = REPEAT;
	/* steps are measured three times, because other load changes the machine's speed */
	if (!rc && loops)
		rc = time_steps(&s, p, err);
	if (!rc)
		rc = probe_machine_loops(m, p, loops, err);
	if (!rc && loops)
		rc = time_steps(&s, p, err);
	if (!rc)
		rc = measure_arithmetic(m, p, err);
	if (!rc)
		rc = measure_barriers(m, p, err);
	if (!rc)
		rc = measure_sampling(m, &p->widest, err);
	if (!rc && loops)
		rc = time_steps(&s, p, err);
	set_step_times(m, &s);
	infer_probe_close(&p);
	TRY(rc);
	piece = dir ? mem_aligned(MEM_PLAN, 4096, DISK_PIECE) : NULL;
	if (piece)
		measure_disk(m, dir, piece);
	mem_free(piece);
	return INFER_OK;
}
