/* tests/unit/file/test_file.c - opening, tables, splits, digests.  The contents of real files
 * are compared with those that the Python package gguf reads (tests/golden/files, made by
 * scripts/golden-files.py). */
#include "../nth.h"
#include "../shared.h"
#include "base/num.h"
#include "base/sha256.h"
#include "file/file.h"
#include "make.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct make m;
static char dir[] = "/tmp/infer-test-file-XXXXXX";

/* Two tensors, three keys, all well. */
static void good(void)
{
	make_head(&m, 2, 3);
	make_key_str(&m, "general.architecture", "llama");
	make_key_u32(&m, "llama.block_count", 7);
	make_array(&m, "list", INFER_META_STR, 3);
	make_str(&m, "one");
	make_str(&m, "");
	make_str(&m, "three");
	make_tensor(&m, "a", 2, (uint64_t[]){ 32, 3 }, 8, 0); /* Q8_0: 102 bytes */
	/* F32: 20 bytes, the last one not padded */
	make_tensor(&m, "b", 1, (uint64_t[]){ 5 }, 0, 128);
	make_pad(&m, 32);
	memset(m.at + m.n, 1, 148);
	m.n += 148;
}

static int case_open(void)
{
	infer_file *f;
	struct infer_file_info info;
	struct infer_gguf_info gguf;
	const struct infer_tensor *t;
	int rc;

	good();
	nth_ok(infer_file_open_bytes(&f, m.at, m.n, "good.gguf", NULL));
	infer_file_info(f, &info);
	assert_string_equal(info.format, "gguf");
	assert_int_equal(info.version, 3);
	assert_int_equal(info.n_shards, 1);
	assert_int_equal(info.n_meta, 3);
	assert_int_equal(info.n_tensors, 2);
	assert_int_equal(info.file_bytes, m.n);
	assert_int_equal(infer_file_gguf(f, &gguf, NULL), INFER_OK);
	assert_int_equal(gguf.alignment, 32);
	assert_string_equal(infer_file_path(f), "good.gguf");
	assert_ptr_equal(infer_file_meta(f, "llama.block_count"), infer_file_meta_at(f, 1));
	assert_null(infer_file_meta(f, "llama.block"));
	assert_null(infer_file_meta_at(f, 3));
	t = infer_file_tensor(f, "b");
	assert_ptr_equal(t, infer_file_tensor_at(f, 1));
	assert_null(infer_file_tensor_at(f, 2));
	assert_null(infer_file_tensor(f, "c"));
	assert_int_equal(t->type, INFER_F32);
	assert_int_equal(t->n_dims, 1);
	assert_int_equal(t->ne[0], 5);
	assert_int_equal(t->ne[3], 1);
	assert_int_equal(t->bytes, 20);
	assert_int_equal(t->offset, m.n - 20);
	assert_ptr_equal(t->data, m.at + m.n - 20);
	assert_int_equal(infer_file_tensor(f, "a")->bytes, 102);
out:
	infer_file_close(&f);
	assert_null(f);
	return rc;
}

/* Enough keys and tensors that every table grows. */
static int case_many(void)
{
	infer_file *f;
	char name[32];
	int rc;

	make_head(&m, 200, 300);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "key.%d", i);
		make_key_u32(&m, name, (uint32_t)i);
	}
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "tensor.%d", i);
		make_tensor(&m, name, 1, (uint64_t[]){ 1 }, 24, 32 * (uint64_t)i);
	}
	make_pad(&m, 32);
	m.n += 199 * 32 + 1;
	nth_ok(infer_file_open_bytes(&f, m.at, m.n, "many", NULL));
	for (int i = 0; i < 300; i++) {
		uint64_t v = 0;
		int found;
		snprintf(name, sizeof name, "key.%d", i);
		assert_int_equal(infer_meta_u64(f, name, &v, &found, NULL), INFER_OK);
		assert_true(found && v == (uint64_t)i);
	}
	assert_int_equal(infer_file_tensor(f, "tensor.199")->offset, m.n - 1);
out:
	infer_file_close(&f);
	return rc;
}

static void digest(const void *p, size_t n, char hex[65])
{
	struct sha256 s;
	uint8_t sum[32];

	sha256_init(&s);
	sha256_add(&s, p, n);
	sha256_end(&s, sum);
	sha256_hex(sum, hex);
}

