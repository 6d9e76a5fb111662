/* The history: order, bounds, the file and who may read it, what was cut short. */
#include "../nth.h"
#include "infer-run/past.h"
#include "common/file.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_past.XXXXXX", path[64];

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
	struct past p;
	int rc;

	unlink(path);
	past_init(&p);
	nth_ok(past_open(&p, path, NULL));
	assert_int_equal(p.n, 0);
	nth_ok(past_add(&p, "one", NULL));
	nth_ok(past_add(&p, "two\nlines \\ here\\n", NULL));
	nth_ok(past_add(&p, "two\nlines \\ here\\n", NULL)); /* again: once is enough */
	assert_int_equal(p.n, 2);
	past_fini(&p);
	past_init(&p);
	nth_ok(past_open(&p, path, NULL));
	assert_int_equal(p.n, 2);
	assert_string_equal(past_get(&p, 0), "one");
	assert_string_equal(past_get(&p, 1), "two\nlines \\ here\\n");
out:
	past_fini(&p);
	return rc;
}

static void test_file(void **state)
{
	struct stat st;
	struct past p;

	(void)state;
	write_file("open to all\ncut sho", 0644);
	past_init(&p);
	assert_int_equal(past_open(&p, path, NULL), INFER_OK);
	assert_int_equal(p.n, 1);
	assert_int_equal(past_add(&p, "next", NULL), INFER_OK);
	past_fini(&p);
	file_is("open to all\nnext\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_bounds(void **state)
{
	static char longest[PAST_LONGEST + 2];
	char line[32];
	struct past p;
	struct buf b;
	int n = 0;

	(void)state;
	buf_init(&b, MEM_BASE);
	for (int i = 0; i < 2 * PAST_ENTRIES; i++)
		buf_printf(&b, "entry %d\n", i);
	assert_int_equal(file_write(path, b.at, b.len, 0600, NULL), INFER_OK);
	past_init(&p);
	assert_int_equal(past_open(&p, path, NULL), INFER_OK);
	assert_int_equal(p.n, PAST_ENTRIES);
	snprintf(line, sizeof line, "entry %d", PAST_ENTRIES);
	assert_string_equal(past_get(&p, 0), line);
	memset(longest, 'x', PAST_LONGEST + 1);
	assert_int_equal(past_add(&p, longest, NULL), INFER_OK);
	assert_string_not_equal(past_get(&p, p.n - 1), longest);
	longest[PAST_LONGEST] = 0;
	assert_int_equal(past_add(&p, longest, NULL), INFER_OK);
	assert_string_equal(past_get(&p, p.n - 1), longest);
	assert_int_equal(p.n, PAST_ENTRIES);
	past_fini(&p);
	buf_clear(&b);
	assert_int_equal(file_read(&b, path, 1 << 20, NULL), INFER_OK);
	for (size_t i = 0; i < b.len; i++)
		n += b.at[i] == '\n';
	assert_int_equal(n, PAST_ENTRIES + 1);
	buf_fini(&b);
}

static void test_refused(void **state)
{
	struct past p;

	(void)state;
	past_init(&p);
	assert_int_equal(past_open(&p, dir, NULL), INFER_EIO);
	assert_int_equal(past_open(&p, "/nonexistent/history", NULL), INFER_EIO);
	assert_int_equal(past_add(&p, "kept in memory", NULL), INFER_OK);
	assert_int_equal(p.n, 1);
	past_fini(&p);
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
