/* tests/unit/file/test_safetensors.c - tables of safetensors files: read, or refused with the tensor's
 * name. */
#include "../nth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "file/safetensors.h"

/* A file in memory that ends at the end of what was allocated; there until the next one is read. */
static unsigned char *file_room;
static int read_bytes(struct safetensors *s, const char *json, uint64_t length, size_t data,
                      infer_error *err)
{
	size_t n = strlen(json);
	unsigned char *at = realloc(file_room, 8 + n + data);
	struct file_shard shard = { .path = (char *)"x.safetensors",
		                    .at = at,
		                    .bytes = 8 + n + data };
	struct infer_file f = { .shards = &shard, .n_shards = 1 };

	assert_non_null(at);
	file_room = at;
	for (int i = 0; i < 8; i++)
		at[i] = (unsigned char)(length >> 8 * i);
	memcpy(at + 8, json, n);
	memset(at + 8 + n, 7, data);
	int rc = safetensors_read(s, &f, 0, err);
	if (!rc)
		assert_int_equal(shard.header_bytes, 8 + length);
	for (uint32_t i = 0; !rc && i < s->n; i++)
		assert_ptr_equal(s->at[i].data, at + s->at[i].offset);
	return rc;
}

static int read_json(struct safetensors *s, const char *json, size_t data, infer_error *err)
{
	return read_bytes(s, json, strlen(json), data, err);
}

static int drop_room(void **state)
{
	(void)state;
	free(file_room);
	file_room = NULL;
	return 0;
}

#define T(name, dtype, shape, from, to) \
	"\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" from "," to \
	"]}"

/* In the order of the data, whatever the order of the table; a name with escapes is kept unescaped. */
static int case_table(void)
{
	struct safetensors s = { 0 };
	infer_error err;
	int rc;

	nth_ok(read_json(&s,
	                 " { \"__metadata__\" : {\"format\":\"pt\"},\n" T(
				 "b", "F32", "[2,3]", "6",
				 "30") "," T("\\u00e4\\n", "BF16", "[3]", "0",
	                                     "6") "," T("scalar", "F16", "[]", "30",
	                                                "32") "," T("none", "I64", "[4,0]", "30",
	                                                            "30") " }  ",
	                 32, &err));
	assert_int_equal(s.n, 4);
	assert_int_equal(s.at[0].name.len, 3);
	assert_memory_equal(s.at[0].name.at, "\xc3\xa4\n", 3);
	assert_int_equal(s.at[0].dtype, ST_BF16);
	assert_memory_equal(s.at[1].name.at, "b", 1);
	assert_int_equal(s.at[1].n_dims, 2);
	assert_int_equal(s.at[1].shape[1], 3);
	assert_int_equal(s.at[1].bytes, 24);
	assert_memory_equal(s.at[2].name.at, "none", 4);
	assert_int_equal(s.at[2].bytes, 0);
	const struct safetensors_tensor *t = safetensors_find(&s, "scalar", 6);
	assert_ptr_equal(t, &s.at[3]);
	assert_int_equal(t->n_dims, 0);
	assert_int_equal(t->bytes, 2);
	assert_null(safetensors_find(&s, "c", 1));
out:
	safetensors_fini(&s);
	return rc;
}

