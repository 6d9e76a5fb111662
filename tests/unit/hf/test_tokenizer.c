/* tests/unit/hf/test_tokenizer.c - tokenizer.json: ids and decoded texts compared with those of the package
 * tokenizers (tests/golden/hf/tokenizer, made by scripts/golden-hf-tokens.py), and the keys that it
 * becomes. */
#include "../nth.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infer/token.h>
#include "../../tools/hfvocab.h"
#include "base/buf.h"
#include "base/jread.h"
#include "tokenizer_json.h"

#define GOLDEN "tests/golden/hf/tokenizer/"

static char *slurp(struct arena *a, const char *name, size_t *n)
{
	char path[160], part[4096];
	struct buf b;
	size_t k;

	snprintf(path, sizeof path, GOLDEN "%s", name);
	FILE *f = fopen(path, "rb");
	if (!f)
		fail_msg("%s is missing", path);
	buf_init(&b, MEM_TEXT);
	while ((k = fread(part, 1, sizeof part, f)))
		buf_put(&b, part, k);
	fclose(f);
	*n = b.len;
	char *s = arena_strndup(a, b.at, b.len);
	buf_fini(&b);
	return s;
}

/* ---- ids and texts of another program */

static void same_ids(const infer_tokenizer *t, const char *file, const struct json *text,
                     const struct json *want)
{
	infer_error err;
	int32_t *ids;
	size_t n, i = 0;

	if (infer_encode(t, text->s, text->n, INFER_ENCODE_SPECIAL, &ids, &n, &err))
		fail_msg("%s: %s", file, err.message);
	json_each(v, want) {
		if (i >= n || ids[i] != v->i)
			fail_msg("%s: %.*s: id %zu is %d, not %d", file, (int)text->n, text->s, i,
			         i < n ? ids[i] : -1, (int)v->i);
		i++;
	}
	if (i != n)
		fail_msg("%s: %.*s: %zu ids, not %zu", file, (int)text->n, text->s, n, i);
	infer_ids_free(ids);
}

static void same_text(const infer_tokenizer *t, const char *file, const struct json *ids,
                      const struct json *want)
{
	infer_detok *d;
	struct buf b;
	const char *s;
	size_t n;

	buf_init(&b, MEM_TEXT);
	assert_false(infer_detok_new(&d, t, INFER_DECODE_SPECIAL, -1, NULL));
	json_each(v, ids) {
		assert_false(infer_detok_put(d, (int32_t)v->i, &s, &n, NULL));
		buf_put(&b, s, n);
	}
	assert_false(infer_detok_end(d, &s, &n, NULL));
	buf_put(&b, s, n);
	infer_detok_free(d);
	if (b.len != want->n || (b.len && memcmp(b.at, want->s, b.len)))
		fail_msg("%s: decoded to \"%.*s\", not \"%.*s\"", file, (int)b.len, b.at,
		         (int)want->n, want->s);
	buf_fini(&b);
}

static void test_golden(void **state)
{
	const struct json *all;
	struct arena a;
	size_t n;
	int cases = 0, texts = 0;

	(void)state;
	arena_init(&a, MEM_TEXT);
	char *s = slurp(&a, "ids.json", &n);
	assert_false(jread(&all, &a, s, n, "ids.json", NULL));
	json_each(c, json_get(all, "cases")) {
		const char *file = json_cstr(&a, json_get(c, "file"));
		const struct json *ids = json_first(json_get(c, "ids")),
				  *back = json_first(json_get(c, "decoded"));
		struct hfvocab o;
		infer_tokenizer *t;
		infer_error err;
		s = slurp(&a, file, &n);
		if (hfvocab_text(&o, s, n, NULL, &err) || infer_tokenizer_open(&t, o.file, &err))
			fail_msg("%s: %s", file, err.message);
		json_each(text, json_get(all, "texts")) {
			same_ids(t, file, text, ids);
			if (json_is_string(back))
				same_text(t, file, ids, back);
			ids = ids->next;
			back = back->next;
			texts++;
		}
		infer_tokenizer_close(&t);
		hfvocab_close(&o);
		cases++;
	}
	arena_fini(&a);
	assert_true(cases >= 24 && texts >= cases * 30);
}

/* ---- keys */

static void key_is(const infer_file *f, const char *key, const char *want)
{
	struct infer_str s = { 0 };
	int found;

	assert_false(infer_meta_str(f, key, &s, &found, NULL));
	if (!want ? found : !found || s.len != strlen(want) || memcmp(s.at, want, s.len))
		fail_msg("%s is \"%.*s\", not \"%s\"", key, (int)s.len, found ? s.at : "", want);
}

