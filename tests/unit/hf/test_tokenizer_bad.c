/* tests/unit/hf/test_tokenizer_bad.c - tokenizer.json that is refused, each file by its member; damaged
 * files; and keys of our own in a hostile GGUF file. */
#include "../nth.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infer/token.h>
#include "../../tools/hfvocab.h"
#include "tokenizer_json.h"

struct refused {
	const char *json, *config;
	int code;
	const char *says;
};

#define EFORMAT INFER_EFORMAT
#define EUNSUP INFER_EUNSUP
#define MODEL(m) FILE_OF("", "null", PRE, m)
#define NORM(n) FILE_OF("", n, "null", BPE VOCAB)
#define PRETOK(p) FILE_OF("", "null", p, BPE VOCAB)
#define TOKENS(a) FILE_OF(a, "null", PRE, BPE VOCAB)
static const struct refused refused[] = {
	{ "", NULL, EFORMAT, "too early" },
	{ "{", NULL, EFORMAT, "too early" },
	{ "[]", NULL, EFORMAT, "'{' expected" },
	{ "{}", NULL, EFORMAT, "model.vocab is missing" },
	{ "{\"model\":{}}", NULL, EFORMAT, "model.vocab is missing" },
	{ "{\"model\":{\"vocab\":{}}}", NULL, EFORMAT, "model.vocab is empty" },
	{ "{\"model\":{\"vocab\":{\"a\":0}}} x", NULL, EFORMAT, "text after the end" },
	{ "{\"model\":{\"vocab\":{\"a\":0}},}", NULL, EFORMAT, "expected" },
	{ "{\"model\":{\"vocab\":{\"a\":0,}}}", NULL, EFORMAT, "expected" },
	{ "{\"model\":{\"vocab\":{\"\xff\":0}}}", NULL, EFORMAT, "not UTF-8" },
	{ "{\"model\":{\"vocab\":{\"\\ud800\":0}}}", NULL, EFORMAT, "escape" },
	{ "{\"model\":{\"vocab\":{\"\\x\":0}}}", NULL, EFORMAT, "escape" },
	{ "{\"model\":{\"vocab\":{\"a\n\":0}}}", NULL, EFORMAT, "control character" },
	{ "{\"model\":{\"vocab\":{\"a\":0},\"vocab\":{\"a\":0}}}", NULL, EFORMAT, "there twice" },
	{ "{\"model\":{\"vocab\":{\"a\":0}},\"model\":{}}", NULL, EFORMAT,
	  "member model is there twice" },
	{ "{\"modle\":1}", NULL, EUNSUP, "member modle is not supported" },
	{ "{\"padding\":[[[[[1]]]}", NULL, EFORMAT, "too early" },
	{ MODEL(BPE "\"vocab\":{\"a\":-1},\"merges\":[]"), NULL, EFORMAT,
	  "id of a must be a whole" },
	{ MODEL(BPE "\"vocab\":{\"a\":1.5},\"merges\":[]"), NULL, EFORMAT,
	  "id of a must be a whole" },
	{ MODEL(BPE "\"vocab\":{\"a\":\"x\"},\"merges\":[]"), NULL, EFORMAT, "a number expected" },
	{ MODEL(BPE "\"vocab\":{\"a\":1048576},\"merges\":[]"), NULL, EUNSUP, "a has id 1048576" },
	{ MODEL(BPE "\"vocab\":{\"a\":9223372036854775807},\"merges\":[]"), NULL, EUNSUP,
	  "model.vocab" },
	{ MODEL(BPE "\"vocab\":{\"a\":1e999},\"merges\":[]"), NULL, EFORMAT, "too large" },
	{ MODEL(BPE "\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]"), NULL, EFORMAT,
	  "two tokens have id 0" },
	{ MODEL(BPE "\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]"), NULL, EFORMAT,
	  "a is there twice" },
	{ MODEL(BPE "\"vocab\":[[\"a\",0]],\"merges\":[]"), NULL, EFORMAT, "model.vocab must be" },
	{ MODEL(BPE "\"vocab\":3,\"merges\":[]"), NULL, EFORMAT, "expected" },
	{ MODEL(BPE "\"vocab\":{\"a\":0}"), NULL, EFORMAT, "model.merges is missing" },
	{ MODEL(BPE "\"vocab\":{\"a\":0},\"merges\":{}"), NULL, EFORMAT, "model.merges" },
	{ MODEL(BPE "\"vocab\":{\"a\":0},\"merges\":[\"a\"]"), NULL, EFORMAT,
	  "model.merges[0] must be a pair" },
	{ MODEL(BPE "\"vocab\":{\"a\":0},\"merges\":[\"a a\",\"a b c\"]"), NULL, EFORMAT,
	  "model.merges[1]" },
	{ MODEL(BPE "\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"\"]]"), NULL, EFORMAT,
	  "model.merges[0]" },
	{ MODEL(BPE "\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"a\",\"a\"]]"), NULL, EFORMAT,
	  "']' expected" },
	{ MODEL(BPE "\"vocab\":{\"a\":0},\"merges\":[[\"a b\",\"a\"]]"), NULL, EUNSUP, "a space" },
	{ MODEL(BPE "\"vocab\":{\"a\":0},\"merges\":[1]"), NULL, EFORMAT, "'\"' expected" },
	/* those that a token is made from, or makes, are no tokens */
	{ MODEL(BPE "\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"a b\"]"), NULL, EFORMAT, "merges" },
	{ MODEL(BPE "\"vocab\":{\"a\":0,\"ab\":1},\"merges\":[\"a b\"]"), NULL, EFORMAT, "merges" },
	{ MODEL("\"type\":\"WordLevel\",\"vocab\":{\"a\":0}"), NULL, EUNSUP,
	  "model.type WordLevel" },
	{ MODEL("\"type\":\"BPE\",\"dropout\":0.1," VOCAB), NULL, EUNSUP, "model.dropout" },
	{ MODEL("\"type\":\"BPE\",\"bogus\":1," VOCAB), NULL, EUNSUP, "model.bogus" },
	{ MODEL("\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\"," VOCAB), NULL, EUNSUP,
	  "end_of_word_suffix" },
	{ MODEL("\"type\":\"BPE\",\"continuing_subword_prefix\":\"##\"," VOCAB), NULL, EUNSUP,
	  "continuing_subword" },
	{ MODEL("\"type\":\"BPE\",\"unk_token\":\"z\"," VOCAB), NULL, EFORMAT,
	  "model.unk_token z is not in the vocabulary" },
	{ MODEL("\"type\":\"BPE\",\"unk_token\":5," VOCAB), NULL, EFORMAT, "model.unk_token" },
	{ MODEL("\"type\":\"Unigram\",\"unk_id\":9,\"vocab\":[[\"a\",0]]"), NULL, EFORMAT,
	  "unk_id" },
	{ MODEL("\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",\"b\"]]"), NULL, EFORMAT,
	  "a number expected" },
	{ MODEL("\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\"]]"), NULL, EFORMAT,
	  "',' expected" },
	{ MODEL("\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",0],[\"a\",1]]"), NULL, EFORMAT,
	  "a is there twice" },
	{ MODEL(BPE VOCAB), "{\"vocab_size\":3}", EFORMAT, "vocab_size is 3" },
	{ MODEL(BPE VOCAB), "{\"vocab_size\":0}", EFORMAT, "vocab_size" },
	{ MODEL(BPE VOCAB), "{\"vocab_size\":1048577}", EUNSUP, "vocab_size is 1048577" },
	{ TOKENS("1"), NULL, EFORMAT, "added_tokens[0]" },
	{ TOKENS("{}"), NULL, EFORMAT, "added_tokens[0]" },
	{ TOKENS("{\"id\":5,\"content\":\"\"}"), NULL, EFORMAT, "added_tokens[0]" },
	{ TOKENS("{\"id\":-5,\"content\":\"x\"}"), NULL, EFORMAT, "added_tokens[0]" },
	{ TOKENS("{\"id\":1e9,\"content\":\"x\"}"), NULL, EFORMAT, "added_tokens[0]" },
	{ TOKENS("{\"id\":5,\"content\":\"x\",\"lstrip\":1}"), NULL, EUNSUP, "member lstrip" },
	{ TOKENS("{\"id\":5,\"content\":\"x\",\"bogus\":true}"), NULL, EUNSUP, "member bogus" },
	{ TOKENS("{\"id\":5,\"content\":\"a\"}"), NULL, EFORMAT, "a has id 5, but id 0" },
	{ TOKENS("{\"id\":0,\"content\":\"x\"}"), NULL, EFORMAT, "two tokens have id 0" },
	{ TOKENS("{\"id\":5,\"content\":\"x\"},{\"id\":5,\"content\":\"y\"}"), NULL, EFORMAT,
	  "two tokens have id 5" },
	{ TOKENS("{\"id\":0,\"content\":\"a\"},{\"id\":0,\"content\":\"a\"}"), NULL, EFORMAT,
	  "two tokens have id 0" },
	{ NORM("3"), NULL, EUNSUP, "normalizer.type" },
	{ NORM("{\"type\":\"Bogus\"}"), NULL, EUNSUP, "normalizer.type Bogus" },
	{ NORM("{\"type\":\"NFC\",\"x\":1}"), NULL, EUNSUP, "normalizer.NFC.x" },
	{ NORM("{\"type\":\"Strip\"}"), NULL, EUNSUP, "normalizer.Strip.strip_left" },
	{ NORM("{\"type\":\"Prepend\"}"), NULL, EUNSUP, "normalizer.Prepend.prepend" },
	{ NORM("{\"type\":\"Replace\",\"content\":\"x\"}"), NULL, EUNSUP,
	  "normalizer.Replace.pattern" },
	{ NORM("{\"type\":\"Replace\",\"content\":\"x\",\"pattern\":{\"String\":\"\"}}"), NULL,
	  EUNSUP, "Replace.pattern" },
	{ NORM("{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"}}"), NULL, EUNSUP,
	  "Replace.content" },
	{ NORM("{\"type\":\"Replace\",\"content\":\"x\",\"pattern\":{\"Regex\":\"\\\\w\"}}"), NULL,
	  EUNSUP, "an escape" },
	{ NORM("{\"type\":\"Replace\",\"content\":\"x\",\"pattern\":{\"Regex\":\"(\"}}"), NULL,
	  EUNSUP, "normalizer" },
	{ NORM("{\"type\":\"BertNormalizer\",\"strip_accents\":1}"), NULL, EUNSUP,
	  "strip_accents" },
	{ NORM("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"}"), NULL, EFORMAT,
	  "must be base64" },
	{ NORM("{\"type\":\"Precompiled\"}"), NULL, EFORMAT, "must be base64" },
	{ NORM("{\"type\":\"Sequence\"}"), NULL, EUNSUP, "normalizers" },
	{ NORM("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Sequence\",\"normalizers\":[{"
	       "\"type\":\"Sequence\","
	       "\"normalizers\":[{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Sequence\","
	       "\"normalizers\":[]}]}]}]}]}"),
	  NULL, EUNSUP, "normalizer.Sequence.normalizers" },
	{ TEMPLATE(PIECE("x")), NULL, EUNSUP, "must have one sequence, not 0" },
	{ TEMPLATE(TEXT "," PIECE("x") "," TEXT), NULL, EUNSUP, "must have one sequence, not 2" },
	{ TEMPLATE(PIECE("z") "," TEXT), NULL, EFORMAT, "no ids for z" },
	{ TEMPLATE("3," TEXT), NULL, EFORMAT, "post_processor.special_tokens" },
	{ PRETOK("{\"type\":\"UnicodeScripts\"}"), NULL, EUNSUP,
	  "pre_tokenizer.type UnicodeScripts" },
	{ PRETOK("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\"},\"behavior\":\"Sometimes\","
	         "\"invert\":false}"),
	  NULL, EUNSUP, "pre_tokenizer.Split.behavior" },
	{ PRETOK("{\"type\":\"Split\",\"pattern\":\"a\",\"behavior\":\"Isolated\",\"invert\":"
	         "false}"),
	  NULL, EUNSUP, "pre_tokenizer.Split.pattern" },
	{ PRETOK("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[:alpha:]]\"},\"behavior\":"
	         "\"Isolated\",\"invert\":false}"),
	  NULL, EUNSUP, "brackets in brackets" },
	{ PRETOK("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a{2}+\"},\"behavior\":\"Isolated\","
	         "\"invert\":false}"),
	  NULL, EUNSUP, "{n}+" },
	{ PRETOK("{\"type\":\"Metaspace\",\"replacement\":\" \"}"), NULL, EUNSUP,
	  "Metaspace.replacement" },
	{ PRETOK("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"often\"}"),
	  NULL, EUNSUP, "prepend_scheme" },
	{ PRETOK("{\"type\":\"Digits\",\"individual_digits\":1}"), NULL, EUNSUP,
	  "Digits.individual_digits" },
	{ "{\"decoder\":{\"type\":\"Bogus\"},\"model\":{\"type\":\"BPE\",\"byte_fallback\":"
	  "true," VOCAB "}}",
	  NULL, EUNSUP, "decoder.Bogus" },
	{ "{\"decoder\":{\"type\":\"Strip\",\"content\":\"x\",\"start\":1,\"stop\":0},\"model\":{"
	  "\"type\":\"BPE\","
	  "\"byte_fallback\":true," VOCAB "}}",
	  NULL, EUNSUP, "decoder.Strip" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		const struct refused *r = &refused[i];
		struct hfvocab o;
		infer_tokenizer *t = NULL;
		infer_error err = { 0 };
		int rc = hfvocab_text(&o, r->json, strlen(r->json), r->config, &err);
		if (!rc)
			rc = infer_tokenizer_open(&t, o.file, &err);
		if (rc != r->code || !strstr(err.message, r->says) ||
		    strncmp(err.message, "DIR", 3))
			fail_msg("row %zu: %d \"%s\", not %d \"%s\": %s", i, rc, err.message,
			         r->code, r->says, r->json);
		infer_tokenizer_close(&t);
		hfvocab_close(&o);
	}
}

