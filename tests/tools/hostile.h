/* tests/tools/hostile.h - damaged copies of a good GGUF file, made one by one in memory: the
 * helpers of hostile_cases.h.  mkhostile writes them to files; tests/unit/file/test_hostile.c
 * opens them in memory. */
#ifndef TESTS_TOOLS_HOSTILE_H
#define TESTS_TOOLS_HOSTILE_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file/file.h"

/* want: what becomes of the file, its tokenizer, and the model it holds: '0' opens, '3' is refused,
 * '-' either. */
typedef void hostile_fn(void *user, const char *name, const void *bytes, size_t n,
                        const char want[3]);

struct hostile {
	const unsigned char *good; /* tensors last in their section, none split */
	size_t n;
	infer_file *f;
	uint64_t n_keys, n_tensors;
	size_t table, table_end, data; /* where the tensor table begins and ends, and the data */
	unsigned char *out;            /* room for good and ROOM bytes */
	char prefix[48];
	hostile_fn *fn;
	void *user;
};

enum { HOSTILE_ROOM = 1 << 18 };

/* 0, or 1 where the file can not be damaged like this: it is damaged, has no three tensors, another
 * alignment than 32. */
static int hostile_begin(struct hostile *h, const void *good, size_t n, const char *prefix,
                         hostile_fn *fn, void *user)
{
	struct infer_file_info info;
	struct infer_gguf_info gguf;

	*h = (struct hostile){ .good = good, .n = n, .fn = fn, .user = user };
	h->out = malloc(n + HOSTILE_ROOM);
	if (!h->out || infer_file_open_bytes(&h->f, good, n, "good", NULL))
		return 1;
	infer_file_info(h->f, &info);
	if (infer_file_gguf(h->f, &gguf, NULL) || info.n_tensors < 3 || gguf.alignment != 32)
		return 1;
	h->n_keys = info.n_meta;
	h->n_tensors = info.n_tensors;
	h->table =
		(size_t)((const unsigned char *)infer_file_tensor_at(h->f, 0)->name.at - h->good) -
		8;
	h->table_end = gguf.header_bytes;
	h->data = infer_file_tensor_at(h->f, 0)->offset;
	snprintf(h->prefix, sizeof h->prefix, "%s", prefix);
	return 0;
}

static void hostile_end(struct hostile *h)
{
	free(h->out);
	infer_file_close(&h->f);
}

static void hostile_give(struct hostile *h, size_t n, const char *want, const char *name)
{
	char full[128];

	snprintf(full, sizeof full, "%s%s", h->prefix, name);
	h->fn(h->user, full, h->out, n, want);
}

/* The first n bytes. */
static void hostile_cut(struct hostile *h, size_t n, const char *want)
{
	char name[32];

	memcpy(h->out, h->good, n);
	snprintf(name, sizeof name, "cut-%zu", n);
	hostile_give(h, n, want, name);
}

/* Other bytes at a place. */
static void hostile_patch(struct hostile *h, size_t at, const void *p, size_t n, const char *want,
                          const char *name)
{
	memcpy(h->out, h->good, h->n);
	memcpy(h->out + at, p, n);
	hostile_give(h, h->n, want, name);
}

/* In the header, `del` bytes at a place make room for n others; the counts change, the data stays
 * on its alignment. */
static void hostile_splice(struct hostile *h, size_t at, size_t del, const void *p, size_t n,
                           int keys, int tensors, const char *want, const char *name)
{
	uint64_t n_tensors = h->n_tensors + (uint64_t)tensors, n_keys = h->n_keys + (uint64_t)keys;
	size_t end = h->table_end - del + n, data = (end + 31) / 32 * 32;

	memcpy(h->out, h->good, at);
	memcpy(h->out + at, p, n);
	memcpy(h->out + at + n, h->good + at + del, h->table_end - at - del);
	memset(h->out + end, 0, data - end);
	memcpy(h->out + data, h->good + h->data, h->n - h->data);
	memcpy(h->out + 8, &n_tensors, 8);
	memcpy(h->out + 16, &n_keys, 8);
	hostile_give(h, data + h->n - h->data, want, name);
}

