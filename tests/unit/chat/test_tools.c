/* tests/unit/chat/test_tools.c - tools, which are read once, and templates with and without support
 * for them. */
#include "../nth.h"
#include <infer/chat.h>
#include <stdio.h>
#include <string.h>
#include "chat/tools.h"
#include "templates.h"

static const struct infer_conversation check_c[] = {
	{ 0 },
	{ .think = INFER_THINK_ON },
	{ .think = INFER_THINK_OFF },
};

/* What a template would ignore is refused. */
static void test_check(void **state)
{
	struct infer_conversation with = { 0 };
	infer_tools *tools;
	infer_chat *all, *none;

	(void)state;
	assert_int_equal(infer_chat_open(&all, CALLS, strlen(CALLS), "test", NULL), INFER_OK);
	assert_int_equal(infer_chat_open(&none, CHATML, strlen(CHATML), "test", NULL), INFER_OK);
	for (size_t i = 0; i < sizeof check_c / sizeof *check_c; i++) {
		assert_int_equal(infer_chat_check(all, &check_c[i], NULL), INFER_OK);
		assert_int_equal(infer_chat_check(none, &check_c[i], NULL),
		                 i ? INFER_EUNSUP : INFER_OK);
	}
	assert_int_equal(infer_tools_read(&tools, "[]", 2, NULL), INFER_OK);
	with.tools = tools;
	assert_int_equal(infer_chat_check(all, &with, NULL), INFER_OK);
	assert_int_equal(infer_chat_check(none, &with, NULL), INFER_EUNSUP);
	infer_tools_free(tools);
	infer_chat_close(&all);
	infer_chat_close(&none);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"{}", "[{}]", "[{\"name\":7}]", "[{\"function\":{}}]", "[", "[{\"name\":\"\"}]"
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		infer_error err = { 0 };
		infer_tools *t;

		assert_int_equal(infer_tools_read(&t, bad[i], strlen(bad[i]), &err), INFER_EFORMAT);
		assert_null(t);
		assert_true(strstr(err.message, "tools") != NULL);
	}
}

/* Wrapped as OpenAI has it, or bare; the schema of its parameters says what values are. */
static int case_read(void)
{
	static const char list[] =
		"[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{"
		"\"properties\":{\"a\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}}},"
		"{\"name\":\"python\"}]";
	infer_tools *t = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_tools_read(&t, list, sizeof list - 1, &err));
	assert_int_equal(t->n, 2);
	assert_string_equal(t->at[0].name, "f");
	assert_int_equal(chat_tools_value(&t->at[0], "a", 1), VALUE_TEXT);
	assert_int_equal(chat_tools_value(&t->at[0], "n", 1), VALUE_JSON);
	assert_int_equal(chat_tools_value(&t->at[1], "a", 1), 0);
	assert_int_equal(chat_tools_python(t), 1);
	assert_int_equal(json_count(t->list), 2);
out:
	infer_tools_free(t);
	return rc;
}

/* Properties and elements in nested schemas, alternatives, and behind references. */
static void test_schemas(void **state)
{
	static const char list[] =
		"[{\"name\":\"f\",\"parameters\":{\"$defs\":{"
		"\"e\":{\"enum\":[\"a\",\"b\"]},\"loop\":{"
		"\"$ref\":\"#/$defs/loop\"},\"o\":{\"type\":\"object\",\"properties\":{\"in\":{"
		"\"type\":\"boolean\"}}}},\"properties\":{\"e\":{\"$ref\":\"#/$defs/e\"},"
		"\"loop\":{\"$ref\":\"#/$defs/loop\"},\"away\":{\"$ref\":\"other.json#/e\"},"
		"\"u\":{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":\"null\"}},{\"$ref\":"
		"\"#/$defs/o\"}]},\"none\":{\"$ref\":\"#/$defs/missing\"}}}}]";
	const struct json *u;
	infer_tools *t;

	(void)state;
	assert_int_equal(infer_tools_read(&t, list, sizeof list - 1, NULL), INFER_OK);
	const struct chat_tool *f = t->at;

	assert_int_equal(chat_tools_value(f, "e", 1), VALUE_TEXT);
	assert_int_equal(chat_tools_value(f, "loop", 4), 0);
	assert_int_equal(chat_tools_value(f, "away", 4), 0);
	assert_int_equal(chat_tools_value(f, "none", 4), 0);
	assert_int_equal(chat_tools_value(f, "u", 1), VALUE_JSON);
	u = json_get(f->properties, "u");
	assert_int_equal(chat_tools_kinds(f, chat_tools_items(f, u)), VALUE_NULL);
	assert_int_equal(chat_tools_kinds(f, chat_tools_property(f, u, "in", 2)), VALUE_JSON);
	assert_null(chat_tools_property(f, u, "out", 3));
	assert_null(chat_tools_items(f, NULL));
	assert_true(chat_tools_admits(f, u, "array") && chat_tools_admits(f, u, "object"));
	assert_false(chat_tools_admits(f, u, "string"));
	assert_false(chat_tools_known(f));
	infer_tools_free(t);
}

#define MANY "{\"$ref\":\"#/$defs/m\"},{\"$ref\":\"#/$defs/m\"},{\"$ref\":\"#/$defs/m\"},"

/* Whether all kinds are known; schemas that contain each other many times take no time. */
static void test_known(void **state)
{
	static const struct {
		const char *parameters;
		int known;
	} rows[] = {
		{ "{}", 1 },
		{ "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"enum\":[1]}}}", 1 },
		{ "{\"properties\":{\"a\":{\"minLength\":1}}}", 0 },
		{ "{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"minLength\":1}}}}", 0 },
		{ "{\"$defs\":{\"p\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":"
		  "\"string\"}}}},\"properties\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/p\"},{"
		  "\"type\":\"null\"}]}}}",
		  1 },
		{ "{\"$defs\":{\"p\":{\"type\":\"object\",\"properties\":{\"x\":{}}}},"
		  "\"properties\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/p\"},{"
		  "\"type\":\"null\"}]}}}",
		  0 },
		{ "{\"$defs\":{\"m\":{\"anyOf\":[" MANY MANY MANY MANY
		  "{}]}},\"properties\":{\"a\":{"
		  "\"$ref\":\"#/$defs/m\"}}}",
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char list[2048];
		infer_tools *t;

		snprintf(list, sizeof list, "[{\"name\":\"f\",\"parameters\":%s}]",
		         rows[i].parameters);
		assert_int_equal(infer_tools_read(&t, list, strlen(list), NULL), INFER_OK);
		assert_int_equal(chat_tools_known(t->at), rows[i].known);
		assert_null(chat_tools_property(t->at, json_get(t->at->properties, "a"), "no", 2));
		infer_tools_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_schemas),
		cmocka_unit_test(test_known),
		nth_case(case_read),
	};
	return nth_group(tests);
}
