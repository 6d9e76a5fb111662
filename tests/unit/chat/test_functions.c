/* tests/unit/chat/test_functions.c - templates that need the variable functions, compared with jinja2. */
#include "../nth.h"
#include <infer/chat.h>
#include <stdio.h>
#include <string.h>
#include "chat/chat.h"
#include "../values.h"

/* Render a template that needs `functions` and `datetime` without tools and with them; compare with jinja2's output. */
static int case_functions(void)
{
	static char line[1 << 14];
	FILE *f = fopen("tests/golden/templates/functions.jsonl", "r");
	infer_tools *list = NULL;
	infer_chat *chat = NULL;
	char *text = NULL;
	struct arena arena;
	int rc = INFER_OK, rows = 0;
	size_t n;

	assert_non_null(f);
	arena_init(&arena, MEM_TEXT);
	for (; fgets(line, sizeof line, f); rows++) {
		const struct json *row = value_n(&arena, line, strlen(line)),
				  *src = json_get(row, "template"), *tools = json_get(row, "tools");
		const char *want, *m = written(&arena, json_get(row, "messages")),
				  *t = written(&arena, tools);
		nth_need(row && m && t);
		/* 2026-08-15 12:34:56 */
		struct infer_conversation c = { .messages = m,
			                        .messages_n = strlen(m),
			                        .now = 1786797296 };

		nth_ok(infer_chat_open(&chat, json_str(src), json_bytes(src), "test", NULL));
		if (!json_is_null(tools))
			nth_ok(infer_tools_read(&list, t, strlen(t), NULL));
		c.tools = list;
		nth_ok(infer_chat_render(chat, NULL, &c, &text, NULL, &n, NULL));
		want = text_of(&arena, json_get(row, "text"));
		nth_need(want != NULL);
		assert_string_equal(text, want);
		infer_chat_free(text);
		text = NULL;
		infer_tools_free(list);
		list = NULL;
		infer_chat_close(&chat);
	}
	assert_int_equal(rows, 4);
out:
	infer_chat_free(text);
	infer_tools_free(list);
	infer_chat_close(&chat);
	arena_fini(&arena);
	fclose(f);
	return rc;
}

/* A template that needs `functions` is probed with it; other templates do not get this variable. */
static void test_functions_caps(void **state)
{
	static const char src[] =
		"{{ functions + datetime }}{% for m in messages %}[{{ m.content }}]{% endfor %}",
			  other[] = "{{ functions is defined }}{% for m in messages %}[{{ "
				    "m.content }}]{% endfor %}";
	struct infer_conversation c = {
		.user = "a",
		.user_n = 1,
		.args = "{\"functions\":\"f\",\"datetime\":\"d\"}",
		.args_n = 32,
	};
	struct infer_chat_caps caps;
	infer_chat *chat;
	char *text;
	size_t n;

	(void)state;
	assert_int_equal(infer_chat_open(&chat, src, sizeof src - 1, "test", NULL), INFER_OK);
	infer_chat_caps(chat, &caps);
	assert_true(caps.tools && caps.system);
	assert_true(chat->asks_time);
	assert_int_equal(infer_chat_render(chat, NULL, &c, &text, NULL, &n, NULL), INFER_OK);
	assert_string_equal(text, "fd[a]"); /* arguments win */
	infer_chat_free(text);
	infer_chat_close(&chat);
	c.args = NULL;
	assert_int_equal(infer_chat_open(&chat, other, sizeof other - 1, "test", NULL), INFER_OK);
	assert_false(chat->asks_time);
	assert_int_equal(infer_chat_render(chat, NULL, &c, &text, NULL, &n, NULL), INFER_OK);
	assert_string_equal(text, "False[a]");
	infer_chat_free(text);
	infer_chat_close(&chat);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_functions),
		                            cmocka_unit_test(test_functions_caps) };
	return nth_group(tests);
}
