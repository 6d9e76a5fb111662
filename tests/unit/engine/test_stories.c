/* tests/unit/engine/test_stories.c - two real small models through the public library against
 * float64 evaluations of them: ids, log-probabilities, perplexity, the five likeliest tokens, and
 * 60 greedy tokens with their text. */
#include "../nth.h"
#include "../json.h"
#include "../shared.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <infer/engine.h>
#include <infer/type.h>
#include "base/buf.h"

enum { PROMPTS = 5, GREEDY = 60, TOP = 5, MOST = 64 };
static const char model_rel[] = "models/stories260K.gguf",
		  golden_rel[] = "models/stories260K.golden.json";

/* Model and golden of the built-in model are our own; of the other they lie in ../shared.  The
 * built-in one has quantised weights: log-probabilities move if float32 and float64 round an
 * activation, a key or a value to two sides of a step.  scripts/golden-demo.py measures by how much
 * in its evaluation, and writes the tolerance of each prompt. */
struct kv_case {
	int type;
	/* below 0: relative to the log-probability's size, or to 1 if that is greater;
	 * 0: likewise, "within" of each case of the golden file */
	double tolerance;
	const char *model, *golden;
};
static struct kv_case f32_cache = { INFER_F32, 1e-4, NULL, NULL },
		      f16_cache = { INFER_F16, 2e-2, NULL, NULL },
		      demo_f32 = { INFER_F32, 0, "demo", "tests/golden/demo.json" },
		      demo_f16 = { INFER_F16, -4e-2, "demo", "tests/golden/demo.json" },
		      demo_q8_0 = { INFER_Q8_0, 0, "demo", "tests/golden/demo-q8_0.json" },
		      demo_q4_0 = { INFER_Q4_0, 0, "demo", "tests/golden/demo-q4_0.json" };

/* what one request gave */
struct answer {
	float score[MOST], logprob[MOST];
	int32_t token[MOST];
	struct infer_top top[TOP];
	int n_score, n_token, finish, code;
	struct buf text;
};

static int take(struct answer *a, const struct infer_event *ev)
{
	buf_put(&a->text, ev->text, ev->text_bytes);
	switch (ev->kind) {
	case INFER_EVENT_SCORE:
		assert_int_equal(ev->index, a->n_score + 1);
		assert_true(a->n_score < MOST);
		a->score[a->n_score++] = ev->logprob;
		break;
	case INFER_EVENT_TOKEN:
		assert_int_equal(ev->index, a->n_token);
		assert_true(a->n_token < MOST);
		if (!a->n_token) {
			assert_int_equal(ev->n_top, TOP);
			memcpy(a->top, ev->top, sizeof a->top);
		}
		a->logprob[a->n_token] = ev->logprob;
		a->token[a->n_token++] = ev->token;
		break;
	default:
		a->finish = ev->finish;
		a->code = ev->code;
		return 1;
	}
	return 0;
}

static int ask(infer_engine *e, const int32_t *ids, size_t n, int max_tokens, struct answer *a)
{
	struct infer_request r = { .prompt = ids,
		                   .n_prompt = n,
		                   .max_tokens = max_tokens,
		                   .top = TOP,
		                   .flags = INFER_REQ_SCORE | INFER_REQ_IGNORE_EOS };
	infer_error err = { 0 };
	uint64_t id;
	int done = 0, rc;

	memset(a, 0, sizeof *a);
	buf_init(&a->text, MEM_ENGINE);
	rc = infer_engine_submit(e, &r, &id, &err);
	while (!rc && !done) {
		struct infer_event ev;

		rc = infer_engine_step(e, &err);
		while (!rc && infer_engine_next(e, &ev)) {
			assert_int_equal(ev.id, id);
			done |= take(a, &ev);
		}
		if (!rc && !done && !infer_engine_busy(e))
			fail_msg("the engine rests before the request is done");
	}
	if (rc && rc != INFER_ENOMEM)
		fail_msg("%s", err.message);
	return rc ? rc : a->text.bad ? INFER_ENOMEM : a->code;
}

static int start(infer_model **m, infer_engine **e, const char *path, int type)
{
	struct infer_engine_opts o = { .threads = 2, .k_type = type, .v_type = type, .kv_set = 1 };
	infer_error err = { 0 };
	int rc = infer_model_open(m, path, NULL, &err);

	if (!rc)
		rc = infer_engine_open(e, *m, &o, &err);
	if (rc && rc != INFER_ENOMEM)
		fail_msg("%s", err.message);
	return rc;
}

static void close_to(const char *what, int i, double have, double want, double tolerance)
{
	if (tolerance < 0)
		tolerance *= -fmax(1, fabs(want));
	if (!(fabs(have - want) <= tolerance))
		fail_msg("%s %d: %.9g for %.9g", what, i, have, want);
}

/* Two that lie within the tolerance of each other may change places. */
static void check_top(const struct answer *a, const struct json *top, double tolerance)
{
	double p[TOP];

	assert_int_equal(json_count(top), TOP);
	for (size_t i = 0; i < TOP; i++)
		p[i] = json_double(json_at(json_at(top, i), 1));
	for (size_t i = 0; i < TOP; i++) {
		size_t j = 0;

		while (j < TOP && json_int(json_at(json_at(top, j), 0)) != a->top[i].token)
			j++;
		close_to("likeliest", (int)i, a->top[i].logprob, p[i], tolerance);
		/* the last may be another that is about as likely */
		if (j == TOP && i < TOP - 1)
			fail_msg("likeliest %zu: token %d", i, a->top[i].token);
		if (j < TOP)
			close_to("likeliest", (int)i, a->top[i].logprob, p[j], tolerance);
	}
}

