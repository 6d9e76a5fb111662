/* tests/unit/automata/test_number.c - numbers with bounds and multiples: what Python's fractions say
 * of the same literals, and every literal of a few characters. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../values.h"
#include "automata/number.h"
#include "sound.h"

static struct number_text text(const char *s)
{
	return (struct number_text){ s, s ? strlen(s) : 0 };
}

static struct number_text member(const struct json *row, const char *key)
{
	const struct json *v = json_get(row, key);

	return v ? (struct number_text){ json_str(v), json_bytes(v) } : (struct number_text){ 0 };
}

static int bit(const struct json *bits, uint32_t i)
{
	const char c = json_str(bits)[i / 4];

	return (c <= '9' ? c - '0' : c - 'a' + 10) >> (3 - i % 4) & 1;
}

/* The number of literals on which the row and its automaton differ. */
static int differ(const struct json *words, const struct json *row, const char *line)
{
	const struct number_spec spec = {
		.kind = (enum number_kind)json_get(row, "kind")->i,
		.minimum = member(row, "minimum"),
		.maximum = member(row, "maximum"),
		.exclusive_minimum = member(row, "exclusiveMinimum"),
		.exclusive_maximum = member(row, "exclusiveMaximum"),
		.multiple_of = member(row, "multipleOf"),
	};
	struct budget left = PLENTY;
	infer_error err = { 0 };
	uint32_t i = 0;
	int n = 0;
	struct dfa *d;

	if (number_dfa(&d, &spec, &left, &err))
		fail_msg("%s: %s", line, err.message);
	assert_int_equal(left.bytes + d->bytes, BUDGET_BYTES);
	sound(d);
	json_each(w, words) {
		const int want = bit(json_get(row, "bits"), i++);

		if (dfa_match(d, json_str(w), json_bytes(w)) == want)
			continue;
		if (n++ < 5)
			print_error("%.100s: %.*s is %d\n", line, (int)json_bytes(w), json_str(w),
			            want);
	}
	dfa_free(d);
	return n;
}

static void test_golden(void **state)
{
	FILE *f = fopen("tests/golden/number/cases.jsonl", "rb");
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
		if (json_get(row, "words"))
			words = json_get(row, "words");
		else
			wrong += differ(words, row, line);
	}
	assert_true(cases > 200);
	assert_true(json_count(words) > 1000);
	assert_int_equal(wrong, 0);
	arena_fini(&a);
	free(line);
	fclose(f);
}

static int number(struct dfa **d, const struct number_spec *spec, struct budget left,
                  infer_error *err)
{
	return number_dfa(d, spec, &left, err);
}

/* what is said of a bound `minimum` */
static const char *said(const char *minimum)
{
	static infer_error err;
	struct dfa *d;

	assert_int_equal(
		number(&d, &(struct number_spec){ .minimum = text(minimum) }, PLENTY, &err),
		INFER_EINVAL);
	assert_null(d);
	return err.message;
}

static void test_texts(void **state)
{
	static const char *const bad[] = { "",    "-",  "+1", "01",    "1.",  ".5",  "1e",   "1e+",
		                           "0x1", " 1", "1 ", "1e1.5", "--1", "NaN", "1.5.", "e1" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_non_null(strstr(said(bad[i]), "is not a number"));
	assert_string_equal(said("1x"), "minimum: '1x' is not a number");
}

static void test_refused(void **state)
{
	static const struct {
		const char *multiple;
		int code;
		const char *says;
	} rows[] = {
		{ "0", INFER_EINVAL, "multipleOf: 0 is not greater than 0" },
		{ "-0.0", INFER_EINVAL, "multipleOf: -0.0 is not greater than 0" },
		{ "-3", INFER_EINVAL, "multipleOf: -3 is not greater than 0" },
		{ "1234567890123456789", INFER_EUNSUP,
		  "multipleOf: 1234567890123456789 has more than 18 digits" },
		{ "1e5000", INFER_EUNSUP, "multipleOf: 1e5000 has more than 4096 digits" },
		{ "1e-999999999999", INFER_EUNSUP,
		  "multipleOf: 1e-999999999999 has more than 4096 digits" },
		{ "123456789012345677", INFER_EUNSUP, "multipleOf needs more than" },
		{ "1000000007", INFER_EUNSUP, "multipleOf needs more than" },
	};
	infer_error err;
	struct dfa *d;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct number_spec spec = { .multiple_of = text(rows[i].multiple) };

		assert_int_equal(number(&d, &spec, PLENTY, &err), rows[i].code);
		assert_null(d);
		assert_memory_equal(err.message, rows[i].says, strlen(rows[i].says));
	}
}

/* Small automata stay small, however the number is written. */
static void test_sizes(void **state)
{
	struct dfa *d, *e;
	struct number_spec byte = { .kind = NUMBER_DIGITS,
		                    .minimum = text("0"),
		                    .maximum = text("255") },
			   one = { .minimum = text("12.5"), .multiple_of = text("0.01") },
			   two = { .minimum = text("125E-1"), .multiple_of = text("1e-2") },
			   none = { .kind = NUMBER_INTEGER,
		                    .exclusive_minimum = text("3"),
		                    .exclusive_maximum = text("4") };
	uint64_t n;

	(void)state;
	assert_int_equal(number(&d, &byte, PLENTY, NULL), INFER_OK);
	assert_int_equal(dfa_count(&n, d, NULL), INFER_OK);
	assert_int_equal(n, 257); /* and -0 */
	assert_true(d->n_states <= 9);
	dfa_free(d);
	assert_int_equal(number(&d, &one, PLENTY, NULL), INFER_OK);
	assert_int_equal(number(&e, &two, PLENTY, NULL), INFER_OK);
	assert_true(dfa_equal(d, e));
	dfa_free(d);
	dfa_free(e);
	assert_int_equal(number(&d, &none, PLENTY, NULL), INFER_OK);
	assert_true(dfa_is_none(d));
	dfa_free(d);
	assert_int_equal(
		number(&d, &(struct number_spec){ .multiple_of = text("1e100") }, PLENTY, NULL),
		INFER_OK);
	assert_true(d->n_states < 120);
	dfa_free(d);
}

static int case_memory(void)
{
	const struct number_spec spec = { .kind = NUMBER_INTEGER,
		                          .minimum = text("-5"),
		                          .multiple_of = text("2.5") };
	struct dfa *d = NULL;
	int rc;

	nth_ok(number(&d, &spec, PLENTY, NULL));
	assert_true(dfa_match(d, "10.0", 4));
	assert_false(dfa_match(d, "-10", 3));
out:
	assert_true(!rc || !d);
	dfa_free(d);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),  cmocka_unit_test(test_texts),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_sizes),
		nth_case(case_memory),
	};

	return nth_group(tests);
}