static void token_is(const infer_file *f, uint64_t i, const char *want, int32_t type)
{
	const struct infer_meta *m = infer_file_meta(f, "tokenizer.ggml.tokens"),
				*types = infer_file_meta(f, "tokenizer.ggml.token_type");
	struct infer_str s;
	const void *at;
	int32_t have;

	assert_non_null(m);
	assert_non_null(types);
	assert_false(infer_meta_str_at(f, m, i, &s, NULL));
	if (s.len != strlen(want) || memcmp(s.at, want, s.len))
		fail_msg("token %d is \"%.*s\", not \"%s\"", (int)i, (int)s.len, s.at, want);
	assert_false(infer_meta_array(f, types, INFER_META_I32, i, 1, &have, &at, NULL));
	memcpy(&have, at, sizeof have);
	assert_int_equal(have, type);
}

static void open_ok(struct hfvocab *o, const char *json, const char *config)
{
	infer_error err;

	if (hfvocab_text(o, json, strlen(json), config, &err))
		fail_msg("%s", err.message);
}

/* What the converter writes, and nothing of our own where that says all. */
static void test_plain(void **state)
{
	struct hfvocab o;
	const struct infer_meta *m;
	struct infer_str s;

	(void)state;
	open_ok(&o,
	        FILE_OF(ADDED(5, "<|end|>", "\"special\":false") "," ADDED(6, "<x>",
	                                                                   "\"special\":false"),
	                "null", PRE, BPE VOCAB),
	        "{\"vocab_size\":8}");
	key_is(o.file, "tokenizer.ggml.model", "gpt2");
	key_is(o.file, "tokenizer.ggml.pre", "dbrx");
	key_is(o.file, "tokenizer.infer.model", NULL);
	token_is(o.file, 2, "ab", 1);
	token_is(o.file, 3, "\xc4\xa0", 1);
	token_is(o.file, 4, "[PAD4]", 5);
	token_is(o.file, 5, "<|end|>", 3);
	token_is(o.file, 6, "<x>", 4);
	token_is(o.file, 7, "[PAD7]", 5);
	m = infer_file_meta(o.file, "tokenizer.ggml.merges");
	assert_non_null(m);
	assert_int_equal(m->count, 1);
	assert_false(infer_meta_str_at(o.file, m, 0, &s, NULL));
	assert_memory_equal(s.at, "a b", 3);
	hfvocab_close(&o);

	/* merges as pairs; a word that is a token stays whole */
	open_ok(&o,
	        FILE_OF("", "null", PRE,
	                BPE "\"ignore_merges\":true,\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"
	                    "\"merges\":[[\"a\",\"b\"]]"),
	        NULL);
	key_is(o.file, "tokenizer.ggml.pre", "llama-bpe");
	key_is(o.file, "tokenizer.infer.model", NULL);
	hfvocab_close(&o);
}

/* The names of expressions, however they are written; another one is kept as a list of steps. */
static void test_names(void **state)
{
	static const struct {
		const char *pre, *name;
		int own;
	} row[] = {
		{ "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT(CL("")) "," BYTES "]}",
		  "qwen2", 0 },
		{ "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}", "gpt-2",
		  0 },
		{ "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":true}",
		  "default", 1 },
		{ "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_"
		  "digits\":true},"
		  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}",
		  "starcoder", 0 },
		{ "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT("\\\\p{N}{1,3}") "," SPLIT(
			  "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-"
			  "\xe3\x83\xbf]+") "," BYTES "]}",
		  "default", 1 },
		{ "{\"type\":\"Sequence\",\"pretokenizers\":[" SPLIT("x|y") "," BYTES "]}",
		  "default", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct hfvocab o;
		infer_error err;
		char json[4096];
		int n = snprintf(json, sizeof json,
		                 "{\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":%s,"
		                 "\"model\":{" BPE VOCAB "}}",
		                 row[i].pre);
		if (hfvocab_text(&o, json, (size_t)n, NULL, &err))
			fail_msg("%s", err.message);
		key_is(o.file, "tokenizer.ggml.pre", row[i].name);
		assert_int_equal(infer_file_meta(o.file, "tokenizer.infer.model") != NULL,
		                 row[i].own);
		hfvocab_close(&o);
	}
}

