/* tests/unit/file/test_zst_hostile.c - compressed files that are damaged, cut short, or unpack to
 * another size than they say. */
#include "packed.h"

/* How z fails, by code and words; the addresses that it took are given back. */
static void check_fails(int want, const char *says)
{
	infer_file *f = (infer_file *)1;
	infer_error err = { 0 };

	save(path, z.at, z.n);
	int rc = infer_file_open(&f, path, &err);
	assert_null(f);
	if (rc != want || !strstr(err.message, says) || !strstr(err.message, path))
		fail_msg("%d: %s", rc, err.message);
	assert_null(strchr(err.message, '\n'));
}

static void test_cut(void **state)
{
	struct bytes all = { 0 };

	(void)state;
	model(&m, 100000, 60000);
	for (unsigned how = 0; how < 4; how++) {
		all.n = 0;
		put_skippable(&all, 20);
		pack(&all, m.at, 70000, how);
		pack(&all, m.at + 70000, m.n - 70000, how);
		for (size_t i = 0; i < 50; i++) {
			z.n = 0;
			put(&z, all.at, all.n * i / 50);
			check_fails(INFER_EFORMAT, z.n < 4 ? "is not a model" : "");
		}
		z.n = 0;
		put(&z, all.at, all.n - 1);
		check_fails(INFER_EFORMAT, "ends inside a frame, at byte ");
	}
	/* the second frame is not there: as a plain file says it */
	z.n = 0;
	pack(&z, m.at, m.n - 1, 0);
	check_fails(INFER_EFORMAT, "the file ends before them");
	z.n = 0;
	pack(&z, m.at, 1000, 0);
	check_fails(INFER_EFORMAT, "does not fit in the file");
	z.n = 0;
	pack(&z, m.at, 3, 0);
	check_fails(INFER_EFORMAT, "a file of 3 bytes is not a model");
	free(all.at);
}

/* Any byte, changed: refused, or the same model. */
static void test_flipped(void **state)
{
	infer_file *f, *g;
	infer_error err;
	uint64_t before;
	int opened = 0;

	(void)state;
	model(&m, 300, 200);
	save(plain_path, m.at, m.n);
	assert_int_equal(infer_file_open(&g, plain_path, NULL), INFER_OK);
	z.n = 0;
	put_skippable(&z, 5);
	pack(&z, m.at, 400, 0);
	pack(&z, m.at + 400, m.n - 400, NO_SIZE);
	before = mapped();
	for (size_t i = 0; i < z.n; i++)
		for (int bit = 0; bit < 8; bit++) {
			z.at[i] ^= (unsigned char)(1 << bit);
			save(path, z.at, z.n);
			int rc = infer_file_open(&f, path, &err);
			if (!rc) {
				opened++;
				check_same(f, g);
			} else if (rc != INFER_EFORMAT && rc != INFER_EUNSUP) {
				fail_msg("byte %zu: %d: %s", i, rc, err.message);
			}
			infer_file_close(&f);
			z.at[i] ^= (unsigned char)(1 << bit);
		}
	/* the bytes of a skippable frame may have any value */
	assert_true(opened >= 8 * 5 && (size_t)opened < 8 * z.n / 2);
	if (!NTH_SANITIZED)
		assert_true(mapped() < before + (4 << 20));
	infer_file_close(&g);
}

static uint64_t peak(void)
{
	struct os_usage u;

	os_usage(&u);
	return u.peak_rss_bytes;
}

/* Little that unpacks to much: it is not, beyond what its header says. */
static void test_bomb(void **state)
{
	enum { MANY = 128 << 20, FEW = 48 << 20 };
	uint64_t before;

	(void)state;
	for (unsigned how = 0; how <= NO_SIZE; how++) {
		header(&m, 100, 1000);
		pack_zeros(MANY, how);
		before = peak();
		check_fails(INFER_EFORMAT, "unpacks to more than the ");
		/* a tensor of 2^47 bytes */
		header(&m, 100, UINT64_C(1) << 45);
		pack_zeros(MANY, how);
		check_fails(INFER_ENOMEM, "134217728 MiB of memory; ");
		/* a text of 1 GiB, and one of more than texts may have */
		header(&m, 100, 1);
		memset(m.at + 85, 0, 8);
		m.at[85 + 3] = 0x40;
		pack_zeros(MANY, how);
		check_fails(INFER_EFORMAT, "a header of more than 1024 MiB");
		m.at[85 + 4] = 1;
		pack_zeros(MANY, how);
		check_fails(INFER_EFORMAT, "is too long");
		if (!NTH_SANITIZED)
			assert_true(peak() < before + FEW);
	}
	/* a frame of 128 MiB behind a model that is whole, and behind one that leaves room for less */
	model(&m, 100, 1000);
	struct bytes first = { 0 };
	pack(&first, m.at, m.n, 0);
	m.n = 0;
	pack_zeros(MANY, 0);
	put(&first, z.at, z.n);
	z.n = 0;
	put(&z, first.at, first.n);
	check_fails(INFER_EFORMAT, "unpacks to more than the ");
	free(first.at);
}

static void test_wrong(void **state)
{
	char says[64];

	(void)state;
	model(&m, 100, 1000);
	/* garbage behind it, and a byte too many */
	z.n = 0;
	pack(&z, m.at, m.n, 0);
	snprintf(says, sizeof says, "other data follows the compressed data, at byte %zu", z.n);
	put(&z, "rubbish", 7);
	check_fails(INFER_EFORMAT, says);
	z.n -= 6;
	check_fails(INFER_EFORMAT, says);
	put(&m, NULL, 32);
	for (unsigned how = 0; how <= NO_SIZE; how++) {
		z.n = 0;
		pack(&z, m.at, m.n, how);
		check_fails(INFER_EFORMAT, "unpacks to more than the ");
	}
	/* the second frame says more than the first has left it */
	model(&m, 100, 30000);
	put(&m, NULL, 100);
	z.n = 0;
	pack(&z, m.at, 70000, 0);
	snprintf(says, sizeof says, "of its header, at byte %zu", z.n);
	pack(&z, m.at + 70000, m.n - 70000, 0);
	check_fails(INFER_EFORMAT, says);
	/* no GGUF file inside; and a frame in a frame */
	z.n = 0;
	pack(&z, "hello, world", 12, 0);
	check_fails(INFER_EFORMAT, "begins with \"hell");
	z.n = 0;
	pack(&z, "<!DOCTYPE html>", 15, 0);
	check_fails(INFER_EUNSUP, "an HTML page");
	z.n = 0;
	pack(&z, NULL, 0, 0);
	check_fails(INFER_EFORMAT, "a file of 0 bytes is not a model");
	z.n = 0;
	pack(&z, "\x28\xb5\x2f\xfd...", 7, 0);
	check_fails(INFER_EUNSUP, "compressed with zstd");
	/* made by hand: the dictionary 7; a window of 256 MiB; a format of before version 1 */
	z.n = 0;
	put(&z, "\x28\xb5\x2f\xfd\1\0\7\x21\0\0GGUF", 14);
	check_fails(INFER_EUNSUP, "a dictionary, which is not supported");
	z.n = 0;
	put(&z, "\x28\xb5\x2f\xfd\0\x90\x21\0\0GGUF", 13);
	check_fails(INFER_EUNSUP, "a window of more than 128 MiB");
	z.n = 0;
	put_skippable(&z, 1);
	put(&z, "\x27\xb5\x2f\xfd\0\x90\x21\0\0GGUF", 13);
	check_fails(INFER_EFORMAT, "other data follows the compressed data, at byte 9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
