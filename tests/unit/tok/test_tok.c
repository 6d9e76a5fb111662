/* tests/unit/tok/test_tok.c - small vocabularies made by hand: what is refused, by name; added
 * tokens, spaces, defaults, ends of generation, and decoding. */
#include "../nth.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <infer/token.h>
#include "tok/tok.h"
#include "../file/make.h"

enum { SOME = 24 };

/* A vocabulary; what is NULL or 0 is left out. */
struct vocab {
	const char *model, *pre, *name;
	const char *tokens[SOME];
	float scores[SOME];
	int32_t types[SOME];
	const char *merges[SOME];
	const char *id_key[4];
	uint32_t id[4];
	const char *flag_key[4];
	uint8_t flag[4];
	int n_scores, n_types, n_merges; /* -1: as many as there are; else so many */
	const unsigned char *charsmap;
	uint32_t charsmap_n;
};

static int count(const char *const *s)
{
	int n = 0;

	while (n < SOME && s[n])
		n++;
	return n;
}

static void strings(struct make *m, const char *key, const char *const *s, int n)
{
	make_array(m, key, INFER_META_STR, (uint64_t)n);
	for (int i = 0; i < n; i++)
		make_str(m, s[i]);
}

static void numbers(struct make *m, const char *key, uint32_t type, const void *v, int n)
{
	make_array(m, key, type, (uint64_t)n);
	make_put(m, v, 4 * (size_t)n);
}

static void build(struct make *m, const struct vocab *v)
{
	int n = count(v->tokens), keys = 0;

	make_head(m, 0, 0);
	keys += v->model ? (make_key_str(m, "tokenizer.ggml.model", v->model), 1) : 0;
	keys += v->pre ? (make_key_str(m, "tokenizer.ggml.pre", v->pre), 1) : 0;
	keys += v->name ? (make_key_str(m, "general.name", v->name), 1) : 0;
	keys += n ? (strings(m, "tokenizer.ggml.tokens", v->tokens, n), 1) : 0;
	if (v->n_scores)
		keys += (numbers(m, "tokenizer.ggml.scores", INFER_META_F32, v->scores,
		                 v->n_scores < 0 ? n : v->n_scores),
		         1);
	if (v->n_types)
		keys += (numbers(m, "tokenizer.ggml.token_type", INFER_META_I32, v->types,
		                 v->n_types < 0 ? n : v->n_types),
		         1);
	if (v->n_merges)
		keys += (strings(m, "tokenizer.ggml.merges", v->merges,
		                 v->n_merges < 0 ? count(v->merges) : v->n_merges),
		         1);
	for (int i = 0; i < 4 && v->id_key[i]; i++, keys++)
		make_key_u32(m, v->id_key[i], v->id[i]);
	for (int i = 0; i < 4 && v->flag_key[i]; i++, keys++) {
		make_key(m, v->flag_key[i], INFER_META_BOOL);
		make_put(m, &v->flag[i], 1);
	}
	if (v->charsmap_n) {
		make_array(m, "tokenizer.ggml.precompiled_charsmap", INFER_META_U8, v->charsmap_n);
		make_put(m, v->charsmap, v->charsmap_n);
		keys++;
	}
	memcpy(m->at + 16, &(uint64_t){ (uint64_t)keys }, 8);
}

static int open_vocab(const struct vocab *v, struct make *m, infer_file **f, infer_tokenizer **t,
                      infer_error *err)
{
	build(m, v);
	int rc = infer_file_open_bytes(f, m->at, m->n, "v.gguf", err);
	return rc ? rc : infer_tokenizer_open(t, *f, err);
}

static const struct vocab spm = {
	.model = "llama",
	.tokens = { "<unk>", "<s>", "</s>", "<0x61>", "<0xFF>", "\xe2\x96\x81", "b", "c", "bc",
	            "\xe2\x96\x81"
	            "b",
	            "\xe2\x96\x81"
	            "bc",
	            "<ud>", "cc", "<ctl>", "<ctl>x" },
	.scores = { 0, 0, 0, 0, 0, -1, -2, -3, -4, -5, -6, 0, -7, 0, 0 },
	.types = { 2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 4, 5, 3, 3 },
	.n_scores = -1,
	.n_types = -1,
};

