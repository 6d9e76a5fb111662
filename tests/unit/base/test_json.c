/* tests/unit/base/test_json.c - values that are built, changed and copied, and read back the
 * same after writing. */
#include "../nth.h"
#include "../json.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static struct buf text;

/* v as text, NULL without memory. */
static const char *written(const struct json *v)
{
	struct jwrite w;

	buf_clear(&text);
	jw_init(&w, &text);
	jw_value(&w, NULL, v);
	return text.bad ? NULL : text.at;
}

#define says(v, want) \
	do { \
		nth_need(written(v)); \
		assert_string_equal(text.at, want); \
	} while (0)

static int case_built(void)
{
	struct json *o, *list, *real;
	struct arena a;
	int rc;

	arena_init(&a, MEM_BASE);
	buf_init(&text, MEM_BASE);
	o = json_new(&a, JSON_OBJECT);
	list = json_new(&a, JSON_ARRAY);
	json_set(o, "s", json_new_str(&a, "a\"b"));
	json_set(o, "n", json_new_strn(&a, NULL, 0));
	json_set(o, "list", list);
	real = json_new(&a, JSON_REAL);
	if (real)
		real->d = 2;
	json_set(o, "r", real);
	json_append(list, json_new_int(&a, 1));
	json_append(list, json_new(&a, JSON_NULL));
	json_insert(list, 0, json_new(&a, JSON_TRUE));
	json_insert(list, 3, json_new(&a, JSON_STRING));
	json_insert(list, 1, json_new(&a, JSON_FALSE));
	nth_need(!a.bad);
	says(o, "{\"s\":\"a\\\"b\",\"n\":\"\",\"list\":[true,false,1,null,\"\"],\"r\":2.0}");
	assert_int_equal(json_count(list), 5);
	/* first, middle and last in place of what was there */
	json_set(o, "s", json_new_int(&a, INT64_MIN));
	json_set(o, "list", json_new(&a, JSON_OBJECT));
	json_set(o, "r", json_new_strn(&a, "\0x", 2));
	json_set(o, "z", json_new(&a, JSON_ARRAY));
	nth_need(!a.bad);
	says(o, "{\"s\":-9223372036854775808,\"n\":\"\",\"list\":{},\"r\":\"\\u0000x\",\"z\":[]}");
	assert_int_equal(json_count(o), 5);
out:
	buf_fini(&text);
	arena_fini(&a);
	return rc;
}

static int case_copied(void)
{
	static const char from[] = "{\"a\":[1,[2,{\"b\":[]}],\"x\"],\"c\":{},\"d\":{\"e\":null}}";
	const struct json *v;
	struct json *copy, *inner;
	struct arena a;
	int rc;

	arena_init(&a, MEM_BASE);
	buf_init(&text, MEM_BASE);
	nth_ok(jread(&v, &a, from, sizeof from - 1, "x", NULL));
	nth_need(copy = json_copy(&a, v));
	says(copy, from);
	inner = json_at(json_get(copy, "a"), 1);
	json_append(inner, json_new_int(&a, 3));
	json_append(json_get(json_at(inner, 1), "b"), json_new_int(&a, 4));
	json_set(json_get(copy, "c"), "k", json_share(&a, json_get(copy, "d")));
	nth_need(!a.bad);
	says(v, from);
	says(copy,
	     "{\"a\":[1,[2,{\"b\":[4]},3],\"x\"],\"c\":{\"k\":{\"e\":null}},\"d\":{\"e\":null}}");
	nth_need(inner = json_copy(&a, json_get(v, "d")));
	assert_null(inner->key);
	assert_null(inner->next);
	says(inner, "{\"e\":null}");
	assert_null(json_copy(&a, NULL));
out:
	buf_fini(&text);
	arena_fini(&a);
	return rc;
}

