/* tests/unit/jinja/test_limits.c - hostile templates: limits of steps, bytes, nesting, time,
 * stack. */
#include "../nth.h"
#include "base/buf.h"
#include "base/clock.h"
#include "jinja/jinja.h"
#include "../values.h"
#include "render.h"
#include <pthread.h>

static const struct {
	const char *src, *why;
} hostile_bad[] = {
	{ "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) "
	  "%}{% endfor %}{% endfor %}{% endfor %}",
	  "steps" },
	{ "{% for i in range(1000000000) %}{% endfor %}", "range too big" },
	{ "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "levels" },
	{ "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] "
	  "%}{% endfor %}{{ ns.x }}",
	  "levels" },
	{ "{% set ns = namespace(x=1, y=1) %}{% for i in range(90000) %}{% set ns.x = "
	  "[ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}"
	  "{{ ns.x == ns.y }}",
	  "levels" },
	{ "{{ 'a' * 10**9 }}", "bytes" },
	{ "{{ 'a' * 100000000 }}", "bytes" },
	{ "{{ [0] * 10**9 }}", "bytes" },
	{ "{{ ('a' * 10**6)|list }}", "steps" },
	{ "{{ 'a'|center(10**12) }}", "bytes" },
	{ "{{ 'a'.zfill(10**15) }}", "bytes" },
	{ "{{ '%999999999d' % 1 }}{{ '%9999d' % 1 * 100000 }}", "bytes" },
	{ "{{ {}|tojson(indent=10**10) }}", "bytes" },
	{ "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}", "bytes" },
	{ "{{ ('a' * 10**6).replace('', 'b' * 10**6) }}", "bytes" },
	{ "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s + "
	  "ns.s %}{% endfor %}",
	  "bytes" },
	{ "{% set ns = namespace(s='ab') %}{% for i in range(100) %}{% set ns.s = ns.s ~ "
	  "ns.s ~ x %}{% endfor %}",
	  "bytes" },
	{ "{% for i in range(100000) %}{{ 'x' * 10000 }}{% endfor %}", "bytes" },
	{ "{% set s = 'a' * 10**6 %}{% for i in range(100000) %}{{ s.find('b') }}{{ "
	  "s|length }}{% endfor %}",
	  "steps" },
	{ "{% set s = 'a' * 10**6 %}{% for i in range(100000) %}{% if s.strip('a') %}{% "
	  "endif %}{% endfor %}",
	  "steps" },
	{ "{{ 2 ** 10**9 }}", "64 bits" },
	{ "{{ 9223372036854775807 + 1 }}", "64 bits" },
	{ "{{ -9223372036854775807 - 2 }}", "64 bits" },
	{ "{{ 99999999999999999999 }}", "64 bits" },
	{ "{{ ''.__class__.__mro__ }}", "__class__" },
	{ "{{ x.__init__.__globals__ }}", "undefined" },
	{ "{{ ''['__class__']['__mro__'] }}", "__class__" },
	{ "{{ (''|attr('__class__')).x }}", "__class__" },
	{ "{{ m.__func__() }}", "undefined" },
	{ "{{ '{0.__class__.__mro__}'.format(1) }}", "__class__" },
	{ "{% include 'x' %}", "not supported" },
	{ "{% import 'x' as y %}", "not supported" },
	{ "{% extends 'x' %}", "not supported" },
	{ "{{ lipsum() }}", "not supported" },
	{ "{{ l|random }}", "not supported" },
	{ "{{ range(3).start }}", "'start' of a range" },
	{ "{{ range(3)['count'] }}", "'count' of a range" },
	{ "{{ range(0, 9, 3)[::4611686018427387904] }}", "64 bits" },
	{ "{% for i in [1, 2] recursive %}{{ loop([1]) }}{% endfor %}", "levels" },
	{ "\xff", "UTF-8" },
};

static void test_hostile(void **state)
{
	infer_error err;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *c = value(&a, "{'x0':'y'}");
	for (size_t i = 0; i < sizeof hostile_bad / sizeof *hostile_bad; i++) {
		int64_t from = clock_now_ns();
		char *got = render(hostile_bad[i].src, strlen(hostile_bad[i].src), c, 0, &err);
		if (got)
			fail_msg("%s gives %.100s", hostile_bad[i].src, got);
		if (!strstr(err.message, hostile_bad[i].why) || strchr(err.message, '\n'))
			fail_msg("%s: %s", hostile_bad[i].src, err.message);
		if (clock_now_ns() - from > (NTH_SANITIZED ? 60 : 15) * INT64_C(1000000000))
			fail_msg("%s takes long", hostile_bad[i].src);
	}
	arena_fini(&a);
}

/* Return `head`, n times `part`, `tail`. */
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

/* With a very high limit of steps, the limit of processor time ends a template. */
static void test_last_stop(void **state)
{
	static const char src[] =
		"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
	struct arena a;
	struct jinja *t;
	struct buf out;
	infer_error err;

	(void)state;
	arena_init(&a, MEM_JINJA);
	buf_init(&out, MEM_JINJA);
	assert_int_equal(jinja_compile(&t, src, sizeof src - 1, "test", &err), INFER_OK);
	assert_int_equal(jinja_render(t, value(&a, "{}"),
	                              &(struct jinja_options){ .steps = UINT64_MAX, .cpu_ms = 20 },
	                              &out, NULL, &err),
	                 INFER_EFORMAT);
	assert_non_null(strstr(err.message, "too long"));
	jinja_free(t);
	buf_fini(&out);
	arena_fini(&a);
}

#define TWICE(first, next) \
	"{% set ns = namespace(a=" first ", b=" first \
	") %}{% for i in range(40) %}{% set ns.a = " next "(ns.a, ns.a) %}" \
	"{% set ns.b = " next "(ns.b, ns.b) %}{% endfor %}"
#define OFTEN(before, x) \
	"{% set s = 'a' * 500000 %}" before "{% for i in range(99999) %}{% set x = " x \
	" %}{% endfor %}"
#define MANY \
	"{% set d = {} %}{% for i in range(3000) %}{% set _ = d.update({'k' ~ i: i}) %}{% endfor " \
	"%}"
#define LIST "{% set l = range(99999)|list %}"
/* Templates that would take minutes, or forever, if operations cost too few steps. All of them must
 * end by the limit of steps or of bytes. */
static const char *const work_src[] = {
	"{% set d = {} %}{% for i in range(50000) %}{% set _ = d.update({i|string: i}) "
	"%}{% endfor %}",
	"{{ [[0] * 10000] * 10000 }}",
	"{{ range(99999)|map('string')|list|unique|list|length }}",
	"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
	TWICE("('x',)", "") "{{ {ns.a: 1} }}",
	TWICE("('x',)", "") "{{ ns.a }}",
	TWICE("('x',)", "") "{{ ns.a|tojson }}",
	TWICE("('x',)", "") "{{ ns.a == ns.b }}",
	TWICE("('x',)", "") "{{ ns.a < ns.b }}",
	TWICE("('x',)", "") "{{ '%s' % [ns.a] }}",
	OFTEN("{% set t = 'b' + 'a' * 250000 %}", "s.rfind(t)"),
	OFTEN("{% set t = 'a' * 250000 + 'b' %}", "s.find(t)"),
	OFTEN("{% set t = 'a' * 128 + 'b' + 'a' * 127 %}", "t in s"),
	OFTEN("", "s.count('a')"),
	OFTEN("", "s.upper()"),
	OFTEN("", "s|title"),
	OFTEN("{% set s = '\xc4\xb8' * 200000 %}", "s.upper()"),
	OFTEN("", "[s]|string"),
	OFTEN("", "s|tojson"),
	OFTEN("", "s|e"),
	OFTEN("", "s[-1]"),
	OFTEN("", "s.strip('b' * 99999)"),
	OFTEN("{% set s = ' ' * 500000 ~ 1 %}", "s|int"),
	OFTEN("", "s % ()"),
	OFTEN("{% set s = ' ' * 500000 ~ 1 %}", "s|float"),
	OFTEN("{% set s = '%%' * 500000 %}", "s % ()"),
	OFTEN("", "s.format()"),
	OFTEN("", "'%.300f' % 1e308"),
	OFTEN("", "0.12345678901234567|string"),
	OFTEN("", "0.1|round(300)"),
	OFTEN("", "1e308 % 1.1e-308"),
	OFTEN("", "strftime_now('%c%c%c%c')"),
	OFTEN("", "s is sameas s"),
	OFTEN("", "s.startswith(s)"),
	OFTEN("", "{s: 1}[s]"),
	OFTEN("{% set k = 'a.' * 99999 %}", "[{}]|map(attribute=k, default=0)|list"),
	OFTEN(LIST, "l[1:]"),
	OFTEN(LIST, "l + l"),
	OFTEN(LIST, "l.pop(0)"),
	OFTEN(LIST, "l.insert(0, 1)"),
	OFTEN(LIST, "-1 in l"),
	OFTEN(LIST, "l|batch(3)|list"),
	OFTEN(LIST, "l|sort|first"),
	MANY "{% macro f() %}{{ kwargs|length }}{% endmacro %}{% for i in range(99999) "
	     "%}{{ f(**d) }}{% endfor %}",
	MANY "{% set ns = namespace(**d) %}{% for i in range(99999) %}{{ ns.k2999 }}{% "
	     "endfor %}",
	MANY "{% for i in range(99999) %}{{ '{k2999}'.format(**d) }}{% endfor %}",
	MANY OFTEN("", "d.copy().pop('k1')"),
};

static void test_work(void **state)
{
	infer_error err;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *c = value(&a, "{'x0':'y'}");
	for (size_t i = 0; i < sizeof work_src / sizeof *work_src; i++) {
		char *got = render(work_src[i], strlen(work_src[i]), c, JINJA_MUTABLE, &err);
		if (got || (!strstr(err.message, "steps") && !strstr(err.message, "bytes")))
			fail_msg("%s: %.100s", work_src[i], got ? got : err.message);
	}
	arena_fini(&a);
}

static const struct {
	const char *src;
	double least, most;
} charges_each[] = {
	{ "{{ l|join(s[:0]) }}", 3, 5 },
	{ "{{ l }}", 2, 4 },
	{ "{{ l|sort|length }}", 16, 60 },
	{ "{{ l|tojson|length }}", 2, 4 },
	{ "{{ 0.5 in l }}", 3, 5 },
	{ "{{ l + l }}{{ s[:0] }}", 4, 7 },
	{ "{{ (l + l)|length }}", 1.5, 3 },
	{ "{% for x in l %}{% endfor %}", 4, 8 },
	{ "{{ s }}", .01, .05 },
	{ "{{ s|upper }}", .1, .3 },
	{ "{{ 'z' in s }}", .007, .02 },
	{ "{{ s|tojson }}", .1, .4 },
	{ "{{ s.replace('ab', 'c') }}", .5, 2 },
	{ "{{ [s] }}", .1, .4 },
	{ "{{ s ~ s }}", .03, .2 },
	{ "{{ s.split('a')|length }}", 1, 3 },
	{ "{{ s[1:-1]|length }}", .01, .05 },
};

/* Steps are linear in the length of the context. */
static void test_charges(void **state)
{
	/* steps per item, or byte of s */
	enum { N = 20000 };
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof charges_each / sizeof *charges_each; i++) {
		uint64_t used[2];
		for (int k = 0; k < 2; k++) {
			struct jinja *t;
			struct arena a;
			struct buf out;
			arena_init(&a, MEM_TEXT);
			buf_init(&out, MEM_TEXT);
			struct json *c = json_new(&a, JSON_OBJECT), *l = json_new(&a, JSON_ARRAY),
				    *s = json_new(&a, JSON_STRING);
			char *text = many("", "ab", N / 2 * (1 + (size_t)k), "");
			for (int n = 0; n < N * (1 + k); n++)
				json_append(l, json_new_int(&a, n));
			s->s = text;
			s->n = (uint32_t)strlen(text);
			json_set(c, "l", l);
			json_set(c, "s", s);
			assert_int_equal(jinja_compile(&t, charges_each[i].src,
			                               strlen(charges_each[i].src), "test", &err),
			                 INFER_OK);
			if (jinja_render(t, c, &(struct jinja_options){ .used = &used[k] }, &out,
			                 NULL, &err))
				fail_msg("%s: %s", charges_each[i].src, err.message);
			jinja_free(t);
			buf_fini(&out);
			arena_fini(&a);
			mem_free(text);
		}
		double more = (double)(used[1] - used[0]) / N;
		if (more < charges_each[i].least || more > charges_each[i].most)
			fail_msg("%s: %.4f steps for each", charges_each[i].src, more);
	}
}