/* the bytes that the tests need: G\u0320 is a space, \u010a a newline */
static const struct vocab bpe = {
	.model = "gpt2",
	.pre = "gpt-2",
	.tokens = { "a", "b", "c", "\xc4\xa0", "\xc4\x8a", "ab",
	            "\xc4\xa0"
	            "ab",
	            "<|endoftext|>", "<|im_end|>", "<ud>", "\xc3\x83", "\xc2\xa9", "x y", "abc" },
	.types = { 1, 1, 1, 1, 1, 1, 1, 3, 3, 4, 1, 1, 4, 1 },
	.merges = { "a b", "\xc4\xa0 ab" },
	.n_types = -1,
	.n_merges = -1,
	.id_key = { "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id" },
	.id = { 7, 7 },
};

static const struct vocab wpm = {
	.model = "bert",
	.tokens = { "[PAD]", "[UNK]", "[CLS]", "[SEP]",
	            "\xe2\x96\x81"
	            "un",
	            "able",
	            "\xe2\x96\x81"
	            "able",
	            "\xe2\x96\x81,", "d", "\xe2\x96\x81\xe4\xb8\xad",
	            "\xe2\x96\x81"
	            "e" },
	.types = { 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1 },
	.n_types = -1,
	.id_key = { "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.cls_token_id",
	            "tokenizer.ggml.seperator_token_id" },
	.id = { 1, 2, 3 },
};

/* Ids of text as "1 2 3", or the failure's name. */
static void encodes(const struct vocab *v, const char *text, size_t n, uint32_t flags,
                    const char *want)
{
	static struct make m;
	infer_file *f = NULL;
	infer_tokenizer *t = NULL;
	infer_error err = { 0 };
	int32_t *ids;
	size_t k, at = 0;
	char got[512] = "";

	if (open_vocab(v, &m, &f, &t, &err))
		fail_msg("%s", err.message);
	int rc = infer_encode(t, text, n, flags, &ids, &k, &err);
	if (rc)
		snprintf(got, sizeof got, "%s", infer_status_name(rc));
	for (size_t i = 0; i < k; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "%s%d", i ? " " : "", ids[i]);
	if (strcmp(got, want))
		fail_msg("\"%.*s\" gives %s, not %s", (int)n, text, got, want);
	assert_true((ids == NULL) == (k == 0));
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	infer_file_close(&f);
}

static void text_is(const struct vocab *v, const char *text, uint32_t flags, const char *want)
{
	encodes(v, text, strlen(text), flags, want);
}

static void test_spm(void **state)
{
	const uint32_t special = INFER_ENCODE_SPECIAL, add = INFER_ENCODE_ADD;
	struct vocab v = spm;

	(void)state;
	text_is(&spm, "", 0, "");
	text_is(&spm, "", add, "1");
	text_is(&spm, "bc", 0, "10");
	text_is(&spm, " bc", 0, "5 10");
	text_is(&spm, "bc bc", add, "1 10 10");
	text_is(&spm, "a", 0, "5 3");
	encodes(&spm, "\xff", 1, 0, "5 4");
	text_is(&spm, "bcc", 0, "10 7"); /* "cc" is unused: it would join, and falls apart again */
	text_is(&spm, "cc", 0, "5 7 7");
	/* matched in plain text; the space comes behind added tokens too */
	text_is(&spm, "b<ud>b", 0, "9 11 9");
	text_is(&spm, "<ctl>x", special, "14"); /* the longest */
	text_is(&spm, "<ctl>b</s>", special, "13 9 2");
	text_is(&spm, "<ctl>", 0, "5 0 7 0"); /* plain text, the unknown parts one token each run */
	text_is(&spm, "d", 0, "5 0");
	v.flag_key[0] = "tokenizer.ggml.add_space_prefix";
	v.flag_key[1] = "tokenizer.ggml.add_bos_token";
	v.flag_key[2] = "tokenizer.ggml.add_eos_token";
	v.flag[2] = 1;
	text_is(&v, "bc", add, "8 2");
	v.flag_key[3] = "tokenizer.ggml.remove_extra_whitespaces";
	v.flag[3] = 1;
	text_is(&v, "  b   bc ", 0, "6 10");
}

