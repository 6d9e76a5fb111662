/* tests/unit/tok/test_cost.c - vocabularies and texts made to be slow: each is processed in
 * linear time, or refused by name.  The limit of processor time is far above the time of any
 * case, and far below the time that quadratic cost would take. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <infer/token.h>

#include "base/buf.h"
#include "tok/pretok.h"

enum { TEXT = 1 << 19 };
#ifdef __SANITIZE_THREAD__ /* some ten times slower */
enum { LIMIT_S = 300 };
#else
enum { LIMIT_S = 30 };
#endif

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A GGUF file: its keys, then how many. */
struct file {
	struct buf b;
	uint64_t keys;
};

static void u32(struct file *f, uint32_t v) { buf_put(&f->b, &v, 4); }
static void u64(struct file *f, uint64_t v) { buf_put(&f->b, &v, 8); }

static void str(struct file *f, const char *s, size_t n)
{
	u64(f, n);
	buf_put(&f->b, s, n);
}

static void key(struct file *f, const char *name, uint32_t type)
{
	char full[64];

	str(f, full, (size_t)snprintf(full, sizeof full, "tokenizer.ggml.%s", name));
	u32(f, type);
	f->keys++;
}

static void array(struct file *f, const char *name, uint32_t type, uint64_t n)
{
	key(f, name, INFER_META_ARR);
	u32(f, type);
	u64(f, n);
}

static void text_key(struct file *f, const char *name, const char *value)
{
	key(f, name, INFER_META_STR);
	str(f, value, strlen(value));
}

/* model, and tokens under way: n of them, and one more of a lone x */
static void begin(struct file *f, const char *model, uint32_t n)
{
	*f = (struct file){ 0 };
	buf_init(&f->b, MEM_FILE);
	buf_put(&f->b, "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
	text_key(f, "model", model);
	array(f, "tokens", INFER_META_STR, n + 1);
	str(f, "x", 1);
}

static void types(struct file *f, uint32_t n, int type)
{
	array(f, "token_type", INFER_META_I32, n + 1);
	u32(f, 1);
	for (uint32_t i = 0; i < n; i++)
		u32(f, (uint32_t)type);
}

static void scores(struct file *f, uint32_t n)
{
	array(f, "scores", INFER_META_F32, n + 1);
	for (uint32_t i = 0; i <= n; i++)
		buf_put(&f->b, &(float){ -(float)i }, 4);
	key(f, "unknown_token_id", INFER_META_U32);
	u32(f, 0);
}

static void repeat(struct buf *b, const char *s, size_t times)
{
	while (times--)
		buf_put(b, s, strlen(s));
}

/* The file is opened and the text encoded: want, or a refusal that says what. */
static void runs(struct file *f, const char *unit, uint32_t flags, int want, const char *says)
{
	infer_error err = { 0 };
	infer_file *file = NULL;
	infer_tokenizer *t = NULL;
	int32_t *ids = NULL;
	struct buf text;
	size_t n = 0;
	double from = cpu_s();

	buf_init(&text, MEM_TEXT);
	repeat(&text, unit, TEXT / strlen(unit));
	assert_false(f->b.bad || text.bad);
	memcpy(f->b.at + 16, &f->keys, 8);
	if (infer_file_open_bytes(&file, (unsigned char *)f->b.at, f->b.len, "v.gguf", &err))
		fail_msg("%s", err.message);
	int rc = infer_tokenizer_open(&t, file, &err);
	if (!rc)
		rc = infer_encode(t, text.at, text.len, flags, &ids, &n, &err);
	if (rc != want || (rc && !strstr(err.message, says)))
		fail_msg("%s, not %s: %s", infer_status_name(rc), infer_status_name(want),
		         err.message);
	if (cpu_s() - from > LIMIT_S)
		fail_msg("%.1f s of processor time", cpu_s() - from);
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
	infer_file_close(&file);
	buf_fini(&text);
	buf_fini(&f->b);
}

static void test_equal_tokens(void **state)
{
	enum { N = 600000 };
	struct file f;

	(void)state;
	begin(&f, "gpt2", N);
	for (int i = 0; i < N; i++)
		str(&f, "y", 1);
	types(&f, N, 1);
	array(&f, "merges", INFER_META_STR, 0);
	runs(&f, "x", 0, INFER_OK, NULL);
}

/* Tokens that are matched in text before all else: one that is nearly there everywhere, and many
 * that overlap. */
static void test_added(void **state)
{
	enum { LONG = 200000, MANY = 2000 };
	static char a[LONG + 1];
	struct file f;

	(void)state;
	memset(a, 'x', LONG);
	a[LONG] = '!';
	for (int type = 3; type <= 4; type++) {
		begin(&f, "gpt2", 1);
		str(&f, a, LONG + 1);
		types(&f, 1, type);
		array(&f, "merges", INFER_META_STR, 0);
		runs(&f, "x", INFER_ENCODE_SPECIAL, INFER_OK, NULL);
		begin(&f, "gpt2", MANY);
		for (int i = 0; i < MANY; i++)
			str(&f, a + LONG - i, (size_t)i + 1);
		types(&f, MANY, type);
		array(&f, "merges", INFER_META_STR, 0);
		runs(&f, "x", INFER_ENCODE_SPECIAL, INFER_OK, NULL);
	}
}

static void pieces_of_x(struct file *f, const char *model, uint32_t longest, int type)
{
	static char x[1024];

	memset(x, 'x', sizeof x);
	begin(f, model, longest - 1);
	for (uint32_t n = 2; n <= longest; n++)
		str(f, x, n);
	types(f, longest - 1, type);
	scores(f, longest - 1);
}

/* Where pieces of every length are looked up from every place of the text, the longest one has a
 * limit. */
static void test_long_pieces(void **state)
{
	static const char *const models[] = { "llama", "t5", "bert" };
	struct file f;

	(void)state;
	for (int i = 0; i < 3; i++) {
		pieces_of_x(&f, models[i], 200, 1);
		runs(&f, "x", 0, INFER_OK, NULL);
		pieces_of_x(&f, models[i], 1000, 1);
		runs(&f, "x", 0, INFER_EUNSUP, "at most");
	}
}

/* Unused pieces fall apart again, and which is which was looked for among all that were met. */
static void test_unused(void **state)
{
	enum { N = 1 << 16 };
	char s[17], line[17 * 64 + 1] = "";
	struct file f;

	(void)state;
	begin(&f, "llama", N + 1);
	str(&f, "y", 1);
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < 16; k++)
			s[k] = "xy"[i >> k & 1];
		/* of all sizes from 2 to 16, with some equal ones */
		str(&f, s, 16 - (size_t)i % 15);
	}
	types(&f, N + 1, 5);
	scores(&f, N + 1);
	for (uint32_t i = 0, r = 1; i < sizeof line - 1; i++) {
		r = r * 1103515245 + 12345;
		line[i] = "xy"[r >> 20 & 1];
	}
	runs(&f, line, 0, INFER_OK, NULL);
}

