/* tests/unit/engine/test_scores.c - the golden cases of every architecture through the engine:
 * log-probabilities of the ids, from SCORE events, compared with float64; and the same bits
 * whatever shares the step, however the prompt is divided. */
#include "../nth.h"
#include "../golden_logits.h"

#include <math.h>

#include <infer/engine.h>
#include <infer/type.h>

enum { SEQS = 3 };

struct scores {
	float p[MAX_IDS];
	int n, done;
};

static void take(struct scores *all, const struct infer_event *ev)
{
	struct scores *s = ev->user;

	assert_true(s >= all && s < all + SEQS);
	if (ev->kind == INFER_EVENT_SCORE) {
		assert_int_equal(ev->index, s->n + 1);
		assert_true(s->n < MAX_IDS);
		s->p[s->n++] = ev->logprob;
	} else if (ev->kind == INFER_EVENT_DONE) {
		if (ev->finish == INFER_FINISH_ERROR)
			fail_msg("%s", ev->message);
		s->done = 1;
	}
}

/* Score the ids: all of them, and beside them `beside` requests of a half and a third, once with a
 * prefix cache in common. */
static void score(infer_engine *e, const struct golden *g, int beside, struct scores *s)
{
	infer_error err = { 0 };
	struct infer_event ev;
	uint64_t id;

	memset(s, 0, SEQS * sizeof *s);
	for (int i = beside; i >= 0; i--) {
		struct infer_request r = { .prompt = g->ids,
			                   .n_prompt = (size_t)(g->n / (i + 1)),
			                   .user = &s[i],
			                   .salt = beside == 2 ? 0 : (uint64_t)i + 1,
			                   .flags = INFER_REQ_SCORE | INFER_REQ_IGNORE_EOS };

		if (infer_engine_submit(e, &r, &id, &err))
			fail_msg("%s", err.message);
	}
	while (infer_engine_busy(e)) {
		if (infer_engine_step(e, &err))
			fail_msg("%s", err.message);
		while (infer_engine_next(e, &ev))
			take(s, &ev);
	}
	for (int i = 0; i <= beside; i++)
		assert_true(s[i].done && s[i].n == g->n / (i + 1) - 1);
}

static void check(const struct golden *g, const struct scores *s)
{
	float *want = expected(g);
	double size = 1;

	for (int i = 0; i < g->n * g->n_vocab; i++)
		size = fmax(size, fabs((double)want[i]));
	for (int i = 0; i < s->n; i++) {
		const float *row = want + (size_t)i * (size_t)g->n_vocab;
		double sum = 0, p;

		for (int v = 0; v < g->n_vocab; v++)
			sum += exp((double)row[v]);
		p = (double)row[g->ids[i + 1]] - log(sum);
		if (!(fabs(p - (double)s->p[i]) <= GOLDEN_TOLERANCE * size))
			fail_msg("%s: position %d: %.9g for %.9g", g->name, i + 1, (double)s->p[i],
			         p);
	}
	free(want);
}

static void test_case(void **state)
{
	static const int chunks[] = { 512, 1, 5, 33 };
	const struct golden *g = *state;
	struct infer_model_opts mo = { .ctx = g->ctx };
	struct scores first[SEQS], s[SEQS];
	infer_model *m = NULL;
	infer_error err = { 0 };
	char path[512];

	snprintf(path, sizeof path, GOLDEN_LOGITS "%s", g->file);
	if (infer_model_open(&m, path, &mo, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < 4; i++) {
		struct infer_engine_opts o = { .threads = 1 + i % 2,
			                       .ctx = g->ctx,
			                       .kv_set = 1,
			                       .k_type = INFER_F32,
			                       .v_type = INFER_F32,
			                       .prefill_chunk = chunks[i],
			                       .max_seqs = SEQS };
		infer_engine *e = NULL;

		if (infer_engine_open(&e, m, &o, &err))
			fail_msg("%s", err.message);
		for (int beside = 0; beside < SEQS; beside++) {
			score(e, g, beside, s);
			if (!i && !beside) {
				check(g, s);
				memcpy(first, s, sizeof s);
			}
			for (int k = 0; k <= beside; k++)
				if (memcmp(first[0].p, s[k].p, (size_t)s[k].n * sizeof s[k].p[0]))
					fail_msg("%s: chunks of %d, %d beside: other bits", g->name,
					         chunks[i], beside);
		}
		infer_engine_close(&e);
	}
	infer_model_close(&m);
}

int main(void)
{
	static struct CMUnitTest tests[MAX_CASES];
	int n = 0;

	golden_read();
	for (int i = 0; i < n_cases; i++)
		if (!cases[i].edits.n)
			tests[n++] = (struct CMUnitTest){ cases[i].name, test_case, NULL, NULL,
				                          &cases[i] };
	return _cmocka_run_group_tests("scores", tests, (size_t)n, NULL, NULL);
}
