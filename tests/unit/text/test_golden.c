/* Ids and pieces as the packages sentencepiece and tokenizers give them (tests/golden/tokens, made by
 * scripts/golden-tokens.py), the way back, and long texts of one character in little time. */
#include "../nth.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infer/token.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/jread.h"
#include "text/pretok.h"

#define DIR "tests/golden/tokens/"

static const char *const names[] = { "spm", "spm-rules", "spm-user", "unigram", "unigram-bytes", "bpe-gpt2", "bpe-llama", "bpe-deepseek",
	"bpe-raw", "wpm", "wpm-cased" };
enum { NAMES = sizeof names / sizeof *names };

static json_t *load(const char *name)
{
	char path[128];
	struct buf b;
	char part[4096];
	json_t *j;
	infer_error err;
	size_t n;

	snprintf(path, sizeof path, DIR "%s.json", name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	buf_init(&b, MEM_TEXT);
	while ((n = fread(part, 1, sizeof part, f)))
		buf_put(&b, part, n);
	fclose(f);
	if (jread(&j, b.at, b.len, path, &err))
		fail_msg("%s", err.message);
	buf_fini(&b);
	return j;
}

static int open_vocab(const char *name, infer_file **f, infer_tokenizer **t)
{
	char path[128];

	snprintf(path, sizeof path, DIR "%s.gguf", name);
	int rc = infer_file_open(f, path, NULL);
	return rc ? rc : infer_tokenizer_open(t, *f, NULL);
}

/* Whether what comes back is the text: not where the model changes it before it is cut. */
static int lossless(const char *name) { return strcmp(name, "spm-rules") && strcmp(name, "unigram") && strncmp(name, "wpm", 3); }

static void back(const infer_tokenizer *t, const char *name, const int32_t *ids, size_t n, const char *text, size_t text_n)
{
	struct buf b;
	infer_detok *d;
	const char *s;
	size_t k;

	buf_init(&b, MEM_TEXT);
	assert_int_equal(infer_detok_new(&d, t, INFER_DECODE_SPECIAL, -1, NULL), INFER_OK);
	for (size_t i = 0; i <= n; i++) {
		assert_int_equal(i < n ? infer_detok_put(d, ids[i], &s, &k, NULL) : infer_detok_end(d, &s, &k, NULL), INFER_OK);
		buf_put(&b, s, k);
	}
	infer_detok_free(d);
	if (lossless(name) && !strstr(text, "\xe2\x96\x81") && (b.len != text_n || (text_n && memcmp(b.at, text, text_n))))
		fail_msg("%s: \"%s\" comes back as \"%.*s\"", name, text, (int)b.len, b.at);
	buf_fini(&b);
}

static void test_ids(void **state)
{
	json_t *texts = load("texts"), *text, *id;
	size_t i, k;

	(void)state;
	assert_true(json_array_size(texts) > 100);
	for (int v = 0; v < NAMES; v++) {
		json_t *want = load(names[v]), *all = json_object_get(want, "ids");
		uint32_t flags = (uint32_t)json_integer_value(json_object_get(want, "flags"));
		infer_file *f;
		infer_tokenizer *t;
		assert_int_equal(open_vocab(names[v], &f, &t), INFER_OK);
		assert_int_equal(json_array_size(all), json_array_size(texts));
		json_array_foreach(texts, i, text) {
			json_t *ids = json_array_get(all, i);
			int32_t *got;
			size_t n, text_n = json_string_length(text);
			assert_int_equal(infer_encode(t, json_string_value(text), text_n, flags, &got, &n, NULL), INFER_OK);
			json_array_foreach(ids, k, id)
				if (k >= n || got[k] != json_integer_value(id))
					fail_msg("%s, text %zu: token %zu is not %lld", names[v], i, k, (long long)json_integer_value(id));
			assert_int_equal(n, json_array_size(ids));
			if (strlen(json_string_value(text)) == text_n)
				back(t, names[v], got, n, json_string_value(text), text_n);
			infer_ids_free(got);
		}
		infer_tokenizer_close(&t);
		infer_file_close(&f);
		json_decref(want);
	}
	json_decref(texts);
}

struct lens { const json_t *want; size_t n; int bad; };

static int piece(void *user, const char *s, size_t n, infer_error *err)
{
	struct lens *l = user;

	(void)s;
	(void)err;
	l->bad |= (size_t)json_integer_value(json_array_get(l->want, l->n++)) != n;
	return INFER_OK;
}

static void test_splits(void **state)
{
	json_t *texts = load("texts"), *splits = load("splits"), *all, *text;
	const char *name;
	size_t i;

	(void)state;
	assert_true(json_object_size(splits) >= 25);
	json_object_foreach(splits, name, all) {
		const struct pretok *p = pretok_find(name, strlen(name));
		struct pretok_code *c;
		assert_non_null(p);
		assert_int_equal(pretok_new(&c, p, PRETOK_WITH_SCANNERS, NULL), INFER_OK);
		json_array_foreach(texts, i, text) {
			struct lens l = { json_array_get(all, i), 0, 0 };
			assert_int_equal(pretok_run(c, json_string_value(text), json_string_length(text), piece, &l, NULL), INFER_OK);
			if (l.bad || l.n != json_array_size(l.want))
				fail_msg("%s, text %zu: other pieces", name, i);
		}
		pretok_free(c);
	}
	json_decref(splits);
	json_decref(texts);
}

/* Where the time grew with the square of the length, this would take minutes. */
static void test_long_texts(void **state)
{
	static const char *const unit[] = { "a", " ", "1", "\n", "!", "'", "\xe4\xb8\xad", "\xff", "A", "Aa", "\xcc\x81", "\xe2\x96\x81", "a\n", "\xf0\x9f\x98\x80",
		"<", "\xc3" };
	enum { LONG = 1 << 18 };
	char *s = malloc(LONG + 8);
	const struct pretok *p;
	int64_t from = clock_now_ns();

	(void)state;
	assert_non_null(s);
	for (size_t u = 0; u < sizeof unit / sizeof *unit; u++) {
		size_t n = 0;
		for (; n < LONG; n += strlen(unit[u]))
			strcpy(s + n, unit[u]);
		for (int v = 0; v < NAMES; v++) {
			infer_file *f;
			infer_tokenizer *t;
			int32_t *ids;
			size_t k;
			assert_int_equal(open_vocab(names[v], &f, &t), INFER_OK);
			assert_int_equal(infer_encode(t, s, n, INFER_ENCODE_SPECIAL, &ids, &k, NULL), INFER_OK);
			infer_ids_free(ids);
			infer_tokenizer_close(&t);
			infer_file_close(&f);
		}
		for (size_t i = 0; (p = pretok_at(i)); i++) {
			struct pretok_code *c;
			struct lens l = { 0 };
			assert_int_equal(pretok_new(&c, p, PRETOK_WITH_SCANNERS, NULL), INFER_OK);
			assert_int_equal(pretok_run(c, s, n, piece, &l, NULL), INFER_OK);
			pretok_free(c);
		}
	}
	free(s);
	assert_true(clock_ms(from, clock_now_ns()) < 120e3);
}

static int all_of(const char *name, const char *text, size_t n)
{
	infer_file *f = NULL;
	infer_tokenizer *t = NULL;
	infer_detok *d = NULL;
	int32_t *ids = NULL;
	size_t k = 0, len;
	const char *s;
	int rc;

	nth_ok(open_vocab(name, &f, &t));
	nth_ok(infer_encode(t, text, n, INFER_ENCODE_SPECIAL | INFER_ENCODE_ADD, &ids, &k, NULL));
	nth_ok(infer_detok_new(&d, t, 0, -1, NULL));
	for (size_t i = 0; i < k; i++)
		nth_ok(infer_detok_put(d, ids[i], &s, &len, NULL));
	nth_ok(infer_detok_end(d, &s, &len, NULL));
out:
	infer_detok_free(d);
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	infer_file_close(&f);
	return rc;
}

/* long enough for the cache of words, with a long word and bytes that are no text */
static const char sample[] = "Some <added> words \xff and a wordthatismuchlongerthanallthatcanbeinacacheline \xe4\xb8\xad\xe6\x96\x87 12345 <|end|> ";
static int case_spm(void) { return all_of("spm", sample, sizeof sample - 1); }
static int case_rules(void) { return all_of("spm-rules", sample, sizeof sample - 1); }
static int case_unigram(void) { return all_of("unigram", sample, sizeof sample - 1); }
static int case_bpe(void) { return all_of("bpe-llama", sample, sizeof sample - 1); }
static int case_raw(void) { return all_of("bpe-raw", sample, sizeof sample - 1); }
static int case_wpm(void) { return all_of("wpm", sample, sizeof sample - 1); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids), cmocka_unit_test(test_splits), cmocka_unit_test(test_long_texts), nth_case(case_spm),
		nth_case(case_rules), nth_case(case_unigram), nth_case(case_bpe), nth_case(case_raw), nth_case(case_wpm),
	};
	return nth_group(tests);
}
