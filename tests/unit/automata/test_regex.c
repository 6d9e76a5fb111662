/* tests/unit/automata/test_regex.c - regular expressions: what node's RegExp says of the same
 * patterns and words, messages, budgets. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../shared.h"
#include "../values.h"
#include "automata/regex.h"
#include "sound.h"
#include "text/unicode.h"

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
	struct budget left = PLENTY;
	uint32_t i = 0;
	int n = 0;
	infer_error err = { 0 };
	struct dfa *d;

	if (regex_dfa(&d, json_str(p), json_bytes(p), how, &left, &err)) {
		print_error("%.*s: %s\n", (int)json_bytes(p), json_str(p), err.message);
		return 1;
	}
	assert_int_equal(left.bytes + d->bytes, BUDGET_BYTES);
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
	struct budget left = PLENTY;
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

/* Patterns of the JSON Schema test suite, where it is there. */
static void test_suite(void **state)
{
	char path[SHARED_PATH];
	char *line = NULL;
	size_t cap = 0;
	int cases = 0, wrong = 0;
	struct arena a;
	FILE *f;

	(void)state;
	shared_need("data/json-schema-test-suite/flat.jsonl", 100, path);
	f = fopen(path, "rb");
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0; arena_reset(&a)) {
		const struct json *row = value_n(&a, line, (size_t)n),
				  *schema = json_get(row, "schema"),
				  *p = json_get(schema, "pattern");
		struct budget left = PLENTY;
		infer_error err = { 0 };
		struct dfa *d;

		if (!json_is_string(p) || json_count(schema) != 1u + !!json_get(schema, "$schema"))
			continue;
		if (regex_dfa(&d, json_str(p), json_bytes(p), REGEX_SEARCH, &left, &err)) {
			print_error("%.*s: %s\n", (int)json_bytes(p), json_str(p), err.message);
			wrong++;
			continue;
		}
		json_each(t, json_get(row, "tests")) {
			const struct json *w = json_get(t, "data");
			const int valid = json_is(json_get(t, "valid"), JSON_TRUE);

			if (!json_is_string(w))
				continue;
			cases++;
			if (dfa_match(d, json_str(w), json_bytes(w)) == valid)
				continue;
			print_error("%.*s: '%.*s' is %d\n", (int)json_bytes(p), json_str(p),
			            (int)json_bytes(w), json_str(w), valid);
			wrong++;
		}
		dfa_free(d);
	}
	if (cases <= 40)
		fail_msg("%d cases", cases);
	assert_int_equal(wrong, 0);
	arena_fini(&a);
	free(line);
	fclose(f);
}

/* -- messages ------------------------------------------------------------------------------- */

static int compile(struct dfa **d, const char *pattern, enum regex_how how, struct budget left,
                   infer_error *err)
{
	return regex_dfa(d, pattern, strlen(pattern), how, &left, err);
}

static const struct {
	const char *pattern;
	int code;
	const char *says;
} messages[] = {
	{ "a(b", INFER_EINVAL, "character 2: ( without )" },
	{ "é中)", INFER_EINVAL, "character 3: ) without (" },
	{ "\U0001f600[b", INFER_EINVAL, "character 2: [ without ]" },
	{ "x**", INFER_EINVAL, "character 3: nothing to repeat" },
	{ "^*", INFER_EINVAL, "character 2: nothing to repeat" },
	{ "|+", INFER_EINVAL, "character 2: nothing to repeat" },
	{ "a{3,2}", INFER_EINVAL, "character 2: a repeat of 3 to 2 times" },
	{ "[z-a]", INFER_EINVAL, "character 2: the range z-a is out of order" },
	{ "ab\\", INFER_EINVAL, "character 3: \\ at the end" },
	{ "ab\\e", INFER_EINVAL, "character 3: \\e is not an escape" },
	{ "\\xg0", INFER_EINVAL, "character 1: \\x is not an escape" },
	{ "\\u12", INFER_EINVAL, "character 1: \\u is not followed by a code point" },
	{ "\\u{110000}", INFER_EINVAL, "character 1: \\u is not followed by a code point" },
	{ "\\pL", INFER_EINVAL, "character 1: \\p is not followed by {..}" },
	{ "(?<1>a)", INFER_EINVAL, "character 4: a group's name is missing or wrong" },
	{ "(?>a)", INFER_EINVAL, "character 1: (? is not followed by : = ! or <" },
	{ "(a)\\1", INFER_EUNSUP, "character 4: the back-reference \\1 is not supported" },
	{ "(?<n>a)\\k<n>", INFER_EUNSUP, "character 8: the back-reference \\k is not supported" },
	{ "[\\p{Script=Greek}]", INFER_EUNSUP,
	  "character 2: the property \\p{Script=Greek} is not supported" },
	{ "\\P{Emoji}", INFER_EUNSUP, "character 1: the property \\P{Emoji} is not supported" },
	{ "a(?i:b)", INFER_EUNSUP, "character 2: modifiers like (?i are not supported" },
	{ "(?<=a$)b", INFER_EUNSUP, "character 6: $ and \\b within look-behind are not supported" },
	{ "(?<!\\ba)b", INFER_EUNSUP,
	  "character 5: $ and \\b within look-behind are not supported" },
	{ "(?<=(?=a)a)b", INFER_EUNSUP,
	  "character 5: look-ahead within look-behind is not supported" },
	{ "(?=a(?<=a))b", INFER_EUNSUP,
	  "character 5: look-behind within look-ahead is not supported" },
};

