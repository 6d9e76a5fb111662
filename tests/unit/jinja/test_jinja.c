/* Templates: what Python's jinja2 makes of ours (tests/golden/templates, by scripts/golden-templates.py) and of those in
 * ../shared, where the bytes come from, and templates that mean harm. */
#include "../nth.h"
#include "../shared.h"
#include "base/buf.h"
#include "base/clock.h"
#include "jinja/jinja.h"
#include "../values.h"
#include <pthread.h>

#define NOW 1786797296   /* 2026-08-15 12:34:56 */

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

/* Compile and render; the text, to be freed with mem_free, or NULL and err. */
static char *render(const char *src, size_t n, const struct json *context, uint32_t flags, infer_error *err)
{
	static const struct jinja_options base = { .now = NOW };
	struct jinja_options o = base;
	struct jinja *t;
	struct buf out;

	o.flags = flags;
	memset(err, 0, sizeof *err);
	if (jinja_compile(&t, src, n, "test", err))
		return NULL;
	buf_init(&out, MEM_TEXT);
	int rc = jinja_render(t, context, &o, &out, NULL, err);
	buf_putc(&out, 0);
	jinja_free(t);
	if (rc)
		buf_fini(&out);
	return rc ? NULL : out.at;
}

static void is_text(const char *what, const char *got, const infer_error *err, const struct json *want)
{
	if (!got)
		fail_msg("%s: %s", what, err->message);
	if (!json_equals(want, got))
		fail_msg("%s\nwanted: %.*s\ngot:    %s", what, (int)want->n, want->s, got);
}

typedef int row_fn(struct arena *a, const struct json *row, const char *dir);   /* how many rows it was: 0 or 1; a: the file's */

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
	const struct json *t = json_get(row, "template"), *c = json_get(row, "context"), *text = json_get(row, "text");
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
		fail_msg("%s: must fail (%s), gives %s", src, text_of(a, json_get(row, "fails")), got);
	mem_free(got);
	return 1;
}

static void test_golden(void **state)
{
	(void)state;
	assert_int_equal(each_row("tests/golden/templates/chat.jsonl", golden_row), 75);
	assert_true(each_row("tests/golden/templates/parts.jsonl", golden_row) > 340);
	last_template = last_context = NULL;
}

/* ---- ../shared ---- */

