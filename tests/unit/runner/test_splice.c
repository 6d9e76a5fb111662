/* tests/unit/runner/test_splice.c - prompts that reuse computed tokens: ids that spell the same
 * bytes, and only those. */
#include "../nth.h"
#include <infer/runner.h>
#include <string.h>

static infer_file *file;
static infer_tokenizer *tok;

static int start(void **state)
{
	(void)state;
	return infer_file_open(&file, "demo", NULL) || infer_tokenizer_open(&tok, file, NULL);
}

static int end(void **state)
{
	(void)state;
	infer_tokenizer_close(&tok);
	infer_file_close(&file);
	return 0;
}

enum { MOST = 64 };
struct ids {
	int32_t at[MOST];
	size_t n;
};

/* Words separated by |, each tokenised by itself; <...> as one control token. */
static struct ids ids_of(const char *text)
{
	struct ids out = { .n = 0 };

	while (*text) {
		size_t n = strcspn(text, "|"), k;
		int32_t *ids;

		assert_int_equal(infer_encode(tok, text, n, *text == '<' ? INFER_ENCODE_SPECIAL : 0,
		                              &ids, &k, NULL),
		                 INFER_OK);
		assert_true(out.n + k <= MOST);
		memcpy(out.at + out.n, ids, k * sizeof *ids);
		out.n += k;
		infer_ids_free(ids);
		text += n + (text[n] == '|');
	}
	return out;
}

/* past, fresh, and which parts of them the result is. */
static const struct {
	const char *past, *fresh, *want;
} cases[] = {
	{ "", "the house", "the house" },
	{ "the| house", "the| house| and", "the| house| and" },
	/* the answer was cut into tokens otherwise than its text is */
	{ "a| li|gh|t|<|im_end|>", "a| light|<|im_end|>| and more",
	  "a| li|gh|t|<|im_end|>| and more" },
	{ "a| li|gh|t", "a| light| and more", "a| li|gh|t| and more" },
	/* a token of the new prompt reaches over the end of the old: back to where both end */
	{ "a| li|gh", "a| light", "a| light" },
	/* it says something else from here on */
	{ "a| li|gh|t| key", "a| light| house", "a| li|gh|t| house" },
	{ "one", "two", "two" },
	/* what looks like a control token and is none */
	{ "a|x<|y|z>", "a|x<y|z>", "a|x<|y|z>" },
	{ "a| b", "a", "a" },
};

static int case_all(void)
{
	int32_t *out = NULL;
	size_t n;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		mem_fail_at(0);
		rc = INFER_OK;
		struct ids past = ids_of(cases[i].past), fresh = ids_of(cases[i].fresh),
			   want = ids_of(cases[i].want);

		nth_ok(infer_splice(&out, &n, tok, past.at, past.n, fresh.at, fresh.n, NULL));
		if (n != want.n || (n && memcmp(out, want.at, n * sizeof *out)))
			fail_msg("case %zu", i);
		infer_ids_free(out);
		out = NULL;
	}
out:
	infer_ids_free(out);
	return rc;
}

static void test_all(void **state)
{
	(void)state;
	assert_int_equal(case_all(), INFER_OK);
}

/* Text that spells a control token is not the token, though the bytes are the same. */
static void test_control(void **state)
{
	static const char text[] = "<|im_end|>";
	int32_t *token, *letters, *out;
	size_t n_token, n_letters, n;

	(void)state;
	assert_int_equal(infer_encode(tok, text, sizeof text - 1, INFER_ENCODE_SPECIAL, &token,
	                              &n_token, NULL),
	                 INFER_OK);
	assert_int_equal(infer_encode(tok, text, sizeof text - 1, 0, &letters, &n_letters, NULL),
	                 INFER_OK);
	assert_int_equal(n_token, 1);
	assert_true(n_letters > 1);
	assert_int_equal(infer_splice(&out, &n, tok, letters, n_letters, token, n_token, NULL),
	                 INFER_OK);
	assert_int_equal(n, 1);
	assert_memory_equal(out, token, sizeof *token);
	infer_ids_free(out);
	assert_int_equal(infer_splice(&out, &n, tok, token, n_token, letters, n_letters, NULL),
	                 INFER_OK);
	assert_int_equal(n, n_letters);
	assert_memory_equal(out, letters, n * sizeof *out);
	infer_ids_free(out);
	token[0] = 1 << 20;
	letters[0] = -1;
	assert_int_equal(infer_splice(&out, &n, tok, token, n_token, letters, n_letters, NULL),
	                 INFER_EINVAL);
	assert_null(out);
	infer_ids_free(token);
	infer_ids_free(letters);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all),
		                            cmocka_unit_test(test_control) };
	return cmocka_run_group_tests(tests, start, end);
}