/* No value is of no kind and has nothing. */
static int case_none(void)
{
	struct json s = { .kind = JSON_STRING, .n = 3, .s = "a\0b" },
		    u = { .kind = JSON_UINT, .u = UINT64_MAX };
	struct json t = { .kind = JSON_STRING, .n = 2, .s = "ab." };
	const char *c;
	struct arena a;
	int rc;

	arena_init(&a, MEM_BASE);
	assert_false(json_is_null(NULL) || json_is_bool(NULL) || json_is_whole(NULL) ||
	             json_is_number(NULL) || json_is_string(NULL));
	assert_null(json_get(NULL, "a"));
	assert_null(json_get(&s, "a"));
	assert_null(json_at(NULL, 0));
	assert_null(json_at(&s, 0));
	assert_int_equal(json_count(NULL) + json_count(&s) + json_bytes(NULL) + json_bytes(&u), 0);
	assert_string_equal(json_str(&u), "");
	assert_false(json_equals(NULL, "") || json_equals(&s, "a") || json_equals(&u, "") ||
	             json_equals(&t, "ab."));
	assert_true(json_equals(&t, "ab"));
	assert_true(json_double(&u) == 0x1p64 && json_double(NULL) == 0 && json_double(&s) == 0);
	assert_null(json_cstr(&a, &s));
	assert_null(json_cstr(&a, &u));
	assert_null(json_cstr(&a, NULL));
	assert_int_equal(a.bad, 0);
	nth_need(c = json_cstr(&a, &t));
	assert_string_equal(c, "ab");
	json_append(NULL, &s);
	json_append(&s, NULL);
	json_insert(NULL, 0, &s);
	json_set(NULL, "a", &s);
	assert_null(json_share(&a, NULL));
out:
	arena_fini(&a);
	return rc;
}

/* Far deeper than a program's calls may go: built, copied, written, without recursion. */
static void test_deep(void **state)
{
	enum { DEPTH = 1000000 };
	struct json *top, *v, *copy;
	struct jwrite w;
	struct arena a;

	(void)state;
	arena_init(&a, MEM_BASE);
	buf_init(&text, MEM_BASE);
	top = v = json_new(&a, JSON_ARRAY);
	for (int i = 1; i < DEPTH; i++) {
		struct json *in = json_new(&a, JSON_ARRAY);

		json_append(v, in);
		v = in;
	}
	copy = json_copy(&a, top);
	assert_non_null(copy);
	buf_reserve(&text, 2 * DEPTH + 1);
	jw_init(&w, &text);
	jw_value(&w, NULL, copy);
	assert_int_equal(text.bad, 0);
	assert_int_equal(text.len, 2 * DEPTH);
	for (int i = 0; i < DEPTH; i++)
		assert_true(text.at[i] == '[' && text.at[2 * DEPTH - 1 - i] == ']');
	buf_fini(&text);
	arena_fini(&a);
}

/* Among other members, at the deepest place a jwrite has, a value of a thousand levels. */
static void test_inside(void **state)
{
	enum { LEVELS = 62 };
	static const char before[] = "{\"a\":1,\"b\":",
			  behind[] = ",\"c\":null,\"d\":{\"k\":1}},{\"k\":1}";
	char deep[2000];
	struct jwrite w;
	struct arena a;

	(void)state;
	memset(deep, '[', 1000);
	memset(deep + 1000, ']', 1000);
	arena_init(&a, MEM_BASE);
	buf_init(&text, MEM_BASE);
	const struct json *v = json_need(&a, "{\"k\":1}"), *d;
	assert_int_equal(jread(&d, &a, deep, sizeof deep, "x", NULL), INFER_OK);
	jw_init(&w, &text);
	for (int i = 0; i < LEVELS; i++)
		jw_array(&w, NULL);
	jw_object(&w, NULL);
	jw_value(&w, "a", json_get(v, "k"));
	jw_value(&w, "b", d);
	jw_value(&w, "c", NULL);
	jw_value(&w, "d", v);
	jw_end(&w);
	jw_value(&w, NULL, v);
	for (int i = 0; i < LEVELS; i++)
		jw_end(&w);
	assert_int_equal(text.len, LEVELS + strlen(before) + sizeof deep + strlen(behind) + LEVELS);
	assert_memory_equal(text.at + LEVELS, before, strlen(before));
	assert_memory_equal(text.at + text.len - LEVELS - strlen(behind), behind, strlen(behind));
	buf_fini(&text);
	arena_fini(&a);
}

