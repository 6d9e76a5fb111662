/* tests/unit/engine/test_grammar_state.c - where constraints begin and end: behind reasoning, at stop
 * tokens; what is refused; and memory that runs out. */
#include "run.h"
#include "base/rng.h"
#include "engine/constrain.h"

#define BPE "--tok bpe --vocab 1100 --ctx 512"

static infer_model *model;

static infer_grammar *regex(const char *text)
{
	const struct infer_grammar_source s = { INFER_GRAMMAR_REGEX, { text, strlen(text) }, 0, 0 };
	infer_grammar *g;
	infer_error err;

	if (infer_grammar_compile(&g, &s, NULL, &err))
		fail_msg("%s: %s", text, err.message);
	return g;
}

static void run(struct infer_request *q, struct result *r)
{
	const struct infer_engine_opts o = { .threads = 1, .ctx = 512 };
	infer_engine *e;
	infer_error err;

	*r = (struct result){ 0 };
	q->user = r;
	if (infer_engine_open(&e, model, &o, &err) || infer_engine_submit(e, q, NULL, &err) ||
	    run_drive(e, &err))
		fail_msg("%s", err.message);
	infer_engine_close(&e);
}

static struct result got;

/* The text up to the first e is free, then comes the constraint. */
static void test_reasoning(void **state)
{
	static const int32_t prompt[] = { 300, 400, 500 };
	infer_grammar *g = regex("[0-9]{2}(abc|xyz)");

	(void)state;
	for (uint64_t seed = 1; seed < 8; seed++) {
		struct infer_request q = { .prompt = prompt,
			                   .n_prompt = 3,
			                   .max_tokens = 300,
			                   .grammar = g,
			                   .free_until = { "e", 1 },
			                   .sample = { .temp = 1, .seed = seed } };
		const char *at;

		run(&q, &got);
		got.text[got.text_bytes] = 0;
		at = memchr(got.text, 'e', got.text_bytes);
		assert_int_equal(got.finish, INFER_FINISH_STOP);
		assert_non_null(at);
		for (at++; *at == '\n' || *at == ' ';)
			at++;
		assert_true(at[0] >= '0' && at[0] <= '9' && at[1] >= '0' && at[1] <= '9');
		assert_true(!strcmp(at + 2, "abc") || !strcmp(at + 2, "xyz"));
	}
	infer_grammar_free(g);
}

/* Reasoning that goes on and on is ended where it has half of the tokens, free or in the grammar;
 * one that is not begun is not. */
static void test_long_reasoning(void **state)
{
	static const int32_t prompt[] = { 300, 400, 500 };
	infer_grammar *in = regex("[ -Z^-~]*\\]=\\][0-9]{2}(abc|xyz)"),
		      *alone = regex("[0-9]{2}(abc|xyz)"), *text = regex("[a-z]{40,60}");

	(void)state;
	for (uint64_t seed = 1; seed < 5; seed++)
		for (int how = 0; how < 3; how++) {
			struct infer_request q = { .prompt = prompt,
				                   .n_prompt = 3,
				                   .max_tokens = 60,
				                   .grammar = how == 2 ? text
				                              : how    ? alone
				                                       : in,
				                   .reason_close = { "]=]", 3 },
				                   .sample = { .temp = 1, .seed = seed } };
			const char *at;

			if (how == 1)
				q.free_until = q.reason_close;
			if (how == 2)
				q.reason_open = (struct infer_str){ "[=[", 3 };
			run(&q, &got);
			got.text[got.text_bytes] = 0;
			at = strstr(got.text, "]=]");
			if (how == 2) {
				assert_null(at);
				continue;
			}
			assert_int_equal(got.finish, INFER_FINISH_STOP);
			assert_non_null(at);
			at += 3 + strspn(at + 3, " \n");
			assert_true(at[0] >= '0' && at[0] <= '9' && at[1] >= '0' && at[1] <= '9');
			assert_true(!strcmp(at + 2, "abc") || !strcmp(at + 2, "xyz"));
		}
	infer_grammar_free(text);
	infer_grammar_free(alone);
	infer_grammar_free(in);
}

/* A stop token ends the answer where it may end, and nowhere else; an end that is ignored does not
 * come at all. */