/* A map of characters with rules that go on for ever, that give long texts, and short ones from
 * shorter. */
static void charsmap(struct file *f, uint32_t unit, uint32_t leaf, size_t gives)
{
	uint32_t u[512] = { 0 };
	char *text = calloc(gives + 1, 1);

	assert_non_null(text);
	memset(text, 'x', gives);
	u['x'] = unit;
	u[200] = leaf;
	begin(f, "llama", 1);
	str(f, "y", 1);
	types(f, 1, 1);
	scores(f, 1);
	array(f, "precompiled_charsmap", INFER_META_U8, 4 + sizeof u + gives + 1);
	u32(f, sizeof u);
	buf_put(&f->b, u, sizeof u);
	buf_put(&f->b, text, gives + 1);
	free(text);
}

static void test_charsmap(void **state)
{
	struct file f;

	(void)state;
	charsmap(&f, 'x' | 'x' << 10, 0, 1); /* the unit of x leads to itself */
	runs(&f, "x", 0, INFER_EUNSUP, "precompiled_charsmap");
	charsmap(&f, 'x' | 1 << 8 | ('x' ^ 200) << 10, 1u << 31, 10000);
	runs(&f, "x", 0, INFER_EUNSUP, "precompiled_charsmap");
	charsmap(&f, 'x' | 1 << 8 | ('x' ^ 200) << 10, 1u << 31, 200);
	runs(&f, "x", 0, INFER_EUNSUP, "precompiled_charsmap");
	charsmap(&f, 'x' | 1 << 8 | ('x' ^ 200) << 10, 1u << 31, 10);
	runs(&f, "x", 0, INFER_OK, NULL);
}

static int count(void *user, const char *s, size_t n, infer_error *err)
{
	(void)s;
	(void)err;
	*(size_t *)user += n;
	return 0;
}

/* Every pre-tokenizer over runs of what its cases look ahead for; much where only a look at a whole
 * run for each part hurts. */
static void test_pretok(void **state)
{
	static const char *const units[] = { " ",    "\t ",         "\n",       " \n",
		                             "1",    "x",           "X",        "\xca\xb0X",
		                             "'",    ".",           "\xcc\x81", "\xe4\xb8\xad",
		                             "\xff", "<sentinel:1", "IMGIMGA" };
	const struct pretok *p;

	(void)state;
	for (size_t i = 0; (p = pretok_at(i)); i++) {
		struct pretok_code *c;
		assert_int_equal(pretok_new(&c, p, PRETOK_WITH_SCANNERS, NULL), INFER_OK);
		for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
			size_t n = 0;
			struct buf b;
			double from = cpu_s();
			buf_init(&b, MEM_TEXT);
			repeat(&b, units[k],
			       (p->stage[0].flags & PRETOK_BLANKS ? 8 * TEXT : TEXT / 8) /
			               strlen(units[k]));
			assert_int_equal(pretok_run(c, b.at, b.len, count, &n, NULL), INFER_OK);
			assert_int_equal(n, b.len);
			if (cpu_s() - from > LIMIT_S)
				fail_msg("%s, %s: %.1f s of processor time", p->names, units[k],
				         cpu_s() - from);
			buf_fini(&b);
		}
		pretok_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_tokens), cmocka_unit_test(test_added),
		cmocka_unit_test(test_long_pieces),  cmocka_unit_test(test_unused),
		cmocka_unit_test(test_charsmap),     cmocka_unit_test(test_pretok),
	};
	return nth_group(tests);
}