/* ---- keys of our own in a hostile GGUF file */

static void put_prefix_scalar(struct gguf_write *w)
{
	gguf_write_u32(w, "tokenizer.infer.prefix", 1);
}

static void put_prefix(struct gguf_write *w)
{
	gguf_write_array(w, "tokenizer.infer.prefix", INFER_META_I32, 2, (const int32_t[]){ 0, 9 },
	                 8);
}

static void put_model(struct gguf_write *w)
{
	gguf_write_str(w, "tokenizer.infer.model", "{\"type\":", 8);
}

static void put_other(struct gguf_write *w)
{
	gguf_write_str(w, "tokenizer.infer.model", "{\"type\":\"X\"}", 12);
}

static void put_arrays(struct gguf_write *w, int32_t id, uint64_t n_flags, int type)
{
	static const char text[] = "\1\0\0\0\0\0\0\0x";

	gguf_write_array(w, "tokenizer.infer.added.ids", INFER_META_I32, 1, &id, sizeof id);
	gguf_write_array(w, "tokenizer.infer.added.flags", type, n_flags, "\1\1\1\1\1\1\1\1",
	                 n_flags * (type == INFER_META_U8 ? 1 : 4));
	gguf_write_array(w, "tokenizer.infer.added.content", INFER_META_STR, 1, text, 9);
}

