/* tests/unit/grammar/test_regex.c - regular expressions: what node's RegExp says of the same
 * patterns and words, messages, budgets. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../json.h"
#include "../values.h"
#include "grammar/regex.h"
#include "sound.h"

/* -- golden --------------------------------------------------------------------------------- */

static int bit(const struct json *bits, uint32_t i)
{
	const char c = json_str(bits)[i / 4];

	return (c <= '9' ? c - '0' : c - 'a' + 10) >> (3 - i % 4) & 1;
}

/* The number of words on which the pattern and the golden bits differ. */
static int differ(const struct json *words, const struct json *row, const char *key,
                  enum regex_how how)
{
	const struct json *p = json_get(row, "p"), *bits = json_get(row, key);
	const int lax = json_get(row, "lax") != NULL;
	struct grammar_budget left = PLENTY;
	uint32_t i = 0;
	int n = 0;
	infer_error err = { 0 };
	struct dfa *d;

	if (regex_dfa(&d, json_str(p), json_bytes(p), how, &left, &err)) {
		print_error("%.*s: %s\n", (int)json_bytes(p), json_str(p), err.message);
		return 1;
	}
	assert_int_equal(left.bytes + d->bytes, GRAMMAR_BYTES);
	sound(d);
	json_each(w, words) {
		const int want = bit(bits, i++);

		/* without the flag u, node sees two characters beyond the basic plane */
		if (lax && json_bytes(w) && memchr(json_str(w), 0xf0, json_bytes(w)))
			continue;
		if (dfa_match(d, json_str(w), json_bytes(w)) == want)
			continue;
		if (n++ < 5)
			print_error("%.*s (%s): '%.*s' is %d\n", (int)json_bytes(p), json_str(p),
			            key, (int)json_bytes(w), json_str(w), want);
	}
	dfa_free(d);
	return n;
}

static int bad_pattern(const struct json *p)
{
	struct grammar_budget left = PLENTY;
	infer_error err = { 0 };
	struct dfa *d;
	int rc = regex_dfa(&d, json_str(p), json_bytes(p), REGEX_SEARCH, &left, &err);

	assert_null(d);
	if (rc == INFER_EINVAL && strstr(err.message, ": character ") && !strchr(err.message, '\n'))
		return 0;
	print_error("%.*s: %d %s\n", (int)json_bytes(p), json_str(p), rc, err.message);
	return 1;
}

static void test_golden(void **state)
{
	FILE *f = fopen("tests/golden/regex/cases.jsonl", "rb");
	const struct json *words = NULL;
	char *line = NULL;
	size_t cap = 0;
	int cases = 0, wrong = 0;
	struct arena a;

	(void)state;
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0; cases++) {
		const struct json *row = value_n(&a, arena_strndup(&a, line, (size_t)n), (size_t)n);

		assert_non_null(row);
		if (json_get(row, "words")) {
			words = json_get(row, "words");
		} else if (json_get(row, "bad")) {
			wrong += bad_pattern(json_get(row, "bad"));
		} else {
			wrong += differ(words, row, "s", REGEX_SEARCH);
			wrong += differ(words, row, "w", REGEX_WHOLE);
		}
	}
	assert_true(cases > 800);
	assert_int_equal(wrong, 0);
	arena_fini(&a);
	free(line);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
	};

	return nth_group(tests);
}
