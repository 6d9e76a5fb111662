/* What Tab can make of a line: commands, files behind those that take one, nothing elsewhere. */
#include "../nth.h"
#include "infer-run/chat/tab.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_tab.XXXXXX";

static const char *command(size_t i, int *file)
{
	static const struct {
		const char *name;
		int file;
	} all[] = {
		{ "help", -1 }, { "save", 1 }, { "stats", -1 }, { "system", 0 }, { "hello", 1 }
	};

	if (i >= sizeof all / sizeof *all)
		return NULL;
	*file = all[i].file;
	return all[i].name;
}

static const struct {
	const char *line;
	const char *names; /* NULL: Tab is a character */
	size_t typed, common;
	int ends;
} cases[] = {
	{ "", NULL, 0, 0, 0 },
	{ "save", NULL, 0, 0, 0 },
	{ " /save", NULL, 0, 0, 0 },
	{ "/", "hello help save stats system ", 0, 0, 0 },
	{ "/s", "save stats system ", 1, 1, 0 },
	{ "/he", "hello help ", 2, 3, 0 },
	{ "/sa", "save ", 2, 4, 1 },
	{ "/sta", "stats ", 3, 5, 0 },
	{ "/sy", "system ", 2, 6, 1 },
	{ "/save", "save ", 4, 4, 1 },
	{ "/x", "", 1, 0, 0 },
	{ "/help ", NULL, 0, 0, 0 },
	{ "/system a", NULL, 0, 0, 0 },
	{ "/nonsense a", NULL, 0, 0, 0 },
	{ "/save \n", NULL, 0, 0, 0 },
	{ "/save ", "a b.json abc sub/ äö äü ", 0, 0, 0 },
	{ "/save   a", "a b.json abc ", 1, 1, 0 },
	{ "/save a b", "a b.json ", 3, 8, 0 },
	{ "/hello s", "sub/ ", 1, 4, 0 },
	{ "/save sub/", "in1 in2 ", 0, 2, 0 },
	{ "/save ./sub/in1", "in1 ", 3, 3, 0 },
	{ "/save .h", ".hidden ", 2, 7, 0 },
	/* two letters of two bytes each: the one that they share is shown whole */
	{ "/save \xc3\xa4", "äö äü ", 2, 2, 0 },
	{ "/save nothing/", "", 0, 0, 0 },
	{ "/save b", "", 1, 0, 0 },
};

static int case_find(void)
{
	struct tab t;
	struct buf names;
	int rc = INFER_OK;

	tab_init(&t);
	buf_init(&names, MEM_BASE);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int is = tab_find(&t, cases[i].line, strlen(cases[i].line), command);

		assert_int_equal(is, cases[i].names != NULL);
		nth_need(!t.text.bad && !t.at.bad);
		if (!is)
			continue;
		buf_clear(&names);
		buf_puts(&names, "");
		for (size_t k = 0; k < t.n; k++)
			buf_printf(&names, "%s ", tab_name(&t, k));
		nth_need(!names.bad);
		if (strcmp(names.at, cases[i].names))
			fail_msg("%s: %s", cases[i].line, names.at);
		assert_int_equal(t.typed, cases[i].typed);
		assert_int_equal(t.common, cases[i].common);
		assert_int_equal(t.ends, cases[i].ends);
	}
out:
	tab_fini(&t);
	buf_fini(&names);
	return rc;
}

static void touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static const char *const files[] = { "a b.json", "abc",     ".hidden", "äö",   "äü",
	                             "sub/in1",  "sub/in2", "b\033ad", "b\xff" };

static int make_files(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("sub", 0700), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		touch(files[i]);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlink(files[i]);
	rmdir("sub");
	return chdir("/") || rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_find) };

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
