/* tests/unit/sample/test_rollback.c - draws can be undone, and a mask is equivalent to logits of
 * -inf. */
#include "../nth.h"

#include <infer/sample.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"

enum { N = 150, STEPS = 60, WORDS = (N + 63) / 64 };

static const struct infer_sample_opts chains[] = {
	{ .temp = 0 },
	{ .temp = 0.8f, .top_k = 20, .top_p = 0.9f, .seed = 1 },
	{ .temp = 1, .repeat = 1.3f, .repeat_window = 8, .presence = 0.4f, .seed = 2 },
	{ .temp = 1, .frequency = 0.3f, .repeat_window = -1, .seed = 3 },
	{ .temp = 1, .dry_multiplier = 0.8f, .dry_window = 30, .seed = 4 },
	{ .temp = 1, .mirostat = 1, .seed = 5 },
	{ .temp = 0.9f, .mirostat = 2, .repeat = 1.1f, .seed = 6 },
	{ .temp = 1, .min_p = 0.05f, .xtc_probability = 0.5f, .xtc_threshold = 0.1f, .seed = 7 },
};
enum { CHAINS = sizeof chains / sizeof *chains };

static void row_of(float *l, int position)
{
	for (int i = 0; i < N; i++)
		l[i] = (float)(8 * rng_unit(99, (uint64_t)(position * N + i)));
}

static int draw_at(infer_sampler *s, int position, int32_t *token)
{
	float l[N];

	row_of(l, position);
	return infer_sampler_draw(s, l, NULL, (uint64_t)position, token, NULL);
}

/* Draws go on, back and on again by chance; the last visit of each position must say what a
 * straight run says. */
static int case_back(void)
{
	int32_t straight[STEPS], token;
	infer_sampler *s = NULL;
	int rc = INFER_OK;

	for (int c = 0; c < CHAINS; c++) {
		nth_ok(infer_sampler_new(&s, &chains[c], N, NULL));
		for (int i = 0; i < STEPS; i++)
			nth_ok(draw_at(s, i, &straight[i]));
		infer_sampler_rollback(s, SIZE_MAX);
		for (int i = 0, turn = 0; i < STEPS; turn++) {
			int back = (int)(rng_unit(5, (uint64_t)turn) * 4);
			if (turn % 3 == 2 && back <= i) {
				infer_sampler_rollback(s, (size_t)back);
				i -= back;
			}
			nth_ok(draw_at(s, i, &token));
			if (token != straight[i])
				fail_msg("chain %d, position %d: %d, and %d in a straight run", c,
				         i, (int)token, (int)straight[i]);
			i++;
		}
		infer_sampler_free(s);
		s = NULL;
	}
out:
	infer_sampler_free(s);
	return rc;
}

static void test_mask(void **state)
{
	uint64_t allowed[WORDS];
	infer_sampler *a, *b;
	float l[N], cut[N];
	int32_t x, y;

	(void)state;
	for (int c = 0; c < CHAINS; c++) {
		assert_int_equal(infer_sampler_new(&a, &chains[c], N, NULL), INFER_OK);
		assert_int_equal(infer_sampler_new(&b, &chains[c], N, NULL), INFER_OK);
		for (int i = 0; i < STEPS; i++) {
			double part = i % 4 == 3 ? 0.02 : i % 4 == 2 ? 0.97 : 0.5;
			memset(allowed, 0, sizeof allowed);
			row_of(l, i);
			for (int t = 0; t < N; t++) {
				if (t == i || rng_unit(17, (uint64_t)(i * N + t)) < part)
					allowed[t / 64] |= 1ull << t % 64;
				cut[t] = allowed[t / 64] >> t % 64 & 1 ? l[t] : -INFINITY;
			}
			/* bits beyond the vocabulary mean nothing */
			allowed[WORDS - 1] |= ~0ull << N % 64;
			assert_int_equal(infer_sampler_draw(a, l, allowed, (uint64_t)i, &x, NULL),
			                 INFER_OK);
			assert_int_equal(infer_sampler_draw(b, cut, NULL, (uint64_t)i, &y, NULL),
			                 INFER_OK);
			assert_int_equal(x, y);
		}
		memset(allowed, 0, sizeof allowed);
		assert_int_equal(infer_sampler_draw(a, l, allowed, 0, &x, NULL), INFER_EEMPTY);
		infer_sampler_free(a);
		infer_sampler_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_back), cmocka_unit_test(test_mask) };

	return nth_group(tests);
}