static void test_ends(void **state)
{
	static const int32_t stop = 300, prompt = 301;
	infer_grammar *g = regex("(ab)+");

	(void)state;
	for (int ignore = 0; ignore < 2; ignore++)
		for (uint64_t seed = 1; seed < 5; seed++) {
			struct infer_request q = { .prompt = &prompt,
				                   .n_prompt = 1,
				                   .max_tokens = 200,
				                   .grammar = g,
				                   .stop_tokens = &stop,
				                   .n_stop_tokens = !ignore,
				                   .flags = ignore ? INFER_REQ_IGNORE_EOS : 0,
				                   .sample = { .temp = 1, .seed = seed } };

			run(&q, &got);
			if (ignore)
				assert_int_equal(got.finish, INFER_FINISH_LENGTH);
			if (got.finish == INFER_FINISH_STOP)
				assert_true(got.text_bytes && got.text_bytes % 2 == 0);
			for (size_t i = 0; i < got.text_bytes; i++)
				assert_int_equal(got.text[i], "ab"[i % 2]);
		}
	infer_grammar_free(g);
}

static void refused(int form, const char *text, uint64_t budget, const char *why)
{
	const struct infer_grammar_source s = { form, { text, strlen(text) }, 0, budget };
	infer_grammar *g;
	infer_error err;

	assert_int_equal(infer_grammar_compile(&g, &s, NULL, &err), INFER_EEMPTY);
	assert_null(g);
	if (!strstr(err.message, why))
		fail_msg("'%s' lacks '%s'", err.message, why);
}

static void test_refused(void **state)
{
	(void)state;
	refused(INFER_GRAMMAR_SCHEMA, "{\"typ\":1}", 0, "#/typ");
	refused(INFER_GRAMMAR_SCHEMA, "{", 0, "json_schema: ");
	refused(INFER_GRAMMAR_SCHEMA, "false", 0, "#: no text satisfies it");
	refused(INFER_GRAMMAR_SCHEMA, "{\"title\":\"x\",\"allOf\":[false]}", 0, "#/allOf: no text");
	refused(INFER_GRAMMAR_SCHEMA, "{\"minimum\":3,\"maximum\":2,\"type\":\"number\"}", 0,
	        "all of minimum, maximum, type");
	refused(INFER_GRAMMAR_CHOICE, "[]", 0, "choice must be a list");
	refused(INFER_GRAMMAR_CHOICE, "[1]", 0, "entry 0");
	refused(INFER_GRAMMAR_REGEX, "[a-z]{5}", 10, "needs more than");
	refused(INFER_GRAMMAR_RULES, "root ::= root", 0, "");
	refused(99, "", 0, "form 99");
}

/* One of the tokens that may come; -1: none. */
static int32_t pick(const uint64_t *bits, int32_t n_vocab, uint32_t r)
{
	int32_t n = 0, k;

	for (int32_t i = 0; i < n_vocab; i++)
		n += (int32_t)(bits[i / 64] >> i % 64 & 1);
	if (!n)
		return -1;
	k = (int32_t)(r % (uint32_t)n);
	for (int32_t i = 0;; i++)
		if (bits[i / 64] >> i % 64 & 1 && !k--)
			return i;
}

enum { WALK = 60, TURNS = 4 };

/* A text in which masks are found beforehand, or tried to be looked up, beside one in which they are
 * asked for.  Returns how many were found beforehand. */
static int walk_beforehand(const struct grammar_state_opts *o, uint64_t seed)
{
	const infer_tokenizer *t = infer_model_tokenizer(model);
	const int32_t n_vocab = infer_tokenizer_count(t);
	struct constraints *c[2];
	struct grammar_state *f[2];
	infer_error err;
	int found = 0;

	for (int k = 0; k < 2; k++)
		if (constraints_new(&c[k], t, n_vocab, &err) ||
		    grammar_state_new(&f[k], c[k], o, &err))
			fail_msg("%s", err.message);
	for (uint32_t i = 0; i < WALK; i++) {
		const uint64_t *a, *b;
		uint32_t r[4];
		int32_t id;

		rng_block(r, seed, i);
		if (r[1] % TURNS < 2)
			grammar_state_look_up(f[0]);
		if (r[1] % TURNS == 1)
			grammar_state_compute(f[0]);
		found += grammar_state_ready(f[0]) && !grammar_state_ready(f[1]);
		a = grammar_state_allowed(f[0], &err);
		b = grammar_state_allowed(f[1], &err);
		assert_non_null(a);
		assert_non_null(b);
		assert_memory_equal(a, b, (size_t)(n_vocab + 63) / 64 * sizeof *a);
		id = pick(a, n_vocab, r[0]);
		if (id < 0 || infer_token_is_eog(t, id))
			break;
		for (int k = 0; k < 2; k++)
			grammar_state_accept(f[k], id);
		assert_int_equal(grammar_state_complete(f[0]), grammar_state_complete(f[1]));
		assert_null(grammar_state_error(f[0]));
		if (grammar_state_complete(f[0]))
			break;
	}
	for (int k = 0; k < 2; k++) {
		grammar_state_free(f[k]);
		constraints_free(c[k]);
	}
	return found;
}