static size_t hostile_at(const struct hostile *h, const void *p)
{
	return (size_t)((const unsigned char *)p - h->good);
}
static size_t hostile_key(const struct hostile *h, uint64_t i)
{
	return i < h->n_keys ? hostile_at(h, infer_file_meta_at(h->f, i)->key.at) - 8 : h->table;
}
static size_t hostile_tensor(const struct hostile *h, uint64_t i)
{
	return i < h->n_tensors ? hostile_at(h, infer_file_tensor_at(h->f, i)->name.at) - 8
	                        : h->table_end;
}

/* Bytes of a key with its value: type, then value as it lies in a file. */
static size_t hostile_make(unsigned char *to, const char *key, size_t len, uint32_t type,
                           const void *value, size_t n)
{
	uint64_t l = len;

	memcpy(to, &l, 8);
	memcpy(to + 8, key, len);
	memcpy(to + 8 + len, &type, 4);
	memcpy(to + 12 + len, value, n);
	return 12 + len + n;
}

/* A key gets another value; a key that is not there is added behind the others. */
static void hostile_set(struct hostile *h, const char *key, uint32_t type, const void *value,
                        size_t n, const char *want, const char *name)
{
	static unsigned char kv[HOSTILE_ROOM / 2];
	const struct infer_meta *m = infer_file_meta(h->f, key);
	size_t at = m ? hostile_at(h, m->key.at) - 8 : h->table,
	       del = m ? hostile_at(h, file_value(m)->at + file_value(m)->bytes) - at : 0;

	n = hostile_make(kv, key, strlen(key), type, value, n);
	hostile_splice(h, at, del, kv, n, !m, 0, want, name);
}

static void hostile_drop(struct hostile *h, const char *key, const char *want)
{
	const struct infer_meta *m = infer_file_meta(h->f, key);
	char name[96];

	snprintf(name, sizeof name, "no-%s", key);
	if (m)
		hostile_splice(h, hostile_at(h, m->key.at) - 8,
		               hostile_at(h, file_value(m)->at + file_value(m)->bytes) -
		                       hostile_at(h, m->key.at) + 8,
		               "", 0, -1, 0, want, name);
}

static void hostile_set_u32(struct hostile *h, const char *key, uint32_t v, const char *want)
{
	char name[96];

	snprintf(name, sizeof name, "%s=%u", key, v);
	hostile_set(h, key, INFER_META_U32, &v, 4, want, name);
}

static void hostile_set_f32(struct hostile *h, const char *key, float v, const char *want)
{
	char name[96];

	snprintf(name, sizeof name, "%s=%g", key, (double)v);
	hostile_set(h, key, INFER_META_F32, &v, 4, want, name);
}

static void hostile_set_str(struct hostile *h, const char *key, const char *v, const char *want)
{
	unsigned char s[256];
	uint64_t len = strlen(v);
	char name[96];

	memcpy(s, &len, 8);
	memcpy(s + 8, v, len);
	snprintf(name, sizeof name, "%s=%s", key, v);
	hostile_set(h, key, INFER_META_STR, s, 8 + len, want, name);
}

/* An array gets another count of elements, each of them (not a string) as given. */
static void hostile_set_array(struct hostile *h, const char *key, uint32_t elem, uint64_t count,
                              const void *value, size_t n, const char *want, const char *what)
{
	static unsigned char a[HOSTILE_ROOM / 4];
	char name[96];

	memcpy(a, &elem, 4);
	memcpy(a + 4, &count, 8);
	for (uint64_t i = 0; i < count; i++)
		memcpy(a + 12 + i * n, value, n);
	snprintf(name, sizeof name, "%s-%s", key, what);
	hostile_set(h, key, INFER_META_ARR, a, 12 + count * n, want, name);
}
#endif
