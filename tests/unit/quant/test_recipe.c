/* tests/unit/quant/test_recipe.c - recipes are read, refused with line and column, and written in one
 * form, which is read as the same recipe. */
#include "../nth.h"
#include "quant/recipe.h"

#include <string.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char canonical[] = "infer-recipe: 1\n"
				"type: Q4_K_M\n"
				"method: gptq\n"
				"gptq:\n"
				"  sha256: '" SHA "'\n"
				"  window: 32\n"
				"  kv-type: 'q8_0,f16'\n"
				"  act-type: 'bf16'\n"
				"  core: 'Zen'\n"
				"imatrix:\n"
				"  file: 'it''s \\here'\n"
				"  sha256: '" SHA "'\n"
				"target:\n"
				"  bpw: 4.5\n"
				"calibration:\n"
				"  sha256: '" SHA "'\n"
				"  window: 256\n"
				"tensors:\n"
				"  '^blk\\.0\\.': { type: Q6_K, method: rtn }\n"
				"  \"\\U000000e9\\\\\\\"\\U00000009\": F32\n";

/* the same in other words */
static const char free_form[] =
	"# a comment\n"
	"tensors: {\"^blk\\\\.0\\\\.\": {method: rtn, type: q6_k}, \"\xc3\xa9\\\\\\\"\\t\": f32}\n"
	"calibration: {window: 256, sha256: " SHA "}\n"
	"method: gptq\n"
	"gptq: {core: Zen, act-type: bf16, kv-type: 'q8_0,f16', window: 32, sha256: " SHA "}\n"
	"target: {bpw: 45e-1}\n"
	"type: q4_k_m\n"
	"imatrix: {sha256: " SHA ", file: it's \\here}\n"
	"infer-recipe: 1\n";

static int read_text(infer_recipe **out, const char *text, infer_error *err)
{
	return infer_recipe_read(out, text, strlen(text), "r", err);
}

static int case_canonical(void)
{
	static const char *const texts[] = { canonical, free_form };
	infer_recipe *r = NULL;
	struct buf b;
	int rc = INFER_OK;

	buf_init(&b, MEM_QUANT);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		nth_ok(read_text(&r, texts[i], NULL));
		buf_clear(&b);
		nth_ok(recipe_text(&b, r, NULL));
		nth_need(!b.bad);
		assert_string_equal(b.at, canonical);
		infer_recipe_free(r);
		r = NULL;
	}
out:
	infer_recipe_free(r);
	buf_fini(&b);
	return rc;
}

static int case_info(void)
{
	struct infer_recipe_info info;
	infer_recipe *r = NULL;
	int rc;

	nth_ok(read_text(&r, canonical, NULL));
	infer_recipe_info(r, &info);
	assert_string_equal(info.type, "Q4_K_M");
	assert_string_equal(info.method, "gptq");
	assert_int_equal(info.gptq, 1);
	assert_int_equal(info.gptq_window, 32);
	assert_string_equal(info.gptq_kv_type, "q8_0,f16");
	assert_string_equal(info.gptq_act_type, "bf16");
	assert_string_equal(info.imatrix, "it's \\here");
	assert_int_equal(info.max_bytes, 0);
	assert_true(info.bpw == 4.5);
	assert_int_equal(info.n_patterns, 2);
	infer_recipe_free(r);
	nth_ok(read_text(&r, "infer-recipe: 1\ntarget: {max-bytes: 1000}\n", NULL));
	infer_recipe_info(r, &info);
	assert_null(info.type);
	assert_null(info.imatrix);
	assert_int_equal(info.max_bytes, 1000);
out:
	infer_recipe_free(r);
	return rc;
}

static int case_options(void)
{
	static const char *const keep[] = { "a=b=Q8_0", "c'=f16" };
	infer_recipe *r = NULL;
	struct buf b;
	int rc;

	buf_init(&b, MEM_QUANT);
	nth_ok(recipe_make(&r, mix_find("q4_k"), "i", keep, 2, NULL));
	nth_ok(recipe_text(&b, r, NULL));
	nth_need(!b.bad);
	assert_string_equal(b.at, "infer-recipe: 1\ntype: Q4_K\nmethod: search\nimatrix:\n"
	                          "  file: 'i'\ntensors:\n  'a=b': Q8_0\n  'c''': F16\n");
out:
	infer_recipe_free(r);
	buf_fini(&b);
	return rc;
}

