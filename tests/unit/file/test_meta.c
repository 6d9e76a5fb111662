/* tests/unit/file/test_meta.c - typed access to metadata: every type read as every other. */
#include "../nth.h"
#include "file/file.h"
#include "make.h"

#include <float.h>

static struct make m;

/* One key per type, holding -1 or the largest value, then arrays. */
static void all(void)
{
	static const unsigned char ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	double d = -2.5;
	float f = 0.75f;
	uint64_t top = (uint64_t)1 << 63;

	make_head(&m, 0, 17);
	make_key(&m, "u8", INFER_META_U8), make_put(&m, ones, 1);
	make_key(&m, "i8", INFER_META_I8), make_put(&m, ones, 1);
	make_key(&m, "u16", INFER_META_U16), make_put(&m, ones, 2);
	make_key(&m, "i16", INFER_META_I16), make_put(&m, ones, 2);
	make_key(&m, "u32", INFER_META_U32), make_put(&m, ones, 4);
	make_key(&m, "i32", INFER_META_I32), make_put(&m, ones, 4);
	make_key(&m, "u64", INFER_META_U64), make_put(&m, &top, 8);
	make_key(&m, "i64", INFER_META_I64), make_put(&m, ones, 8);
	make_key(&m, "f32", INFER_META_F32), make_put(&m, &f, 4);
	make_key(&m, "f64", INFER_META_F64), make_put(&m, &d, 8);
	make_key(&m, "bool", INFER_META_BOOL), make_put(&m, "\1", 1);
	make_key_str(&m, "str", "text");
	make_array(&m, "strs", INFER_META_STR, 3), make_str(&m, "a"), make_str(&m, ""),
		make_str(&m, "ccc");
	make_array(&m, "i16s", INFER_META_I16, 2), make_put(&m, "\xfe\xff\x07\x00", 4);
	make_array(&m, "bools", INFER_META_BOOL, 2), make_put(&m, "\0\1", 2);
	make_array(&m, "f32s", INFER_META_F32, 2), make_put(&m, &f, 4), make_put(&m, &f, 4);
	make_array(&m, "none", INFER_META_STR, 0);
}

static infer_file *open_all(void)
{
	infer_file *f;

	all();
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, "meta.gguf", NULL), INFER_OK);
	return f;
}

struct row {
	const char *key;
	int u, i, d;
	uint64_t u_is;
	int64_t i_is;
	double d_is;
};

static void test_numbers(void **state)
{
	static const struct row rows[] = {
		{ "u8", 0, 0, 0, 255, 255, 255 },
		{ "i8", 1, 0, 0, 0, -1, -1 },
		{ "u16", 0, 0, 0, 65535, 65535, 65535 },
		{ "i16", 1, 0, 0, 0, -1, -1 },
		{ "u32", 0, 0, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ "i32", 1, 0, 0, 0, -1, -1 },
		{ "u64", 0, 1, 0, (uint64_t)1 << 63, 0, 0x1p63 },
		{ "i64", 1, 0, 0, 0, -1, -1 },
		{ "f32", 1, 1, 0, 0, 0, 0.75 },
		{ "f64", 1, 1, 0, 0, 0, -2.5 },
		{ "bool", 1, 1, 1, 0, 0, 0 },
		{ "str", 1, 1, 1, 0, 0, 0 },
		{ "strs", 1, 1, 1, 0, 0, 0 },
		{ "i16s", 1, 1, 1, 0, 0, 0 },
		{ "none", 1, 1, 1, 0, 0, 0 },
	};
	infer_file *f = open_all();

	(void)state;
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		const struct row *r = &rows[k];
		uint64_t u = 0;
		int64_t i = 0;
		double d = 0;
		int found = 0;
		infer_error err = { 0 };
		assert_int_equal(infer_meta_u64(f, r->key, &u, &found, &err),
		                 r->u ? INFER_EFORMAT : INFER_OK);
		assert_int_equal(found, 1);
		assert_true(u == r->u_is);
		assert_int_equal(r->u, strstr(err.message, r->key) != NULL);
		const struct infer_meta *one = infer_file_meta(f, r->key);

		if (one->type != INFER_META_ARR)
			assert_int_equal(infer_meta_elem_i64(f, one, 0, &i, &err),
			                 r->i ? INFER_EFORMAT : INFER_OK);
		assert_true(i == r->i_is);
		assert_int_equal(infer_meta_f64(f, r->key, &d, NULL, NULL),
		                 r->d ? INFER_EFORMAT : INFER_OK);
		assert_true(d == r->d_is);
	}
	infer_file_close(&f);
}

