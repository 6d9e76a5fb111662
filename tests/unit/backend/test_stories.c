/* tests/unit/backend/test_stories.c - a real small model on the backend alone: log-probabilities
 * and greedy text of ../shared/models. */
#include "../nth.h"
#include "../json.h"
#include "../shared.h"
#include "step.h"

#include <math.h>
#include <stdio.h>

#include "arch/arch.h"

enum { MAX_IDS = 128 };

/* ln p of one id: logits in, float64 out. */
static double logprob(const float *y, int n, int id)
{
	double most = (double)y[0], sum = 0;

	for (int i = 1; i < n; i++)
		most = (double)y[i] > most ? (double)y[i] : most;
	for (int i = 0; i < n; i++)
		sum += exp((double)y[i] - most);
	return (double)y[id] - most - log(sum);
}

struct story {
	int32_t ids[MAX_IDS];
	int n, n_greedy;
	int32_t greedy[MAX_IDS];
	double logprob[MAX_IDS];
};

static int read_ids(const struct json *a, int32_t *ids)
{
	int n = 0;

	json_each(v, a)
		ids[n++] = (int32_t)json_int(v);
	return n;
}

static struct story read_story(const struct json *c)
{
	struct story s = { .n = read_ids(json_get(c, "tokens"), s.ids) };
	int i = 0;

	s.n_greedy = read_ids(json_get(c, "greedy_tokens"), s.greedy);
	json_each(p, json_get(c, "logprob_of_each_next_prompt_token"))
		s.logprob[i++] = json_double(p);
	return s;
}

static void check_story(struct step *step, const struct story *s, int n_vocab)
{
	float *y = malloc(MAX_IDS * (size_t)n_vocab * sizeof(float));
	int32_t ids[MAX_IDS];
	infer_error e = { 0 };
	int n = s->n;

	memcpy(ids, s->ids, (size_t)n * sizeof *ids);
	if (step_eval(step, ids, n, 5, n_vocab, y, &e))
		fail_msg("%s", e.message);
	for (int i = 0; i + 1 < n; i++)
		assert_true(fabs(logprob(y + i * n_vocab, n_vocab, ids[i + 1]) - s->logprob[i]) <
		            1e-4);
	const float *last = y + (n - 1) * n_vocab;
	for (int i = 0; i < s->n_greedy; i++) {
		int best = 0;
		for (int v = 1; v < n_vocab; v++)
			best = last[v] > last[best] ? v : best;
		assert_int_equal(best, s->greedy[i]);
		const int32_t *of[STEP_SEQS] = { &(int32_t){ best } };
		if (step_run(step, of, (int[STEP_SEQS]){ 1 }, &last, &e))
			fail_msg("%s", e.message);
	}
	free(y);
}

static void test_stories(void **state)
{
	char model[SHARED_PATH], golden[SHARED_PATH];
	infer_error e = { 0 };
	infer_model *m;
	struct step step;
	struct arena mem;
	const struct json *cases;

	(void)state;
	shared_need("models/stories260K.gguf", 5, model);
	shared_need("models/stories260K.golden.json", 5, golden);
	arena_init(&mem, MEM_BASE);
	cases = json_get(json_need_file(&mem, golden), "cases");
	assert_true(json_count(cases) == 5);
	assert_int_equal(infer_model_open(&m, model, NULL, &e), INFER_OK);
	struct step_shape k = { m->h.n_layers, m->h.n_head_kv, m->h.dk, m->h.dv, INFER_F32 };
	struct backend_model parts = arch_parts(m);
	assert_int_equal(step_open(&step, &parts, &k, 2, NULL, 16, &e), INFER_OK);
	json_each(c, cases) {
		struct story s = read_story(c);
		check_story(&step, &s, m->h.n_vocab);
	}
	step_close(&step);
	infer_model_close(&m);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stories) };
	return nth_group(tests);
}