/* More tensors than the first table has room for, and every dtype. */
static int case_many(void)
{
	static const char *const names[] = { "F64",     "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2",
		                             "F8_E8M0", "I64", "I32", "I16",  "I8",      "U64",
		                             "U32",     "U16", "U8",  "BOOL" };
	static const unsigned bytes[] = { 8, 4, 2, 2, 1, 1, 1, 8, 4, 2, 1, 8, 4, 2, 1, 1 };
	static char json[65536];
	struct safetensors s = { 0 };
	infer_error err;
	unsigned at = 0;
	char *to = json;
	int rc;

	*to++ = '{';
	for (unsigned i = 0; i < 300; i++) {
		unsigned n = bytes[i % 16];
		to += sprintf(to,
		              "%s\"t%u\":{\"dtype\":\"%s\",\"shape\":[1],\"data_offsets\":[%u,%u]}",
		              i ? "," : "", i, names[i % 16], at, at + n);
		at += n;
	}
	memcpy(to, "}", 2);
	nth_ok(read_json(&s, json, at, &err));
	assert_int_equal(s.n, 300);
	for (unsigned i = 0; i < 300; i++) {
		assert_string_equal(safetensors_dtype_name(s.at[i].dtype), names[i % 16]);
		assert_int_equal(safetensors_dtype_bytes(s.at[i].dtype), bytes[i % 16]);
		assert_int_equal(s.at[i].bytes, bytes[i % 16]);
	}
out:
	safetensors_fini(&s);
	return rc;
}