static void put_flags(struct gguf_write *w) { put_arrays(w, 0, 2, INFER_META_U8); }
static void put_types(struct gguf_write *w) { put_arrays(w, 0, 1, INFER_META_I32); }
static void put_id(struct gguf_write *w) { put_arrays(w, 4, 1, INFER_META_U8); }
static void put_right(struct gguf_write *w) { put_arrays(w, 3, 1, INFER_META_U8); }

static void test_hostile_keys(void **state)
{
	static const struct {
		void (*put)(struct gguf_write *w);
		int code;
		const char *says;
	} row[] = {
		{ put_prefix_scalar, EFORMAT, "tokenizer.infer.prefix must be an array" },
		{ put_prefix, EFORMAT, "tokenizer.infer.prefix: 9 is not a token" },
		{ put_model, EFORMAT, "tokenizer.infer.model" },
		{ put_other, EUNSUP, "tokenizer.infer.model is of no known model" },
		{ put_flags, EFORMAT, "tokenizer.infer.added.* are not arrays of one length" },
		{ put_types, EFORMAT, "tokenizer.infer.added.* are not arrays of one length" },
		{ put_id, EFORMAT, "tokenizer.infer.added.ids: 4 is not a token" },
		{ put_right, INFER_OK, "" },
	};
	static const char json[] = MODEL(BPE VOCAB);

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct hfvocab o;
		infer_tokenizer *t;
		infer_error err = { 0 };
		hfvocab_init(&o, "DIR");
		o.d.tokenizer = (struct hf_text){ "tokenizer.json", json, sizeof json - 1 };
		assert_false(gguf_write_new(&o.d.keys, "DIR", NULL));
		assert_false(hf_tokenizer(&o.d, NULL));
		row[i].put(o.d.keys);
		assert_false(gguf_write_head(o.d.keys, &o.d.head, NULL));
		assert_false(
			infer_file_open_bytes(&o.file, o.d.head.at, o.d.head.len, "DIR", NULL));
		int rc = infer_tokenizer_open(&t, o.file, &err);
		if (rc != row[i].code || !strstr(err.message, row[i].says))
			fail_msg("row %zu: %d \"%s\"", i, rc, err.message);
		infer_tokenizer_close(&t);
		hfvocab_close(&o);
	}
}