static void test_messages(void **state)
{
	char deep[3 * 300];
	infer_error err;
	struct dfa *d;

	(void)state;
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		assert_int_equal(compile(&d, messages[i].pattern, REGEX_SEARCH, PLENTY, &err),
		                 messages[i].code);
		assert_null(d);
		assert_memory_equal(err.message, "the pattern: ", 13);
		assert_string_equal(err.message + 13, messages[i].says);
		assert_int_equal(compile(&d, messages[i].pattern, REGEX_SEARCH, PLENTY, NULL),
		                 messages[i].code);
	}
	struct budget left = PLENTY;

	assert_int_equal(regex_dfa(&d, "a\xff", 2, REGEX_WHOLE, &left, &err), INFER_EINVAL);
	assert_string_equal(err.message, "the pattern: character 2: not UTF-8");
	assert_int_equal(regex_dfa(&d, "a\0b", 3, REGEX_WHOLE, &left, &err), INFER_OK);
	assert_true(dfa_match(d, "a\0b", 3));
	dfa_free(d);
	assert_int_equal(regex_dfa(&d, NULL, 0, REGEX_WHOLE, &left, &err), INFER_OK);
	assert_true(dfa_match(d, "", 0));
	dfa_free(d);
	memset(deep, '(', 300);
	memset(deep + 300, ')', 300);
	deep[600] = 0;
	assert_int_equal(compile(&d, deep, REGEX_WHOLE, PLENTY, &err), INFER_EUNSUP);
	assert_string_equal(err.message,
	                    "the pattern: character 201: groups nested deeper than 200");
	deep[500] = 0;
	assert_int_equal(compile(&d, deep + 100, REGEX_WHOLE, PLENTY, &err), INFER_OK);
	assert_true(dfa_match(d, "", 0));
	dfa_free(d);
}

/* -- budgets -------------------------------------------------------------------------------- */

/* Patterns that look harmless; those that need too much say so, within the budget. */
static void test_budget(void **state)
{
	static const struct {
		const char *pattern;
		uint32_t states; /* 0: refused */
	} rows[] = {
		{ "(?:a?){500}a{500}", 1002 },
		{ "a{0,5000}", 5002 },
		{ "(?:(?:(?:(?:a*)*)*)*)*b", 3 },
		{ "(?:(?:(?:a?){9}){9}){9}", 731 },
		{ "[^]*a[^]{10}", 2049 },
		{ "(?:[^]*a){30}[^]*", 32 },
		{ "(?:(?=[ab]*$)[^])*", 2 },
		{ "(?:(?![^]*a[^]{5})[^]|b)*", 7 },
		{ "(?:a{0,1000}){0,1000}", 0 },
		{ "[^]*a[^]{40}", 0 },
		{ "(?:a{0,99999}){99999}", 0 },
		{ "a{4294967295}", 0 },
		{ "a{99999999999999999999}", 0 },
		{ "(?:){2000000000}", 0 },
		{ "(?:(?:x{1,100}){1,100}){1,100}", 0 },
		{ "(?=[^]*a[^]{30})(?=[^]*b[^]{30})[^]*", 0 },
	};
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct budget left = { 8000000, 64 << 20 };
		struct dfa *d;
		int rc = regex_dfa(&d, rows[i].pattern, strlen(rows[i].pattern), REGEX_WHOLE, &left,
		                   &err);

		if (rows[i].states) {
			if (rc || d->n_states != rows[i].states)
				fail_msg("%s: %u states", rows[i].pattern, d ? d->n_states : 0);
			dfa_drop(d, &left);
		} else {
			assert_int_equal(rc, INFER_EUNSUP);
			assert_null(d);
			assert_true(
				!strcmp(err.message, "the pattern needs more than 8000000 steps") ||
				!strcmp(err.message,
			                "the pattern needs more than 67108864 bytes") ||
				!strcmp(err.message,
			                "a complement needs more than 67108864 bytes"));
		}
		assert_int_equal(left.bytes, 64 << 20);
	}
}