#define EF INFER_EFORMAT
static const struct {
	const char *json;
	size_t data;
	int code;
	const char *says;
} bad[] = {
	{ "", 0, EF, "the header must be a JSON object" },
	{ "[]", 0, EF, "the header must be a JSON object" },
	{ "{", 0, EF, "the name of a tensor must follow" },
	{ "{\"a\"", 0, EF, "tensor a: \":\" must follow" },
	{ "{\"a", 0, EF, "the header ends inside the value" },
	{ "{\"a\\", 0, EF, "the header ends inside the value" },
	{ "{\"a\":", 0, EF, "tensor a: the value must be an object" },
	{ "{\"a\":3}", 0, EF, "tensor a: the value must be an object" },
	{ "{\"a\":{\"dtype\":\"F32\"", 0, EF, "tensor a: the header ends inside the value" },
	{ "{\"a\":{]}}", 0, EF, "tensor a: the value at byte" },
	{ "{\"\xff\":{}}", 0, EF, "the value at byte 9: JSON: line 1" },
	{ "{\"\\ud800\":{}}", 0, EF, "the value at byte 9: JSON: line 1" },
	{ "{\"\":{}}", 0, EF, "1 to 4096 bytes and no NUL" },
	{ "{\"a\\u0000b\":{}}", 0, EF, "1 to 4096 bytes and no NUL" },
	{ "{\"__metadata__\":{\"a\":1}}", 0, EF, "tensor __metadata__: \"a\" must be a string" },
	{ "{\"__metadata__\":[]}", 0, EF, "tensor __metadata__: the value must be an object" },
	{ "{\"__metadata__\":{},\"__metadata__\":{}}", 0, EF,
	  "tensor __metadata__: it is there twice" },
	{ "{" T("a", "F32", "[1]", "0", "4") "", 4, EF, "\",\" or \"}\" must follow" },
	{ "{" T("a", "F32", "[1]", "0", "4") "} x", 4, EF, "the header must end with its object" },
	{ "{" T("a", "F32", "[1]", "0", "4") ",}", 4, EF, "the name of a tensor must follow" },
	{ "{" T("a", "F32", "[1]", "0", "4") "," T("a", "F32", "[1]", "4", "8") "}", 8, EF,
	  "tensor a: it is there twice" },
	{ "{" T("a", "F32", "[1]", "0", "4") "," T("\\u0061", "F16", "[1]", "4", "6") "}", 6, EF,
	  "tensor a: it is there twice" },
	{ "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
	  EF, "tensor a: the value at byte" },
	{ "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, EF,
	  "tensor a: \"dtype\" must be a string" },
	{ "{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, EF,
	  "tensor a: \"dtype\" must be a string" },
	{ "{" T("a", "F4", "[1]", "0", "4") "}", 4, INFER_EUNSUP,
	  "tensor a: dtype F4 is not supported" },
	{ "{" T("a", "f32", "[1]", "0", "4") "}", 4, INFER_EUNSUP,
	  "tensor a: dtype f32 is not supported" },
	{ "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, EF,
	  "tensor a: \"shape\" must be an array" },
	{ "{" T("a", "F32", "1", "0", "4") "}", 4, EF, "tensor a: \"shape\" must be an array" },
	{ "{" T("a", "F32", "[-1]", "0", "4") "}", 4, EF, "tensor a: \"shape\" must be an array" },
	{ "{" T("a", "F32", "[1.5]", "0", "4") "}", 4, EF, "tensor a: \"shape\" must be an array" },
	{ "{" T("a", "F32", "[\"1\"]", "0", "4") "}", 4, EF,
	  "tensor a: \"shape\" must be an array" },
	{ "{" T("a", "F32", "[18446744073709551615]", "0", "4") "}", 4, EF,
	  "tensor a: \"shape\" must be" },
	{ "{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, EF, "at most 8 integers" },
	{ "{" T("a", "F32", "[4611686018427387904]", "0", "4") "}", 4, EF, "2^63 bytes or more" },
	{ "{" T("a", "F32", "[4294967296,4294967296]", "0", "0") "}", 4, EF, "2^63 bytes or more" },
	{ "{" T("a", "U8", "[9223372036854775807,2]", "0", "4") "}", 4, EF, "2^63 bytes or more" },
	{ "{" T("a", "F32", "[0,9223372036854775807]", "0", "4") "}", 4, EF,
	  "tensor a: \"shape\" needs" },
	{ "{" T("a", "F32", "[0,4]", "0", "4") "}", 4, EF, "are 4 bytes, shape and dtype need 0" },
	{ "{" T("a", "F32", "[2]", "0", "4") "}", 4, EF, "are 4 bytes, shape and dtype need 8" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, EF,
	  "tensor a: \"data_offsets\" must be" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, EF,
	  "\"data_offsets\" must be" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, EF,
	  "\"data_offsets\" must" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{}}}", 4, EF,
	  "\"data_offsets\" must be" },
	{ "{" T("a", "F32", "[1]", "4", "0") "}", 4, EF, "\"data_offsets\" must be" },
	{ "{" T("a", "F32", "[1]", "-4", "0") "}", 4, EF, "\"data_offsets\" must be" },
	{ "{" T("a", "F32", "[1]", "0", "4e0") "}", 4, EF, "\"data_offsets\" must be" },
	{ "{" T("a", "F32", "[1]", "0", "9223372036854775808") "}", 4, EF,
	  "\"data_offsets\" must be" },
	{ "{" T("a", "F32", "[2]", "0", "8") "}", 4, EF,
	  "tensor a: data_offsets [0, 8]: the file ends before" },
	{ "{" T("a", "F32", "[1]", "9223372036854775803", "9223372036854775807") "}", 4, EF,
	  "the file ends" },
	{ "{" T("a", "F32", "[1]", "4", "8") "}", 8, EF,
	  "tensor a: data_offsets [4, 8] leave a gap, 0 is next" },
	{ "{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "8", "12") "}", 12, EF,
	  "tensor b: data_offsets [8, 12] leave a gap, 4 is next" },
	{ "{" T("a", "F32", "[2]", "0", "8") "," T("b", "F32", "[1]", "4", "8") "}", 8, EF,
	  "tensor b: data_offsets [4, 8] overlap the tensor before, 8 is next" },
	{ "{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "0", "4") "}", 4, EF,
	  "overlap the tensor before" },
	{ "{" T("a", "F32", "[1]", "0", "4") "}", 5, EF,
	  "the tensors have 4 bytes, the file has 5 after" },
	{ "{}", 1, EF, "the tensors have 0 bytes, the file has 1 after" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"scale\":1}}", 4,
	  INFER_EUNSUP, "tensor a: the member \"scale\" is not known" },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct safetensors s = { 0 };
		infer_error err = { 0 };
		int rc = read_json(&s, bad[i].json, bad[i].data, &err);

		safetensors_fini(&s);
		if (rc != bad[i].code || strncmp(err.message, "x.safetensors: ", 15) ||
		    !strstr(err.message, bad[i].says))
			fail_msg("%s: %s: %s", bad[i].json, infer_status_name(rc), err.message);
	}
}

