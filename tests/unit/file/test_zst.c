/* tests/unit/file/test_zst.c - compressed files: the same model as unpacked, however they are
 * packed. */
#include "../left_out.h"
#include "packed.h"

#include <sys/resource.h>

/* Write m as a plain file and z as a compressed one, and compare the models. */
static int both(void)
{
	struct infer_file_info info;
	struct infer_gguf_info gguf;
	infer_file *f = NULL, *g = NULL;
	infer_error err;
	int rc;

	save(plain_path, m.at, m.n);
	save(path, z.at, z.n);
	nth_ok(infer_file_open(&g, plain_path, NULL));
	infer_file_info(g, &info);
	assert_int_equal(info.packed_bytes, 0);
	assert_int_equal(info.private_bytes, 0);
	rc = infer_file_open(&f, path, &err);
	if (rc == INFER_ENOMEM)
		goto out;
	if (rc)
		fail_msg("%s", err.message);
	infer_file_info(f, &info);
	assert_int_equal(info.packed_bytes, z.n);
	assert_int_equal(info.private_bytes, m.n);
	assert_string_equal(infer_file_path(f), path);
	assert_int_equal(infer_file_gguf(f, &gguf, NULL), INFER_OK);
	assert_int_equal(infer_file_check_unchanged(f, NULL), INFER_OK);
	assert_int_equal(infer_file_check_finite(f, NULL, NULL), INFER_OK);
	check_same(f, g);
out:
	infer_file_close(&f);
	infer_file_close(&g);
	return rc;
}

static int case_small(void)
{
	model(&m, 10, 100);
	z.n = 0;
	pack(&z, m.at, m.n, 0);
	return both();
}

/* The header takes more than the first look, and the tensors more than one read of the file. */
static int case_large(void)
{
	model(&m, 700000, 500000);
	z.n = 0;
	pack(&z, m.at, m.n, NO_SUM);
	return both();
}

static void check_both(void) { assert_int_equal(both(), INFER_OK); }

static void test_frames(void **state)
{
	(void)state;
	model(&m, 100000, 60000);
	for (unsigned how = 0; how < 8; how++) {
		z.n = 0;
		pack(&z, m.at, m.n, how);
		check_both();
		/* in parts, that end in the header and in the tensor, with empty ones and such as are
		 * skipped */
		z.n = 0;
		put_skippable(&z, 0);
		put_skippable(&z, 300000);
		pack(&z, m.at, 5, how);
		pack(&z, NULL, 0, how);
		pack(&z, m.at + 5, 99995, how);
		put_skippable(&z, 1);
		pack(&z, m.at + 100000, m.n - 100000, how);
		pack(&z, NULL, 0, how);
		put_skippable(&z, 9);
		check_both();
		/* the first frame ends at 64 KiB, where the reader first looks at the header */
		z.n = 0;
		pack(&z, m.at, 65536, how);
		pack(&z, m.at + 65536, m.n - 65536, how);
		check_both();
	}
	/* padding behind the last tensor */
	model(&m, 3, 7);
	put(&m, NULL, (size_t)(-m.n % 32));
	z.n = 0;
	pack(&z, m.at, m.n, 0);
	check_both();
}

static void shard_path(char to[160], int no, const char *end)
{
	snprintf(to, 160, "%s/m-%05d-of-00003.gguf%s", dir, no, end);
}

static void put_u16_key(struct bytes *b, const char *key, uint16_t v)
{
	put_str(b, key);
	put_u32(b, INFER_META_U16);
	put(b, &v, 2);
}

/* A shard with one tensor, plain and packed. */
static void save_shard(uint16_t no)
{
	char name[160], tensor[2] = { (char)('a' + no) };

	m.n = z.n = 0;
	put(&m, "GGUF\3\0\0\0", 8);
	put_u64(&m, 1);
	put_u64(&m, 3);
	put_u16_key(&m, "split.no", no);
	put_u16_key(&m, "split.count", 3);
	put_str(&m, "split.tensors.count");
	put_u32(&m, INFER_META_I32);
	put_u32(&m, 3);
	put_str(&m, tensor);
	put_u32(&m, 1);
	put_u64(&m, 8);
	put_u32(&m, 0);
	put_u64(&m, 0);
	put(&m, NULL, (size_t)(-m.n % 32));
	memset(put(&m, NULL, 32), no + 1, 32);
	pack(&z, m.at, m.n, 0);
	shard_path(name, no + 1, "");
	save(name, m.at, m.n);
	shard_path(name, no + 1, ".zst");
	save(name, z.at, z.n);
}

