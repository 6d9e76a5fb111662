/* tests/unit/file/test_mutate.c - the mutator of the fuzz targets: its results fit, are the same
 * for the same seed, differ from the input, and are often files that open; broken files and
 * other bytes do it no harm. */
#include "../nth.h"
#include "../../fuzz/mutate.h"
#include "make.h"

enum { ROUNDS = 4000, MOST = 16384 };

static const uint64_t ne[] = { 8, 4 };

static void make_model(struct make *m)
{
	make_head(m, 2, 5);
	make_key_str(m, "general.architecture", "llama");
	make_key_u32(m, "llama.block_count", 1);
	make_key_u16(m, "split.no", 0);
	make_array(m, "tokenizer.ggml.tokens", INFER_META_STR, 3);
	make_str(m, "a"), make_str(m, ""), make_str(m, "bcd");
	make_array(m, "tokenizer.ggml.scores", INFER_META_F32, 3);
	make_u32(m, 0), make_u32(m, 1), make_u32(m, 2);
	make_tensor(m, "token_embd.weight", 2, ne, 0, 0);
	make_tensor(m, "output_norm.weight", 1, ne, 0, 128);
	make_pad(m, 32);
	memset(m->at + m->n, 1, 160);
	m->n += 160;
}

static int opens(const uint8_t *at, size_t n)
{
	static _Alignas(32) uint8_t room[MOST];
	infer_file *f = NULL;

	memcpy(room, at, n);
	int rc = infer_file_open_bytes(&f, room, n, "mutated", NULL);
	infer_file_close(&f);
	return !rc;
}

static void test_seeds(void **state)
{
	static struct make m;
	static uint8_t a[MOST + 1], b[MOST + 1];
	int opened = 0, same = 0, longer = 0, none = 0;

	(void)state;
	make_model(&m);
	assert_true(opens(m.at, m.n));
	for (unsigned seed = 1; seed <= ROUNDS; seed++) {
		memcpy(a, m.at, m.n), memcpy(b, m.at, m.n);
		a[MOST] = b[MOST] = 0xa5;
		size_t n = mutate_gguf(a, m.n, MOST, seed, NULL),
		       again = mutate_gguf(b, m.n, MOST, seed, NULL);
		assert_true(n == again && n <= MOST && a[MOST] == 0xa5);
		assert_memory_equal(a, b, n ? n : m.n);
		none += !n;
		if (!n)
			continue;
		opened += opens(a, n);
		same += n == m.n && !memcmp(a, m.at, n);
		longer += n > m.n;
	}
	/* neither all refused at the door nor all well */
	assert_in_range(opened, ROUNDS / 4, ROUNDS * 9 / 10);
	assert_in_range(same, 0, ROUNDS / 4);
	assert_in_range(longer, ROUNDS / 10, ROUNDS);
	assert_in_range(none, 0, ROUNDS / 10);
}

/* Changed over and over, cut, and with any bytes in it. */
static void test_chains(void **state)
{
	static struct make m;
	static uint8_t a[MOST], c[MOST];
	size_t n = 0;

	(void)state;
	make_model(&m);
	for (unsigned seed = 1; seed <= ROUNDS; seed++) {
		if (seed % 20 == 1)
			memcpy(a, m.at, n = m.n);
		if (seed % 20 == 10)
			n -= n / 3;
		if (seed % 20 == 15 && n)
			a[seed % n] ^= (uint8_t)seed;
		size_t k = mutate_gguf(a, n, MOST, seed, NULL);
		assert_true(k <= MOST);
		n = k ? k : n;
		k = mutate_join(m.at, m.n, a, n, c, MOST, seed);
		assert_true(k <= MOST);
	}
}

static void test_no_file(void **state)
{
	uint8_t bytes[64] = "GGUF\3", was[64];

	(void)state;
	memset(bytes + 8, 0xff, sizeof bytes - 8);
	memcpy(was, bytes, sizeof was);
	for (size_t n = 0; n < 24; n++)
		assert_int_equal(mutate_gguf(bytes, n, sizeof bytes, n, NULL), 0);
	assert_int_equal(mutate_gguf(bytes + 1, 60, 63, 1, NULL), 0);
	assert_int_equal(mutate_gguf(bytes, sizeof bytes, 23, 1, NULL), 0); /* a file needs more */
	assert_memory_equal(bytes, was, sizeof was);
	assert_int_equal(mutate_join(bytes, sizeof bytes, bytes + 1, 63, was, sizeof was, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_seeds),
		                            cmocka_unit_test(test_chains),
		                            cmocka_unit_test(test_no_file) };

	return nth_group(tests);
}