/* Lengths of the header that are not its length; a file that ends in them. */
static void test_length(void **state)
{
	static const uint64_t lengths[] = { 3,
		                            1,
		                            0,
		                            100000001,
		                            (uint64_t)1 << 63,
		                            UINT64_MAX,
		                            UINT64_MAX - 7,
		                            ((uint64_t)1 << 63) - 1,
		                            (uint64_t)1 << 32 };
	struct file_shard shard = { .path = (char *)"x",
		                    .at = (const unsigned char *)"\2\0\0\0\0\0\0" };
	struct infer_file f = { .shards = &shard, .n_shards = 1 };
	struct safetensors s = { 0 };
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		assert_int_equal(read_bytes(&s, "{}", lengths[i], 0, &err), INFER_EFORMAT);
		if (lengths[i] > 2)
			assert_non_null(
				strstr(err.message, " does not fit in the file of 10 bytes"));
		safetensors_fini(&s);
	}
	for (shard.bytes = 0; shard.bytes < 8; shard.bytes++) {
		assert_int_equal(safetensors_read(&s, &f, 0, &err), INFER_EFORMAT);
		assert_non_null(strstr(err.message, "at least 8 bytes"));
	}
}

/* Values that would take much memory are not read at once. */
static void test_memory(void **state)
{
	enum { N = 24 << 20 };
	char *json = malloc(N + 64);
	struct safetensors s = { 0 };
	infer_error err;

	(void)state;
	assert_non_null(json);
	size_t n = (size_t)sprintf(json, "{\"__metadata__\":{\"a\":[");
	memset(json + n, '[', N);
	memcpy(json + n + N, "", 1);
	assert_int_equal(read_json(&s, json, 0, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "the header ends inside the value"));
	for (int i = 0; i < N; i += 2)
		memcpy(json + n + i, "1,", 2);
	memcpy(json + n + N - 1, "]}}", 4);
	assert_int_equal(read_json(&s, json, 0, &err), INFER_EFORMAT);
	assert_non_null(
		strstr(err.message, "tensor __metadata__: the value at byte 24 has more than"));
	memcpy(json + n + (4 << 20) - 1, "]}}", 4);
	assert_int_equal(read_json(&s, json, 0, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "has more than 100000 members"));
	json[1] = '"';
	memset(json + 2, 'n', N);
	memcpy(json + 2 + N, "\":{}}", 6);
	assert_int_equal(read_json(&s, json, 0, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "the value at byte 9 has more than 24578 bytes"));
	safetensors_fini(&s);
	free(json);
}

/* One name in two files of a model. */
static void test_twice(void **state)
{
	static const char json[] = "{" T("a", "U8", "[1]", "0", "1") "}";
	struct safetensors s = { 0 };
	infer_error err;

	(void)state;
	unsigned char file[8 + sizeof json] = { sizeof json - 1 };
	memcpy(file + 8, json, sizeof json);
	struct file_shard shards[2] = { { .path = (char *)"x", .at = file, .bytes = sizeof file },
		                        { .path = (char *)"y", .at = file, .bytes = sizeof file } };
	struct infer_file f = { .shards = shards, .n_shards = 2 };
	assert_int_equal(safetensors_read(&s, &f, 0, &err), INFER_OK);
	assert_int_equal(safetensors_read(&s, &f, 1, &err), INFER_EFORMAT);
	assert_string_equal(err.message, "y: tensor a: it is there twice");
	safetensors_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_table),          nth_case(case_many),
		cmocka_unit_test(test_bad),    cmocka_unit_test(test_length),
		cmocka_unit_test(test_memory), cmocka_unit_test(test_twice),
	};
	return cmocka_run_group_tests(tests, NULL, drop_room);
}