static const struct {
	const char *head, *part, *tail;
} deep_source_deep[] = {
	{ "{{ ", "(", "1" },
	{ "{{ ", "[", "1" },
	{ "{{ ", "{1:", "1" },
	{ "{{ ", "-", "1 }}" },
	{ "{{ ", "not ", "1 }}" },
	{ "", "{% if 1 %}", "" },
	{ "{{ ", "1 if 1 else ", "1 }}" },
	{ "{{ x", "[x", "" },
	{ "{{ x", "(x", "" },
	{ "{{ 1", " + 1", " }}" },
	{ "{{ x", ".x", " }}" },
	{ "{{ 1", "|string", " }}" },
	{ "", "{% for x in y %}", "" },
	{ "{% if 1 %}", "{% elif 1 %}", "" },
	{ "{{ 1", " ** 1", " }}" },
};

static void test_deep_source(void **state)
{
	infer_error err;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_TEXT);
	const struct json *c = json_new(&a, JSON_OBJECT);
	for (size_t i = 0; i < sizeof deep_source_deep / sizeof *deep_source_deep; i++) {
		char *src = many(deep_source_deep[i].head, deep_source_deep[i].part, 100000,
		                 deep_source_deep[i].tail);
		char *got = render(src, strlen(src), c, 0, &err);
		if (got)
			fail_msg("%s... gives %.100s", deep_source_deep[i].part, got);
		mem_free(src);
	}
	arena_fini(&a);
}