/* Bytes and words as their readers of GGUF expect them. */
static void test_kinds(void **state)
{
	struct hfvocab o;

	(void)state;
	open_ok(&o,
	        FILE_OF(ADDED(0, "<unk>", "\"special\":true") "," ADDED(
				5, "\xe2\x96\x81\xe2\x96\x81", "\"special\":false"),
	                "{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"}", "null",
	                "\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":{\"<unk>\":0,\"<0x0A>\":"
	                "1,\"a\":2,\"b\":3,"
	                "\"ab\":4},\"merges\":[\"a b\"]"),
	        NULL);
	key_is(o.file, "tokenizer.ggml.model", "llama");
	token_is(o.file, 0, "<unk>", 3);
	token_is(o.file, 1, "<0x0A>", 6);
	token_is(o.file, 5, "\xe2\x96\x81\xe2\x96\x81", 4);
	key_is(o.file, "tokenizer.infer.normalizer",
	       "{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"}");
	hfvocab_close(&o);

	open_ok(&o,
	        FILE_OF(ADDED(1, "[CLS]", "\"special\":true"),
	                "{\"type\":\"BertNormalizer\",\"lowercase\":false}",
	                "{\"type\":\"BertPreTokenizer\"}",
	                "\"type\":\"WordPiece\",\"unk_token\":\"a\",\"continuing_subword_prefix\":"
	                "\"##\","
	                "\"max_input_chars_per_word\":100,\"vocab\":{\"a\":0,\"[CLS]\":1,\"##b\":"
	                "2}"),
	        NULL);
	key_is(o.file, "tokenizer.ggml.model", "bert");
	token_is(o.file, 0,
	         "\xe2\x96\x81"
	         "a",
	         1);
	token_is(o.file, 1, "[CLS]", 3);
	token_is(o.file, 2, "b", 1);
	hfvocab_close(&o);
}

/* Gemma 4 has a name of its own for such a vocabulary, and shows some of its control tokens. */
static void test_gemma4(void **state)
{
	extern const struct arch arch_gemma4;
	static const char json[] = FILE_OF(ADDED(2, "<|tool_call>", "\"special\":true") "," ADDED(
						   3, "<|turn>", "\"special\":true"),
	                                   "null", "null",
	                                   "\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":{"
	                                   "\"a\":0,\"<0x0A>\":1},\"merges\":[]");
	struct hfvocab o;

	(void)state;
	hfvocab_init(&o, "DIR");
	o.d.arch = &arch_gemma4;
	o.d.tokenizer = (struct hf_text){ "tokenizer.json", json, sizeof json - 1 };
	assert_false(hfvocab_make(&o.d, NULL));
	assert_false(infer_file_open_bytes(&o.file, o.d.head.at, o.d.head.len, "DIR", NULL));
	key_is(o.file, "tokenizer.ggml.model", "gemma4");
	token_is(o.file, 1, "<0x0A>", 6);
	token_is(o.file, 2, "<|tool_call>", 4);
	token_is(o.file, 3, "<|turn>", 3);
	hfvocab_close(&o);
}

static void test_unigram(void **state)
{
	struct hfvocab o;
	const struct infer_meta *m;
	float score[5];
	const void *at;

	(void)state;
	/* "AAAA" is a charsmap of three bytes */
	open_ok(&o,
	        FILE_OF(ADDED(3, "<x>", "\"special\":false"),
	                "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}", "null",
	                "\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0.0],[\"a\",-1.5],"
	                "[\"b\",-2.1]]"),
	        "{\"vocab_size\":5}");
	key_is(o.file, "tokenizer.ggml.model", "t5");
	token_is(o.file, 0, "<unk>", 2);
	token_is(o.file, 4, "[PAD4]", 5);
	m = infer_file_meta(o.file, "tokenizer.ggml.scores");
	assert_non_null(m);
	assert_false(infer_meta_array(o.file, m, INFER_META_F32, 0, 5, score, &at, NULL));
	assert_memory_equal(at, ((const float[]){ 0, -1.5F, -2.1F, 0, -10000 }), sizeof score);
	/* -2.1 is no float */
	assert_non_null(infer_file_meta(o.file, "tokenizer.infer.scores"));
	m = infer_file_meta(o.file, "tokenizer.ggml.precompiled_charsmap");
	assert_true(m && m->count == 3);
	key_is(o.file, "tokenizer.infer.normalizer", "{\"type\":\"Precompiled\"}");
	hfvocab_close(&o);
}

/* Flags of tokenizer_config.json count, and its tokens that tokenizer.json lacks are added: so does
 * transformers 5. */
static void test_config(void **state)
{
	static const char json[] =
		FILE_OF(ADDED(4, "<x>", "\"special\":false"), "null", PRE, BPE VOCAB);
	static const struct {
		const char *config;
		int code;
		const char *says;
	} bad[] = {
		{ "{\"added_tokens_decoder\":[]}", INFER_EFORMAT,
		  "added_tokens_decoder must be an object" },
		{ "{\"added_tokens_decoder\":{\"x\":{\"content\":\"a\"}}}", INFER_EFORMAT,
		  "added_tokens_decoder[0]" },
		{ "{\"added_tokens_decoder\":{\"4\":{\"content\":\"<y>\"}}}", INFER_EFORMAT,
		  "two tokens have id 4" },
		{ "{\"added_tokens_decoder\":{\"5\":{\"content\":\"a\"}}}", INFER_EFORMAT,
		  "a has id 5, but id 0" },
		{ "{\"added_tokens_decoder\":{\"4\":{\"content\":\"<x>\",\"z\":1}}}", INFER_EUNSUP,
		  "member z" },
	};
	struct hfvocab o;
	infer_tokenizer *t;
	int32_t *ids;
	size_t n;

	(void)state;
	assert_false(hfvocab_texts(
		&o, json, sizeof json - 1, NULL,
		"{\"added_tokens_decoder\":{\"4\":{\"content\":\"<x>\",\"lstrip\":true,\"special\":"
		"true},"
		"\"6\":{\"content\":\"<y>\"},\"1\":{\"content\":\"b\",\"special\":true}}}",
		NULL));
	token_is(o.file, 4, "<x>", 3);
	token_is(o.file, 5, "[PAD5]", 5);
	token_is(o.file, 6, "<y>", 4);
	token_is(o.file, 1, "b", 3);
	assert_false(infer_tokenizer_open(&t, o.file, NULL));
	assert_false(infer_encode(t, "a  <x>a<y>", 10, INFER_ENCODE_SPECIAL, &ids, &n, NULL));
	assert_int_equal(n, 4);
	assert_memory_equal(ids, ((const int32_t[]){ 0, 4, 0, 6 }), 4 * sizeof *ids);
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	hfvocab_close(&o);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		infer_error err = { 0 };
		int rc = hfvocab_texts(&o, json, sizeof json - 1, NULL, bad[i].config, &err);
		if (rc != bad[i].code || !strstr(err.message, bad[i].says) ||
		    strncmp(err.message, "DIR/tokenizer_config.json: ", 27))
			fail_msg("row %zu: %d \"%s\"", i, rc, err.message);
		hfvocab_close(&o);
	}
}

