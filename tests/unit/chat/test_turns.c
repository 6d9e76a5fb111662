/* tests/unit/chat/test_turns.c - a conversation that is read once gives the prompts that its
 * text gives, turn by turn. */
#include "../nth.h"
#include <infer/chat.h>
#include <string.h>

static const char src[] = "{% for m in messages %}[{{ m.role }}|{{ m.content }}|"
			  "{{ m.reasoning_content|default('') }}]{% endfor %}";
static infer_chat *chat;

/* Rendered as it is, and by way of its text. */
static int both(char **a, char **b, const infer_turns *t)
{
	struct infer_conversation c = { .turns = t };
	char *text = NULL;
	size_t n, n_text;
	int rc;

	*a = *b = NULL;
	nth_ok(infer_turns_print(t, &text, &n_text, NULL));
	nth_ok(infer_chat_render(chat, NULL, &c, a, NULL, &n, NULL));
	c = (struct infer_conversation){ .messages = text, .messages_n = n_text };
	nth_ok(infer_chat_render(chat, NULL, &c, b, NULL, &n, NULL));
out:
	infer_chat_free(text);
	return rc;
}

static int case_grows(void)
{
	static const char json[] = "[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\","
				   "\"content\":[{\"type\":\"text\",\"text\":\"U\"}]}]";
	const struct infer_str says = { "A\xc3\xa9", 3 }, why = { "T", 1 }, more = { "", 0 };
	char *a = NULL, *b = NULL;
	infer_turns *t = NULL;
	infer_error err;
	int rc;

	nth_ok(infer_turns_new(&t, &err));
	nth_ok(infer_turns_read(t, json, sizeof json - 1, "it", &err));
	nth_ok(infer_turns_add(t, "assistant", &says, &why, &err));
	nth_ok(infer_turns_add(t, "user", &more, NULL, &err));
	nth_ok(both(&a, &b, t));
	assert_string_equal(a, "[system|S|][user|U|][assistant|A\xc3\xa9|T][user||]");
	assert_string_equal(a, b);
	/* a text that is refused changes nothing */
	nth_fails(infer_turns_read(t, "[{\"role\":\"user\",\"content\":7}]", 29, "it", &err),
	          INFER_EFORMAT);
	assert_string_equal(err.message,
	                    "it: messages[0]: content must be a string, null or an array");
	assert_int_equal(infer_turns_count(t), 4);
out:
	infer_chat_free(a);
	infer_chat_free(b);
	infer_turns_free(t);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_grows) };

	if (infer_chat_open(&chat, src, sizeof src - 1, "turns", NULL))
		return 1;
	int bad = nth_group(tests);

	infer_chat_close(&chat);
	return bad;
}