/* Masks are the same whether they are found beforehand or when they are needed, also behind tokens
 * that are sure to come, and while the text is still free. */
static void test_beforehand(void **state)
{
	static const char schema[] =
		"{\"type\":\"array\",\"minItems\":1,\"maxItems\":4,\"uniqueItems\":true,\"items\":{"
		"\"type\":\"object\",\"properties\":{\"the first of them\":{\"enum\":[1,2,3,4,5]},"
		"\"then the second\":{\"type\":\"string\",\"maxLength\":6}},\"required\":["
		"\"the first of them\",\"then the second\"],\"additionalProperties\":false}}";
	const struct infer_grammar_source s = {
		INFER_GRAMMAR_SCHEMA, { schema, sizeof schema - 1 }, 0, 0
	};
	infer_grammar *g[3] = { NULL, regex("(ab|cd){3}x*[0-9]{2,9}"), regex("[a-z]+, of course") };
	int found[4] = { 0 };
	infer_error err;

	(void)state;
	if (infer_grammar_compile(&g[0], &s, NULL, &err))
		fail_msg("%s", err.message);
	for (uint64_t seed = 0; seed < 5; seed++)
		for (int k = 0; k < 4; k++) {
			const struct grammar_state_opts o = { .last = 300,
				                              .grammar = g[k % 3],
				                              .free_until = { "e", k == 3 } };

			found[k] += walk_beforehand(&o, seed);
		}
	for (int k = 0; k < 4; k++)
		assert_true(found[k] > 0);
	for (int k = 0; k < 3; k++)
		infer_grammar_free(g[k]);
}

static int case_shared(void)
{
	static const char schema[] = "{\"const\":[1,\"two\"],\"xyzzy\":0}";
	const infer_tokenizer *t = infer_model_tokenizer(model);
	const struct infer_grammar_source s = {
		INFER_GRAMMAR_SCHEMA, { schema, sizeof schema - 1 }, INFER_GRAMMAR_LAX, 0
	};
	struct grammar_state_opts o = { .last = 300 };
	infer_grammars *cache = NULL;
	infer_grammar *g = NULL, *same = NULL, *other = NULL;
	struct constraints *c = NULL;
	struct grammar_state *f = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_grammars_new(&cache, NULL));
	nth_ok(infer_grammars_get(&g, cache, 0, &s, NULL, NULL));
	nth_ok(infer_grammars_get(&same, cache, 0, &s, NULL, NULL));
	assert_ptr_equal(g, same);
	nth_ok(infer_grammars_get(&other, cache, 1, &s, NULL, NULL));
	assert_ptr_not_equal(g, other);
	infer_grammar_free(same);
	same = NULL;
	nth_ok(infer_grammars_get(&same, cache, 1, &s, NULL, NULL));
	assert_ptr_equal(other, same);
	assert_string_equal(infer_grammar_ignored(g, 0), "#/xyzzy");
	assert_null(infer_grammar_ignored(g, 1));
	nth_ok(constraints_new(&c, t, infer_tokenizer_count(t), NULL));
	o.grammar = g;
	nth_ok(grammar_state_new(&f, c, &o, NULL));
	nth_need(grammar_state_allowed(f, &err) != NULL);
out:
	grammar_state_free(f);
	constraints_free(c);
	infer_grammar_free(g);
	infer_grammar_free(same);
	infer_grammar_free(other);
	infer_grammars_free(cache);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_reasoning), cmocka_unit_test(test_reasoning),
		cmocka_unit_test(test_ends),           cmocka_unit_test(test_beforehand),
		cmocka_unit_test(test_refused),        nth_case(case_shared)
	};
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("bpe", BPE), NULL, NULL))
		return 99;
	failed = nth_group(tests);
	infer_model_close(&model);
	return failed;
}