/* Against their definition, over copies of the bytes: both tensors are smaller than a sample. */
static void check_ids(const infer_file *f, size_t header, const char *id)
{
	static uint8_t all[8192];
	char hex[65];
	size_t n = header;

	assert_true(header + 8 + m.n < sizeof all);
	memcpy(all, m.at, n);
	for (int i = 0; i < 8; i++)
		all[n++] = (uint8_t)((uint64_t)m.n >> 8 * i);
	digest(all, n, hex);
	assert_string_not_equal(hex, id);
	assert_true(infer_file_is(f, hex)); /* of older versions */
	for (int i = 0; i < 2; i++) {
		const struct infer_tensor *t = infer_file_tensor_at(f, (uint64_t)i);

		memcpy(all + n, m.at + t->offset, t->bytes);
		n += t->bytes;
	}
	digest(all, n, hex);
	assert_string_equal(hex, id);
	hex[0] ^= 1;
	assert_false(infer_file_is(f, hex));
	assert_false(infer_file_is(f, ""));
}

static int case_digests(void)
{
	infer_file *f;
	struct infer_gguf_info info;
	infer_error err;
	char got[65], want[65];
	int rc;

	good();
	nth_ok(infer_file_open_bytes(&f, m.at, m.n, "good.gguf", NULL));
	assert_int_equal(infer_file_sha256(f, 0, got, NULL, NULL), INFER_OK);
	digest(m.at, m.n, want);
	assert_string_equal(got, want);
	assert_int_equal(infer_file_sha256(f, 1, got, NULL, &err), INFER_EINVAL);
	assert_string_equal(got, "");
	assert_int_equal(infer_file_gguf(f, &info, NULL), INFER_OK);
	/* the header ends behind the table's last u64 */
	assert_int_equal(num_u64(m.at + info.header_bytes - 8), 128);
	infer_file_id(f, got);
	assert_true(infer_file_is(f, got));
	check_ids(f, info.header_bytes, got);
out:
	infer_file_close(&f);
	return rc;
}

static int case_finite(void)
{
	infer_file *f;
	infer_error err;
	char at[32];
	int rc;

	good();
	nth_ok(infer_file_open_bytes(&f, m.at, m.n, "good.gguf", NULL));
	assert_int_equal(infer_file_check_finite(f, NULL, &err), INFER_OK);
	memcpy(m.at + m.n - 8, "\0\0\xc0\x7f", 4);
	assert_int_equal(infer_file_check_finite(f, NULL, &err), INFER_ENAN);
	assert_non_null(strstr(err.message, "tensor b"));
	snprintf(at, sizeof at, "byte %zu ", m.n - 8);
	assert_non_null(strstr(err.message, at));
	const struct infer_tensor *a = infer_file_tensor(f, "a");
	/* the second block's scale: the first of the bad */
	memcpy(m.at + a->offset + 34, "\0\x7c", 2);
	assert_int_equal(infer_file_check_finite(f, NULL, &err), INFER_ENAN);
	assert_non_null(strstr(err.message, "tensor a"));
out:
	infer_file_close(&f);
	return rc;
}

static void test_no_file(void **state)
{
	infer_file *f = (infer_file *)1;
	infer_error err;
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "%s/no/file.gguf", dir);
	assert_int_equal(infer_file_open(&f, path, &err), INFER_EIO);
	assert_null(f);
	assert_non_null(strstr(err.message, path));
	assert_int_equal(infer_file_open(&f, dir, &err), INFER_EUNSUP);
	snprintf(path, sizeof path, "%s/empty", dir);
	m.n = 0;
	assert_int_equal(make_write(&m, path), 0);
	assert_int_equal(infer_file_open(&f, path, &err), INFER_EFORMAT);
	assert_int_equal(infer_file_open_bytes(&f, NULL, 0, "none", &err), INFER_EFORMAT);
	assert_int_equal(infer_file_open_bytes(&f, "hello, world", 12, "text", NULL) == INFER_OK,
	                 0);
	m.n = 0;
	make_put(&m, "\x28\xb5\x2f\xfd....", 8);
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, "x.zst", &err), INFER_EUNSUP);
	assert_non_null(strstr(err.message, "zstd"));
	good();
	assert_int_equal(infer_file_open_bytes(&f, m.at + 1, m.n - 1, "odd", &err), INFER_EINVAL);
	assert_null(f);
	infer_file_close(&f);
}