static void test_others(void **state)
{
	infer_file *f = open_all();
	struct infer_str s = { 0 };
	int b = 7, found = 7;
	uint64_t u = 7;

	(void)state;
	assert_int_equal(infer_meta_bool(f, "bool", &b, &found, NULL), INFER_OK);
	assert_int_equal(b, 1);
	assert_int_equal(infer_meta_bool(f, "u8", &b, NULL, NULL), INFER_EFORMAT);
	assert_int_equal(infer_meta_bool(f, "bools", &b, NULL, NULL), INFER_EFORMAT);
	assert_int_equal(infer_meta_str(f, "str", &s, NULL, NULL), INFER_OK);
	assert_int_equal(s.len, 4);
	assert_memory_equal(s.at, "text", 4);
	assert_int_equal(infer_meta_str(f, "strs", &s, NULL, NULL), INFER_EFORMAT);
	assert_int_equal(infer_meta_str(f, "u32", &s, NULL, NULL), INFER_EFORMAT);
	assert_int_equal(infer_meta_u64(f, "absent", &u, &found, NULL), INFER_OK);
	assert_int_equal(found, 0);
	assert_int_equal(u, 7);
	infer_file_close(&f);
}

static void test_arrays(void **state)
{
	infer_file *f = open_all();
	const struct infer_meta *a = infer_file_meta(f, "i16s"), *strs = infer_file_meta(f, "strs");
	static const char *const want[] = { "a", "", "ccc" };
	struct infer_str s;
	size_t cursor = 0;
	int64_t i;
	double d;

	(void)state;
	assert_int_equal(infer_meta_elem_i64(f, a, 0, &i, NULL), INFER_OK);
	assert_int_equal(i, -2);
	assert_int_equal(infer_meta_elem_f64(f, a, 1, &d, NULL), INFER_OK);
	assert_true(d == 7);
	assert_int_equal(infer_meta_elem_i64(f, a, 2, &i, NULL), INFER_EFORMAT);
	assert_int_equal(infer_meta_elem_i64(f, infer_file_meta(f, "bools"), 1, &i, NULL),
	                 INFER_OK);
	assert_int_equal(i, 1);
	assert_int_equal(infer_meta_elem_i64(f, infer_file_meta(f, "f32s"), 0, &i, NULL),
	                 INFER_EFORMAT);
	assert_int_equal(infer_meta_elem_f64(f, infer_file_meta(f, "f32s"), 1, &d, NULL), INFER_OK);
	assert_true(d == 0.75);
	assert_int_equal(infer_meta_elem_i64(f, infer_file_meta(f, "u16"), 0, &i, NULL), INFER_OK);
	assert_int_equal(i, 65535);
	assert_int_equal(infer_meta_elem_i64(f, infer_file_meta(f, "u16"), 1, &i, NULL),
	                 INFER_EFORMAT);
	assert_int_equal(infer_meta_elem_i64(f, strs, 0, &i, NULL), INFER_EFORMAT);
	for (int k = 0; k < 3; k++) {
		assert_int_equal(infer_meta_next_str(strs, &cursor, &s), INFER_OK);
		assert_int_equal(s.len, strlen(want[k]));
		assert_memory_equal(s.at, want[k], s.len);
	}
	assert_int_equal(infer_meta_next_str(strs, &cursor, &s), INFER_EINVAL);
	assert_null(s.at);
	cursor = 0;
	assert_int_equal(infer_meta_next_str(infer_file_meta(f, "none"), &cursor, &s),
	                 INFER_EINVAL);
	assert_int_equal(infer_meta_next_str(a, &cursor, &s), INFER_EINVAL);
	assert_int_equal(infer_meta_next_str(infer_file_meta(f, "str"), &cursor, &s), INFER_OK);
	assert_memory_equal(s.at, "text", 4);
	infer_file_close(&f);
}

/* Two arrays alike, of which one lies on a multiple of 4, bytes, strings with marks, a string. */
enum { MANY = 3 * 64 + 5 };

static infer_file *open_arrays(void)
{
	infer_file *f;
	char name[16];

	make_head(&m, 0, 5);
	for (int shift = 0; shift < 2; shift++) {
		make_array(&m, shift ? "b" : "aaa", INFER_META_I32, 4);
		for (int i = 0; i < 4; i++)
			make_u32(&m, (uint32_t)(i - 1));
	}
	make_array(&m, "i8s", INFER_META_I8, 3), make_put(&m, "\1\xff\3", 3);
	make_array(&m, "strs", INFER_META_STR, MANY);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "%d", i);
		make_str(&m, name);
	}
	make_key_str(&m, "str", "text");
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, "meta.gguf", NULL), INFER_OK);
	return f;
}

