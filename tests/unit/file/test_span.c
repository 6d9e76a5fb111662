/* tests/unit/file/test_span.c - bytes of tensors whose matrices are apart: in place where they are in one
 * matrix, else copied. */
#include "../nth.h"

#include <string.h>

#include "file/file.h"

enum { EACH = 8, MATRICES = 3, ALL = EACH * MATRICES };

static void test_span(void **state)
{
	static const unsigned char m[MATRICES][EACH] = { "01234567", "89abcdef", "ghijklmn" };
	static const char all[] = "0123456789abcdefghijklmn";
	const void *const parts[] = { m[2], m[0], m[1] }, *const *const of[] = { NULL, parts };
	struct infer_tensor t[2] = { { .ne = { 2, 4, 3, 1 }, .bytes = ALL, .data = all },
		                     { .ne = { 2, 4, 3, 1 }, .bytes = ALL } };
	const struct infer_file f = { .tensors = t, .n_tensors = 2, .parts = of };
	char want[ALL], room[ALL];

	(void)state;
	memcpy(want, "ghijklmn0123456789abcdef", ALL);
	for (size_t from = 0; from < ALL; from++)
		for (size_t n = 1; n <= ALL - from; n++) {
			int in_one = from / EACH == (from + n - 1) / EACH;

			memset(room, '.', sizeof room);
			assert_ptr_equal(file_span(&f, &t[0], from, n, room), all + from);
			const void *at = file_span(&f, &t[1], from, n, room);
			assert_memory_equal(at, want + from, n);
			assert_int_equal(at != room, in_one);
			assert_int_equal(n < ALL ? room[n] : '.', '.');
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_span) };

	return nth_group(tests);
}