/* Named by any of its parts; one of them is not compressed, in spite of its name. */
static int case_split(void)
{
	infer_file *f = NULL, *g = NULL;
	struct infer_file_info info;
	char name[160];
	int rc;

	for (uint16_t i = 0; i < 3; i++)
		save_shard(i);
	for (int mixed = 0; mixed < 2; mixed++) {
		for (int i = 1; i <= 3; i++) {
			shard_path(name, i, "");
			nth_ok(infer_file_open(&g, name, NULL));
			shard_path(name, i, ".zst");
			nth_ok(infer_file_open(&f, name, NULL));
			infer_file_info(f, &info);
			assert_int_equal(info.n_shards, 3);
			assert_true(info.packed_bytes && info.private_bytes);
			assert_int_equal(info.private_bytes == info.file_bytes, !mixed);
			shard_path(name, 1, ".zst");
			assert_string_equal(infer_file_path(f), name);
			check_same(f, g);
			infer_file_close(&f);
			infer_file_close(&g);
		}
		shard_path(name, 3, ".zst");
		save(name, m.at, m.n);
	}
out:
	infer_file_close(&f);
	infer_file_close(&g);
	return rc;
}

static void test_split_wrong(void **state)
{
	infer_file *f;
	infer_error err;
	char name[160];

	(void)state;
	for (uint16_t i = 0; i < 3; i++)
		save_shard(i);
	shard_path(name, 2, ".zst");
	save(name, z.at, z.n - 3);
	shard_path(name, 1, ".zst");
	assert_int_equal(infer_file_open(&f, name, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "m-00002-of-00003.gguf.zst: "));
	save(path, z.at, z.n);
	assert_int_equal(infer_file_open(&f, path, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "does not end in -00003-of-00003.gguf.zst"));
}

static struct {
	uint64_t last, all;
	int n;
} seen;

static void on_part(void *user, uint64_t done, uint64_t all)
{
	assert_ptr_equal(user, &seen);
	assert_true(seen.n ? done >= seen.last && all == seen.all : done == 0);
	seen.last = done;
	seen.all = all;
	seen.n++;
}

static void test_watched(void **state)
{
	const struct infer_watch w = { on_part, &seen };
	infer_file *f;

	(void)state;
	model(&m, 700000, 500000);
	z.n = 0;
	pack(&z, m.at, m.n, 0);
	save(path, z.at, z.n);
	assert_int_equal(infer_file_open_watched(&f, path, &w, NULL), INFER_OK);
	assert_int_equal(seen.last, z.n);
	assert_int_equal(seen.all, z.n);
	assert_true(seen.n > 3);
	infer_file_close(&f);
	seen.n = 0;
	save(path, m.at, m.n);
	assert_int_equal(infer_file_open_watched(&f, path, &w, NULL), INFER_OK);
	assert_int_equal(seen.n, 0); /* nothing to wait for */
	infer_file_close(&f);
}

/* What is on disk is looked after, though it was read to its end. */
static void test_changed(void **state)
{
	infer_file *f;
	infer_error err;

	(void)state;
	model(&m, 100, 1000);
	z.n = 0;
	pack(&z, m.at, m.n, 0);
	save(path, z.at, z.n);
	assert_int_equal(infer_file_open(&f, path, NULL), INFER_OK);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_OK);
	assert_int_equal(truncate(path, (off_t)z.n - 1), 0);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_EIO);
	assert_non_null(strstr(err.message, path));
	infer_file_close(&f);
}

/* Without room for it. */
static void test_no_room(void **state)
{
	struct rlimit was, r;
	infer_file *f;
	infer_error err;

	(void)state;
	if (NTH_SANITIZED)
		left_out("needs a build without sanitizers, which take all address space");
	header(&m, 100, (uint64_t)16 << 20);
	pack_zeros((size_t)64 << 20, 0);
	save(path, z.at, z.n);
	assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
	r = was;
	r.rlim_cur = mapped() + ((size_t)32 << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &r), 0);
	int rc = infer_file_open(&f, path, &err);
	assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
	assert_int_equal(rc, INFER_ENOMEM);
	assert_non_null(strstr(err.message, "unpacked it takes 64 MiB of memory; "));
	assert_int_equal(infer_file_open(&f, path, &err), INFER_OK);
	infer_file_close(&f);
}

static int drop_all(void **state)
{
	char name[160];

	for (int i = 1; i <= 3; i++) {
		shard_path(name, i, "");
		unlink(name);
		shard_path(name, i, ".zst");
		unlink(name);
	}
	return drop_dir(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_small),
		nth_case(case_large),
		cmocka_unit_test(test_frames),
		nth_case(case_split),
		cmocka_unit_test(test_split_wrong),
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_all);
}