static const struct {
	const char *src, *want, *why;
} deep_context_deep[] = {
	{ "{{ d|length }}{{ d[0][0]|length }}{{ d is sameas d }}", "11True", NULL },
	{ "{{ d }}", NULL, "levels" },
	{ "{{ d|tojson }}", NULL, "levels" },
	{ "{{ d == e }}", NULL, "levels" },
	{ "{{ d < e }}", NULL, "levels" },
	{ "{{ d in [e] }}", NULL, "levels" },
};

/* Values of the greatest nesting that the JSON reader accepts, and operations on them. */
static void test_deep_context(void **state)
{
	char *open = many("", "[", JREAD_DEPTH - 1, ""),
	     *shut = many("7", "]", JREAD_DEPTH - 1, "");
	infer_error err;
	struct arena a;
	struct buf b;

	(void)state;
	arena_init(&a, MEM_TEXT);
	buf_init(&b, MEM_TEXT);
	buf_printf(&b, "{\"d\":%s%s,\"e\":%s%s}", open, shut, open, shut);
	const struct json *c = value_n(&a, b.at, b.len);
	assert_non_null(c);
	for (size_t i = 0; i < sizeof deep_context_deep / sizeof *deep_context_deep; i++) {
		char *got = render(deep_context_deep[i].src, strlen(deep_context_deep[i].src), c, 0,
		                   &err);
		if (deep_context_deep[i].want
		            ? !got || strcmp(got, deep_context_deep[i].want)
		            : got || !strstr(err.message, deep_context_deep[i].why))
			fail_msg("%s: %.100s", deep_context_deep[i].src, got ? got : err.message);
		mem_free(got);
	}
	mem_free(open);
	mem_free(shut);
	buf_fini(&b);
	arena_fini(&a);
}