static void shard_path(char path[128], int no, int count)
{
	snprintf(path, 128, "%s/model-%05d-of-%05d.gguf", dir, no, count);
}

/* Shard no of count, saying so, with n tensors named from first on; total over all shards. */
static void shard(int no, int count, int first, int n, int32_t total)
{
	char name[32];

	make_head(&m, (uint64_t)n, no ? 3 : 4);
	if (!no)
		make_key_str(&m, "general.architecture", "llama");
	make_key_u16(&m, "split.no", (uint16_t)no);
	make_key_u16(&m, "split.count", (uint16_t)count);
	make_key(&m, "split.tensors.count", INFER_META_I32);
	make_put(&m, &total, 4);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "t%d", first + i);
		make_tensor(&m, name, 1, (uint64_t[]){ 8 }, 0, 32 * (uint64_t)i);
	}
	make_pad(&m, 32);
	memset(m.at + m.n, 10 * no, 32 * (size_t)n);
	m.n += 32 * (size_t)n;
}

static void write_shard(int file_no, int file_count)
{
	char path[128];

	shard_path(path, file_no, file_count);
	assert_int_equal(make_write(&m, path), 0);
}

static int case_split(void)
{
	infer_file *f = NULL;
	struct infer_file_info info;
	char path[128], hex[65];
	int rc = INFER_OK;

	shard(0, 3, 0, 0, 3), write_shard(1, 3); /* the first without tensors */
	shard(1, 3, 0, 2, 3), write_shard(2, 3);
	shard(2, 3, 2, 1, 3), write_shard(3, 3);
	for (int i = 1; i <= 3; i++) {
		shard_path(path, i, 3);
		nth_ok(infer_file_open(&f, path, NULL));
		shard_path(path, 1, 3);
		assert_string_equal(infer_file_path(f), path);
		infer_file_info(f, &info);
		assert_int_equal(info.n_shards, 3);
		assert_int_equal(info.n_tensors, 3);
		assert_int_equal(info.n_meta, 4);
		assert_int_equal(infer_file_tensor(f, "t2")->shard, 2);
		assert_int_equal(*(const unsigned char *)infer_file_tensor(f, "t2")->data, 20);
		assert_int_equal(*(const unsigned char *)infer_file_tensor(f, "t1")->data, 10);
		assert_int_equal(infer_file_sha256(f, 2, hex, NULL, NULL), INFER_OK);
		infer_file_close(&f);
	}
out:
	infer_file_close(&f);
	return rc;
}

static void set_time(const char *path, long s)
{
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ { s, 0 }, { s, 1 } }, 0),
	                 0);
}

/* A file written to in place is named, whichever of the shards it is; one that was replaced or
 * removed is still ours. */
static void test_changed(void **state)
{
	char path[128], other[128], fresh[136];
	infer_file *f;
	infer_error err = { 0 };

	(void)state;
	shard(0, 2, 0, 1, 2), write_shard(1, 2);
	shard(1, 2, 1, 1, 2), write_shard(2, 2);
	shard_path(path, 2, 2);
	set_time(path, 1000000);
	shard_path(other, 1, 2);
	assert_int_equal(infer_file_open(&f, other, &err), INFER_OK);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_OK);
	set_time(path, 1000001);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_EIO);
	assert_non_null(strstr(err.message, path));
	assert_non_null(strstr(err.message, " was modified while it was in use"));
	set_time(path, 1000000);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_OK);
	assert_int_equal(truncate(path, 4096), 0);
	set_time(path, 1000000);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_EIO);
	infer_file_close(&f);
	shard(1, 2, 1, 1, 2), write_shard(2, 2);
	assert_int_equal(infer_file_open(&f, other, &err), INFER_OK);
	assert_int_equal(rename(path, other), 0); /* path names none, other not what it named */
	set_time(other, 1000000);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_EIO); /* by another name */
	assert_non_null(strstr(err.message, path));
	infer_file_close(&f);
	shard(0, 2, 0, 1, 2), write_shard(1, 2);
	shard(1, 2, 1, 1, 2), write_shard(2, 2);
	assert_int_equal(infer_file_open(&f, other, &err), INFER_OK);
	snprintf(fresh, sizeof fresh, "%s.new", other);
	assert_int_equal(make_write(&m, fresh) || rename(fresh, other), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_OK);
	infer_file_close(&f);
	good();
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, other, &err), INFER_OK);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_OK);
	infer_file_close(&f);
}

