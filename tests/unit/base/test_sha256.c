/* tests/unit/base/test_sha256.c - the examples of FIPS 180-4, and the two implementations
 * compared with each other. */
#include "../nth.h"
#include "base/cpu.h"
#include "base/sha256.h"

#include <string.h>

static void (*const inits[])(struct sha256 *) = { sha256_init, sha256_init_plain };

static void hash(char hex[65], int how, const void *bytes, size_t n, size_t piece)
{
	struct sha256 s;
	uint8_t out[32];

	inits[how](&s);
	for (size_t i = 0; i < n; i += piece)
		sha256_add(&s, (const char *)bytes + i, n - i < piece ? n - i : piece);
	sha256_end(&s, out);
	sha256_hex(out, hex);
}

static void test_examples(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
		  "klmnopqrlmnopqrs"
		  "mnopqrstnopqrstu",
		  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
	};
	static char as[1000000];
	char hex[65];

	(void)state;
	memset(as, 'a', sizeof as);
	for (int how = 0; how < 2; how++) {
		for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
			hash(hex, how, rows[r].in, strlen(rows[r].in), 1000);
			assert_string_equal(hex, rows[r].out);
		}
		hash(hex, how, as, sizeof as, 997);
		assert_string_equal(
			hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
}

/* Every length around the ends of blocks, in pieces of every size: one result. */
static void test_pieces(void **state)
{
	unsigned char bytes[300];
	char want[65], got[65];

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * 167 + 13);
	for (size_t n = 0; n <= sizeof bytes; n++) {
		hash(want, 1, bytes, n, n + 1);
		for (size_t piece = 1; piece < 140; piece += n % 7 + 1)
			for (int how = 0; how < 2; how++) {
				hash(got, how, bytes, n, piece);
				assert_string_equal(got, want);
			}
	}
}

static void test_choice(void **state)
{
	struct sha256 s;

	(void)state;
	sha256_init(&s);
	assert_int_equal(s.fast, (cpu_features() & CPU_SHA) != 0);
	sha256_add(&s, NULL, 0);
	sha256_init_plain(&s);
	assert_int_equal(s.fast, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_choice),
	};
	return nth_group(tests);
}