static int unit_row(struct arena *a, const struct json *row, const char *dir)
{
	static const char *const changed[] = { "array.pop() last", "array.pop() with index", "array.append()" };
	const char *name = text_of(a, json_get(row, "name"));
	const struct json *t = json_get(row, "template"), *vars = json_get(row, "vars");
	infer_error err;

	(void)dir;
	for (int i = 0; i < 3; i++)   /* the row has what these templates left of the list: give them what they began with */
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
	const struct json *text = json_get(row, "expected"), *why = json_get(row, "error"), *mutable = json_get(row, "expected_if_mutable");
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
	const struct json *t = json_get(row, "template"), *text = json_get(json_get(row, "hf_jinja2"), "expected");
	struct json *c = json_new(a, JSON_OBJECT);
	static const char *const keys[] = { "messages", "bos_token", "eos_token", "add_generation_prompt" };
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

static void test_hostile(void **state)
{
	static const struct { const char *src, *why; } bad[] = {
		{ "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor %}{% endfor %}", "steps" },
		{ "{% for i in range(1000000000) %}{% endfor %}", "range too big" },
		{ "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "levels" },
		{ "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}", "levels" },
		{ "{% set ns = namespace(x=1, y=1) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}"
		  "{{ ns.x == ns.y }}", "levels" },
		{ "{{ 'a' * 10**9 }}", "bytes" }, { "{{ 'a' * 100000000 }}", "bytes" }, { "{{ [0] * 10**9 }}", "bytes" },
		{ "{{ ('a' * 10**6)|list }}", "steps" }, { "{{ 'a'|center(10**12) }}", "bytes" }, { "{{ 'a'.zfill(10**15) }}", "bytes" },
		{ "{{ '%999999999d' % 1 }}{{ '%9999d' % 1 * 100000 }}", "bytes" }, { "{{ {}|tojson(indent=10**10) }}", "bytes" },
		{ "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}", "bytes" }, { "{{ ('a' * 10**6).replace('', 'b' * 10**6) }}", "bytes" },
		{ "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "bytes" },
		{ "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s ~ x %}{% endfor %}", "bytes" },
		{ "{% for i in range(100000) %}{{ 'x' * 10000 }}{% endfor %}", "bytes" },
		{ "{% set s = 'a' * 10**6 %}{% for i in range(100000) %}{{ s.find('b') }}{{ s|length }}{% endfor %}", "steps" },
		{ "{% set s = 'a' * 10**6 %}{% for i in range(100000) %}{% if s.strip('a') %}{% endif %}{% endfor %}", "steps" },
		{ "{{ 2 ** 10**9 }}", "64 bits" }, { "{{ 9223372036854775807 + 1 }}", "64 bits" }, { "{{ -9223372036854775807 - 2 }}", "64 bits" },
		{ "{{ 99999999999999999999 }}", "64 bits" }, { "{{ ''.__class__.__mro__ }}", "__class__" }, { "{{ x.__init__.__globals__ }}", "undefined" },
		{ "{{ ''['__class__']['__mro__'] }}", "__class__" }, { "{{ (''|attr('__class__')).x }}", "__class__" }, { "{{ m.__func__() }}", "undefined" },
		{ "{{ '{0.__class__.__mro__}'.format(1) }}", "__class__" }, { "{% include 'x' %}", "not supported" }, { "{% import 'x' as y %}", "not supported" },
		{ "{% extends 'x' %}", "not supported" }, { "{{ lipsum() }}", "not supported" }, { "{{ l|random }}", "not supported" },
		{ "{{ range(3).start }}", "'start' of a range" }, { "{{ range(3)['count'] }}", "'count' of a range" },
		{ "{{ range(0, 9, 3)[::4611686018427387904] }}", "64 bits" },
		{ "{% for i in [1, 2] recursive %}{{ loop([1]) }}{% endfor %}", "levels" }, { "\xff", "UTF-8" },
	};
	infer_error err;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *c = value(&a, "{'x0':'y'}");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int64_t from = clock_now_ns();
		char *got = render(bad[i].src, strlen(bad[i].src), c, 0, &err);
		if (got)
			fail_msg("%s gives %.100s", bad[i].src, got);
		if (!strstr(err.message, bad[i].why) || strchr(err.message, '\n'))
			fail_msg("%s: %s", bad[i].src, err.message);
		if (clock_now_ns() - from > (NTH_SANITIZED ? 60 : 15) * INT64_C(1000000000))
			fail_msg("%s takes long", bad[i].src);
	}
	arena_fini(&a);
}

/* The text of n times `part`, between `head` and `tail`. */
static char *many(const char *head, const char *part, size_t n, const char *tail)
{
	struct buf b;
	size_t len;

	buf_init(&b, MEM_TEXT);
	buf_puts(&b, head);
	while (n--)
		buf_puts(&b, part);
	buf_puts(&b, tail);
	return buf_take(&b, &len);
}

/* What would take minutes, or for ever, where a step stood for more than it is: all of it ends by the steps, or by the bytes. */
/* Steps end a template long before: with too many of them, the processor time does. */
static void test_last_stop(void **state)
{
	static const char src[] = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
	struct arena a;
	struct jinja *t;
	struct buf out;
	infer_error err;

	(void)state;
	arena_init(&a, MEM_JINJA);
	buf_init(&out, MEM_JINJA);
	assert_int_equal(jinja_compile(&t, src, sizeof src - 1, "test", &err), INFER_OK);
	assert_int_equal(jinja_render(t, value(&a, "{}"), &(struct jinja_options){ .steps = UINT64_MAX, .cpu_ms = 20 }, &out, NULL, &err),
	                 INFER_EFORMAT);
	assert_non_null(strstr(err.message, "too long"));
	jinja_free(t);
	buf_fini(&out);
	arena_fini(&a);
}

static void test_work(void **state)
{
#define TWICE(first, next) "{% set ns = namespace(a=" first ", b=" first ") %}{% for i in range(40) %}{% set ns.a = " next "(ns.a, ns.a) %}" \
	"{% set ns.b = " next "(ns.b, ns.b) %}{% endfor %}"
#define OFTEN(before, x) "{% set s = 'a' * 500000 %}" before "{% for i in range(99999) %}{% set x = " x " %}{% endfor %}"
#define MANY "{% set d = {} %}{% for i in range(3000) %}{% set _ = d.update({'k' ~ i: i}) %}{% endfor %}"
#define LIST "{% set l = range(99999)|list %}"
	static const char *const src[] = {
		"{% set d = {} %}{% for i in range(50000) %}{% set _ = d.update({i|string: i}) %}{% endfor %}", "{{ [[0] * 10000] * 10000 }}",
		"{{ range(99999)|map('string')|list|unique|list|length }}", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
		TWICE("('x',)", "") "{{ {ns.a: 1} }}", TWICE("('x',)", "") "{{ ns.a }}", TWICE("('x',)", "") "{{ ns.a|tojson }}",
		TWICE("('x',)", "") "{{ ns.a == ns.b }}", TWICE("('x',)", "") "{{ ns.a < ns.b }}", TWICE("('x',)", "") "{{ '%s' % [ns.a] }}",
		OFTEN("{% set t = 'b' + 'a' * 250000 %}", "s.rfind(t)"), OFTEN("{% set t = 'a' * 250000 + 'b' %}", "s.find(t)"),
		OFTEN("{% set t = 'a' * 128 + 'b' + 'a' * 127 %}", "t in s"), OFTEN("", "s.count('a')"), OFTEN("", "s.upper()"), OFTEN("", "s|title"),
		OFTEN("{% set s = '\xc4\xb8' * 200000 %}", "s.upper()"), OFTEN("", "[s]|string"), OFTEN("", "s|tojson"), OFTEN("", "s|e"),
		OFTEN("", "s[-1]"), OFTEN("", "s.strip('b' * 99999)"), OFTEN("{% set s = ' ' * 500000 ~ 1 %}", "s|int"), OFTEN("", "s % ()"),
		OFTEN("{% set s = ' ' * 500000 ~ 1 %}", "s|float"), OFTEN("{% set s = '%%' * 500000 %}", "s % ()"), OFTEN("", "s.format()"),
		OFTEN("", "'%.300f' % 1e308"), OFTEN("", "0.12345678901234567|string"), OFTEN("", "0.1|round(300)"), OFTEN("", "1e308 % 1.1e-308"),
		OFTEN("", "strftime_now('%c%c%c%c')"), OFTEN("", "s is sameas s"), OFTEN("", "s.startswith(s)"), OFTEN("", "{s: 1}[s]"),
		OFTEN("{% set k = 'a.' * 99999 %}", "[{}]|map(attribute=k, default=0)|list"), OFTEN(LIST, "l[1:]"), OFTEN(LIST, "l + l"), OFTEN(LIST, "l.pop(0)"),
		OFTEN(LIST, "l.insert(0, 1)"), OFTEN(LIST, "-1 in l"), OFTEN(LIST, "l|batch(3)|list"), OFTEN(LIST, "l|sort|first"),
		MANY "{% macro f() %}{{ kwargs|length }}{% endmacro %}{% for i in range(99999) %}{{ f(**d) }}{% endfor %}",
		MANY "{% set ns = namespace(**d) %}{% for i in range(99999) %}{{ ns.k2999 }}{% endfor %}",
		MANY "{% for i in range(99999) %}{{ '{k2999}'.format(**d) }}{% endfor %}", MANY OFTEN("", "d.copy().pop('k1')"),
	};
	infer_error err;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *c = value(&a, "{'x0':'y'}");
	for (size_t i = 0; i < sizeof src / sizeof *src; i++) {
		char *got = render(src[i], strlen(src[i]), c, JINJA_MUTABLE, &err);
		if (got || (!strstr(err.message, "steps") && !strstr(err.message, "bytes")))
			fail_msg("%s: %.100s", src[i], got ? got : err.message);
	}
	arena_fini(&a);
}

/* Twice as long a context costs as much more as there is to be looked at, and not the square of it. */
static void test_charges(void **state)
{
	static const struct { const char *src; double least, most; } each[] = {   /* steps per item, or byte of s */
		{ "{{ l|join(s[:0]) }}", 3, 5 }, { "{{ l }}", 2, 4 }, { "{{ l|sort|length }}", 16, 60 }, { "{{ l|tojson|length }}", 2, 4 },
		{ "{{ 0.5 in l }}", 3, 5 }, { "{{ l + l }}{{ s[:0] }}", 4, 7 }, { "{{ (l + l)|length }}", 1.5, 3 },
		{ "{% for x in l %}{% endfor %}", 4, 8 }, { "{{ s }}", .01, .05 }, { "{{ s|upper }}", .1, .3 }, { "{{ 'z' in s }}", .007, .02 },
		{ "{{ s|tojson }}", .1, .4 }, { "{{ s.replace('ab', 'c') }}", .5, 2 }, { "{{ [s] }}", .1, .4 }, { "{{ s ~ s }}", .03, .2 },
		{ "{{ s.split('a')|length }}", 1, 3 }, { "{{ s[1:-1]|length }}", .01, .05 },
	};
	enum { N = 20000 };
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		uint64_t used[2];
		for (int k = 0; k < 2; k++) {
			struct jinja *t;
			struct arena a;
			struct buf out;
			arena_init(&a, MEM_TEXT);
			buf_init(&out, MEM_TEXT);
			struct json *c = json_new(&a, JSON_OBJECT), *l = json_new(&a, JSON_ARRAY), *s = json_new(&a, JSON_STRING);
			char *text = many("", "ab", N / 2 * (1 + (size_t)k), "");
			for (int n = 0; n < N * (1 + k); n++)
				json_append(l, json_new_int(&a, n));
			s->s = text;
			s->n = (uint32_t)strlen(text);
			json_set(c, "l", l);
			json_set(c, "s", s);
			assert_int_equal(jinja_compile(&t, each[i].src, strlen(each[i].src), "test", &err), INFER_OK);
			if (jinja_render(t, c, &(struct jinja_options){ .used = &used[k] }, &out, NULL, &err))
				fail_msg("%s: %s", each[i].src, err.message);
			jinja_free(t);
			buf_fini(&out);
			arena_fini(&a);
			mem_free(text);
		}
		double more = (double)(used[1] - used[0]) / N;
		if (more < each[i].least || more > each[i].most)
			fail_msg("%s: %.4f steps for each", each[i].src, more);
	}
}

static void test_deep_source(void **state)
{
	static const struct { const char *head, *part, *tail; } deep[] = {
		{ "{{ ", "(", "1" }, { "{{ ", "[", "1" }, { "{{ ", "{1:", "1" }, { "{{ ", "-", "1 }}" }, { "{{ ", "not ", "1 }}" }, { "", "{% if 1 %}", "" },
		{ "{{ ", "1 if 1 else ", "1 }}" }, { "{{ x", "[x", "" }, { "{{ x", "(x", "" }, { "{{ 1", " + 1", " }}" }, { "{{ x", ".x", " }}" },
		{ "{{ 1", "|string", " }}" }, { "", "{% for x in y %}", "" }, { "{% if 1 %}", "{% elif 1 %}", "" }, { "{{ 1", " ** 1", " }}" },
	};
	infer_error err;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *c = json_new(&a, JSON_OBJECT);
	for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
		char *src = many(deep[i].head, deep[i].part, 100000, deep[i].tail);
		char *got = render(src, strlen(src), c, 0, &err);
		if (got)
			fail_msg("%s... gives %.100s", deep[i].part, got);
		mem_free(src);
	}
	arena_fini(&a);
}