static void test_bpe(void **state)
{
	const uint32_t special = INFER_ENCODE_SPECIAL, add = INFER_ENCODE_ADD;
	struct vocab v = bpe;

	(void)state;
	text_is(&bpe, "ab ab", 0, "5 6");
	text_is(&bpe, "abc", 0, "5 2"); /* no merge makes "abc" */
	v.pre = "llama-bpe";
	/* but this pre-tokenizer keeps a whole token, and adds BOS */
	text_is(&v, "abc", add, "7 13");
	text_is(&bpe, "\xc3\xa9", 0, "10 11");
	text_is(&bpe, "ab<|im_end|>\n", special, "5 8 4");
	text_is(&bpe, "c<ud>c", 0, "2 9 2");
	text_is(&bpe, "ax yb", 0, "0 12 1");
	text_is(&bpe, "<|im_end|>", 0, "INFER_EUNSUP"); /* no token for '<', no unknown one */
	v.pre = "jina-v1-en";
	v.id_key[2] = "tokenizer.ggml.seperator_token_id";
	v.id[2] = 8;
	text_is(&v, "a", add, "0 8");
	v.flag_key[0] = "tokenizer.ggml.add_eos_token";
	v.flag[0] = 1;
	text_is(&v, "a", add, "0 7"); /* one end is enough */
	v.flag_key[1] = "tokenizer.ggml.add_space_prefix";
	v.flag[1] = 1;
	text_is(&v, "ab", 0, "6");
}

static void test_wpm(void **state)
{
	char word[102];

	(void)state;
	text_is(&wpm, "Unable, ABLED", 0, "4 5 7 6 8");
	text_is(&wpm, "\xc3\x89 e\xcc\x81", 0, "10 10");
	text_is(&wpm,
	        "un"
	        "\xe4\xb8\xad"
	        "un",
	        0, "4 9 4");
	text_is(&wpm, "unx able", INFER_ENCODE_ADD, "2 1 6 3");
	text_is(&wpm, "u\xc2\xadn", 0, "4"); /* a format control is dropped */
	encodes(&wpm, "u\xffn", 3, 0, "4");
	text_is(&wpm, "[SEP]", 0, "1 1 1");
	text_is(&wpm, "un[SEP]", INFER_ENCODE_SPECIAL, "4 3");
	memset(word, 'd', sizeof word);
	memcpy(word, "un", 2);
	encodes(&wpm, word, 101, 0, "1"); /* more than 100 characters */
}

static void test_duplicates(void **state)
{
	struct vocab v = bpe;

	(void)state;
	v.tokens[13] = "ab"; /* of equal tokens the last counts, for merges too */
	text_is(&v, "ab", 0, "13");
	v.tokens[7] = "\xc4\xa0"
		      "ab";
	v.types[7] = 1;
	text_is(&v, "ab ab", 0, "13 7");
}

static void refused(struct vocab v, int code, const char *says)
{
	static struct make m;
	infer_file *f = NULL;
	infer_tokenizer *t = (infer_tokenizer *)&v;
	infer_error err = { 0 };

	build(&m, &v);
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, "v.gguf", NULL), INFER_OK);
	assert_int_equal(infer_tokenizer_open(&t, f, &err), code);
	assert_null(t);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say %s", err.message, says);
	infer_file_close(&f);
}

/* refused(v with one change, ...) */
#define BROKEN(base, change, code, says) \
	do { \
		struct vocab v = base; \
		change; \
		refused(v, code, says); \
	} while (0)

