/* tests/unit/grammar/test_masks.c - masks are what following each token alone says, at every step
 * of random texts under constraints of all kinds, whatever is remembered and whoever asks.
 *
 * LONG in the environment: more texts, and a vocabulary of 102,400 tokens. */
#include "../nth.h"
#include <pthread.h>
#include <string.h>
#include "grammar/mask.h"
#include "mask_cases.h"

enum { SMALL = 900, LARGE = 102400 };

static const struct grammar_budget most = { 1 << 24, 1 << 26 };

struct set {
	uint32_t n, words;
	struct vocab_token *token;
	char (*bytes)[MASK_BYTES];
	struct vocab *vocab;
};

static void set_make(struct set *s, uint32_t n, uint64_t seed)
{
	s->n = n;
	s->token = calloc(n, sizeof *s->token);
	s->bytes = calloc(n, sizeof *s->bytes);
	mask_vocabulary(s->token, s->bytes, n, seed);
	assert_int_equal(vocab_new(&s->vocab, s->token, n, NULL), INFER_OK);
	s->words = vocab_words(s->vocab);
	assert_int_equal(s->words, (n + 63) / 64);
}

static void set_free(struct set *s)
{
	vocab_free(s->vocab);
	free(s->token);
	free(s->bytes);
}

static void brute(const struct set *s, struct match *m, const struct match_at *at, uint64_t *bits)
{
	struct match_at try = { 0 };

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

/* One of the tokens; NULL: there is none. */
static const struct vocab_token *pick(const struct set *s, const uint64_t *bits, uint32_t draw)
{
	uint32_t n = 0;

	for (uint32_t id = 0; id < s->n; id++)
		n += bits[id / 64] >> id % 64 & 1;
	if (!n)
		return NULL;
	n = draw % n;
	for (uint32_t id = 0;; id++)
		if (bits[id / 64] >> id % 64 & 1 && !n--)
			return s->token + id;
}

/* k: remembers; tight: hardly anything */
static void along(const struct set *s, struct mask *k, struct mask *tight, struct match *m,
                  uint64_t seed, uint32_t steps)
{
	uint64_t *bits = calloc(s->words, sizeof *bits), *want = calloc(s->words, sizeof *want);
	const size_t bytes = s->words * sizeof *bits;
	struct match_at at = { 0 };

	assert_int_equal(match_begin(m, &at, NULL), INFER_OK);
	for (uint64_t i = 0; i < steps; i++) {
		struct grammar_budget left[3] = { most, most, most };
		const struct vocab_token *t;
		uint32_t r[4];

		if (s->n <= SMALL)
			brute(s, m, &at, want);
		else
			assert_int_equal(vocab_mask(s->vocab, m, &at, want, left, NULL), INFER_OK);
		left[0] = most;
		assert_int_equal(mask_fill(k, m, &at, bits, left, NULL), INFER_OK);
		assert_memory_equal(bits, want, bytes);
		assert_int_equal(mask_fill(k, m, &at, bits, left + 1, NULL), INFER_OK);
		assert_memory_equal(bits, want, bytes);
		assert_int_equal(mask_fill(tight, m, &at, bits, left + 2, NULL), INFER_OK);
		assert_memory_equal(bits, want, bytes);
		/* what is remembered is charged all the same */
		assert_int_equal(left[1].steps, left[0].steps);
		assert_int_equal(left[2].steps, left[0].steps);
		rng_block(r, seed, i);
		t = pick(s, bits, r[0]);
		assert_true(t || match_may_end(m, &at));
		for (uint32_t b = 0; t && b < t->n; b++)
			assert_int_equal(match_byte(m, &at, (uint8_t)t->at[b], NULL), INFER_OK);
		if (!t)
			break;
	}
	match_drop(m, &at);
	free(bits);
	free(want);
}

static void sweep(const struct set *s, uint64_t walks, uint32_t steps)
{
	const struct grammar_budget little = { 1 << 24, 1 << 20 };

	for (size_t i = 0; i < MASK_CASES; i++) {
		struct grammar *g;
		struct mask *k, *tight;
		struct match *m;

		assert_int_equal(mask_case(&g, mask_cases[i]), INFER_OK);
		assert_int_equal(match_new(&m, g, MATCH_TIDY, &most, NULL), INFER_OK);
		assert_int_equal(mask_new(&k, g, s->vocab, MATCH_TIDY, &most, NULL), INFER_OK);
		assert_int_equal(mask_new(&tight, g, s->vocab, MATCH_TIDY, &little, NULL),
		                 INFER_OK);
		for (uint64_t seed = 0; seed < walks; seed++)
			along(s, k, tight, m, seed * MASK_CASES + i, steps);
		mask_free(tight);
		mask_free(k);
		match_free(m);
		grammar_free(g);
	}
}

static void test_brute_force(void **state)
{
	const int lots = getenv("LONG") != NULL;

	(void)state;
	for (uint64_t seed = 0; seed < 2; seed++) {
		struct set s;

		set_make(&s, SMALL, seed);
		sweep(&s, lots ? 20 : 2, lots ? 30 : 10);
		set_free(&s);
	}
	if (lots) {
		struct set s;

		set_make(&s, LARGE, 7);
		sweep(&s, 20, 10);
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
		struct match_at at = { 0 };
		const struct vocab_token *t;

		if (match_begin(m, &at, NULL))
			break;
		for (uint64_t i = 0; i < 10; i++) {
			struct grammar_budget left = most;
			uint32_t r[4];

			if (mask_fill(a->k, m, &at, bits, &left, NULL))
				break;
			for (uint32_t w = 0; w < a->s->words; w++)
				a->sum = a->sum * 31 + bits[w];
			a->sum = a->sum * 31 + left.steps;
			rng_block(r, seed, i);
			t = pick(a->s, bits, r[0]);
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
	const struct grammar_budget little = { 1 << 24, 1 << 15 };
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
	grammar_free(g);
	set_free(&s);
}

/* Every name is long gone, or every rule is nested: masks end, with a mask or with an error. */
static void test_bounds(void **state)
{
	struct grammar_budget left = { 5000, 1 << 20 };
	struct match_at at = { 0 };
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
	grammar_free(g);
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