/* Values as deep as the reader lets them be, and what looks into them. */
static void test_deep_context(void **state)
{
	static const struct { const char *src, *want, *why; } deep[] = {
		{ "{{ d|length }}{{ d[0][0]|length }}{{ d is sameas d }}", "11True", NULL }, { "{{ d }}", NULL, "levels" }, { "{{ d|tojson }}", NULL, "levels" },
		{ "{{ d == e }}", NULL, "levels" }, { "{{ d < e }}", NULL, "levels" }, { "{{ d in [e] }}", NULL, "levels" },
	};
	char *open = many("", "[", JREAD_DEPTH - 1, ""), *shut = many("7", "]", JREAD_DEPTH - 1, "");
	infer_error err;
	struct arena a;
	struct buf b;

	(void)state;
	arena_init(&a, MEM_TEXT);
	buf_init(&b, MEM_TEXT);
	buf_printf(&b, "{\"d\":%s%s,\"e\":%s%s}", open, shut, open, shut);
	const struct json *c = value_n(&a, b.at, b.len);
	assert_non_null(c);
	for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
		char *got = render(deep[i].src, strlen(deep[i].src), c, 0, &err);
		if (deep[i].want ? !got || strcmp(got, deep[i].want) : got || !strstr(err.message, deep[i].why))
			fail_msg("%s: %.100s", deep[i].src, got ? got : err.message);
		mem_free(got);
	}
	mem_free(open);
	mem_free(shut);
	buf_fini(&b);
	arena_fini(&a);
}