/* Whatever the budget, nothing is lost. */
static void test_every_budget(void **state)
{
	static const char pattern[] = "(?=\\w+$)(?!.*__)[^\\d](?:\\b|\\p{Sm}){1,3}.{0,4}(?<=a|b)";
	struct budget left = PLENTY;
	struct dfa *d;
	uint64_t steps;

	(void)state;
	assert_int_equal(compile(&d, pattern, REGEX_SEARCH, left, NULL), INFER_OK);
	dfa_free(d);
	assert_int_equal(regex_dfa(&d, pattern, strlen(pattern), REGEX_SEARCH, &left, NULL),
	                 INFER_OK);
	dfa_free(d);
	steps = BUDGET_STEPS - left.steps;
	for (uint64_t n = 0; n < steps; n += 1 + steps / 300) {
		left = (struct budget){ n, BUDGET_BYTES };
		assert_int_equal(regex_dfa(&d, pattern, strlen(pattern), REGEX_SEARCH, &left, NULL),
		                 INFER_EUNSUP);
		assert_int_equal(left.bytes, BUDGET_BYTES);
		left = (struct budget){ BUDGET_STEPS, n };
		if (regex_dfa(&d, pattern, strlen(pattern), REGEX_SEARCH, &left, NULL))
			assert_null(d);
		else
			dfa_drop(d, &left);
		assert_int_equal(left.bytes, n);
	}
}

/* -- the frame ------------------------------------------------------------------------------ */

/* A pattern of one and the same kind of character takes one class, however it is written. */
static void test_classes(void **state)
{
	struct dfa *d, *e;

	(void)state;
	assert_int_equal(compile(&d, "[\\p{L}\\p{N}]+", REGEX_WHOLE, PLENTY, NULL), INFER_OK);
	assert_int_equal(d->n_classes, 2);
	assert_int_equal(d->n_states, 3);
	dfa_free(d);
	/* surrogates are not characters, pairs of their escapes are */
	assert_int_equal(
		compile(&d, "\\ud83d\\ude00|\\ud83d|[\\udc00-\\udfff]", REGEX_WHOLE, PLENTY, NULL),
		INFER_OK);
	assert_int_equal(compile(&e, "\\u{1f600}", REGEX_WHOLE, PLENTY, NULL), INFER_OK);
	assert_true(dfa_equal(d, e));
	dfa_free(d);
	dfa_free(e);
	assert_int_equal(compile(&d, "", REGEX_SEARCH, PLENTY, NULL), INFER_OK);
	assert_true(dfa_is_all(d));
	dfa_free(d);
	assert_int_equal(compile(&d, "a$b", REGEX_SEARCH, PLENTY, NULL), INFER_OK);
	assert_true(dfa_is_none(d));
	dfa_free(d);
}

/* A property against the tables that it is from, for every character. */
static void test_properties(void **state)
{
	static const struct {
		const char *pattern;
		uint32_t set;
	} rows[] = {
		{ "\\p{L}", UNI_L },
		{ "\\P{Cn}", ~UNI_BIT(UNI_CN) & ~(UNI_SPACE | UNI_HAN) },
		{ "\\p{gc=Mn}", UNI_BIT(UNI_MN) },
		{ "\\p{Co}", UNI_BIT(UNI_CO) },
		{ "\\p{Script=Han}", UNI_HAN },
		{ "[\\p{Lu}\\p{Nd}\\p{White_Space}]",
		  UNI_BIT(UNI_LU) | UNI_BIT(UNI_ND) | UNI_SPACE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct dfa *d;

		assert_int_equal(compile(&d, rows[i].pattern, REGEX_WHOLE, PLENTY, NULL), INFER_OK);
		for (uint32_t cp = 0; cp <= DFA_MOST_CP; cp++) {
			const int want = (unicode_set(cp) & rows[i].set) != 0;

			if (cp >> 11 != 0x1b && dfa_accepts(d, dfa_step(d, d->start, cp)) != want)
				fail_msg("%s: U+%04X is %d", rows[i].pattern, cp, want);
		}
		dfa_free(d);
	}
}

static int case_memory(void)
{
	static const char pattern[] = "^(?!x)(?=a|\\p{Sm})[a-c]+\\b(?<!b)$";
	struct dfa *d = NULL;
	int rc;

	nth_ok(compile(&d, pattern, REGEX_SEARCH, PLENTY, NULL));
	assert_true(dfa_match(d, "abc", 3));
	assert_false(dfa_match(d, "acb", 3));
out:
	assert_true(!rc || !d);
	dfa_free(d);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),       cmocka_unit_test(test_suite),
		cmocka_unit_test(test_messages),     cmocka_unit_test(test_budget),
		cmocka_unit_test(test_every_budget), cmocka_unit_test(test_classes),
		cmocka_unit_test(test_properties),   nth_case(case_memory),
	};

	return nth_group(tests);
}
