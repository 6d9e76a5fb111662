/* tests/unit/infer-serve/test_form.c - forms: the same parts however the body is cut, and bodies that are no
 * forms */
#include "../nth.h"
#include "infer-serve/http/form.h"
#include <stdio.h>
#include <string.h>

#define TYPE "multipart/form-data; boundary=ab"

/* The calls made, as text: a part is [name|filename]contents. */
struct heard {
	char text[2048];
	size_t n;
};

static void hear(struct heard *h, const char *at, size_t n)
{
	assert_true(h->n + n < sizeof h->text);
	memcpy(h->text + h->n, at, n);
	h->n += n;
	h->text[h->n] = 0;
}

static void on_begin(void *user, const char *name, const char *filename)
{
	char text[600];

	hear(user, text,
	     (size_t)snprintf(text, sizeof text, "[%s|%s]", name, filename ? filename : "-"));
}

static void on_data(void *user, const char *at, size_t n)
{
	assert_true(n > 0);
	hear(user, at, n);
}

static const struct form_calls calls = { on_begin, on_data };

#define NAMED(name) "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n"
static const struct {
	const char *type, *body, *want; /* want NULL: it is no form */
} rows[] = {
	{ TYPE, "--ab\r\n" NAMED("x") "one\r\n--ab\r\n" NAMED("y") "\r\n--ab--\r\n",
	  "[x|-]one[y|-]" },
	/* what looks like a delimiter */
	{ TYPE,
	  "--ab\r\n" NAMED("x") "\r\n--a\r\n--abc--ab\r\r\n-\r\n--\r\n\r\n--ax\n--ab\r\r\n--ab--",
	  "[x|-]\r\n--a\r\n--abc--ab\r\r\n-\r\n--\r\n\r\n--ax\n--ab\r" },
	{ TYPE, "before\r\n--ab \t\r\n" NAMED("x") "1\r\n--ab--after\r\n--ab\r\n" NAMED("y"),
	  "[x|-]1" },
	{ "Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"",
	  "--a b\r\ncontent-type: text/plain\r\nCONTENT-DISPOSITION:form-data ; "
	  "filename=\"c:\\d \\\"q\\\" \xc3\xa9;=.txt\"; name=file\r\n\r\n\r\n\r\n--a b--",
	  "[file|c:\\d \"q\" \xc3\xa9;=.txt]\r\n" },
	{ TYPE, "--ab--", "" },
	{ TYPE,
	  "--ab\r\nContent-Disposition: form-data; name=f; filename=\"\"\r\n"
	  "Content-Transfer-Encoding: binary\r\n\r\nx\r\n--ab--",
	  "[f|]x" },
	{ TYPE, "--ab\r\n" NAMED("x") "never ended\r\n--ab", NULL },
	{ TYPE, "--ab\r\n" NAMED("x") "1\r\n--ab-x", NULL },
	{ TYPE, "--ab\r\n\r\n1\r\n--ab--", NULL },
	{ TYPE, "--ab\r\nContent-Disposition: form-data; name=\"x\r\n\r\n1\r\n--ab--", NULL },
	{ TYPE, "--ab\r\nContent-Disposition: attachment; name=x\r\n\r\n1\r\n--ab--", NULL },
	{ TYPE, "--ab\r\nContent-Transfer-Encoding: base64\r\n" NAMED("x") "MQ==\r\n--ab--", NULL },
	{ TYPE, "", NULL },
	{ TYPE, "no form", NULL },
};

static void parse(const char *type, const char *body, size_t first, size_t second, struct heard *h,
                  enum form_state *state)
{
	static struct form f;
	size_t n = strlen(body);

	h->n = 0;
	*h->text = 0;
	assert_true(form_open(&f, type, &calls, h));
	form_put(&f, body, first);
	form_put(&f, body + first, second - first);
	form_put(&f, body + second, n - second);
	*state = f.state;
}

/* Every two cuts of each body. */
static void test_cuts(void **state)
{
	static struct heard h;
	enum form_state end;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const size_t n = strlen(rows[i].body);

		for (size_t a = 0; a <= n; a++)
			for (size_t b = a; b <= n; b++) {
				parse(rows[i].type, rows[i].body, a, b, &h, &end);
				if ((end == FORM_ENDED) != (rows[i].want != NULL) ||
				    (rows[i].want && strcmp(h.text, rows[i].want)))
					fail_msg("row %zu cut at %zu and %zu: state %d, %s", i, a,
					         b, (int)end, h.text);
			}
	}
}

/* One byte at a time, with bytes of every value in the contents. */
static void test_bytes(void **state)
{
	static const char head[] = "--ab\r\n" NAMED("x"), tail[] = "\r\n--ab--";
	static struct heard h;
	static struct form f;
	char all[512];

	(void)state;
	for (int i = 0; i < 512; i++)
		all[i] = (char)(i * 7);
	h.n = 0;
	assert_true(form_open(&f, TYPE, &calls, &h));
	for (size_t i = 0; i < sizeof head - 1; i++)
		form_put(&f, &head[i], 1);
	for (size_t i = 0; i < sizeof all; i++)
		form_put(&f, &all[i], 1);
	for (size_t i = 0; i < sizeof tail - 1; i++)
		form_put(&f, &tail[i], 1);
	assert_int_equal(f.state, FORM_ENDED);
	assert_int_equal(h.n, 5 + sizeof all);
	assert_memory_equal(h.text + 5, all, sizeof all);
}

static void test_limits(void **state)
{
	static const char *const types[] = {
		"multipart/form-data",
		"multipart/form-data; boundary=",
		"multipart/form-data; a=b",
		"multipart/mixed; boundary=ab",
		"multipart/form-datax; boundary=a",
		"multipart/form-data; boundary=\"ab",
		"",
		"multipart/form-data; boundary="
		"12345678901234567890123456789012345678901234567890123456789012345678901",
	};
	static struct heard h;
	static struct form f;
	char text[] = "--ab\r\nX: ", many[FORM_HEAD];

	(void)state;
	assert_false(form_open(&f, NULL, &calls, &h));
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		assert_false(form_open(&f, types[i], &calls, &h));
	assert_true(form_open(&f, TYPE, &calls, &h));
	form_put(&f, text, sizeof text - 1);
	memset(many, 'x', sizeof many);
	form_put(&f, many, sizeof many);
	assert_int_equal(f.state, FORM_BROKEN);
	assert_true(form_open(&f, TYPE, &calls, &h));
	form_put(&f, text, sizeof text); /* with its NUL */
	assert_int_equal(f.state, FORM_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_cuts),
		                            cmocka_unit_test(test_bytes),
		                            cmocka_unit_test(test_limits) };

	return nth_group(tests);
}