/* The same on threads with little stack: an error, and no more is used than is there. */
static const char *const deep_calls[] = {
	"{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(100000) }}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
	"{% macro f(n) %}{{ [1, [2, (3, f(n))]]|map('string')|list|tojson }}{% endmacro %}{{ f(1) }}",
	"{% macro f(n) %}{% for i in [1] %}{% filter upper %}{% set x %}{{ f(n) }}{% endset %}{% endfilter %}{% endfor %}{% endmacro %}{{ f(1) }}",
	"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "{% macro f() %}{% call g() %}{{ f() }}{% endcall %}{% endmacro %}{% macro g() %}"
	"{{ caller() }}{% endmacro %}{{ f() }}", "{% macro f(n) %}{{ '%.300f' % 1e308 }}{{ [2, 1]|sort }}{{ f(n ** 2 / 3) }}{% endmacro %}{{ f(1) }}",
	"{% set ns = namespace(x=[]) %}{% for i in range(9000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
	"{% set ns = namespace(x=[]) %}{% for i in range(9000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}{{ ns.x|tojson(indent=1) }}",
	"{% set ns = namespace(x=(), y=()) %}{% for i in range(9000) %}{% set ns.x = (ns.x,) %}{% set ns.y = (ns.y,) %}{% endfor %}{{ {ns.x: 1}[ns.y] }}",
	"{% set ns = namespace(x=[1]) %}{% for i in range(9000) %}{% set ns.x = ns.x|map('int') %}{% endfor %}{{ ns.x|list }}",
};

