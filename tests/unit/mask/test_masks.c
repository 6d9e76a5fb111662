/* tests/unit/mask/test_masks.c - masks are what following each token alone says, at every step
 * of random texts under constraints of all kinds, whatever is remembered and whoever asks.
 *
 * LONG in the environment: more texts, and a vocabulary of 102,400 tokens.  MASK_TEXTS, the name of
 * a file: the texts at every place where one under a schema may end are appended to it, for
 * scripts/check-masks.py --texts. */
#include "../nth.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "base/buf.h"
#include "base/jwrite.h"
#include "grammar/grammar.h"
#include "mask/mask.h"
#include "mask_cases.h"

enum { SMALL = 900, LARGE = 102400 };

static const struct budget most = { 1 << 24, 1 << 26 };

struct set {
	uint32_t n, words;
	uint32_t *order; /* [n] ids in the order of their bytes */
	struct vocab_token *token;
	char (*bytes)[MASK_BYTES];
	struct vocab *vocab;
};

static const struct vocab_token *sorted; /* for by_bytes */

static int by_bytes(const void *x, const void *y)
{
	const struct vocab_token *a = sorted + *(const uint32_t *)x,
				 *b = sorted + *(const uint32_t *)y;
	const int cmp = memcmp(a->at, b->at, a->n < b->n ? a->n : b->n);

	return cmp ? cmp : (a->n > b->n) - (a->n < b->n);
}

static void set_make(struct set *s, uint32_t n, uint64_t seed)
{
	s->n = n;
	s->token = calloc(n, sizeof *s->token);
	s->bytes = calloc(n, sizeof *s->bytes);
	mask_vocabulary(s->token, s->bytes, n, seed);
	s->order = calloc(n, sizeof *s->order);
	for (uint32_t i = 0; i < n; i++)
		s->order[i] = i;
	sorted = s->token;
	qsort(s->order, n, sizeof *s->order, by_bytes);
	assert_int_equal(vocab_new(&s->vocab, s->token, n, NULL), INFER_OK);
	s->words = vocab_words(s->vocab);
	assert_int_equal(s->words, (n + 63) / 64);
}

static void set_free(struct set *s)
{
	vocab_free(s->vocab);
	free(s->order);
	free(s->token);
	free(s->bytes);
}

/* Each token alone. */
static void brute(const struct set *s, struct match *m, const struct match_state *at,
                  uint64_t *bits)
{
	struct match_state try = { 0 };

	memset(bits, 0, s->words * sizeof *bits);
	for (uint32_t id = 0; id < s->n; id++) {
		const struct vocab_token *t = s->token + id;

		assert_int_equal(match_copy(m, &try, at, NULL), INFER_OK);
		for (uint32_t i = 0; i < t->n && match_live(&try); i++)
			assert_int_equal(match_byte(m, &try, (uint8_t)t->at[i], NULL), INFER_OK);
		if (t->n && match_live(&try))
			bits[id / 64] |= UINT64_C(1) << id % 64;
	}
	match_drop(m, &try);
}

/* The same, where a token goes on from the place to which the bytes led that it shares with the one
 * before it in the order of bytes: the same bytes from the same place lead to the same place, so
 * nothing is asked but the matcher. */
static void brute_in_order(const struct set *s, struct match *m, const struct match_state *at,
                           uint64_t *bits)
{
	struct match_state behind[MASK_BYTES + 1] = { 0 };
	const struct vocab_token *last = &(struct vocab_token){ "", 0 };

	memset(bits, 0, s->words * sizeof *bits);
	assert_int_equal(match_copy(m, behind, at, NULL), INFER_OK);
	for (uint32_t k = 0; k < s->n; k++) {
		const uint32_t id = s->order[k];
		const struct vocab_token *t = s->token + id;
		uint32_t i = 0;

		while (i < t->n && i < last->n && t->at[i] == last->at[i] && match_live(behind + i))
			i++;
		for (; i < t->n && match_live(behind + i); i++) {
			assert_int_equal(match_copy(m, behind + i + 1, behind + i, NULL), INFER_OK);
			assert_int_equal(match_byte(m, behind + i + 1, (uint8_t)t->at[i], NULL),
			                 INFER_OK);
		}
		if (t->n && i == t->n && match_live(behind + i))
			bits[id / 64] |= UINT64_C(1) << id % 64;
		last = t;
	}
	for (uint32_t i = 0; i <= MASK_BYTES; i++)
		match_drop(m, behind + i);
}

/* One of the tokens; late in a walk one that ends something, where there is one; NULL: there is
 * none. */