/* Every text that is cut off, and every byte changed: refused, or a vocabulary that can be used. */
static void test_damaged(void **state)
{
	static const char text[] = FILE_OF(
		ADDED(4, "<x>", "\"special\":true"),
		"{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":\"Prepend\","
		"\"prepend\":\"_\"}]}",
		PRE, BPE VOCAB);
	enum { N = sizeof text - 1 };
	int opened = 0, runs = 0;

	(void)state;
	for (size_t i = 0; i < 2 * N; i++) {
		char *copy = malloc(N + 1);
		struct hfvocab o;
		infer_tokenizer *t = NULL;
		int32_t *ids;
		size_t n, len = i < N ? i : N;
		assert_non_null(copy);
		memcpy(copy, text, N);
		if (i >= N)
			copy[i - N] = "\"}]{0x\xff"[i % 7];
		if (!hfvocab_text(&o, copy, len, NULL, NULL) &&
		    !infer_tokenizer_open(&t, o.file, NULL)) {
			opened++;
			if (!infer_encode(t, "ab <x> b", 8, INFER_ENCODE_SPECIAL, &ids, &n, NULL))
				infer_ids_free(ids);
		}
		infer_tokenizer_close(&t);
		hfvocab_close(&o);
		free(copy);
		runs++;
	}
	assert_true(opened > 20 && opened < runs / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_refused),
		                            cmocka_unit_test(test_damaged),
		                            cmocka_unit_test(test_hostile_keys) };

	return nth_group(tests);
}
