/* tests/unit/automata/test_format.c - formats of strings: words that have them and words that have
 * not, every date, and the JSON Schema test suite where it is there. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../shared.h"
#include "../values.h"
#include "automata/format.h"
#include "sound.h"

static struct dfa *format(const char *name, size_t n)
{
	const struct string_format *f = string_format_find(name, n);
	struct budget left = PLENTY;
	infer_error err;
	struct dfa *d;

	if (!f)
		return NULL;
	if (string_format_dfa(&d, f, &left, &err))
		fail_msg("%s: %s", f->name, err.message);
	sound(d);
	/* none is so large that a request would feel it */
	assert_true(d->n_states < 800);
	assert_true(BUDGET_STEPS - left.steps < 4000000);
	return d;
}

static int check(const struct dfa *d, const struct json *words, int want)
{
	int wrong = 0;

	json_each(w, words) {
		if (dfa_match(d, json_str(w), json_bytes(w)) == want)
			continue;
		print_error("'%.*s' is %d\n", (int)json_bytes(w), json_str(w), want);
		wrong++;
	}
	return wrong;
}

static void test_golden(void **state)
{
	FILE *f = fopen("tests/golden/format/cases.jsonl", "rb");
	char *line = NULL;
	size_t cap = 0, cases = 0;
	int wrong = 0;
	struct arena a;

	(void)state;
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0; cases++) {
		const struct json *row = value_n(&a, arena_strndup(&a, line, (size_t)n), (size_t)n);
		const struct json *name = json_get(row, "format");
		struct dfa *d = format(json_str(name), json_bytes(name));

		assert_non_null(d);
		/* a row for each format, in the same order */
		assert_true(json_equals(name, string_format_at(cases)->name));
		assert_true(json_count(json_get(row, "yes")) > 2);
		assert_true(json_count(json_get(row, "no")) > 4);
		wrong += check(d, json_get(row, "yes"), 1);
		wrong += check(d, json_get(row, "no"), 0);
		dfa_free(d);
	}
	assert_null(string_format_at(cases));
	assert_int_equal(wrong, 0);
	arena_fini(&a);
	free(line);
	fclose(f);
}

static int days(int y, int m)
{
	static const int n[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	if (m < 1 || m > 12)
		return 0;
	return n[m - 1] + (m == 2 && (y % 400 == 0 || (y % 4 == 0 && y % 100 != 0)));
}

static void two(char *s, int v)
{
	s[0] = (char)('0' + v / 10);
	s[1] = (char)('0' + v % 10);
}

static void test_every_date(void **state)
{
	struct dfa *d = format("date", 4);
	char s[] = "yyyy-mm-dd";

	(void)state;
	for (int y = 0; y < 10000; y++) {
		two(s, y / 100);
		two(s + 2, y % 100);
		for (int m = 0; m < 14; m++) {
			two(s + 5, m);
			/* of February all days, of others in some years */
			for (int day = 0; day < (m == 2 || y % 97 == 0 ? 34 : 2); day++) {
				const int want = y > 0 && day > 0 && day <= days(y, m);

				two(s + 8, day);
				if (dfa_match(d, s, 10) != want)
					fail_msg("%s is %d", s, want);
			}
		}
	}
	dfa_free(d);
}

static void test_absent(void **state)
{
	static const char *const names[] = { "idn-hostname", "",      "dat",  "datee",
		                             "Date",         "color", "phone" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_null(string_format_find(names[i], strlen(names[i])));
	assert_null(string_format_find(NULL, 0));
	assert_true(string_format_is_free("int64", 5) && string_format_is_free("password", 8));
	assert_false(string_format_is_free("date", 4) || string_format_is_free("int", 3) ||
	             string_format_is_free(NULL, 0));
}

/* -- the test suite ------------------------------------------------------------------------- */

/* What the head of format.h leaves out. */
static int left_out(const struct json *format, const struct json *word, int valid)
{
	const char *s = json_str(word);
	const size_t n = json_bytes(word);

	if (json_equals(format, "time") || json_equals(format, "date-time"))
		return valid && memmem(s, n, "9:60", 4) != NULL;
	if (json_equals(format, "regex"))
		return valid && (memmem(s, n, "(?<", 3) || memmem(s, n, "[]", 2) ||
		                 memmem(s, n, "[^]", 3) || memmem(s, n, "\\c", 2));
	if (json_equals(format, "hostname"))
		return valid && memmem(s, n, "xn--", 4) != NULL;
	return 0;
}

static void test_suite(void **state)
{
	char path[SHARED_PATH];
	char *line = NULL;
	size_t cap = 0;
	int cases = 0, wrong = 0, out = 0;
	struct arena a;
	FILE *f;

	(void)state;
	shared_need("data/json-schema-test-suite/flat.jsonl", 1000, path);
	f = fopen(path, "rb");
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0; arena_reset(&a)) {
		const struct json *row = value_n(&a, line, (size_t)n),
				  *name = json_get(json_get(row, "schema"), "format");
		struct dfa *d;

		if (strncmp(json_str(json_get(row, "file")), "optional/format/", 16) != 0 ||
		    !(d = format(json_str(name), json_bytes(name))))
			continue;
		json_each(t, json_get(row, "tests")) {
			const struct json *word = json_get(t, "data");
			const int valid = json_is(json_get(t, "valid"), JSON_TRUE);

			if (!json_is_string(word))
				continue;
			cases++;
			if (dfa_match(d, json_str(word), json_bytes(word)) == valid)
				continue;
			if (left_out(name, word, valid)) {
				out++;
				continue;
			}
			print_error("%.*s: %.*s is %d\n", (int)json_bytes(name), json_str(name),
			            (int)json_bytes(word), json_str(word), valid);
			wrong++;
		}
		dfa_free(d);
	}
	assert_true(cases > 800);
	assert_true(out < 57);
	assert_int_equal(wrong, 0);
	arena_fini(&a);
	free(line);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_every_date),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_suite),
	};

	return nth_group(tests);
}
