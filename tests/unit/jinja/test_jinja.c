/* tests/unit/jinja/test_jinja.c - templates, compared with Python's jinja2
 * (tests/golden/templates, made by scripts/golden-templates.py, and those in ../shared, from
 * where the expected bytes come). */
#include "../nth.h"
#include "../shared.h"
#include "base/buf.h"
#include "base/clock.h"
#include "jinja/jinja.h"
#include "../values.h"
#include "render.h"

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct buf b;
	char part[4096];
	size_t n;

	if (!f)
		fail_msg("%s is not there", path);
	buf_init(&b, MEM_TEXT);
	while ((n = fread(part, 1, sizeof part, f)))
		buf_put(&b, part, n);
	fclose(f);
	buf_putc(&b, 0);
	return buf_take(&b, &n);
}

static void is_text(const char *what, const char *got, const infer_error *err,
                    const struct json *want)
{
	if (!got)
		fail_msg("%s: %s", what, err->message);
	if (!json_equals(want, got))
		fail_msg("%s\nwanted: %.*s\ngot:    %s", what, (int)want->n, want->s, got);
}

/* Compare one row; returns the number of rows, 0 or 1. a: arena of the file. */
typedef int row_fn(struct arena *a, const struct json *row, const char *dir);

static int each_row(const char *path, row_fn *fn)
{
	char *all = read_file(path), dir[SHARED_PATH];
	struct arena a;
	int n = 0;

	arena_init(&a, MEM_TEXT);
	snprintf(dir, sizeof dir, "%s", path);
	*strrchr(dir, '/') = 0;
	for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n")) {
		const struct json *row = value_n(&a, line, strlen(line));
		assert_non_null(row);
		n += fn(&a, row, dir);
	}
	arena_fini(&a);
	mem_free(all);
	return n;
}

/* ---- golden rows of our own ---- */

static const struct json *last_template, *last_context;

static int golden_row(struct arena *a, const struct json *row, const char *dir)
{
	const struct json *t = json_get(row, "template"), *c = json_get(row, "context"),
			  *text = json_get(row, "text");
	infer_error err;

	(void)dir;
	if (json_is_string(t))
		last_template = t;
	if (json_is_object(c))
		last_context = c;
	const char *src = text_of(a, last_template);
	char *got = render(src, strlen(src), last_context, 0, &err);
	if (text)
		is_text(src, got, &err, text);
	else if (got)
		fail_msg("%s: must fail (%s), gives %s", src, text_of(a, json_get(row, "fails")),
		         got);
	mem_free(got);
	return 1;
}

static void test_golden(void **state)
{
	(void)state;
	assert_int_equal(each_row("tests/golden/templates/chat.jsonl", golden_row), 75);
	assert_true(each_row("tests/golden/templates/parts.jsonl", golden_row) > 340);
	assert_int_equal(each_row("tests/golden/templates/names.jsonl", golden_row), 214);
	last_template = last_context = NULL;
}

/* ---- ../shared ---- */

static int unit_row(struct arena *a, const struct json *row, const char *dir)
{
	static const char *const changed[] = { "array.pop() last", "array.pop() with index",
		                               "array.append()" };
	const char *name = text_of(a, json_get(row, "name"));
	const struct json *t = json_get(row, "template"), *vars = json_get(row, "vars");
	infer_error err;

	(void)dir;
	/* these templates changed the list that the row records: restore it */
	for (int i = 0; i < 3; i++)
		if (!strcmp(name, changed[i]))
			vars = value(a, "{'arr':['a','b','c']}");
	char *got = render(json_str(t), json_bytes(t), vars, JINJA_MUTABLE, &err);
	is_text(name, got, &err, json_get(row, "expected"));
	mem_free(got);
	return 1;
}

static void test_units(void **state)
{
	char path[SHARED_PATH];

	(void)state;
	shared_need("data/extracted/jinja_units.jsonl", 265, path);
	assert_int_equal(each_row(path, unit_row), 265);
}