static const struct vocab_token *pick(const struct set *s, const uint64_t *bits, uint32_t draw,
                                      int late)
{
	static const char ends[] = "\"}]";
	uint32_t n = 0;

	for (uint32_t i = 0; late && i < sizeof ends - 1; i++)
		if (bits[ends[i] / 64] >> ends[i] % 64 & 1)
			return s->token + ends[i];
	for (uint32_t id = 0; id < s->n; id++)
		n += bits[id / 64] >> id % 64 & 1;
	if (!n)
		return NULL;
	n = draw % n;
	for (uint32_t id = 0;; id++)
		if (bits[id / 64] >> id % 64 & 1 && !n--)
			return s->token + id;
}

/* The text so far, of a case that is a schema, for others to check. */
static void note(const char *which, const struct buf *text)
{
	const char *path = getenv("MASK_TEXTS");
	FILE *f = path && *which == '{' ? fopen(path, "a") : NULL;
	struct jwrite w;
	struct buf b;

	if (!f)
		return;
	buf_init(&b, MEM_TEXT);
	jw_init(&w, &b);
	jw_object(&w, NULL);
	jw_str(&w, "case", which);
	jw_strn(&w, "text", text->at, text->len);
	jw_end(&w);
	fprintf(f, "%.*s\n", (int)b.len, b.at);
	assert_int_equal(fclose(f), 0);
	buf_fini(&b);
}

/* What is asked about the places of one text. */
struct asked {
	const char *which;
	struct mask *k, *tight; /* one remembers, the other hardly anything */
	struct match *m;
	uint64_t *bits, *want;
	uint32_t steps, states, ends;
};

static void fill_same(const struct asked *a, struct mask *k, const struct match_state *at,
                      size_t bytes, uint64_t *steps)
{
	struct budget left = most;

	assert_int_equal(mask_fill(k, a->m, at, a->bits, &left, NULL), INFER_OK);
	assert_memory_equal(a->bits, a->want, bytes);
	/* what is remembered is charged all the same */
	assert_true(!*steps || *steps == left.steps);
	*steps = left.steps;
}

static void ask_all(const struct set *s, struct asked *a, const struct match_state *at)
{
	const size_t bytes = s->words * sizeof *a->bits;
	struct budget left = most;
	uint64_t steps = 0;

	brute_in_order(s, a->m, at, a->want);
	if (s->n <= SMALL) {
		brute(s, a->m, at, a->bits);
		assert_memory_equal(a->bits, a->want, bytes);
		assert_int_equal(vocab_mask(s->vocab, a->m, at, a->bits, &left, NULL), INFER_OK);
		assert_memory_equal(a->bits, a->want, bytes);
		fill_same(a, a->tight, at, bytes, &steps);
	}
	fill_same(a, a->k, at, bytes, &steps);
	fill_same(a, a->k, at, bytes, &steps);
}

static void along(const struct set *s, struct asked *a, uint64_t seed)
{
	struct match_state at = { 0 };
	struct buf text;

	buf_init(&text, MEM_TEXT);
	assert_int_equal(match_begin(a->m, &at, NULL), INFER_OK);
	for (uint64_t i = 0; i < a->steps; i++, a->states++) {
		const struct vocab_token *t;
		uint32_t r[4];

		ask_all(s, a, &at);
		if (match_may_end(a->m, &at)) {
			note(a->which, &text);
			a->ends++;
		}
		rng_block(r, seed, i);
		t = pick(s, a->bits, r[0], i > a->steps / 2);
		if (!t && !match_may_end(a->m, &at))
			fail_msg("%s: nothing follows %.*s", a->which, (int)text.len, text.at);
		if (!t)
			break;
		for (uint32_t b = 0; b < t->n; b++)
			assert_int_equal(match_byte(a->m, &at, (uint8_t)t->at[b], NULL), INFER_OK);
		buf_put(&text, t->at, t->n);
	}
	match_drop(a->m, &at);
	buf_fini(&text);
}

/* So many texts for each case, and then more until there were so many places. */
static void sweep(const struct set *s, uint64_t walks, uint32_t states, uint32_t steps)
{
	const struct budget little = { 1 << 24, 1 << 20 };

	for (size_t i = 0; i < MASK_CASES; i++) {
		struct asked a = { .which = mask_cases[i],
			           .bits = calloc(s->words, sizeof *a.bits),
			           .want = calloc(s->words, sizeof *a.want),
			           .steps = steps };
		struct grammar *g;

		assert_int_equal(mask_case(&g, mask_cases[i]), INFER_OK);
		assert_int_equal(match_new(&a.m, g, MATCH_TIDY, &most, NULL), INFER_OK);
		assert_int_equal(mask_new(&a.k, g, s->vocab, MATCH_TIDY, &most, NULL), INFER_OK);
		assert_int_equal(mask_new(&a.tight, g, s->vocab, MATCH_TIDY, &little, NULL),
		                 INFER_OK);
		for (uint64_t seed = 0; seed < walks || a.states < states; seed++)
			along(s, &a, seed * MASK_CASES + i);
		if (getenv("LONG"))
			printf("# %6u tokens: %5u places, %4u ends: %s\n", s->n, a.states, a.ends,
			       a.which);
		mask_free(a.tight);
		mask_free(a.k);
		match_free(a.m);
		ir_free(g);
		free(a.bits);
		free(a.want);
	}
}