static void test_refused(void **state)
{
	static const unsigned char map[] = { 4, 0, 0, 0, 0, 0, 0, 0, 'x', 0 };
	static const unsigned char far_off[] = { 8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0x80, 'x', 0 };

	(void)state;
	BROKEN(spm, v.model = NULL, INFER_EUNSUP, "tokenizer.ggml.model");
	BROKEN(spm, v.model = "no_vocab", INFER_EUNSUP, "no tokenizer");
	BROKEN(spm, v.model = "rwkv", INFER_EUNSUP, "rwkv");
	BROKEN(bpe, v.pre = "my-own", INFER_EUNSUP, "my-own");
	BROKEN(spm, v.tokens[0] = NULL, INFER_EFORMAT, "tokenizer.ggml.tokens");
	BROKEN(spm, v.n_scores = 3, INFER_EFORMAT, "tokenizer.ggml.scores");
	BROKEN(spm, v.n_scores = 0, INFER_EFORMAT, "tokenizer.ggml.scores");
	BROKEN(spm, v.scores[5] = NAN, INFER_EFORMAT, "tokenizer.ggml.scores");
	BROKEN(spm, v.n_types = 16, INFER_EFORMAT, "tokenizer.ggml.token_type");
	BROKEN(spm, v.types[2] = 7, INFER_EFORMAT, "tokenizer.ggml.token_type");
	BROKEN(spm, v.types[2] = -1, INFER_EFORMAT, "tokenizer.ggml.token_type");
	BROKEN(spm, v.tokens[3] = "<0x6g>", INFER_EFORMAT, "tokenizer.ggml.tokens");
	BROKEN(spm, v.id_key[0] = "tokenizer.ggml.eot_token_id";
	       v.id[0] = 15, INFER_EFORMAT, "tokenizer.ggml.eot_token_id");
	BROKEN(spm, v.id_key[0] = "tokenizer.ggml.middle_token_id";
	       v.id[0] = UINT32_MAX, INFER_EFORMAT, "tokenizer.ggml.middle_token_id");
	BROKEN(bpe, v.n_merges = 0, INFER_EFORMAT, "tokenizer.ggml.merges");
	BROKEN(bpe, v.merges[1] = "\xc4\xa0 abc", INFER_EFORMAT, "merge 1");
	BROKEN(bpe, v.merges[0] = "z b", INFER_EFORMAT, "merge 0");
	BROKEN(bpe, v.merges[0] = "ab", INFER_EFORMAT, "merge 0");
	BROKEN(bpe, v.merges[0] = " b", INFER_EFORMAT, "merge 0");
	BROKEN(bpe, v.merges[0] = "", INFER_EFORMAT, "merge 0");
	BROKEN(bpe, v.id[1] = 14, INFER_EFORMAT, "tokenizer.ggml.eos_token_id");
	BROKEN(bpe, v.charsmap = map;
	       v.charsmap_n = sizeof map, INFER_EUNSUP, "precompiled_charsmap");
	BROKEN(wpm, v.charsmap = map;
	       v.charsmap_n = sizeof map, INFER_EUNSUP, "precompiled_charsmap");
	BROKEN(spm, v.charsmap = map; v.charsmap_n = 3, INFER_EFORMAT, "precompiled_charsmap");
	BROKEN(spm, v.charsmap = map; v.charsmap_n = 7, INFER_EFORMAT, "precompiled_charsmap");
	BROKEN(spm, v.charsmap = map; v.charsmap_n = 9, INFER_EFORMAT, "precompiled_charsmap");
	BROKEN(spm, v.charsmap = far_off;
	       v.charsmap_n = sizeof far_off, INFER_EFORMAT, "precompiled_charsmap");
}

static void test_ends(void **state)
{
	static struct make m;
	struct vocab v = { .model = "gpt2",
		           .tokens = { "<|end|>", "<|return|>", "<|call|>", "<|channel|>", "</s>",
		                       "<|tool_response>", "a", "<|eot_id|>" },
		           .types = { 3, 3, 3, 3, 3, 3, 1, 3 },
		           .n_types = -1,
		           .merges = { "a a" },
		           .n_merges = -1 };
	const int eog[] = { 0, 1, 1, 0, 0, 1, 1, 1, 0 };
	infer_file *f = NULL;
	infer_tokenizer *t = NULL;
	const char *s;
	size_t n;

	(void)state;
	v.tokens[8] = "aa";
	v.types[8] = 1;
	v.id_key[0] = "tokenizer.ggml.fim_pad_token_id";
	v.id[0] = 6;
	assert_int_equal(open_vocab(&v, &m, &f, &t, NULL), INFER_OK);
	for (int i = 0; i < 9; i++)
		assert_int_equal(infer_token_is_eog(t, i) != 0, eog[i]);
	assert_false(infer_token_is_eog(t, -1));
	assert_false(infer_token_is_eog(t, 9));
	assert_int_equal(infer_token_special(t, INFER_EOT), 7);
	assert_int_equal(infer_token_special(t, INFER_BOS), -1); /* the default, 11, is not there */
	assert_int_equal(infer_token_special(t, 99), -1);
	assert_int_equal(infer_token_bytes(t, 3, 0, &s, &n, NULL), INFER_OK);
	assert_int_equal(n, 11); /* part of an answer */
	assert_int_equal(infer_token_bytes(t, 1, 0, &s, &n, NULL), INFER_OK);
	assert_int_equal(n, 0);
	infer_tokenizer_close(&t);
	infer_file_close(&f);
}