static int expected_row(struct arena *a, const struct json *row, const char *dir)
{
	const struct json *text = json_get(row, "expected"), *why = json_get(row, "error"),
			  *mutable = json_get(row, "expected_if_mutable");
	struct json *c = json_copy(a, json_get(row, "kwargs"));
	char path[SHARED_PATH + 300];
	infer_error err;

	snprintf(path, sizeof path, "%s/templates/%s", dir, text_of(a, json_get(row, "template")));
	char *src = read_file(path);
	c = c ? c : json_new(a, JSON_OBJECT);
	json_set(c, "messages", json_share(a, json_get(row, "messages")));
	if (json_get(row, "tools"))
		json_set(c, "tools", json_share(a, json_get(row, "tools")));
	json_set(c, "documents", json_new(a, JSON_NULL));
	char *got = render(src, strlen(src), c, 0, &err);
	if (text)
		is_text(path, got, &err, text);
	else if (got)
		fail_msg("%s: must fail: %s", path, text_of(a, json_get(why, "message")));
	if (json_equals(json_get(why, "type"), "TemplateError"))
		assert_non_null(strstr(err.message, text_of(a, json_get(why, "message"))));
	mem_free(got);
	if (mutable) {
		got = render(src, strlen(src), c, JINJA_MUTABLE, &err);
		is_text(path, got, &err, mutable);
		mem_free(got);
	}
	mem_free(src);
	return 1;
}

static void test_expected(void **state)
{
	char path[SHARED_PATH];

	(void)state;
	shared_need("data/chat-templates/expected.jsonl", 1828, path);
	assert_int_equal(each_row(path, expected_row), 1828);
}

static int inline_row(struct arena *a, const struct json *row, const char *dir)
{
	const struct json *t = json_get(row, "template"),
			  *text = json_get(json_get(row, "hf_jinja2"), "expected");
	struct json *c = json_new(a, JSON_OBJECT);
	static const char *const keys[] = { "messages", "bos_token", "eos_token",
		                            "add_generation_prompt" };
	infer_error err;

	(void)dir;
	for (int i = 0; i < 4; i++)
		if (json_get(row, keys[i]))
			json_set(c, keys[i], json_share(a, json_get(row, keys[i])));
	json_set(c, "tools", json_new(a, JSON_NULL));
	json_set(c, "documents", json_new(a, JSON_NULL));
	char *got = render(json_str(t), json_bytes(t), c, 0, &err);
	if (text)
		is_text(text_of(a, json_get(row, "name")), got, &err, text);
	else
		assert_null(got);
	mem_free(got);
	return 1;
}

static void test_inline(void **state)
{
	char path[SHARED_PATH];

	(void)state;
	shared_need("data/extracted/chat_template_inline.jsonl", 33, path);
	assert_int_equal(each_row(path, inline_row), 33);
}

/* ---- harm ---- */

/* ---- the origin of bytes ---- */

static void from_is(const char *src, const struct json *context, const char *text, const char *want)
{
	static const char *const trusted[] = { "bos", "role", NULL };
	struct jinja_options o = { .trusted = trusted };
	struct jinja *t;
	struct buf out, from;
	infer_error err;

	buf_init(&out, MEM_TEXT);
	buf_init(&from, MEM_TEXT);
	if (jinja_compile(&t, src, strlen(src), "test", &err) ||
	    jinja_render(t, context, &o, &out, &from, &err))
		fail_msg("%s: %s", src, err.message);
	assert_int_equal(out.len, from.len);
	assert_int_equal(out.len, strlen(want));
	assert_memory_equal(out.at, text, out.len);
	for (size_t i = 0; i < from.len; i++)
		if (from.at[i] != want[i] - '0')
			fail_msg("%s: byte %zu of %s", src, i, text);
	buf_fini(&out);
	buf_fini(&from);
	jinja_free(t);
}

