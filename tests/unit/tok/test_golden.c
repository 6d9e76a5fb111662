/* tests/unit/tok/test_golden.c - ids and pieces, compared with those of the packages
 * sentencepiece and tokenizers (tests/golden/tokens, made by scripts/golden-tokens.py),
 * decoding, and long texts of one character in little time. */
#include "../nth.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infer/token.h>
#include "base/buf.h"
#include "base/clock.h"
#include "tok/pretok.h"
#include "../values.h"

#define DIR "tests/golden/tokens/"

static const char *const names[] = { "spm",           "spm-rules", "spm-user",  "unigram",
	                             "unigram-bytes", "bpe-gpt2",  "bpe-llama", "bpe-deepseek",
	                             "bpe-raw",       "wpm",       "wpm-cased" };
enum { NAMES = sizeof names / sizeof *names };

static const struct json *load(struct arena *a, const char *name)
{
	char path[128];
	struct buf b;
	char part[4096];
	const struct json *j;
	infer_error err;
	size_t n;

	snprintf(path, sizeof path, DIR "%s.json", name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	buf_init(&b, MEM_TEXT);
	while ((n = fread(part, 1, sizeof part, f)))
		buf_put(&b, part, n);
	fclose(f);
	if (jread(&j, a, arena_strndup(a, b.at, b.len), b.len, path, &err))
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
static int lossless(const char *name)
{
	return strcmp(name, "spm-rules") && strcmp(name, "unigram") && strncmp(name, "wpm", 3);
}

static void back(const infer_tokenizer *t, const char *name, const int32_t *ids, size_t n,
                 const char *text, size_t text_n)
{
	struct buf b;
	infer_detok *d;
	const char *s;
	size_t k;

	buf_init(&b, MEM_TEXT);
	assert_int_equal(infer_detok_new(&d, t, INFER_DECODE_SPECIAL, -1, NULL), INFER_OK);
	for (size_t i = 0; i <= n; i++) {
		assert_int_equal(i < n ? infer_detok_put(d, ids[i], &s, &k, NULL)
		                       : infer_detok_end(d, &s, &k, NULL),
		                 INFER_OK);
		buf_put(&b, s, k);
	}
	infer_detok_free(d);
	if (lossless(name) && !strstr(text, "\xe2\x96\x81") &&
	    (b.len != text_n || (text_n && memcmp(b.at, text, text_n))))
		fail_msg("%s: \"%s\" comes back as \"%.*s\"", name, text, (int)b.len, b.at);
	buf_fini(&b);
}

static void test_ids(void **state)
{
	struct arena a;
	size_t i, k;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *texts = load(&a, "texts");
	assert_true(json_count(texts) > 100);
	for (int v = 0; v < NAMES; v++) {
		const struct json *want = load(&a, names[v]), *all = json_get(want, "ids"),
				  *ids = json_first(all);
		uint32_t flags = (uint32_t)json_get(want, "flags")->i;
		infer_file *f;
		infer_tokenizer *t;
		assert_int_equal(open_vocab(names[v], &f, &t), INFER_OK);
		assert_int_equal(json_count(all), json_count(texts));
		i = 0;
		json_each(text, texts) {
			int32_t *got;
			size_t n;
			assert_int_equal(infer_encode(t, json_str(text), json_bytes(text), flags,
			                              &got, &n, NULL),
			                 INFER_OK);
			k = 0;
			json_each(id, ids) {
				if (k >= n || got[k] != id->i)
					fail_msg("%s, text %zu: token %zu is not %lld", names[v], i,
					         k, (long long)id->i);
				k++;
			}
			assert_int_equal(n, json_count(ids));
			if (text_of(&a, text))
				back(t, names[v], got, n, text_of(&a, text), json_bytes(text));
			infer_ids_free(got);
			ids = ids->next;
			i++;
		}
		infer_tokenizer_close(&t);
		infer_file_close(&f);
	}
	arena_fini(&a);
}

/* want: the next length */
struct lens {
	const struct json *want;
	size_t n;
	int bad;
};

static int piece(void *user, const char *s, size_t n, infer_error *err)
{
	struct lens *l = user;

	(void)s;
	(void)err;
	l->bad |= !l->want || (size_t)l->want->i != n;
	l->want = l->want ? l->want->next : NULL;
	l->n++;
	return INFER_OK;
}

static void test_splits(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *texts = load(&a, "texts"), *splits = load(&a, "splits");
	assert_true(json_count(splits) >= 25);
	json_each(all, splits) {
		const struct pretok *p = pretok_find(all->key, all->key_n);
		const struct json *want = json_first(all);
		size_t i = 0;
		struct pretok_code *c;
		assert_non_null(p);
		assert_int_equal(pretok_new(&c, p, PRETOK_WITH_SCANNERS, NULL), INFER_OK);
		json_each(text, texts) {
			struct lens l = { json_first(want), 0, 0 };
			assert_int_equal(
				pretok_run(c, json_str(text), json_bytes(text), piece, &l, NULL),
				INFER_OK);
			if (l.bad || l.n != json_count(want))
				fail_msg("%.*s, text %zu: other pieces", (int)all->key_n, all->key,
				         i);
			want = want->next;
			i++;
		}
		pretok_free(c);
	}
	arena_fini(&a);
}

/* Where the time grew with the square of the length, this would take minutes. */
static void test_long_texts(void **state)
{
	static const char *const unit[] = { "a",
		                            " ",
		                            "1",
		                            "\n",
		                            "!",
		                            "'",
		                            "\xe4\xb8\xad",
		                            "\xff",
		                            "A",
		                            "Aa",
		                            "\xcc\x81",
		                            "\xe2\x96\x81",
		                            "a\n",
		                            "\xf0\x9f\x98\x80",
		                            "<",
		                            "\xc3" };
	enum { LONG = 1 << 18 };
	char *s = malloc(LONG + 8);
	const struct pretok *p;
	int64_t from = clock_thread_ns();

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
			assert_int_equal(
				infer_encode(t, s, n, INFER_ENCODE_SPECIAL, &ids, &k, NULL),
				INFER_OK);
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
	assert_true(clock_ms(from, clock_thread_ns()) < 120e3);
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
static const char sample[] =
	"Some <added> words \xff and a wordthatismuchlongerthanallthatcanbeinacacheline "
	"\xe4\xb8\xad\xe6\x96\x87 12345 <|end|> ";
static int case_spm(void) { return all_of("spm", sample, sizeof sample - 1); }
static int case_rules(void) { return all_of("spm-rules", sample, sizeof sample - 1); }
static int case_unigram(void) { return all_of("unigram", sample, sizeof sample - 1); }
static int case_bpe(void) { return all_of("bpe-llama", sample, sizeof sample - 1); }
static int case_raw(void) { return all_of("bpe-raw", sample, sizeof sample - 1); }
static int case_wpm(void) { return all_of("wpm", sample, sizeof sample - 1); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_splits),
		cmocka_unit_test(test_long_texts),
		nth_case(case_spm),
		nth_case(case_rules),
		nth_case(case_unigram),
		nth_case(case_bpe),
		nth_case(case_raw),
		nth_case(case_wpm),
	};
	return nth_group(tests);
}