/* The same kind and the same bits. */
static void check_number(const struct json *v)
{
	struct json back = { 0 };

	written(v);
	if (jread_num(&back, text.at, text.len) != text.len || back.kind != v->kind ||
	    back.u != v->u)
		fail_msg("%a is written %s", v->d, text.at);
}

static void test_read_back(void **state)
{
	static const double reals[] = { 0,         -0.0,
		                        1,         -1,
		                        0.1,       1.0 / 3,
		                        1e22,      1e23,
		                        123456789, 1234567890123456789,
		                        DBL_MAX,   DBL_MIN,
		                        0x1p-1074, 0x1.fffffffffffffp-1023,
		                        5e-5,      1e15,
		                        1e16,      1e17,
		                        0x1p53,    0x1p63,
		                        0x1p64,    3.4028234663852886e38 };
	static const int64_t wholes[] = { 0, 1, -1, INT64_MAX, INT64_MIN };
	uint64_t seed = 7;

	(void)state;
	setlocale(LC_NUMERIC, "de_DE.UTF-8");
	buf_init(&text, MEM_BASE);
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		check_number(&(struct json){ .kind = JSON_REAL, .d = reals[i] });
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		check_number(&(struct json){ .kind = JSON_INT, .i = wholes[i] });
	check_number(&(struct json){ .kind = JSON_UINT, .u = UINT64_MAX });
	check_number(&(struct json){ .kind = JSON_UINT, .u = (uint64_t)INT64_MAX + 1 });
	for (int i = 0; i < 20000; i++) {
		struct json v = { .kind = JSON_REAL };

		seed = seed * 6364136223846793005 + 1442695040888963407;
		v.u = seed ^ seed >> 31;
		if (isfinite(v.d))
			check_number(&v);
		v.d = (double)(float)((int64_t)v.u % 1000000) / 1024;
		check_number(&v);
	}
	assert_string_equal(written(&(struct json){ .kind = JSON_REAL, .d = NAN }), "null");
	assert_string_equal(written(&(struct json){ .kind = JSON_REAL, .d = -INFINITY }), "null");
	assert_string_equal(written(&(struct json){ .kind = JSON_REAL, .d = 0.1 }), "0.1");
	assert_string_equal(written(NULL), "null");
	buf_fini(&text);
	setlocale(LC_NUMERIC, "C");
}

/* Numbers that jread refuses are taken as the largest; all else is as strict. */
static int case_huge(void)
{
	const char *const huge = "[1e999,-1e309,1e308]";
	const struct json *v;
	infer_error err;
	struct arena a;
	int rc;

	arena_init(&a, MEM_BASE);
	nth_fails(jread(&v, &a, huge, strlen(huge), "f.json", &err), INFER_EFORMAT);
	nth_ok(jread_huge(&v, &a, huge, strlen(huge), "f.json", &err));
	assert_true(json_double(json_at(v, 0)) == DBL_MAX);
	assert_true(json_double(json_at(v, 1)) == -DBL_MAX);
	assert_true(json_double(json_at(v, 2)) == 1e308);
	nth_fails(jread_huge(&v, &a, "1e999e1", 7, "f.json", &err), INFER_EFORMAT);
	nth_fails(jread_huge(&v, &a, "01e999", 6, "f.json", &err), INFER_EFORMAT);
out:
	arena_fini(&a);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_built),
		nth_case(case_copied),
		nth_case(case_none),
		nth_case(case_huge),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_read_back),
	};
	return nth_group(tests);
}
