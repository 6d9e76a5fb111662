/* tests/unit/engine/test_constrain.c - answers under constraints: each satisfies its own, ends where
 * nothing can follow, and is the same whatever runs beside it and however forced tokens are
 * computed. */
#include "run.h"
#include "../follow.h"
#include "grammar/shared.h"

enum { CTX = 512, FORMS = 8, NEW = 400 };

static const struct {
	int form;
	const char *text;
} forms[FORMS] = {
	{ INFER_GRAMMAR_SCHEMA,
	  "{\"type\":\"object\",\"properties\":{\"a name that is long\":{\"type\":\"string\","
	  "\"maxLength\":5},\"number of things\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":"
	  "99},\"kinds\":{\"type\":\"array\",\"items\":{\"enum\":[\"large and red\",\"small and "
	  "blue\"]},\"maxItems\":3}},\"required\":[\"a name that is long\",\"number of things\","
	  "\"kinds\"],\"additionalProperties\":false}" },
	{ INFER_GRAMMAR_SCHEMA,
	  "{\"type\":\"array\",\"uniqueItems\":true,\"minItems\":1,\"maxItems\":6,\"items\":{"
	  "\"anyOf\":[{\"enum\":[\"large\",\"small\"]},{\"type\":\"integer\",\"minimum\":0,"
	  "\"maximum\":3},{\"type\":\"object\",\"properties\":{\"of\":{\"type\":\"boolean\"},"
	  "\"at\":{\"enum\":[1,2]}},\"required\":[\"at\"],\"additionalProperties\":false}]}}" },
	{ INFER_GRAMMAR_RULES, "root ::= \"the answer is \" (\"yes\" | \"no\") \", of course\"" },
	{ INFER_GRAMMAR_REGEX, "[a-c]{3,9}(-[0-9]+){2}!" },
	{ INFER_GRAMMAR_CHOICE, "[\"spring\", \"summer time\", \"\\u00e4rger\"]" },
	{ INFER_GRAMMAR_CHOICE, "[\"\", \"x\"]" },
	{ INFER_GRAMMAR_SCHEMA, "{\"const\":{\"only\":[\"one value\",true,null]}}" },
	{ INFER_GRAMMAR_REGEX, "a+" },
};

static infer_grammar *compile(int form, const char *text)
{
	const struct infer_grammar_source s = { .form = form, .text = { text, strlen(text) } };
	infer_grammar *g;
	infer_error err;

	if (infer_grammar_compile(&g, &s, NULL, &err))
		fail_msg("%s: %s", text, err.message);
	return g;
}

static void submit(infer_engine *e, const infer_model *m, infer_grammar *g, uint64_t seed,
                   const char *until, struct result *to)
{
	const int32_t n_vocab = infer_tokenizer_count(infer_model_tokenizer(m));
	struct infer_request r = { .max_tokens = NEW,
		                   .user = to,
		                   .n_prompt = 20,
		                   .grammar = g,
		                   .sample = { .temp = 1, .seed = seed, .repeat = 1.1f } };
	int32_t ids[20];
	infer_error err;

	if (until)
		r.free_until = (struct infer_str){ until, strlen(until) };
	run_ids(ids, 20, seed % 3, 300, n_vocab - 300);
	r.prompt = ids;
	*to = (struct result){ 0 };
	if (infer_engine_submit(e, &r, NULL, &err))
		fail_msg("%s", err.message);
}

static infer_engine *open_engine(const infer_model *m, int threads, int seqs, uint32_t flags)
{
	const struct infer_engine_opts o = {
		.threads = threads, .max_seqs = seqs, .ctx = CTX, .flags = flags
	};
	infer_engine *e;
	infer_error err;

	if (infer_engine_open(&e, m, &o, &err))
		fail_msg("%s", err.message);
	return e;
}

/* Whole, or a beginning where the limit cut it. */
static void check(const infer_grammar *g, const struct result *r, const char *what)
{
	infer_error err;
	size_t taken;
	int whole = follow(g->g, MATCH_TIDY, r->text, r->text_bytes, &taken, &err);

	if (!r->done || r->code)
		fail_msg("%s: %s", what, r->message);
	if (r->finish == INFER_FINISH_STOP ? whole != 1 : taken != r->text_bytes)
		fail_msg("%s: '%.*s' does not satisfy it", what, (int)r->text_bytes, r->text);
}

static struct result want[2 * FORMS], got[2 * FORMS];

/* All forms twice, with different seeds, together or one after the other; returns the steps. */
static uint64_t run_all(const infer_model *m, infer_grammar **g, int threads, int seqs,
                        uint32_t flags, struct result *to)
{
	infer_engine *e = open_engine(m, threads, seqs, flags);
	struct infer_engine_stats st;
	struct result *other = calloc(1, sizeof *other);
	infer_error err;

	assert_non_null(other);
	for (int i = 0; i < 2 * FORMS; i++) {
		submit(e, m, g[i % FORMS], 10 + (uint64_t)i, NULL, &to[i]);
		if (seqs == 1)
			assert_int_equal(run_drive(e, &err), INFER_OK);
	}
	if (seqs > 1) /* and one that is free */
		submit(e, m, NULL, 3, NULL, other);
	assert_int_equal(run_drive(e, &err), INFER_OK);
	infer_engine_stats(e, &st);
	assert_int_equal(st.decode_allocs, 0);
	infer_engine_close(&e);
	free(other);
	return st.steps;
}

static void check_model(const char *name, const char *options)
{
	infer_grammar *g[FORMS];
	infer_model *m;
	infer_error err;
	uint64_t jumps, steps;

	if (infer_model_open(&m, run_model(name, options), NULL, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < FORMS; i++)
		g[i] = compile(forms[i].form, forms[i].text);
	jumps = run_all(m, g, 1, 1, 0, want);
	for (int i = 0; i < 2 * FORMS; i++)
		check(g[i % FORMS], &want[i], forms[i % FORMS].text);
	for (int i = 0; i < FORMS - 1; i++)
		assert_int_equal(want[i].finish, INFER_FINISH_STOP);
	steps = run_all(m, g, 1, 1, INFER_ENGINE_NO_JUMP, got);
	for (int i = 0; i < 2 * FORMS; i++)
		run_same(&want[i], &got[i], "one by one");
	if (jumps >= steps)
		fail_msg("%s: %d steps with jumps, %d without", name, (int)jumps, (int)steps);
	for (int threads = 1; threads < 4; threads++) {
		run_all(m, g, threads, 5, threads & 1 ? 0 : INFER_ENGINE_NO_JUMP, got);
		for (int i = 0; i < 2 * FORMS; i++)
			run_same(&want[i], &got[i], "beside others");
	}
	for (int i = 0; i < FORMS; i++)
		infer_grammar_free(g[i]);
	infer_model_close(&m);
}

static void test_bpe(void **state)
{
	(void)state;
	check_model("bpe", "--tok bpe --vocab 1100 --ctx 512");
}

static void test_spm(void **state)
{
	(void)state;
	check_model("spm", "--tok spm --vocab 1100 --ctx 512");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bpe),
		                            cmocka_unit_test(test_spm) };

	(void)argc;
	run_init(argv[0]);
	return nth_group(tests);
}
