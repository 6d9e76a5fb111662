/* tests/unit/base/test_sha1.c - the examples of FIPS 180-4, and names of git. */
#include "../nth.h"
#include "base/sha1.h"

#include <string.h>

static void hash(char hex[41], const void *bytes, size_t n, size_t piece)
{
	struct sha1 s;
	uint8_t out[20];

	sha1_init(&s);
	for (size_t i = 0; i < n; i += piece)
		sha1_add(&s, (const char *)bytes + i, n - i < piece ? n - i : piece);
	sha1_end(&s, out);
	sha1_hex(out, hex);
}

static void test_examples(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
		{ "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
		  "klmnopqrlmnopqrsmnopqrstnopqrstu",
		  "a49b2446a02c645bf419f995b67091253a04a259" },
	};
	static char as[1000000];
	char hex[41];

	(void)state;
	memset(as, 'a', sizeof as);
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		hash(hex, rows[r].in, strlen(rows[r].in), 1000);
		assert_string_equal(hex, rows[r].out);
	}
	hash(hex, as, sizeof as, 997);
	assert_string_equal(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

/* Every length around the ends of blocks, in pieces of every size: one result. */
static void test_pieces(void **state)
{
	unsigned char bytes[200];
	char want[41], got[41];

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * 7);
	for (size_t n = 0; n < sizeof bytes; n++) {
		hash(want, bytes, n, sizeof bytes);
		for (size_t piece = 1; piece < 130; piece += 9) {
			hash(got, bytes, n, piece);
			assert_string_equal(got, want);
		}
	}
}

/* `printf '' | git hash-object --stdin`, and the same of "hello\n". */
static void test_blob(void **state)
{
	struct sha1 s;
	uint8_t out[20];
	char hex[41];

	(void)state;
	sha1_init_blob(&s, 0);
	sha1_end(&s, out);
	sha1_hex(out, hex);
	assert_string_equal(hex, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
	sha1_init_blob(&s, 6);
	sha1_add(&s, "hello\n", 6);
	sha1_end(&s, out);
	sha1_hex(out, hex);
	assert_string_equal(hex, "ce013625030ba8dba906f756967f9e9ca394464a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_blob),
	};
	return nth_group(tests);
}