static void test_from(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *c =
		value(&a, "{'bos':'<s>','u':'<b>aB "
	                  "','m':[{'role':'user','content':'x\\'y'},{'role':'<s>'}],'none':null}");
	from_is("{{ bos }}{{ u }}|", c, "<s><b>aB |", "0001111110");
	from_is("{{ none_a ~ none_b ~ '' ~ none_c }}{{ none_a ~ u ~ '' }}", c, "<b>aB ", "111111");
	from_is("{{ '<' + m[0].role + '>' ~ m[0].content }}{{ m[1].role }}", c, "<user>x\"y<s>",
	        "000000111111");
	from_is("{{ u|trim|upper|replace('A', '-') }}{{ ('<' ~ u ~ '>')[2:-2] }}", c, "<B>-Bb>aB",
	        "111011111");
	from_is("{{ m[0]|tojson }}", c, "{\"role\": \"user\", \"content\": \"x\\\"y\"}",
	        "00"
	        "1111"
	        "000000000000"
	        "1111111"
	        "0000"
	        "1111"
	        "00");
	from_is("{% set ns = namespace(a='') %}{% for x in m %}{% set ns.a = ns.a + '[' + x.role + "
	        "']' %}{% endfor %}{{ ns.a }}",
	        c, "[user][<s>]", "00000001110");
	from_is("{{ [u, 'x']|join(',') }}{{ '%s!' % u }}{{ u.split('B')|list }}", c,
	        "<b>aB ,x<b>aB !['<b>a', ' ']",
	        "11111100"
	        "1111110"
	        "00"
	        "1111"
	        "0000"
	        "1"
	        "00");
	from_is("{% macro f(a) %}({{ a[3:] }}){% endmacro %}{{ f(u)|indent }}{{ u[::-1] }}{{ "
	        "'{}.'.format(u) }}",
	        c, "(aB ) Ba>b<<b>aB .", "011101111111111110");
	from_is("{{ u|e }}{% set z %}{{ u }}.{% endset %}{{ z[4:] }}", c, "&lt;b&gt;aB B .",
	        "111111111111"
	        "110");
	arena_fini(&a);
}

/* ---- every Nth allocation failing ---- */

static int case_render(void)
{
	static const char src[] =
		"{% macro m(a, b=2) %}{{ a ~ b }}{{ caller() }}{% endmacro %}{% set ns = "
		"namespace(x=0) %}{% for i in l|sort if i %}{% set ns.x = "
		"ns.x + i %}{{ loop.last }}{% endfor %}{% call m('q') %}{{ d|tojson(indent=1) }}{% "
		"endcall %}{{ ns.x }}{{ l|map('string')|join(', ') }}"
		"{% filter upper %}{{ s.split()[0] }}{% endfilter %}{{ '%s' % s }}{{ 'a' * 9000 }}";
	struct jinja *t = NULL;
	struct buf out, from;
	const struct json *c;
	struct arena a;
	int rc, spent = 0;

	arena_init(&a, MEM_TEXT);
	buf_init(&out, MEM_TEXT);
	buf_init(&from, MEM_TEXT);
	nth_ok(jinja_compile(&t, src, sizeof src - 1, "nth", NULL));
	nth_need((c = value(&a, "{'l':[3,0,1],'d':{'k':'v'},'s':'one two'}")) != NULL);
	nth_ok(jinja_render(t, c, NULL, &out, &from, NULL));
	assert_memory_equal(out.at, "FalseTrueq2{\n \"k\": \"v\"\n}43, 0, 1ONEone twoaaa", 45);
	assert_int_equal(out.len, from.len);
	nth_fails(jinja_render(t, c, &(struct jinja_options){ .steps = 50 }, &out, NULL, NULL),
	          INFER_EFORMAT);
	nth_fails(jinja_render(t, c, &(struct jinja_options){ .bytes = 2000 }, &out, NULL, NULL),
	          INFER_ENOMEM);
	nth_fails(jinja_render(t, c, &(struct jinja_options){ .bytes = 2000, .spent = &spent },
	                       &out, NULL, NULL),
	          INFER_ENOMEM);
	nth_need(spent);
out:
	arena_fini(&a);
	jinja_free(t);
	buf_fini(&out);
	buf_fini(&from);
	return rc;
}

static int case_compile_fails(void)
{
	static const char *const bad[] = { "{% if 1 %}{% for x in y %}{{ [1, {'a': 'b' 'c'}] }}",
		                           "{{ 1|nosuch(a=1) }}", "{{ 'x",
		                           "{% macro m(a, a) %}{% endmacro %}" };
	struct jinja *t = NULL;
	int rc = INFER_OK;

	for (int i = 0; i < 4; i++) {
		nth_fails(jinja_compile(&t, bad[i], strlen(bad[i]), "nth", NULL), INFER_EFORMAT);
		assert_null(t);
	}
	nth_fails(jinja_compile(&t, "{% include 'x' %}", 17, "nth", NULL), INFER_EUNSUP);
out:
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_render),           nth_case(case_compile_fails),
		cmocka_unit_test(test_golden),   cmocka_unit_test(test_units),
		cmocka_unit_test(test_expected), cmocka_unit_test(test_inline),
		cmocka_unit_test(test_from),
	};

	return nth_group(tests);
}