static void refused(const char *text, int code, const char *want)
{
	infer_recipe *r = (infer_recipe *)(size_t)1;
	infer_error err = { 0 };

	assert_int_equal(read_text(&r, text, &err), code);
	assert_null(r);
	assert_string_equal(err.message, want);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "r: line 1, column 1: the recipe is empty" },
		{ "[]", "r: line 1, column 1: not a map of keys and values" },
		{ "type: Q4_K\n",
		  "r: line 1, column 1: not a recipe: it needs the key infer-recipe, its "
		  "version" },
		{ "infer-recipe: 1\n",
		  "r: line 1, column 1: a recipe needs the key type or target" },
		{ "infer-recipe: 1\ntype: Q4_K\ntipe: 3\n",
		  "r: line 3, column 1: 'tipe' is not a key here" },
		{ "type: Q9\n", "r: line 1, column 7: 'Q9' is not a type or mix" },
		{ "type: [Q8_0]\n", "r: line 1, column 7: not a text" },
		{ "tensors:\n  a: Q8_0\n  b: Q4_K_M\n",
		  "r: line 3, column 6: 'Q4_K_M' is not a type" },
		{ "tensors:\n  a: Q8_0\n  a: Q4_K\n",
		  "r: line 3, column 3: the key 'a' is there twice" },
		{ "tensors: [a]\n", "r: line 1, column 10: not a map of keys and values" },
		{ "tensors: {'': F16}\n", "r: line 1, column 11: an empty text" },
		{ "imatrix: {sha256: " SHA "}\n",
		  "r: line 1, column 10: imatrix needs the key file" },
		{ "imatrix: {file: a, sha256: 12}\n",
		  "r: line 1, column 28: must be a SHA-256 of 64 hexadecimal digits" },
		{ "imatrix: {file: a, name: b}\n",
		  "r: line 1, column 20: 'name' is not a key here" },
		{ "target: {}\n", "r: line 1, column 9: target needs one of the keys max-bytes and "
		                  "bpw" },
		{ "target: {bpw: 4, max-bytes: 1}\n",
		  "r: line 1, column 9: target needs one of the keys max-bytes and bpw" },
		{ "target: {bpw: 0}\n", "r: line 1, column 15: 0 is not between 0.5 and 64" },
		{ "target: {max-bytes: 4.5}\n", "r: line 1, column 21: not a whole number" },
		{ "gptq: {window: 64}\n", "r: line 1, column 7: gptq needs the key sha256" },
		{ "gptq: {kv-type: q9}\n",
		  "r: line 1, column 17: 'q9' is not a type of the cache" },
		{ "gptq: {kv-type: 'f16,'}\n",
		  "r: line 1, column 17: 'f16,' is not a type of the cache" },
		{ "gptq: {kv-type: 'f16,f32,f16'}\n",
		  "r: line 1, column 17: 'f16,f32,f16' is not a type of the cache" },
		{ "gptq: {act-type: f16}\n",
		  "r: line 1, column 18: 'f16' is not a type of activations" },
		{ "tensors: {a: {method: rtn}}\n",
		  "r: line 1, column 14: a tensor needs the key type" },
		{ "tensors: {a: {type: F16, tipe: 3}}\n",
		  "r: line 1, column 26: 'tipe' is not a key here" },
		{ "tensors: {a: [F16]}\n", "r: line 1, column 14: not a text" },
		{ "calibration: {window: 64}\n",
		  "r: line 1, column 14: calibration needs the key sha256" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refused(cases[i].text, INFER_EFORMAT, cases[i].want);
	refused("infer-recipe: 2\n", INFER_EUNSUP,
	        "r: line 1, column 15: version 2 of recipes is not supported");
	refused("tensors: {a: {type: F16, method: luck}}\n", INFER_EUNSUP,
	        "r: line 1, column 34: 'luck' is not a method");
	refused("method: luck\n", INFER_EUNSUP, "r: line 1, column 9: 'luck' is not a method");
}

static void test_not_utf8(void **state)
{
	infer_recipe *r = NULL;
	infer_error err = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, MEM_QUANT);
	assert_int_equal(recipe_make(&r, mix_find("F16"), "\xff", NULL, 0, NULL), INFER_OK);
	assert_int_equal(recipe_text(&b, r, &err), INFER_EINVAL);
	assert_string_equal(err.message, "a string in the recipe must be UTF-8");
	infer_recipe_free(r);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_canonical),        nth_case(case_info),
		nth_case(case_options),          cmocka_unit_test(test_refused),
		cmocka_unit_test(test_not_utf8),
	};

	return nth_group(tests);
}