static void split_fails(int want, const char *why)
{
	infer_file *f;
	infer_error err;
	char path[128];

	shard_path(path, 1, 2);
	assert_int_equal(infer_file_open(&f, path, &err), want);
	if (!strstr(err.message, why))
		fail_msg("\"%s\" does not say \"%s\"", err.message, why);
	assert_null(f);
}

static void test_split_wrong(void **state)
{
	infer_file *f;
	infer_error err;
	char path[128];

	(void)state;
	shard(0, 2, 0, 1, 2), write_shard(1, 2);
	split_fails(INFER_EIO, "model-00002-of-00002.gguf");
	shard(1, 2, 0, 1, 2), write_shard(2, 2);
	split_fails(INFER_EFORMAT, "tensor t0: there twice");
	shard(1, 2, 0, 1, 9), write_shard(2, 2); /* a stranger with the same names */
	split_fails(INFER_EFORMAT, "not a shard of this model");
	shard(1, 2, 1, 2, 3), write_shard(2, 2); /* its own count is another */
	split_fails(INFER_EFORMAT, "not a shard of this model");
	shard(0, 2, 1, 1, 2), write_shard(2, 2); /* says it is the first */
	split_fails(INFER_EFORMAT, "not a shard of this model");
	shard(1, 3, 1, 1, 2), write_shard(2, 2); /* one of three */
	split_fails(INFER_EFORMAT, "not a shard of this model");
	good(), write_shard(2, 2); /* no shard at all */
	split_fails(INFER_EFORMAT, "split.no");
	m.n = 0, make_put(&m, "NOPE", 4), write_shard(2, 2);
	split_fails(INFER_EFORMAT, "00002-of-00002");
	shard(0, 2, 0, 1, 9), write_shard(1, 2); /* the total is not what there is */
	shard(1, 2, 1, 1, 9), write_shard(2, 2);
	split_fails(INFER_EFORMAT, "split.tensors.count");
	shard(0, 2, 0, 1, 2); /* a name that does not say which */
	snprintf(path, sizeof path, "%s/renamed.gguf", dir);
	assert_int_equal(make_write(&m, path), 0);
	assert_int_equal(infer_file_open(&f, path, &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "-00001-of-00002.gguf"));
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, "model-00001-of-00002.gguf", &err),
	                 INFER_EUNSUP);
	shard(5, 2, 0, 1, 2);
	assert_int_equal(make_write(&m, path), 0);
	assert_int_equal(infer_file_open(&f, path, &err), INFER_EFORMAT);
	shard(0, 0, 0, 1, 1); /* merged again: no longer split */
	assert_int_equal(infer_file_open_bytes(&f, m.at, m.n, "merged", &err), INFER_OK);
	infer_file_close(&f);
}

static void check_key(const infer_file *f, uint64_t i, const char *line)
{
	char key[128], sha[65], hex[65];
	int type, elem;
	unsigned long long count;
	const struct infer_meta *k = infer_file_meta_at(f, i);

	assert_int_equal(sscanf(line, "key %127s %d %d %llu %64s", key, &type, &elem, &count, sha),
	                 5);
	assert_non_null(k);
	assert_int_equal(k->key.len, strlen(key));
	assert_memory_equal(k->key.at, key, k->key.len);
	assert_int_equal(k->type, type);
	assert_int_equal(k->elem_type, elem);
	assert_int_equal(k->count, count);
	digest(file_value(k)->at, file_value(k)->bytes, hex);
	assert_string_equal(hex, sha);
}

