/* tests/tools/sched_bench.c - what sequences side by side cost, against what they cost alone
 *
 *	sched_bench [-t THREADS] [-s STEP_MS] MODEL.gguf
 *
 * Times are of the processor, not of the clock, so that they mean something on a machine that does
 * other things too; with more than one thread a core that waits counts as one that works.  Four
 * figures: rows of a prompt by the size of the chunk; 32 sequences that decode, against as many
 * rows of a prompt; the first token of a short request beside a long prompt, against alone; tokens
 * computed for requests that share a beginning, against the distinct ones. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <infer/engine.h>
#include "base/rng.h"

enum { LONG = 4096, SHORT = 32, SEQS = 32, NEW = 24, SHARED = 560, TAIL = 40, REQUESTS = 24 };

static infer_model *model;
static int threads = 1, step_ms;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(int rc, const infer_error *err)
{
	if (rc) {
		fprintf(stderr, "sched_bench: %s\n", err->message);
		exit(1);
	}
}

static infer_engine *open_engine(int chunk, int seqs, int ctx)
{
	struct infer_engine_opts o = { .threads = threads,
		                       .prefill_chunk = chunk,
		                       .max_seqs = seqs,
		                       .ctx = ctx,
		                       .step_ms = step_ms };
	infer_engine *e;
	infer_error err;

	need(infer_engine_open(&e, model, &o, &err), &err);
	return e;
}

static void submit(infer_engine *e, int32_t *ids, int n, int shared, int max_new, uint64_t seed,
                   void *user)
{
	struct infer_request r = {
		.prompt = ids,
		.n_prompt = (size_t)n,
		.max_tokens = max_new,
		.user = user,
		.flags = INFER_REQ_IGNORE_EOS | INFER_REQ_NO_TEXT,
		.sample = { .temp = 0.8f, .top_k = 40, .top_p = 0.95f, .seed = seed }
	};
	infer_error err;

	for (int i = 0; i < n; i++)
		ids[i] = 300 + (int32_t)(rng_unit(i < shared ? 0 : seed, (uint64_t)i) * 600);
	need(infer_engine_submit(e, &r, NULL, &err), &err);
}

/* Until nothing is left, or the request of `user` has its token. */
static void drive(infer_engine *e, const void *user)
{
	struct infer_event ev;
	infer_error err;

	while (infer_engine_busy(e)) {
		need(infer_engine_step(e, &err), &err);
		while (infer_engine_next(e, &ev))
			if (user && ev.user == user && ev.kind == INFER_EVENT_TOKEN)
				return;
	}
}

static double prefill(int32_t *ids, int chunk, int rows)
{
	infer_engine *e = open_engine(chunk, 1, rows + 8);
	double from = now();

	submit(e, ids, rows, 0, 0, 1, NULL);
	drive(e, NULL);
	from = now() - from;
	infer_engine_close(&e);
	return from;
}

static void by_chunk(int32_t *ids)
{
	static const int chunks[] = { 8, 16, 24, 32, 48, 64, 128, 512 };
	double best = prefill(ids, 512, 512) / 512;

	for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
		int rows = chunks[i] < 64 ? 4 * chunks[i] : chunks[i] < 512 ? 256 : 512;
		double t = prefill(ids, chunks[i], rows) / rows;

		printf("chunks of %3d: a row takes %.2f of a row in 512\n", chunks[i], t / best);
	}
}

static void equal(int32_t *ids)
{
	infer_engine *e = open_engine(512, SEQS, 128);
	double t, whole, parts;

	for (int i = 0; i < SEQS; i++)
		submit(e, ids, 1, 0, NEW, (uint64_t)i + 1, NULL);
	t = now();
	drive(e, NULL);
	t = now() - t;
	infer_engine_close(&e);
	whole = prefill(ids, 512, SEQS * NEW);
	parts = prefill(ids, SEQS, SEQS * NEW);
	printf("%d sequences: %.2f of the prompt's rows at once, %.2f of those 32 at a time\n",
	       SEQS, t / whole, t / parts);
}

struct visitor {
	infer_engine *e;
	int32_t ids[SHORT];
	int delay_ms;
	uint64_t seed;
	double at;
};

static void *visit(void *user)
{
	struct visitor *v = user;

	nanosleep(&(struct timespec){ v->delay_ms / 1000, v->delay_ms % 1000 * 1000000L }, NULL);
	v->at = now();
	submit(v->e, v->ids, SHORT, 0, 1, v->seed, v);
	return NULL;
}

static void first_token(int32_t *ids)
{
	infer_engine *e = open_engine(512, 4, LONG + 64);
	double alone = 0, beside = 0, worst = 0, t;
	struct visitor v = { .e = e };
	pthread_t thread;
	int runs = 0;
	infer_error err;

	for (int i = 0; i < 3; i++) {
		submit(e, v.ids, SHORT, 0, 1, (uint64_t)i + 77, &v);
		t = now();
		drive(e, &v);
		alone += (now() - t) / 3;
		drive(e, NULL);
	}
	submit(e, ids, LONG, 0, 1, 1, NULL);
	for (int i = 0; i < 4; i++)
		need(infer_engine_step(e, &err), &err);
	for (; runs < 6 && infer_engine_busy(e); runs++) {
		v.delay_ms = 37 * (runs + 1);
		v.seed = (uint64_t)runs + 100;
		if (pthread_create(&thread, NULL, visit, &v))
			exit(1);
		drive(e, &v);
		t = now() - v.at;
		pthread_join(thread, NULL);
		worst = t > worst ? t : worst;
		beside += t;
		need(infer_engine_step(e, &err), &err);
	}
	printf("first token beside a long prompt: %.2f of its time alone, at worst %.2f of %d\n",
	       beside / runs / alone, worst / alone, runs);
	infer_engine_close(&e);
}

static void shared(int32_t *ids)
{
	infer_engine *e = open_engine(512, 8, 1024);
	struct infer_engine_stats s;

	for (int i = 0; i < REQUESTS; i++)
		submit(e, ids, SHARED + TAIL, SHARED, 4, (uint64_t)i + 1, NULL);
	drive(e, NULL);
	infer_engine_stats(e, &s);
	printf("a shared beginning: %.3f of the distinct tokens\n",
	       (double)s.prefill_rows / (SHARED + REQUESTS * TAIL));
	infer_engine_close(&e);
}

int main(int argc, char **argv)
{
	int32_t *ids = malloc(LONG * sizeof *ids);
	infer_error err;
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
		*(argv[i][1] == 't' ? &threads : &step_ms) = atoi(argv[i + 1]);
	if (i + 1 != argc || !ids) {
		fprintf(stderr, "usage: sched_bench [-t THREADS] [-s STEP_MS] MODEL.gguf\n");
		return 2;
	}
	need(infer_model_open(&model, argv[i], &(struct infer_model_opts){ 0 }, &err), &err);
	setvbuf(stdout, NULL, _IOLBF, 0);
	shared(ids);
	first_token(ids);
	by_chunk(ids);
	equal(ids);
	infer_model_close(&model);
	free(ids);
	return 0;
}