/* ---- templates */

static void encodes(const char *json, uint32_t flags, const int32_t *want, size_t n_want)
{
	struct hfvocab o;
	infer_tokenizer *t;
	int32_t *ids;
	size_t n;

	open_ok(&o, json, NULL);
	assert_false(infer_tokenizer_open(&t, o.file, NULL));
	assert_false(infer_encode(t, "a", 1, flags, &ids, &n, NULL));
	assert_int_equal(n, n_want);
	assert_memory_equal(ids, want, n * sizeof *ids);
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	hfvocab_close(&o);
}

/* More tokens around a text than GGUF has flags for. */
static void test_template(void **state)
{
	static const char two[] = TEMPLATE(PIECE("x") "," TEXT "," PIECE("y"));
	static const char after[] = TEMPLATE(TEXT "," PIECE("y") "," PIECE("y"));
	struct hfvocab o;
	infer_tokenizer *t;
	int32_t *ids;
	size_t n, second;

	(void)state;
	encodes(two, INFER_ENCODE_ADD, (const int32_t[]){ 2, 3, 0, 1 }, 4);
	encodes(two, 0, (const int32_t[]){ 0 }, 1);
	encodes(after, INFER_ENCODE_ADD, (const int32_t[]){ 0, 1, 1 }, 3);
	open_ok(&o, TEMPLATE(PIECE("y") "," TEXT "," PIECE("y")), NULL);
	assert_null(infer_file_meta(o.file, "tokenizer.infer.prefix"));
	hfvocab_close(&o);
	open_ok(&o, two, NULL);
	assert_false(infer_tokenizer_open(&t, o.file, NULL));
	assert_false(infer_encode_pair(t, (struct infer_str){ "a", 1 },
	                               (struct infer_str){ "b", 1 }, &ids, &n, &second, NULL));
	assert_int_equal(n, 6);
	assert_int_equal(second, 4);
	assert_memory_equal(ids, ((const int32_t[]){ 2, 3, 0, 1, 1, 1 }), 6 * sizeof *ids);
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	hfvocab_close(&o);
}

/* ---- without memory */

static int case_memory(void)
{
	static const char text[] = FILE_OF(
		ADDED(4, "<x>", "\"special\":true"),
		"{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":\"Replace\","
		"\"pattern\":{\"Regex\":\"c+\"},\"content\":\"b\"}]}",
		PRE, BPE VOCAB);
	struct hfvocab o;
	infer_tokenizer *t = NULL;
	int32_t *ids = NULL;
	size_t n;
	int rc;

	nth_ok(hfvocab_text(&o, text, sizeof text - 1, "{\"vocab_size\":7}", NULL));
	nth_ok(infer_tokenizer_open(&t, o.file, NULL));
	nth_ok(infer_encode(t, "ac\xcc\xa7 <x>b", 9, INFER_ENCODE_SPECIAL, &ids, &n, NULL));
out:
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	hfvocab_close(&o);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),   cmocka_unit_test(test_plain),
		cmocka_unit_test(test_names),    cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_unigram),  cmocka_unit_test(test_gemma4),
		cmocka_unit_test(test_template), cmocka_unit_test(test_config),

		nth_case(case_memory),
	};

	return nth_group(tests);
}
