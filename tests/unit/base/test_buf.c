/* tests/unit/base/test_buf.c - growing buffers, and sticky failure. */
#include "../nth.h"
#include "base/buf.h"

#include <string.h>

static int case_put(void)
{
	struct buf b;
	int rc = INFER_OK;

	buf_init(&b, MEM_TEXT);
	assert_null(b.at);
	for (int i = 0; i < 500; i++) {
		buf_put(&b, "ab\0c", 4);
		buf_puts(&b, "de");
		buf_putc(&b, 'f');
		buf_printf(&b, "%d,%s", 1000 + i, "g");
	}
	nth_need(!b.bad);
	assert_int_equal(b.len, 500 * 13);
	for (int i = 0; i < 500; i++) {
		char want[14];

		memcpy(want, "ab\0cdef", 7);
		want[7] = '1';
		want[8] = (char)('0' + i / 100);
		want[9] = (char)('0' + i / 10 % 10);
		want[10] = (char)('0' + i % 10);
		memcpy(want + 11, ",g", 2);
		assert_memory_equal(b.at + 13 * i, want, 13);
	}
	assert_int_equal(b.at[b.len], 0);
out:
	buf_fini(&b);
	return rc;
}

/* After a failure nothing more is added, whether or not there would be room, and what is there
 * stays a string. */
static int case_sticky(void)
{
	struct buf b;
	int rc = INFER_OK;
	size_t len;

	buf_init(&b, MEM_TEXT);
	buf_puts(&b, "start");
	nth_need(!b.bad);
	assert_int_equal(buf_reserve(&b, SIZE_MAX - 2), INFER_ENOMEM);
	assert_int_equal(buf_reserve(&b, 1), INFER_ENOMEM);
	buf_puts(&b, "more");
	buf_putc(&b, 'm');
	buf_printf(&b, "%d", 1);
	assert_string_equal(b.at, "start");
	assert_null(buf_take(&b, &len));
	assert_int_equal(len, 0);
	buf_clear(&b);
	buf_puts(&b, "again"); /* fits */
	assert_int_equal(b.bad, 0);
	assert_string_equal(b.at, "again");
out:
	buf_fini(&b);
	return rc;
}

static int case_take(void)
{
	struct buf b;
	int rc = INFER_OK;
	size_t len = 9;
	char *s = NULL;

	buf_init(&b, MEM_TEXT);
	nth_need((s = buf_take(&b, &len)));
	assert_string_equal(s, "");
	assert_int_equal(len, 0);
	mem_free(s);
	s = NULL;
	buf_printf(&b, "%0200d", 7);
	nth_need((s = buf_take(&b, NULL)));
	assert_int_equal(strlen(s), 200);
	assert_null(b.at);
	assert_int_equal(b.len, 0);
	buf_put(&b, NULL, 0);
	nth_need(!b.bad);
	assert_string_equal(b.at, "");
out:
	mem_free(s);
	buf_fini(&b);
	return rc;
}

/* What was reserved is there: no call after it. */
static void test_reserve(void **state)
{
	struct buf b;
	uint64_t calls;

	(void)state;
	buf_init(&b, MEM_TEXT);
	assert_int_equal(buf_reserve(&b, 1000), 0);
	assert_string_equal(b.at, "");
	calls = mem_calls_all();
	for (int i = 0; i < 1000; i++)
		buf_putc(&b, 'x');
	assert_int_equal(mem_calls_all(), calls);
	assert_int_equal(strlen(b.at), 1000);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_put),
		nth_case(case_sticky),
		nth_case(case_take),
		cmocka_unit_test(test_reserve),
	};
	return nth_group(tests);
}