/* What ids give in a stream, the parts joined by '|'. */
static void stream(const struct vocab *v, const char *ids, uint32_t flags, int32_t after,
                   const char *want)
{
	static struct make m;
	infer_file *f = NULL;
	infer_tokenizer *t = NULL;
	infer_detok *d;
	char got[256] = "", *end;
	const char *s;
	size_t n, at = 0;

	assert_int_equal(open_vocab(v, &m, &f, &t, NULL), INFER_OK);
	assert_int_equal(infer_detok_new(&d, t, flags, after, NULL), INFER_OK);
	for (long id = strtol(ids, &end, 10); end != ids; ids = end, id = strtol(ids, &end, 10)) {
		assert_int_equal(infer_detok_put(d, (int32_t)id, &s, &n, NULL), INFER_OK);
		memcpy(got + at, s ? s : "", n);
		at += n;
		got[at++] = '|';
	}
	assert_int_equal(infer_detok_end(d, &s, &n, NULL), INFER_OK);
	memcpy(got + at, s ? s : "", n);
	assert_string_equal(got, want);
	infer_detok_free(d);
	infer_tokenizer_close(&t);
	infer_file_close(&f);
}

/* Ids of text of which marks, as long, tells with a 1 what a conversation says. */
static void said(const struct vocab *v, const char *text, const char *marks, const char *want)
{
	static struct make m;
	infer_file *f = NULL;
	infer_tokenizer *t = NULL;
	unsigned char plain[64];
	char got[512] = "";
	int32_t *ids;
	size_t k, at = 0;

	assert_int_equal(strlen(text), strlen(marks));
	for (size_t i = 0; marks[i]; i++)
		plain[i] = marks[i] == '1';
	assert_int_equal(open_vocab(v, &m, &f, &t, NULL), INFER_OK);
	assert_int_equal(
		tok_encode(t, text, strlen(text), plain, INFER_ENCODE_SPECIAL, &ids, &k, NULL),
		INFER_OK);
	for (size_t i = 0; i < k; i++)
		at += (size_t)snprintf(got + at, sizeof got - at, "%s%d", i ? " " : "", ids[i]);
	assert_string_equal(got, want);
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	infer_file_close(&f);
}

/* No token that ends generation comes of what is said, whatever its type; the template's words may
 * hold it. */
static void test_said(void **state)
{
	struct vocab v = spm, u = bpe, w = wpm;

	(void)state;
	v.types[2] = 4; /* a user-defined </s>, as phi-3 has it */
	text_is(&v, "b</s>b", 0, "9 2 9");
	said(&v, "b</s>b", "000000", "9 2 9");
	said(&v, "b</s>b", "000001", "9 2 9");
	said(&v, "b</s>b", "111111", "9 0 6"); /* pieces that are unknown here */
	said(&v, "b</s>b", "000010", "9 0 6");
	said(&v, "b<ud>b", "111111", "9 11 9");
	said(&v, "<ctl>b<ctl>", "00000011111", "13 9 0 7 0");
	v.tokens[9] = "</s>x"; /* a longer one that does not end anything */
	v.types[9] = 4;
	said(&v, "</s>x</s>", "111110000", "9 2");
	said(&v, "</s>x</s>", "111111111", "9 5 0");
	v.types[2] = 1; /* or a piece like any other: merges may make it */
	v.tokens[3] = "<";
	v.tokens[4] = "</";
	v.tokens[12] = "</s";
	v.tokens[13] = "/";
	v.tokens[14] = "s>";
	v.types[3] = v.types[4] = v.types[12] = v.types[13] = v.types[14] = 1;
	text_is(&v, "</s>", 0, "5 2");
	said(&v, "</s>", "1111", "5 4 14");
	u.id[1] = 5; /* the end is what a merge makes, or a whole word */
	text_is(&u, "ab", 0, "5");
	said(&u, "ab", "00", "5");
	said(&u, "ab", "01", "0 1");
	u.pre = "llama-bpe";
	said(&u, "ab", "11", "0 1");
	w.id_key[3] = "tokenizer.ggml.eos_token_id";
	w.id[3] = 4;
	text_is(&w, "un", 0, "4");
	said(&w, "un", "11", "1");
	said(&w, "un", "00", "4");
}

