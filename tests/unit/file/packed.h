/* tests/unit/file/packed.h - models made by hand and compressed in many ways, for the tests of
 * file/zst.c; their files, and the directory of those. */
#ifndef TESTS_FILE_PACKED_H
#define TESTS_FILE_PACKED_H
#include "../nth.h"
#include "base/os.h"
#include <infer/file.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* in memory, where there is such a directory: some disks wait for each file that is written anew */
static char in_memory[] = "/dev/shm/infer-test-zst-XXXXXX",
	    on_disk[] = "/tmp/infer-test-zst-XXXXXX";
static char *dir = in_memory;
static char path[128], plain_path[128];

/* bytes that grow; outside libcore's own heap, so that only that is seen to fail */
struct bytes {
	unsigned char *at;
	size_t n, cap;
};

static void *put(struct bytes *b, const void *p, size_t n)
{
	if (!b->at || b->n + n > b->cap) {
		b->cap = 2 * b->cap + n + 1;
		b->at = realloc(b->at, b->cap);
		assert_non_null(b->at);
	}
	if (p)
		memcpy(b->at + b->n, p, n);
	else
		memset(b->at + b->n, 0, n);
	b->n += n;
	return b->at + b->n - n;
}

__attribute__((unused)) static void put_u32(struct bytes *b, uint32_t v) { put(b, &v, 4); }
__attribute__((unused)) static void put_u64(struct bytes *b, uint64_t v) { put(b, &v, 8); }
__attribute__((unused)) static void put_str(struct bytes *b, const char *s)
{
	put_u64(b, strlen(s));
	put(b, s, strlen(s));
}

/* The header of a file with a text of n bytes, and a tensor of `floats`. */
__attribute__((unused)) static void header(struct bytes *b, size_t text, uint64_t floats)
{
	b->n = 0;
	put(b, "GGUF\3\0\0\0", 8);
	put_u64(b, 1);
	put_u64(b, 2);
	put_str(b, "general.architecture");
	put_u32(b, INFER_META_STR);
	put_str(b, "llama");
	put_str(b, "text");
	put_u32(b, INFER_META_STR);
	put_u64(b, text);
	unsigned char *at = put(b, NULL, text);
	for (size_t i = 0; i < text; i++)
		at[i] = (unsigned char)('a' + i * i % 23);
	put_str(b, "t");
	put_u32(b, 1);
	put_u64(b, floats);
	put_u32(b, 0);
	put_u64(b, 0);
	put(b, NULL, (size_t)(-b->n % 32));
}

__attribute__((unused)) static void model(struct bytes *b, size_t text, uint64_t floats)
{
	header(b, text, floats);
	for (uint64_t i = 0; i < floats; i++) {
		float v = (float)(uint32_t)(i * 2654435761u * (i + 77));
		put(b, &v, 4);
	}
}

enum { NO_SIZE = 1, NO_SUM = 2, LEVEL_19 = 4 };
/* Append a frame. */
__attribute__((unused)) static void pack(struct bytes *to, const void *at, size_t n, unsigned how)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, !(how & NO_SUM));
	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, !(how & NO_SIZE));
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, how & LEVEL_19 ? 19 : 3);
	size_t from = to->n, room = ZSTD_compressBound(n);
	put(to, NULL, room);
	size_t got = ZSTD_compress2(c, to->at + from, room, at, n);
	assert_false(ZSTD_isError(got));
	to->n = from + got;
	ZSTD_freeCCtx(c);
}

__attribute__((unused)) static void put_skippable(struct bytes *to, uint32_t n)
{
	put_u32(to, 0x184d2a57);
	put_u32(to, n);
	put(to, NULL, n);
}

__attribute__((unused)) static void save(const char *to, const void *at, size_t n)
{
	FILE *f = fopen(to, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(at, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static struct bytes m, z; /* a model and its packed form */

/* Whether two open files are the same model. */
__attribute__((unused)) static void check_same(const infer_file *f, const infer_file *g)
{
	struct infer_file_info a, b;
	char x[65], y[65];

	infer_file_info(f, &a);
	infer_file_info(g, &b);
	assert_string_equal(a.format, b.format);
	assert_int_equal(a.file_bytes, b.file_bytes);
	assert_int_equal(a.n_meta, b.n_meta);
	assert_int_equal(a.n_tensors, b.n_tensors);
	infer_file_id(f, x);
	infer_file_id(g, y);
	assert_string_equal(x, y);
	for (int i = 0; i < a.n_shards; i++) {
		assert_int_equal(infer_file_sha256(f, i, x, NULL, NULL), INFER_OK);
		assert_int_equal(infer_file_sha256(g, i, y, NULL, NULL), INFER_OK);
		assert_string_equal(x, y);
	}
	for (uint64_t i = 0; i < a.n_tensors; i++) {
		const struct infer_tensor *s = infer_file_tensor_at(f, i),
					  *t = infer_file_tensor_at(g, i);
		assert_int_equal(s->offset, t->offset);
		assert_int_equal(s->bytes, t->bytes);
		assert_memory_equal(s->data, t->data, s->bytes);
	}
}

/* Compress m and `zeros` bytes of 0 behind it into z, as one stream. */
__attribute__((unused)) static void pack_zeros(size_t zeros, unsigned how)
{
	static unsigned char none[1 << 16];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_inBuffer in = { m.at, m.n, 0 };
	ZSTD_outBuffer out;

	z.n = 0;
	put(&z, NULL, 1 << 20);
	out = (ZSTD_outBuffer){ z.at, z.n, 0 };
	if (!(how & NO_SIZE))
		ZSTD_CCtx_setPledgedSrcSize(c, m.n + zeros);
	while (in.pos < in.size)
		assert_false(ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue)));
	for (size_t k; zeros; zeros -= k) {
		k = zeros < sizeof none ? zeros : sizeof none;
		in = (ZSTD_inBuffer){ none, k, 0 };
		while (in.pos < in.size)
			assert_false(
				ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue)));
	}
	assert_int_equal(ZSTD_compressStream2(c, &out, &in, ZSTD_e_end), 0);
	z.n = out.pos;
	ZSTD_freeCCtx(c);
}

__attribute__((unused)) static uint64_t mapped(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llu", &pages), 1);
	fclose(f);
	return pages * os_page();
}

__attribute__((unused)) static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir) && !mkdtemp(dir = on_disk))
		return -1;
	snprintf(path, sizeof path, "%s/m.gguf.zst", dir);
	snprintf(plain_path, sizeof plain_path, "%s/m.gguf", dir);
	return 0;
}

__attribute__((unused)) static int drop_dir(void **state)
{
	(void)state;
	unlink(path);
	unlink(plain_path);
	free(m.at);
	free(z.at);
	return rmdir(dir);
}
#endif
