/* The history: order, bounds, the file and who may read it, what was cut short. */
#include "../nth.h"
#include "infer-run/chat/history.h"
#include "common/file.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_history.XXXXXX", path[64];

static int start(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/history", dir);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void write_file(const char *text, mode_t mode)
{
	FILE *f;

	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void file_is(const char *text)
{
	struct buf b;

	buf_init(&b, MEM_BASE);
	assert_int_equal(file_read(&b, path, 1 << 20, NULL), INFER_OK);
	assert_string_equal(b.at, text);
	buf_fini(&b);
}

static int case_round(void)
{
	struct chat_history h;
	int rc;

	unlink(path);
	chat_history_init(&h);
	nth_ok(chat_history_open(&h, path, NULL));
	assert_int_equal(h.n, 0);
	nth_ok(chat_history_add(&h, "one", NULL));
	nth_ok(chat_history_add(&h, "two\nlines \\ here\\n", NULL));
	nth_ok(chat_history_add(&h, "two\nlines \\ here\\n", NULL)); /* again: once is enough */
	assert_int_equal(h.n, 2);
	chat_history_fini(&h);
	chat_history_init(&h);
	nth_ok(chat_history_open(&h, path, NULL));
	assert_int_equal(h.n, 2);
	assert_string_equal(chat_history_get(&h, 0), "one");
	assert_string_equal(chat_history_get(&h, 1), "two\nlines \\ here\\n");
out:
	chat_history_fini(&h);
	return rc;
}

static void test_file(void **state)
{
	struct stat st;
	struct chat_history h;

	(void)state;
	write_file("open to all\ncut sho", 0644);
	chat_history_init(&h);
	assert_int_equal(chat_history_open(&h, path, NULL), INFER_OK);
	assert_int_equal(h.n, 1);
	assert_int_equal(chat_history_add(&h, "next", NULL), INFER_OK);
	chat_history_fini(&h);
	file_is("open to all\nnext\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_bounds(void **state)
{
	static char longest[CHAT_HISTORY_LONGEST + 2];
	char line[32];
	struct chat_history h;
	struct buf b;
	int n = 0;

	(void)state;
	buf_init(&b, MEM_BASE);
	for (int i = 0; i < 2 * CHAT_HISTORY_ENTRIES; i++)
		buf_printf(&b, "entry %d\n", i);
	assert_int_equal(file_write(path, b.at, b.len, 0600, NULL), INFER_OK);
	chat_history_init(&h);
	assert_int_equal(chat_history_open(&h, path, NULL), INFER_OK);
	assert_int_equal(h.n, CHAT_HISTORY_ENTRIES);
	snprintf(line, sizeof line, "entry %d", CHAT_HISTORY_ENTRIES);
	assert_string_equal(chat_history_get(&h, 0), line);
	memset(longest, 'x', CHAT_HISTORY_LONGEST + 1);
	assert_int_equal(chat_history_add(&h, longest, NULL), INFER_OK);
	assert_string_not_equal(chat_history_get(&h, h.n - 1), longest);
	longest[CHAT_HISTORY_LONGEST] = 0;
	assert_int_equal(chat_history_add(&h, longest, NULL), INFER_OK);
	assert_string_equal(chat_history_get(&h, h.n - 1), longest);
	assert_int_equal(h.n, CHAT_HISTORY_ENTRIES);
	chat_history_fini(&h);
	buf_clear(&b);
	assert_int_equal(file_read(&b, path, 1 << 20, NULL), INFER_OK);
	for (size_t i = 0; i < b.len; i++)
		n += b.at[i] == '\n';
	assert_int_equal(n, CHAT_HISTORY_ENTRIES + 1);
	buf_fini(&b);
}

static void test_refused(void **state)
{
	struct chat_history h;
	char missing[64];

	(void)state;
	chat_history_init(&h);
	assert_int_equal(chat_history_open(&h, dir, NULL), INFER_EIO);
	snprintf(missing, sizeof missing, "%s/missing/history", dir);
	assert_int_equal(chat_history_open(&h, missing, NULL), INFER_EIO);
	assert_int_equal(chat_history_add(&h, "kept in memory", NULL), INFER_OK);
	assert_int_equal(h.n, 1);
	chat_history_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_round),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, start, end);
}