/* Text that cannot be spelled becomes no token with a task of its own: nor do merges make one. */
static void test_unknown(void **state)
{
	struct vocab v = bpe, w = wpm;

	(void)state;
	v.tokens[10] = "\xc3\xaf"; /* the letters of U+FFFD's bytes */
	v.tokens[11] = "\xc2\xbf";
	v.tokens[13] = "\xc2\xbd";
	v.id_key[2] = "tokenizer.ggml.unknown_token_id";
	v.id[2] = 7; /* the end of text, as files of starcoder and mpt have it */
	text_is(&v, "a\xf1\x90", 0, "0 10 11 13 10 11 13");
	v.id[2] = 8; /* another control token */
	text_is(&v, "a<", 0, "0 10 11 13");
	v.types[8] = 2;
	v.tokens[8] = "<unk>";
	text_is(&v, "a<<", 0, "0 8");
	v = bpe;
	v.types[5] = 3; /* "ab", that the merge of a and b makes */
	text_is(&v, "ab", 0, "0 1");
	text_is(&v, "ab", INFER_ENCODE_SPECIAL, "5");
	v.types[5] = 1;
	v.types[0] = 3; /* a byte's letter that is a control token spells nothing */
	text_is(&v, "ba", 0, "INFER_EUNSUP");
	w.id_key[3] = "tokenizer.ggml.eos_token_id";
	w.id[3] = 1;
	text_is(&w, "x", 0, "INFER_EUNSUP");
}

static void test_detok(void **state)
{
	(void)state;
	stream(&spm, "10 10", 0, -1, "bc| bc|");
	stream(&spm, "10 10", 0, 10, " bc| bc|");
	stream(&spm, "10", 0, 1, "bc|"); /* behind BOS: as if nothing stood there */
	stream(&spm, "1 10", 0, -1, "|bc|");
	stream(&spm, "1 10 2", INFER_DECODE_SPECIAL, -1, "<s>|bc|</s>|");
	stream(&spm, "13 10", 0, -1, "| bc|");
	stream(&spm, "0 11", 0, -1, "|<ud>|");
	stream(&spm, "3 4", 0, -1, "a|\xff|"); /* no sequence begins so */
	stream(&bpe, "10 11 10 0", 0, -1,
	       "|\xc3\xa9||\xc3"
	       "a|"); /* held back until it is clear */
	stream(&bpe, "10", 0, -1, "|\xc3");
	stream(&bpe, "6 12 7", 0, -1, " ab|x y||");
	stream(&wpm, "2 4 5 7 6 3", 0, -1, "|un|able| ,| able||");
}

static void test_strips(void **state)
{
	struct vocab v = spm;

	(void)state;
	v.name = "Phi-3 mini";
	text_is(&v, "<ctl> \nb</s> b<s> b", INFER_ENCODE_SPECIAL, "13 9 2 9 1 5 9");
}

static void test_info(void **state)
{
	static struct make m;
	struct infer_token_info info;
	infer_file *f = NULL;
	infer_tokenizer *t = NULL;
	const char *s;
	size_t n;

	(void)state;
	assert_int_equal(open_vocab(&spm, &m, &f, &t, NULL), INFER_OK);
	assert_int_equal(infer_tokenizer_count(t), 15);
	assert_string_equal(infer_tokenizer_kind(t), "spm");
	assert_string_equal(infer_tokenizer_pre(t), "");
	assert_int_equal(infer_token_info(t, 9, &info, NULL), INFER_OK);
	assert_int_equal(info.piece.len, 4);
	assert_true(info.score == -5 && info.kind == 1 && !info.eog);
	assert_int_equal(infer_token_info(t, 15, &info, NULL), INFER_EINVAL);
	assert_int_equal(infer_token_bytes(t, -1, 0, &s, &n, NULL), INFER_EINVAL);
	assert_int_equal(infer_token_bytes(t, 9, INFER_DECODE_FIRST, &s, &n, NULL), INFER_OK);
	assert_true(n == 1 && *s == 'b');
	assert_int_equal(infer_token_find(t, "<0x61>", 6), 3);
	assert_int_equal(infer_token_find(t, "", 0), -1);
	assert_int_equal(infer_token_find(t, "nope", 4), -1);
	infer_tokenizer_close(&t);
	infer_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spm),     cmocka_unit_test(test_bpe),
		cmocka_unit_test(test_wpm),     cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_detok),   cmocka_unit_test(test_strips),
		cmocka_unit_test(test_said),    cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_info),
	};
	return nth_group(tests);
}