static void check_tensor(const infer_file *f, uint64_t i, const char *line)
{
	char name[128], type[16], sha[65], hex[65];
	long long ne[4];
	unsigned long long offset, bytes;
	const struct infer_tensor *t = infer_file_tensor_at(f, i);

	assert_int_equal(sscanf(line, "tensor %127s %15s %lld %lld %lld %lld %llu %llu %64s", name,
	                        type, ne, ne + 1, ne + 2, ne + 3, &offset, &bytes, sha),
	                 9);
	assert_ptr_equal(t, infer_file_tensor(f, name));
	assert_string_equal(infer_type_info(t->type)->name, type);
	for (int d = 0; d < 4; d++)
		assert_int_equal(t->ne[d], ne[d]);
	assert_int_equal(t->offset, offset);
	assert_int_equal(t->bytes, bytes);
	digest(t->data, t->bytes, hex);
	assert_string_equal(hex, sha);
}

/* *state: path below ../shared. */
static void test_real(void **state)
{
	char path[SHARED_PATH], golden[256], line[512];
	const char *base = strrchr(*state, '/') + 1;
	unsigned long long version, keys, tensors, alignment, bytes;
	struct infer_file_info info;
	struct infer_gguf_info gguf;
	infer_file *f;
	infer_error err;

	shared_need(*state, 1, path);
	snprintf(golden, sizeof golden, "tests/golden/files/%.*s.txt", (int)(strlen(base) - 5),
	         base);
	FILE *g = fopen(golden, "r");
	assert_non_null(g);
	assert_non_null(fgets(line, sizeof line, g));
	assert_int_equal(sscanf(line, "info %llu %llu %llu %llu %llu", &version, &keys, &tensors,
	                        &alignment, &bytes),
	                 5);
	if (infer_file_open(&f, path, &err))
		fail_msg("%s", err.message);
	infer_file_info(f, &info);
	assert_int_equal(info.version, version);
	assert_int_equal(info.n_meta, keys);
	assert_int_equal(info.n_tensors, tensors);
	assert_int_equal(infer_file_gguf(f, &gguf, NULL), INFER_OK);
	assert_int_equal(gguf.alignment, alignment);
	assert_int_equal(info.file_bytes, bytes);
	for (uint64_t i = 0; i < keys + tensors; i++) {
		assert_non_null(fgets(line, sizeof line, g));
		if (i < keys)
			check_key(f, i, line);
		else
			check_tensor(f, i - keys, line);
	}
	assert_null(fgets(line, sizeof line, g));
	fclose(g);
	assert_int_equal(infer_file_check_finite(f, NULL, &err), INFER_OK);
	infer_file_close(&f);
}

#define REAL(name, path) \
	{ \
		"test_real " name, test_real, NULL, NULL, path \
	}
#define VOCAB(name) REAL(name, "data/tokenizers/ggml-vocab-" name ".gguf")

/* A row that lacks a function would be called all the same, with the first file that no row before it knows. */
static void test_formats(void **state)
{
	static const struct {
		const char *file;
		const struct format *row;
	} rows[] = {
#define FORMAT(x) { #x, &format_##x },
#include "file/format_list.h"
#undef FORMAT
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (!rows[i].row->name || !rows[i].row->knows || !rows[i].row->open)
			fail_msg("libcore/file/%s.c: format_%s has no name, knows or open",
			         rows[i].file, rows[i].file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		nth_case(case_open),
		nth_case(case_many),
		nth_case(case_digests),
		nth_case(case_finite),
		cmocka_unit_test(test_no_file),
		nth_case(case_split),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_split_wrong),
		REAL("stories260K", "models/stories260K.gguf"),
		VOCAB("baichuan"),
		VOCAB("bert-bge"),
		VOCAB("deepseek-coder"),
		VOCAB("deepseek-llm"),
		VOCAB("falcon"),
		VOCAB("gpt-2"),
		VOCAB("gpt-neox"),
		VOCAB("llama-spm"),
		VOCAB("mpt"),
		VOCAB("phi-3"),
		VOCAB("refact"),
		VOCAB("starcoder"),
	};
	char path[128];
	int rc;

	if (!mkdtemp(dir))
		return 1;
	rc = nth_group(tests);
	for (int count = 2; count <= 3; count++)
		for (int i = 1; i <= count; i++) {
			shard_path(path, i, count);
			unlink(path);
		}
	snprintf(path, sizeof path, "%s/renamed.gguf", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/empty", dir);
	unlink(path);
	rmdir(dir);
	return rc;
}
