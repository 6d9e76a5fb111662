/* Lines to entries: what goes on with the next, what quotes hold, what is a command, and what gives
 * a text back. */
#include "../nth.h"
#include "infer-run/chat/line_parser.h"
#include <stdio.h>
#include <string.h>

static const struct reading {
	const char *lines[5]; /* up to NULL */
	const char *text;
	int open; /* after the last */
} readings[] = {
	{ { "hello" }, "hello", 0 },
	{ { "" }, "", 0 },
	{ { "one \\", "two" }, "one \ntwo", 0 },
	{ { "one\\", "two\\", "three" }, "one\ntwo\nthree", 0 },
	{ { "one\\" }, "one\n", LINE_PARSER_SLASH },
	{ { "a path\\\\" }, "a path\\\\", 0 },
	{ { "three\\\\\\", "x" }, "three\\\\\nx", 0 },
	{ { "\"\"\"", "one", "two", "\"\"\"" }, "one\ntwo", 0 },
	{ { "\"\"\"one", "two\"\"\"" }, "one\ntwo", 0 },
	{ { "\"\"\"one\"\"\"" }, "one", 0 },
	{ { "\"\"\"", "", "one", "\"\"\"" }, "\none", 0 },
	{ { "\"\"\"", "one", "", "\"\"\"  " }, "one\n", 0 },
	{ { "\"\"\"", "a\\", "\"\"\"" }, "a\\", 0 },
	{ { "\"\"\"", "\"\"\"" }, "", 0 },
	{ { "\"\"\"one" }, "one", LINE_PARSER_QUOTES },
	{ { "\"\"\"\none\ntwo\n\"\"\"" }, "one\ntwo", 0 },
	{ { "a paste\nof two" }, "a paste\nof two", 0 },
	{ { "with its end\n" }, "with its end", 0 },
	{ { "say \"\"\" inside" }, "say \"\"\" inside", 0 },
};

static int read_lines(struct line_parser *e, const char *const *lines)
{
	int rc;

	for (size_t i = 0; i < 5 && lines[i]; i++) {
		nth_ok(line_parser_add(e, lines[i], strlen(lines[i]), NULL));
		if (i + 1 < 5 && lines[i + 1] && !e->open)
			fail_msg("whole after line %zu, \"%s\"", i, lines[i]);
	}
	rc = INFER_OK;
out:
	return rc;
}

static void is_text(const struct line_parser *e, const char *text)
{
	assert_int_equal(e->text.len, strlen(text));
	assert_memory_equal(e->text.at ? e->text.at : "", text, strlen(text));
}

static int case_readings(void)
{
	struct line_parser e;
	int rc = INFER_OK;

	line_parser_init(&e);
	for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
		line_parser_clear(&e);
		nth_ok(read_lines(&e, readings[i].lines));
		is_text(&e, readings[i].text);
		assert_int_equal(e.open, readings[i].open);
	}
out:
	line_parser_fini(&e);
	return rc;
}

static const struct {
	const char *line, *name, *rest;
} commands[] = {
	{ "/help", "help", "" },
	{ "/save  a b.json \t", "save", "a b.json" },
	{ "/", "", "" },
	{ "/system be\nbrief", "system", "be\nbrief" },
	{ "help", NULL, NULL },
	{ " /help", NULL, NULL },
	{ "\"\"\"/help\"\"\"", NULL, NULL },
};

static int case_commands(void)
{
	struct line_parser e;
	struct buf name, rest;
	int rc = INFER_OK;

	line_parser_init(&e);
	buf_init(&name, MEM_BASE);
	buf_init(&rest, MEM_BASE);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		line_parser_clear(&e);
		buf_clear(&name);
		buf_clear(&rest);
		buf_puts(&name, "");
		buf_puts(&rest, "");
		nth_ok(line_parser_add(&e, commands[i].line, strlen(commands[i].line), NULL));
		int is = line_parser_command(&e, &name, &rest);

		nth_need(!name.bad && !rest.bad);
		assert_int_equal(is, commands[i].name != NULL);
		if (is) {
			assert_string_equal(name.at, commands[i].name);
			assert_string_equal(rest.at, commands[i].rest);
		}
	}
out:
	line_parser_fini(&e);
	buf_fini(&name);
	buf_fini(&rest);
	return rc;
}

/* What line_parser_quote writes reads as the same text, in one line, and is no command where the text was
 * none. */
static void test_quote(void **state)
{
	static const struct {
		const char *lines[5], *quoted;
	} cases[] = {
		{ { "hello" }, "hello" },
		{ { "one\\", "two" }, "one\ntwo" },
		{ { "\"\"\"", "/not a command", "\"\"\"" }, "\"\"\"/not a command\"\"\"" },
		{ { "\"\"\"", "ends with \\", "\"\"\"" }, "\"\"\"ends with \\\"\"\"" },
		{ { "\"\"\"", "", "one", "\"\"\"" }, "\none" },
		{ { "\"\"\"", "no way", "", "\"\"\"" }, NULL },
		{ { "/help" }, "/help" },
	};
	struct line_parser e;
	struct buf b;

	(void)state;
	line_parser_init(&e);
	buf_init(&b, MEM_BASE);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		line_parser_clear(&e);
		buf_clear(&b);
		assert_int_equal(read_lines(&e, cases[i].lines), INFER_OK);
		assert_int_equal(line_parser_quote(&e, &b), cases[i].quoted != NULL);
		assert_string_equal(b.len ? b.at : "", cases[i].quoted ? cases[i].quoted : "");
	}
	line_parser_fini(&e);
	buf_fini(&b);
}

static void test_blank(void **state)
{
	static const struct {
		const char *line;
		int blank;
	} cases[] = { { "", 1 }, { " \t ", 1 }, { "\n", 1 }, { " a", 0 } };
	struct line_parser e;

	(void)state;
	line_parser_init(&e);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		line_parser_clear(&e);
		assert_int_equal(line_parser_add(&e, cases[i].line, strlen(cases[i].line), NULL),
		                 INFER_OK);
		assert_int_equal(line_parser_is_blank(&e), cases[i].blank);
	}
	line_parser_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_readings),
		nth_case(case_commands),
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_blank),
	};
	return nth_group(tests);
}
