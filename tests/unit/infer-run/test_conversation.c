/* Conversations: what a file may hold, what stays when it may not, turns added and taken back. */
#include "../nth.h"
#include "infer-run/chat/conversation.h"
#include "common/file.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_talk.XXXXXX", path[64];

static int start(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/talk.json", dir);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static struct buf text_of(const char *s)
{
	return (struct buf){ .at = (char *)(size_t)s, .len = strlen(s) };
}

/* Equal in every byte that is written of them. */
static int same(int *is, const struct conversation *a, const struct conversation *b)
{
	struct buf x, y;
	int rc;

	buf_init(&x, MEM_BASE);
	buf_init(&y, MEM_BASE);
	nth_ok(conversation_print(a, &x, NULL));
	nth_ok(conversation_print(b, &y, NULL));
	*is = x.len == y.len && !memcmp(x.at, y.at, x.len);
out:
	buf_fini(&x);
	buf_fini(&y);
	return rc;
}

static int case_round(void)
{
	const struct buf hello = text_of("hello\n\"you\" \xc3\xa9\xf0\x9f\xa6\x8a"),
			 answer = text_of(""), why = text_of("because");
	struct conversation t = { 0 }, again = { 0 };
	struct buf text;
	int rc, is;

	buf_init(&text, MEM_BASE);
	nth_ok(conversation_init(&t, NULL));
	nth_ok(conversation_add(&t, "user", &hello, NULL, NULL));
	nth_ok(conversation_add(&t, "assistant", &answer, &why, NULL));
	nth_ok(conversation_system(&t, "be brief", NULL));
	nth_ok(conversation_save(&t, path, NULL));
	nth_ok(conversation_load(&again, path, NULL));
	nth_ok(same(&is, &t, &again));
	assert_true(is);
	assert_int_equal(conversation_count(&again), 3);
	assert_true(conversation_is(&again, 0, "system"));
	assert_false(conversation_is(&again, 1, "system"));
	assert_false(conversation_is(&again, 3, "user"));
	assert_int_equal(conversation_last(&again, "user"), 1);
	assert_int_equal(conversation_last(&again, "tool"), -1);
	nth_ok(conversation_print(&again, &text, NULL));
	assert_non_null(strstr(text.at, "\"reasoning_content\":\"because\",\"content\":\"\"}"));
out:
	buf_fini(&text);
	conversation_fini(&t);
	conversation_fini(&again);
	return rc;
}

static int case_turns(void)
{
	const struct buf a = text_of("a"), b = text_of("b");
	struct conversation t = { 0 }, before = { 0 };
	int rc, is;

	nth_ok(conversation_init(&before, NULL));
	nth_ok(conversation_add(&before, "user", &a, NULL, NULL));
	nth_ok(conversation_init(&t, NULL));
	nth_ok(conversation_add(&t, "user", &a, NULL, NULL));
	nth_ok(conversation_keep(&t, NULL));
	nth_ok(conversation_add(&t, "assistant", &b, NULL, NULL));
	nth_ok(conversation_system(&t, "x", NULL));
	nth_ok(conversation_system(&t, "y", NULL));
	assert_int_equal(conversation_count(&t), 3);
	nth_ok(conversation_system(&t, NULL, NULL));
	assert_int_equal(conversation_count(&t), 2);
	nth_ok(conversation_system(&t, NULL, NULL));
	conversation_cut(&t, 1);
	nth_ok(same(&is, &t, &before));
	assert_true(is);
	/* what was kept comes back whatever became of the list, once */
	conversation_cut(&t, 0);
	nth_ok(conversation_add(&t, "user", &b, NULL, NULL));
	nth_ok(conversation_add(&t, "user", &b, NULL, NULL));
	conversation_undo(&t);
	nth_ok(same(&is, &t, &before));
	assert_true(is);
	conversation_cut(&t, 5);
	conversation_undo(&t);
	assert_int_equal(conversation_count(&t), 1);
	conversation_cut(&t, 0);
	assert_int_equal(conversation_count(&t), 0);
out:
	conversation_fini(&t);
	conversation_fini(&before);
	return rc;
}

static int case_parts(void)
{
	static const char messages[] =
		"[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one \"},"
		"{\"type\":\"text\",\"text\":\"two\"}],\"name\":\"kept\"}]";
	struct conversation t = { 0 };
	struct buf b;
	int rc;

	buf_init(&b, MEM_BASE);
	nth_ok(conversation_parse(&t, messages, sizeof messages - 1, "it", NULL));
	nth_ok(conversation_content(&t, 0, &b, NULL));
	assert_string_equal(b.at, "one two");
	buf_clear(&b);
	nth_ok(conversation_print(&t, &b, NULL));
	assert_non_null(strstr(b.at, "\"name\":\"kept\""));
out:
	conversation_fini(&t);
	buf_fini(&b);
	return rc;
}

static void test_damaged(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "line 1" },
		{ "[", "line 1" },
		{ "{}", "must be an array" },
		{ "[{}]", "messages[0]" },
		{ "[7]", "messages[0]" },
		{ "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":null}]", "messages[1]" },
		{ "[{\"role\":\"user\",\"role\":\"user\"}]", "line 1" },
		{ "[]x", "line 1" },
		{ "[{\"role\":\"User\"}]", "small letters" },
	};
	infer_error err;
	struct conversation t;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(
			conversation_parse(&t, cases[i].text, strlen(cases[i].text), "it", &err),
			INFER_EFORMAT);
		assert_null(t.turns);
		if (!strstr(err.message, cases[i].says) || strncmp(err.message, "it: ", 4))
			fail_msg("case %zu says %s", i, err.message);
	}
}

/* A name stands for what it stood for until the new file is whole; nothing else lies about. */
static void test_atomic(void **state)
{
	struct conversation t;
	struct stat st;
	struct buf b;
	char missing[64];

	(void)state;
	buf_init(&b, MEM_BASE);
	assert_int_equal(file_write(path, "old", 3, 0666, NULL), INFER_OK);
	assert_int_equal(conversation_parse(&t, "[]", 2, "it", NULL), INFER_OK);
	snprintf(missing, sizeof missing, "%s/missing/talk", dir);
	assert_int_equal(conversation_save(&t, missing, NULL), INFER_EIO);
	assert_int_equal(conversation_save(&t, "/dev/null", NULL), INFER_EIO);
	assert_int_equal(conversation_save(&t, dir, NULL), INFER_EIO);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(file_read(&b, path, 10, NULL), INFER_OK);
	assert_string_equal(b.at, "old");
	assert_int_equal(conversation_save(&t, path, NULL), INFER_OK);
	buf_clear(&b);
	assert_int_equal(file_read(&b, path, 10, NULL), INFER_OK);
	assert_string_equal(b.at, "[\n]\n");
	assert_int_equal(file_read(&b, path, 3, NULL), INFER_EFORMAT);
	conversation_fini(&t);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_round),           nth_case(case_turns),          nth_case(case_parts),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_atomic),
	};
	return cmocka_run_group_tests(tests, start, end);
}
