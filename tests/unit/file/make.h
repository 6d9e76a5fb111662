/* tests/unit/file/make.h - GGUF bytes made by hand, right or wrong, for the tests of this
 * folder. */
#ifndef TESTS_FILE_MAKE_H
#define TESTS_FILE_MAKE_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <infer/file.h>

struct make {
	_Alignas(32) unsigned char at[65536];
	size_t n;
};

__attribute__((unused)) static void make_put(struct make *m, const void *p, size_t n)
{
	memcpy(m->at + m->n, p, n);
	m->n += n;
}

__attribute__((unused)) static void make_u32(struct make *m, uint32_t v) { make_put(m, &v, 4); }
__attribute__((unused)) static void make_u64(struct make *m, uint64_t v) { make_put(m, &v, 8); }

__attribute__((unused)) static void make_str(struct make *m, const char *s)
{
	make_u64(m, strlen(s));
	make_put(m, s, strlen(s));
}

__attribute__((unused)) static void make_head(struct make *m, uint64_t tensors, uint64_t keys)
{
	m->n = 0;
	make_put(m, "GGUF", 4);
	make_u32(m, 3);
	make_u64(m, tensors);
	make_u64(m, keys);
}

__attribute__((unused)) static void make_key(struct make *m, const char *key, uint32_t type)
{
	make_str(m, key);
	make_u32(m, type);
}

__attribute__((unused)) static void make_key_u32(struct make *m, const char *key, uint32_t v)
{
	make_key(m, key, INFER_META_U32);
	make_u32(m, v);
}

__attribute__((unused)) static void make_key_u16(struct make *m, const char *key, uint16_t v)
{
	make_key(m, key, INFER_META_U16);
	make_put(m, &v, 2);
}

__attribute__((unused)) static void make_key_str(struct make *m, const char *key, const char *v)
{
	make_key(m, key, INFER_META_STR);
	make_str(m, v);
}

__attribute__((unused)) static void make_array(struct make *m, const char *key, uint32_t elem,
                                               uint64_t count)
{
	make_key(m, key, INFER_META_ARR);
	make_u32(m, elem);
	make_u64(m, count);
}

/* A tensor's row of the table; n_dims of ne count. */
__attribute__((unused)) static void make_tensor(struct make *m, const char *name, uint32_t n_dims,
                                                const uint64_t *ne, uint32_t gguf_type,
                                                uint64_t offset)
{
	make_str(m, name);
	make_u32(m, n_dims);
	for (uint32_t i = 0; i < n_dims; i++)
		make_u64(m, ne[i]);
	make_u32(m, gguf_type);
	make_u64(m, offset);
}

__attribute__((unused)) static void make_pad(struct make *m, size_t align)
{
	while (m->n % align)
		m->at[m->n++] = 0;
}

__attribute__((unused)) static int make_write(const struct make *m, const char *path)
{
	FILE *f = fopen(path, "wb");

	if (!f)
		return -1;
	size_t n = fwrite(m->at, 1, m->n, f);
	return fclose(f) || n != m->n ? -1 : 0;
}
#endif