static void *run_deep(void *left)
{
	static const struct json empty = { .kind = JSON_OBJECT };
	infer_error err;

	for (size_t i = 0; i < sizeof deep_calls / sizeof *deep_calls; i++) {
		char *got = render(deep_calls[i], strlen(deep_calls[i]), &empty, 0, &err);
		*(size_t *)left += got || !strstr(err.message, "levels");
		mem_free(got);
	}
	return left;
}

static void test_small_stacks(void **state)
{
	static const size_t stacks[] = { 96 << 10, 128 << 10, 256 << 10, 512 << 10, 8 << 20 };

	(void)state;
	for (size_t i = NTH_SANITIZED ? 3 : 0; i < sizeof stacks / sizeof *stacks; i++) {
		pthread_attr_t attr;
		pthread_t t;
		size_t bad = 0;
		assert_int_equal(pthread_attr_init(&attr), 0);
		assert_int_equal(pthread_attr_setstacksize(&attr, stacks[i]), 0);
		assert_int_equal(pthread_create(&t, &attr, run_deep, &bad), 0);
		assert_int_equal(pthread_join(t, NULL), 0);
		pthread_attr_destroy(&attr);
		assert_int_equal(bad, 0);
	}
}

/* Of a long name the middle goes, not the end. */
static void test_long_name(void **state)
{
	static const struct { const char *part; size_t n; const char *tail, *is; } names[] = {
		{ "/very/long", 30, "/file.gguf: chat template", "/very/long/very/long/ver...ery/long/very/long/very/long/very/long/very/long"
		  "/file.gguf: chat template: line 1: " }, { "", 0, "short", "short: line 1: " },
		{ "\xe2\x82\xac", 60, "x", "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac..." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *name = many("", names[i].part, names[i].n, names[i].tail);
		infer_error err;
		struct jinja *t;
		assert_int_equal(jinja_compile(&t, "{{ 1 ", 5, name, &err), INFER_EFORMAT);
		if (strncmp(err.message, names[i].is, strlen(names[i].is)) || !strstr(err.message, ": line 1: "))
			fail_msg("%s", err.message);
		mem_free(name);
	}
}

/* ---- where bytes come from ---- */

static void from_is(const char *src, const struct json *context, const char *text, const char *want)
{
	static const char *const trusted[] = { "bos", "role", NULL };
	struct jinja_options o = { .trusted = trusted };
	struct jinja *t;
	struct buf out, from;
	infer_error err;

	buf_init(&out, MEM_TEXT);
	buf_init(&from, MEM_TEXT);
	if (jinja_compile(&t, src, strlen(src), "test", &err) || jinja_render(t, context, &o, &out, &from, &err))
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
	const struct json *c = value(&a, "{'bos':'<s>','u':'<b>aB ','m':[{'role':'user','content':'x\\'y'},{'role':'<s>'}],'none':null}");
	from_is("{{ bos }}{{ u }}|", c, "<s><b>aB |", "0001111110");
	from_is("{{ '<' + m[0].role + '>' ~ m[0].content }}{{ m[1].role }}", c, "<user>x\"y<s>", "000000111111");
	from_is("{{ u|trim|upper|replace('A', '-') }}{{ ('<' ~ u ~ '>')[2:-2] }}", c, "<B>-Bb>aB", "111011111");
	from_is("{{ m[0]|tojson }}", c, "{\"role\": \"user\", \"content\": \"x\\\"y\"}", 
	        "00" "1111" "000000000000" "1111111" "0000" "1111" "00");
	from_is("{% set ns = namespace(a='') %}{% for x in m %}{% set ns.a = ns.a + '[' + x.role + ']' %}{% endfor %}{{ ns.a }}", c, "[user][<s>]",
	        "00000001110");
	from_is("{{ [u, 'x']|join(',') }}{{ '%s!' % u }}{{ u.split('B')|list }}", c, "<b>aB ,x<b>aB !['<b>a', ' ']", 
	        "11111100" "1111110" "00" "1111" "0000" "1" "00");
	from_is("{% macro f(a) %}({{ a[3:] }}){% endmacro %}{{ f(u)|indent }}{{ u[::-1] }}{{ '{}.'.format(u) }}", c, "(aB ) Ba>b<<b>aB .",
	        "011101111111111110");
	from_is("{{ u|e }}{% set z %}{{ u }}.{% endset %}{{ z[4:] }}", c, "&lt;b&gt;aB B .", "111111111111" "110");
	arena_fini(&a);
}

/* ---- every Nth allocation failing ---- */

static int case_render(void)
{
	static const char src[] = "{% macro m(a, b=2) %}{{ a ~ b }}{{ caller() }}{% endmacro %}{% set ns = namespace(x=0) %}{% for i in l|sort if i %}{% set ns.x = "
		"ns.x + i %}{{ loop.last }}{% endfor %}{% call m('q') %}{{ d|tojson(indent=1) }}{% endcall %}{{ ns.x }}{{ l|map('string')|join(', ') }}"
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
	nth_fails(jinja_render(t, c, &(struct jinja_options){ .steps = 50 }, &out, NULL, NULL), INFER_EFORMAT);
	nth_fails(jinja_render(t, c, &(struct jinja_options){ .bytes = 2000 }, &out, NULL, NULL), INFER_ENOMEM);
	nth_fails(jinja_render(t, c, &(struct jinja_options){ .bytes = 2000, .spent = &spent }, &out, NULL, NULL), INFER_ENOMEM);
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
	static const char *const bad[] = { "{% if 1 %}{% for x in y %}{{ [1, {'a': 'b' 'c'}] }}", "{{ 1|nosuch(a=1) }}", "{{ 'x", "{% macro m(a, a) %}{% endmacro %}" };
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
		nth_case(case_render), nth_case(case_compile_fails), cmocka_unit_test(test_golden), cmocka_unit_test(test_units),
		cmocka_unit_test(test_expected), cmocka_unit_test(test_inline), cmocka_unit_test(test_from), cmocka_unit_test(test_hostile), cmocka_unit_test(test_work), cmocka_unit_test(test_last_stop), cmocka_unit_test(test_charges),
		cmocka_unit_test(test_deep_source), cmocka_unit_test(test_small_stacks), cmocka_unit_test(test_long_name), cmocka_unit_test(test_deep_context),
	};

	return nth_group(tests);
}