static void test_brute_force(void **state)
{
	const int lots = getenv("LONG") != NULL;

	(void)state;
	for (uint64_t seed = 0; seed < 2; seed++) {
		struct set s;

		set_make(&s, SMALL, seed);
		sweep(&s, lots ? 20 : 2, 0, lots ? 30 : 10);
		set_free(&s);
	}
	if (lots) {
		struct set s;

		set_make(&s, LARGE, 7);
		sweep(&s, 0, 200, 20);
		set_free(&s);
	}
}

/* -- threads -------------------------------------------------------------------------------- */

struct asker {
	const struct set *s;
	const struct grammar *g;
	struct mask *k;
	uint64_t sum;
};

static void *ask(void *user)
{
	struct asker *a = user;
	uint64_t *bits = calloc(a->s->words, sizeof *bits);
	struct match *m;

	if (match_new(&m, a->g, MATCH_TIDY, &most, NULL))
		return NULL;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct match_state at = { 0 };
		const struct vocab_token *t;

		if (match_begin(m, &at, NULL))
			break;
		for (uint64_t i = 0; i < 10; i++) {
			struct budget left = most;
			uint32_t r[4];

			if (mask_fill(a->k, m, &at, bits, &left, NULL))
				break;
			for (uint32_t w = 0; w < a->s->words; w++)
				a->sum = a->sum * 31 + bits[w];
			a->sum = a->sum * 31 + left.steps;
			rng_block(r, seed, i);
			t = pick(a->s, bits, r[0], 0);
			for (uint32_t b = 0; t && b < t->n; b++)
				(void)match_byte(m, &at, (uint8_t)t->at[b], NULL);
		}
		match_drop(m, &at);
	}
	match_free(m);
	free(bits);
	return NULL;
}

/* Four threads ask one struct mask, and a fifth its own. */
static void test_threads(void **state)
{
	const struct budget little = { 1 << 24, 1 << 15 };
	struct asker a[5];
	pthread_t thread[4];
	struct mask *shared, *own;
	struct grammar *g;
	struct set s;

	(void)state;
	set_make(&s, SMALL, 3);
	assert_int_equal(mask_case(&g, mask_cases[11]), INFER_OK);
	assert_int_equal(mask_new(&shared, g, s.vocab, MATCH_TIDY, &little, NULL), INFER_OK);
	assert_int_equal(mask_new(&own, g, s.vocab, MATCH_TIDY, &most, NULL), INFER_OK);
	for (int i = 0; i < 5; i++)
		a[i] = (struct asker){ &s, g, i < 4 ? shared : own, 0 };
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(thread + i, NULL, ask, a + i), 0);
	ask(a + 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_true(a[i].sum == a[4].sum);
	}
	assert_true(a[4].sum);
	mask_free(own);
	mask_free(shared);
	ir_free(g);
	set_free(&s);
}

/* Every name is long gone, or every rule is nested: masks end, with a mask or with an error. */
static void test_bounds(void **state)
{
	struct budget left = { 5000, 1 << 20 };
	struct match_state at = { 0 };
	struct grammar *g;
	struct match *m;
	struct mask *k;
	struct set s;
	infer_error err;
	uint64_t *bits;

	(void)state;
	set_make(&s, SMALL, 1);
	bits = calloc(s.words, sizeof *bits);
	assert_int_equal(mask_case(&g, "{}"), INFER_OK);
	assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(mask_new(&k, g, s.vocab, MATCH_TIDY, &most, NULL), INFER_OK);
	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(
			match_byte(m, &at, i % 6 < 5 ? (uint8_t) "{\"a\":"[i % 6] : '[', NULL),
			INFER_OK);
	assert_int_equal(mask_fill(k, m, &at, bits, &left, NULL), INFER_OK);
	left.steps = 10;
	memset(bits, 1, s.words * sizeof *bits);
	assert_int_equal(mask_fill(k, m, &at, bits, &left, &err), INFER_EUNSUP);
	assert_string_equal(err.message, "a mask of the vocabulary needs too many steps");
	for (uint32_t i = 0; i < s.words; i++)
		assert_int_equal(bits[i], 0);
	match_drop(m, &at);
	mask_free(k);
	match_free(m);
	ir_free(g);
	free(bits);
	set_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_brute_force),
		                            cmocka_unit_test(test_threads),
		                            cmocka_unit_test(test_bounds) };

	return nth_group(tests);
}
