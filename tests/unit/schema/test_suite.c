/* tests/unit/schema/test_suite.c - the JSON Schema test suite: no invalid instance is accepted,
 * nearly all groups are exact, and every other one is refused with the keyword. */
#include "../nth.h"
#include <stdio.h>
#include <string.h>
#include "../shared.h"
#include "../values.h"
#include "../follow.h"
#include "grammar/grammar.h"

struct tally {
	char name[64];
	int groups, passed, refused, strict; /* strict: a valid instance is not accepted */
};

static struct tally table[64];
static int n_table;

static struct tally *tally_of(const char *name)
{
	for (int i = 0; i < n_table; i++)
		if (!strcmp(table[i].name, name))
			return table + i;
	assert_true(n_table < 64);
	snprintf(table[n_table].name, sizeof table->name, "%s", name);
	return table + n_table++;
}

/* True if every valid instance is accepted. Asserts that no invalid one is. */
static int check_test(const struct grammar *g, const struct json *row, const struct json *t,
                      int spaced)
{
	const int valid = json_is(json_get(t, "valid"), JSON_TRUE);
	infer_error err = { 0 };
	struct buf b;
	size_t taken;
	int got;

	buf_init(&b, MEM_TEXT);
	write_spaced(&b, json_get(t, "data"), spaced);
	got = follow(g, MATCH_TIDY, b.at, b.len, &taken, &err);
	/* what is inside a string is an annotation */
	if (got < 0 ||
	    (got && !valid && !json_equals(json_get(row, "file"), "optional/content.json")))
		fail_msg("%.*s: %.*s: %.*s is %d at %zu %s", (int)json_bytes(json_get(row, "file")),
		         json_str(json_get(row, "file")), (int)json_bytes(json_get(row, "group")),
		         json_str(json_get(row, "group")), (int)b.len, b.at, got, taken,
		         err.message);
	buf_fini(&b);
	return got == valid;
}

static int check_group(const struct grammar *g, const struct json *row)
{
	int exact = 1;

	json_each(t, json_get(row, "tests"))
		exact &= check_test(g, row, t, 0) & check_test(g, row, t, 1);
	return exact;
}

static void run_row(const struct json *row)
{
	char file[64] = "";
	const struct json *name = json_get(row, "file");
	const int optional = json_is(json_get(row, "optional"), JSON_TRUE);
	struct schema_opts o = { .draft = json_equals(json_get(row, "draft"), "draft7") ? SCHEMA_7
		                                                                        : 0 };
	struct budget left = { BUDGET_STEPS, BUDGET_BYTES };
	struct tally *t;
	struct grammar *g;
	infer_error err;
	int rc;

	snprintf(file, sizeof file, "%.*s", (int)json_bytes(name), json_str(name));
	/* without a vocabulary that asserts them, formats are annotations */
	o.annotate = !strcmp(file, "format.json");
	t = tally_of(optional ? "optional" : file);
	t->groups++;
	rc = schema_compile(&g, json_get(row, "schema"), &o, &left, &err);
	if (rc) {
		/* the message begins with the JSON pointer of the keyword */
		assert_true(rc == INFER_EUNSUP || rc == INFER_EINVAL);
		assert_true(!strncmp(err.message, "#/", 2));
		assert_int_equal(left.bytes, BUDGET_BYTES);
		t->refused++;
		return;
	}
	if (check_group(g, row))
		t->passed++;
	else
		t->strict++;
	ir_drop(g, &left);
	assert_int_equal(left.bytes, BUDGET_BYTES);
}

static void test_suite(void **state)
{
	int strict = 0, groups = 0, passed = 0;
	char path[SHARED_PATH];
	char *line = NULL;
	size_t cap = 0;
	struct arena a;
	FILE *f;

	(void)state;
	shared_need("data/json-schema-test-suite/flat.jsonl", 3880, path);
	f = fopen(path, "rb");
	assert_non_null(f);
	arena_init(&a, MEM_TEXT);
	for (ssize_t n; (n = getline(&line, &cap, f)) > 0; arena_reset(&a)) {
		const struct json *row = value_n(&a, line, (size_t)n);

		assert_non_null(row);
		run_row(row);
	}
	for (int i = 0; i < n_table; i++) {
		const struct tally *t = table + i;

		printf("# %-28s %3d groups: %3d exact, %2d refused, %2d too strict\n", t->name,
		       t->groups, t->passed, t->refused, t->strict);
		if (!strcmp(t->name, "optional"))
			continue;
		groups += t->groups;
		passed += t->passed;
		strict += t->strict;
	}
	printf("# required: %d of %d\n", passed, groups);
	assert_int_equal(strict, 0);
	assert_true(groups > 600 && passed >= 605);
	arena_fini(&a);
	free(line);
	fclose(f);
}

