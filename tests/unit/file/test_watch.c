/* tests/unit/file/test_watch.c - being told how far long reads are, and finding the same behind the
 * first piece as in it. */
#include "../nth.h"
#include <infer/file.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64, VALUES = (9 << 20) / 4, BYTES = HEAD + VALUES * 4 };
static struct {
	uint64_t last, all;
	int n;
} seen;

static void on_part(void *user, uint64_t done, uint64_t all)
{
	assert_ptr_equal(user, &seen);
	assert_true(done > seen.last && done <= all);
	seen.last = done;
	seen.all = all;
	seen.n++;
}

/* One tensor of f32, 9 MiB. */
static unsigned char *model(void)
{
	static const unsigned char head[] = "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
					    "\1\0\0\0\0\0\0\0t\1\0\0\0\0\0\0\0\0\0\0\0";
	unsigned char *at = aligned_alloc(64, BYTES);
	uint64_t n = VALUES;

	assert_non_null(at);
	memset(at, 0, BYTES);
	memcpy(at, head, sizeof head - 1);
	for (int i = 0; i < 8; i++)
		at[37 + i] = (unsigned char)(n >> 8 * i);
	return at;
}

static void test_told(void **state)
{
	const struct infer_watch w = { on_part, &seen }, nobody = { NULL, NULL };
	unsigned char *at = model();
	infer_error err;
	char a[65], b[65];
	infer_file *f;

	(void)state;
	if (infer_file_open_bytes(&f, at, BYTES, "it", &err))
		fail_msg("%s", err.message);
	memset(&seen, 0, sizeof seen);
	assert_int_equal(infer_file_sha256(f, 0, a, &w, NULL), INFER_OK);
	assert_int_equal(infer_file_sha256(f, 0, b, &nobody, NULL), INFER_OK);
	assert_string_equal(a, b);
	assert_int_equal(seen.all, BYTES);
	assert_int_equal(seen.last, BYTES);
	assert_true(seen.n > 2);
	memset(&seen, 0, sizeof seen);
	assert_int_equal(infer_file_check_finite(f, &w, NULL), INFER_OK);
	assert_int_equal(seen.all, VALUES * 4);
	assert_int_equal(seen.last, VALUES * 4);
	assert_true(seen.n > 2);
	infer_file_close(&f);
	free(at);
}

/* The byte that is named is that of the file, in whatever piece it lies. */
static void test_behind(void **state)
{
	static const size_t bad[] = { 8 << 20, 5 << 20, 4 << 20, (4 << 20) - 4, 0 };
	unsigned char *at = model();
	char byte[32];
	infer_error err;
	infer_file *f;

	(void)state;
	assert_int_equal(infer_file_open_bytes(&f, at, BYTES, "it", NULL), INFER_OK);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memcpy(at + HEAD + bad[i], "\0\0\x80\x7f", 4);
		assert_int_equal(infer_file_check_finite(f, NULL, &err), INFER_ENAN);
		snprintf(byte, sizeof byte, "byte %zu ", HEAD + bad[i]);
		assert_non_null(strstr(err.message, byte));
	}
	infer_file_close(&f);
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_told),
		                            cmocka_unit_test(test_behind) };

	return nth_group(tests);
}
