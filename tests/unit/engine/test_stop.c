/* tests/unit/engine/test_stop.c - stop strings, compared with a search over the whole text, for
 * random texts, strings and divisions. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "engine/engine.h"

static uint64_t draws;
static uint32_t draw(uint32_t below)
{
	uint32_t r[4];

	rng_block(r, 7, draws++);
	return r[0] % below;
}

/* Bytes of text[0 .. n) that may go out: *over where a string is complete; else all but the longest
 * end that begins one. */
static size_t expect(const char *text, size_t n, const struct infer_str *s, int k, int *over)
{
	size_t held = 0;

	for (size_t end = 1; end <= n; end++) {
		size_t whole = 0;

		for (int i = 0; i < k; i++)
			if (s[i].len <= end && !memcmp(text + end - s[i].len, s[i].at, s[i].len) &&
			    s[i].len > whole)
				whole = s[i].len;
		if (whole) {
			*over = 1;
			return end - whole;
		}
	}
	for (int i = 0; i < k; i++)
		for (size_t len = 1; len < s[i].len && len <= n; len++)
			if (!memcmp(text + n - len, s[i].at, len) && len > held)
				held = len;
	*over = 0;
	return n - held;
}

static void one_text(void)
{
	char text[64], words[3][8];
	struct infer_str s[3];
	struct arena a;
	struct stop st;
	struct buf out;
	size_t n = 1 + draw(60), at = 0;
	int k = (int)draw(4), over = 0, want;

	for (size_t i = 0; i < n; i++)
		text[i] = "abc"[draw(2 + draw(2))];
	for (int i = 0; i < k; i++) {
		s[i] = (struct infer_str){ words[i], 1 + draw(7) };
		for (size_t j = 0; j < s[i].len; j++)
			words[i][j] = "abc"[draw(2 + draw(2))];
	}
	arena_init(&a, MEM_ENGINE);
	buf_init(&out, MEM_ENGINE);
	assert_int_equal(stop_init(&st, &a, s, k), INFER_OK);
	while (at < n && !over) {
		size_t more = 1 + draw(5), certain;

		if (more > n - at)
			more = n - at;
		over = stop_put(&st, text + at, more, &out);
		at += more;
		certain = expect(text, at, s, k, &want);
		assert_int_equal(over, want);
		assert_int_equal(out.len, certain);
		assert_memory_equal(out.at ? out.at : "", text, certain);
	}
	if (over) {
		at = out.len;
		assert_int_equal(stop_put(&st, "abc", 3, &out), 1); /* nothing comes any more */
	}
	stop_flush(&st, &out);
	assert_int_equal(out.len, at);
	assert_memory_equal(out.at ? out.at : "", text, at);
	buf_fini(&out);
	arena_fini(&a);
}

static void test_random(void **state)
{
	(void)state;
	for (int i = 0; i < 50000; i++)
		one_text();
}

static int case_memory(void)
{
	struct infer_str s[2] = { { "abcab", 5 }, { "xx", 2 } };
	struct arena a;
	struct stop st;
	int rc;

	arena_init(&a, MEM_ENGINE);
	nth_ok(stop_init(&st, &a, s, 2));
	assert_int_equal(st.longest, 5);
out:
	arena_fini(&a);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random), nth_case(case_memory) };

	return nth_group(tests);
}
