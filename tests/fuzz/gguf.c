/* tests/fuzz/gguf.c - any bytes as a model file: refused, or opened and then queried completely. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <infer/file.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sink;

/* Every byte that the tables point to. */
static void touch(const void *p, size_t n)
{
	unsigned char x = 0;

	for (size_t i = 0; i < n; i++)
		x ^= ((const unsigned char *)p)[i];
	sink = x;
}

static void ask(const infer_file *f)
{
	const struct infer_meta *m;
	const struct infer_tensor *t;
	char hex[65];

	for (uint64_t i = 0; (m = infer_file_meta_at(f, i)); i++) {
		struct infer_str s;
		size_t cursor = 0;
		const unsigned char *bytes;
		const void *part;
		uint64_t room[16], count = m->count < 16 ? m->count : 16;
		int64_t n;
		size_t k;
		double d;
		for (int type = INFER_META_U8; type <= INFER_META_F64; type++)
			if (!infer_meta_array(f, m, type, m->count - count, (size_t)count, room,
			                      &part, NULL))
				touch(part, (size_t)count);
		if (!infer_meta_bytes(f, m, &bytes, &k, NULL))
			touch(bytes, k);
		for (uint64_t at = 0; at <= m->count; at += 1 + m->count / 8)
			if (!infer_meta_str_at(f, m, at, &s, NULL))
				touch(s.at, s.len);
		while (!infer_meta_next_str(m, &cursor, &s))
			touch(s.at, s.len);
		infer_meta_elem_i64(f, m, 0, &n, NULL);
		infer_meta_elem_f64(f, m, m->count ? m->count - 1 : 0, &d, NULL);
		infer_meta_elem_i64(f, m, m->count, &n, NULL);
	}
	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++)
		touch(t->data, t->bytes);
	infer_file_check_finite(f, NULL, NULL);
	infer_file_id(f, hex);
	infer_file_sha256(f, 0, hex, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	infer_file *f;
	infer_error err;
	void *at = malloc(size ? size : 1); /* aligned, and its end is watched */

	if (!at)
		return 0;
	memcpy(at, data, size);
	if (infer_file_open_bytes(&f, at, size, "fuzz", &err) == INFER_OK)
		ask(f);
	infer_file_close(&f);
	free(at);
	return 0;
}