/* Thousands of properties, and many branches with the same names, take linear work. */
static void test_large(void **state)
{
	struct budget left = { BUDGET_STEPS / 4, BUDGET_BYTES / 4 };
	struct grammar *g;
	struct arena a;
	struct buf b;

	(void)state;
	arena_init(&a, MEM_TEXT);
	buf_init(&b, MEM_TEXT);
	buf_puts(&b, "{\"additionalProperties\":false,\"properties\":{\"\":true");
	for (int i = 0; i < 3000; i++)
		buf_printf(&b, ",\"property%d\":{\"type\":\"string\"}", i * 7919 % 3001);
	buf_puts(&b, "}}");
	assert_int_equal(schema_compile(&g, value_n(&a, b.at, b.len), NULL, &left, NULL), INFER_OK);
	ir_drop(g, &left);
	left = (struct budget){ BUDGET_STEPS / 4, BUDGET_BYTES / 4 };
	b.len = 0;
	buf_puts(&b, "{\"type\":\"object\",\"anyOf\":[true");
	for (int i = 0; i < 40; i++)
		buf_printf(&b, ",{\"required\":[\"a%d\"]}", i);
	buf_puts(&b, "],\"additionalProperties\":false,\"properties\":{\"b\":true");
	for (int i = 0; i < 40; i++)
		buf_printf(&b, ",\"a%d\":{\"enum\":[%d,\"value\"]}", i, i);
	buf_puts(&b, "}}");
	assert_int_equal(schema_compile(&g, value_n(&a, b.at, b.len), NULL, &left, NULL), INFER_OK);
	ir_drop(g, &left);
	/* equal lengths are intersected with a format once */
	left = (struct budget){ BUDGET_STEPS, BUDGET_BYTES };
	b.len = 0;
	buf_puts(&b, "{\"properties\":{\"a\":{\"maxLength\":100,\"format\":\"email\"}");
	for (int i = 0; i < 20; i++)
		buf_printf(&b, ",\"b%d\":{\"format\":\"email\",\"maxLength\":100}", i);
	buf_puts(&b, "}}");
	assert_int_equal(schema_compile(&g, value_n(&a, b.at, b.len), NULL, &left, NULL), INFER_OK);
	ir_drop(g, &left);
	/* names of a closed object take steps by their bytes */
	left = (struct budget){ BUDGET_STEPS / 4, BUDGET_BYTES / 4 };
	b.len = 0;
	buf_puts(&b, "{\"additionalProperties\":false,\"properties\":{\"\":true");
	for (int i = 0; i < 600; i++)
		buf_printf(&b, ",\"%d is a name that is long %d\":true", i * 7919 % 601, i);
	buf_puts(&b, "}}");
	assert_int_equal(schema_compile(&g, value_n(&a, b.at, b.len), NULL, &left, NULL), INFER_OK);
	ir_drop(g, &left);
	/* so do constants of an enum */
	left = (struct budget){ BUDGET_STEPS / 4, BUDGET_BYTES / 4 };
	b.len = 0;
	buf_puts(&b, "{\"enum\":[\"\"");
	for (int i = 0; i < 4000; i++)
		buf_printf(&b, ",\"%d of those %d names\"", i * 7919 % 4001, i);
	buf_puts(&b, "]}");
	assert_int_equal(schema_compile(&g, value_n(&a, b.at, b.len), NULL, &left, NULL), INFER_OK);
	ir_drop(g, &left);
	buf_fini(&b);
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_suite),
		                            cmocka_unit_test(test_large) };

	return nth_group(tests);
}