/* On threads with little stack: an error, without overflow. */
static const char *const deep_calls[] = {
	"{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(100000) }}",
	"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
	"{% macro f(n) %}{{ [1, [2, (3, f(n))]]|map('string')|list|tojson }}{% endmacro %}{{ f(1) "
	"}}",
	"{% macro f(n) %}{% for i in [1] %}{% filter upper %}{% set x %}{{ f(n) }}{% endset %}{% "
	"endfilter %}{% endfor %}{% endmacro %}{{ f(1) }}",
	"{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
	"{% macro f() %}{% call g() %}{{ f() }}{% endcall %}{% endmacro %}{% macro g() %}"
	"{{ caller() }}{% endmacro %}{{ f() }}",
	"{% macro f(n) %}{{ '%.300f' % 1e308 }}{{ [2, 1]|sort }}{{ f(n ** 2 / 3) }}{% endmacro "
	"%}{{ f(1) }}",
	"{% set ns = namespace(x=[]) %}{% for i in range(9000) %}{% set ns.x = [ns.x] %}{% endfor "
	"%}{{ ns.x }}",
	"{% set ns = namespace(x=[]) %}{% for i in range(9000) %}{% set ns.x = {'a': ns.x} %}{% "
	"endfor %}{{ ns.x|tojson(indent=1) }}",
	"{% set ns = namespace(x=(), y=()) %}{% for i in range(9000) %}{% set ns.x = (ns.x,) %}{% "
	"set ns.y = (ns.y,) %}{% endfor %}{{ {ns.x: 1}[ns.y] }}",
	"{% set ns = namespace(x=[1]) %}{% for i in range(9000) %}{% set ns.x = ns.x|map('int') "
	"%}{% endfor %}{{ ns.x|list }}",
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

static const struct {
	const char *part;
	size_t n;
	const char *tail, *is;
} long_name_names[] = {
	{ "/very/long", 30, "/file.gguf: chat template",
	  "/very/long/very/long/ver...ery/long/very/long/very/long/very/long/very/long"
	  "/file.gguf: chat template: line 1: " },
	{ "", 0, "short", "short: line 1: " },
	{ "\xe2\x82\xac", 60, "x",
	  "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82"
	  "\xac\xe2\x82\xac..." },
};

/* A long name loses its middle, not its end. */
static void test_long_name(void **state)
{

	(void)state;
	for (size_t i = 0; i < sizeof long_name_names / sizeof *long_name_names; i++) {
		char *name = many("", long_name_names[i].part, long_name_names[i].n,
		                  long_name_names[i].tail);
		infer_error err;
		struct jinja *t;
		assert_int_equal(jinja_compile(&t, "{{ 1 ", 5, name, &err), INFER_EFORMAT);
		if (strncmp(err.message, long_name_names[i].is, strlen(long_name_names[i].is)) ||
		    !strstr(err.message, ": line 1: "))
			fail_msg("%s", err.message);
		mem_free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile),      cmocka_unit_test(test_last_stop),
		cmocka_unit_test(test_work),         cmocka_unit_test(test_charges),
		cmocka_unit_test(test_deep_source),  cmocka_unit_test(test_deep_context),
		cmocka_unit_test(test_small_stacks), cmocka_unit_test(test_long_name),
	};

	return nth_group(tests);
}