/* As another type, and lent where they lie as they are asked for. */
static void check_array(const infer_file *f, const struct infer_meta *k)
{
	const unsigned char *bytes;
	infer_error err;
	const void *at;
	int32_t i32[4];
	uint8_t u8[4];
	float f32[4];
	double f64[4];
	size_t n;

	assert_int_equal(infer_meta_array(f, k, INFER_META_I32, 0, 4, i32, &at, NULL), 0);
	assert_memory_equal(at, ((int32_t[]){ -1, 0, 1, 2 }), 16);
	assert_int_equal(at != i32, !((uintptr_t)file_value(k)->at % 4));
	assert_int_equal(infer_meta_array(f, k, INFER_META_F32, 1, 3, f32, &at, NULL), 0);
	assert_ptr_equal(at, f32);
	assert_true(f32[0] == 0 && f32[2] == 2);
	assert_int_equal(infer_meta_array(f, k, INFER_META_F64, 0, 1, f64, &at, NULL), 0);
	assert_true(f64[0] == -1);
	assert_int_equal(infer_meta_array(f, k, INFER_META_U8, 1, 3, u8, &at, NULL), 0);
	assert_memory_equal(u8, "\0\1\2", 3);
	assert_int_equal(infer_meta_array(f, k, INFER_META_U8, 0, 1, u8, &at, &err), INFER_EFORMAT);
	assert_null(at);
	assert_int_equal(infer_meta_array(f, k, INFER_META_BOOL, 3, 1, u8, &at, &err),
	                 INFER_EFORMAT);
	assert_int_equal(infer_meta_array(f, k, INFER_META_I32, 2, 3, i32, &at, &err),
	                 INFER_EFORMAT);
	assert_non_null(strstr(err.message, "has 4 elements, so there is no element 4"));
	assert_int_equal(infer_meta_array(f, k, INFER_META_STR, 0, 1, i32, &at, &err),
	                 INFER_EINVAL);
	assert_int_equal(infer_meta_bytes(f, k, &bytes, &n, &err), INFER_EFORMAT);
}

static void test_whole_arrays(void **state)
{
	infer_file *f = open_arrays();
	const struct infer_meta *a = infer_file_meta(f, "aaa"), *b = infer_file_meta(f, "b");
	const unsigned char *bytes;
	size_t n;

	(void)state;
	assert_int_not_equal((uintptr_t)file_value(a)->at % 4, (uintptr_t)file_value(b)->at % 4);
	check_array(f, a);
	check_array(f, b);
	assert_int_equal(infer_meta_bytes(f, infer_file_meta(f, "i8s"), &bytes, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_memory_equal(bytes, "\1\xff\3", 3);
	infer_file_close(&f);
}

static void test_strings(void **state)
{
	infer_file *f = open_arrays();
	const struct infer_meta *k = infer_file_meta(f, "strs");
	struct infer_str s;
	infer_error err;
	const void *at;
	int32_t i32;
	char name[16];

	(void)state;
	assert_int_equal(infer_meta_array(f, k, INFER_META_I32, 0, 1, &i32, &at, &err),
	                 INFER_EFORMAT);
	for (int i = MANY - 1; i >= 0; i--) {
		assert_int_equal(infer_meta_str_at(f, k, (uint64_t)i, &s, NULL), INFER_OK);
		snprintf(name, sizeof name, "%d", i);
		assert_int_equal(s.len, strlen(name));
		assert_memory_equal(s.at, name, s.len);
	}
	assert_int_equal(infer_meta_str_at(f, k, MANY, &s, &err), INFER_EFORMAT);
	assert_null(s.at);
	assert_int_equal(infer_meta_str_at(f, infer_file_meta(f, "str"), 0, &s, NULL), INFER_OK);
	assert_memory_equal(s.at, "text", 4);
	assert_int_equal(infer_meta_str_at(f, infer_file_meta(f, "b"), 0, &s, &err), INFER_EFORMAT);
	infer_file_close(&f);
}

/* Names of the file come into messages as they can be printed. */
static void test_message(void **state)
{
	infer_file *f;
	infer_error err;
	char key[300];
	uint64_t u;

	(void)state;
	memset(key, 'k', sizeof key - 1);
	memcpy(key, "a\n\xff", 3);
	key[sizeof key - 1] = '\0';
	make_head(&m, 0, 1);
	make_key_str(&m, key, "v");
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, "meta.gguf", NULL), INFER_OK);
	assert_int_equal(infer_meta_u64(f, key, &u, NULL, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "meta.gguf: key a\\x0a\\xffkkk"));
	assert_non_null(strstr(err.message, "...: is string, must be an integer"));
	infer_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_others),
		cmocka_unit_test(test_arrays),  cmocka_unit_test(test_whole_arrays),
		cmocka_unit_test(test_strings), cmocka_unit_test(test_message),
	};
	return nth_group(tests);
}