static void check_prompt(const struct answer *a, const struct json *c, double tolerance)
{
	const struct json *p = json_get(c, "logprob_of_each_next_prompt_token");
	double sum = 0, perplexity = json_double(json_get(c, "perplexity"));

	assert_int_equal(a->n_score, json_count(p));
	assert_true(a->n_score > 0);
	for (int i = 0; i < a->n_score; i++) {
		close_to("log-probability", i, a->score[i], json_double(json_at(p, (size_t)i)),
		         tolerance);
		sum += a->score[i];
	}
	close_to("perplexity", 0, log(exp(-sum / a->n_score)), log(perplexity), tolerance);
	check_top(a, json_get(c, "top5_after_prompt"), tolerance);
}

static void check_greedy(struct answer *a, const struct json *c)
{
	const struct json *g = json_get(c, "greedy_tokens");

	assert_int_equal(json_count(g), GREEDY);
	assert_int_equal(a->n_token, GREEDY);
	assert_int_equal(a->finish, INFER_FINISH_LENGTH);
	for (int i = 0; i < GREEDY; i++) {
		int64_t want = json_int(json_at(g, (size_t)i));

		if (a->token[i] != want)
			fail_msg("\"%.*s\": greedy token %d is %d (ln p %.6g) for %d",
			         (int)json_bytes(json_get(c, "prompt")),
			         json_str(json_get(c, "prompt")), i, a->token[i],
			         (double)a->logprob[i], (int)want);
	}
	buf_putc(&a->text, 0);
	assert_json_string(json_get(c, "greedy_text"), a->text.at);
}

static void check_ids(const infer_model *m, const struct json *c, int32_t **ids, size_t *n)
{
	const struct json *prompt = json_get(c, "prompt"), *t = json_get(c, "tokens");
	size_t i = 0;
	infer_error err = { 0 };

	if (infer_encode(infer_model_tokenizer(m), json_str(prompt), json_bytes(prompt),
	                 INFER_ENCODE_ADD, ids, n, &err))
		fail_msg("%s", err.message);
	assert_int_equal(*n, json_count(t));
	json_each(id, t)
		assert_int_equal((*ids)[i++], json_int(id));
}

static void test_golden(void **state)
{
	const struct kv_case *k = *state;
	char model_path[SHARED_PATH], path[SHARED_PATH];
	infer_model *m = NULL;
	infer_engine *e = NULL;
	struct arena mem;
	const struct json *cases;

	if (!k->model) {
		shared_need(model_rel, PROMPTS, model_path);
		shared_need(golden_rel, PROMPTS, path);
	}
	arena_init(&mem, MEM_BASE);
	cases = json_get(json_need_file(&mem, k->model ? k->golden : path), "cases");
	assert_int_equal(json_count(cases), PROMPTS);
	assert_int_equal(start(&m, &e, k->model ? k->model : model_path, k->type), INFER_OK);
	json_each(c, cases) {
		double tolerance = k->tolerance;
		struct answer a;
		int32_t *ids;
		size_t n;

		if (tolerance == 0) {
			tolerance = -json_double(json_get(c, "within"));
			assert_true(tolerance < 0);
		}
		check_ids(m, c, &ids, &n);
		assert_int_equal(ask(e, ids, n, GREEDY, &a), INFER_OK);
		check_prompt(&a, c, tolerance);
		check_greedy(&a, c);
		buf_fini(&a.text);
		infer_ids_free(ids);
	}
	infer_engine_close(&e);
	infer_model_close(&m);
	arena_fini(&mem);
}

/* A model opened and asked with every allocation failing in turn. */
static int case_memory(void)
{
	static const int32_t ids[] = { 1, 403, 407, 261, 378 };
	char path[SHARED_PATH];
	infer_model *m = NULL;
	infer_engine *e = NULL;
	struct answer a = { 0 };
	int rc;

	if (!shared_find(model_rel, path))
		return INFER_OK;
	nth_ok(start(&m, &e, path, INFER_F32));
	nth_ok(ask(e, ids, 5, 2, &a));
	assert_int_equal(a.n_token, 2);
	assert_int_equal(a.token[0], 432);
	assert_int_equal(a.token[1], 383);
out:
	buf_fini(&a.text);
	infer_engine_close(&e);
	infer_model_close(&m);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "golden, f32 cache", test_golden, NULL, NULL, &f32_cache },
		{ "golden, f16 cache", test_golden, NULL, NULL, &f16_cache },
		{ "built-in model, f32 cache", test_golden, NULL, NULL, &demo_f32 },
		{ "built-in model, f16 cache", test_golden, NULL, NULL, &demo_f16 },
		{ "built-in model, q8_0 cache", test_golden, NULL, NULL, &demo_q8_0 },
		{ "built-in model, q4_0 cache", test_golden, NULL, NULL, &demo_q4_0 },
		nth_case(case_memory),
	};
	return nth_group(tests);
}
