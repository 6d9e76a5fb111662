/* tests/fuzz/gguf_parts.h - take a GGUF file apart as far as it can be read, and put it together
 * again. */
#ifndef TESTS_FUZZ_GGUF_PARTS_H
#define TESTS_FUZZ_GGUF_PARTS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <infer/file.h>
#include "base/num.h"
#include "mutate.h"

enum { KEYS = 512, TENSORS = 512, POOL = 1 << 20, DATA_MOST = 1 << 17 };

struct span {
	const uint8_t *at;
	size_t n;
};

struct key {
	struct span name, value; /* the value's bytes, an array's element type and count included */
	uint32_t type;
	uint64_t name_n; /* the length written; name.n but for a lie */
};

struct tensor {
	struct span name, data;
	uint64_t name_n, ne[4], offset;
	uint32_t n_dims, type; /* n_dims is written; of ne at most 4 are */
	int kept_offset;       /* 1: offset is written as it is, not where the data lies */
};

struct gguf {
	uint64_t seed, drawn;
	mutate_fn *raw;
	uint32_t version;
	uint64_t odd_keys, odd_tensors; /* what the counts written are above those that are there */
	size_t n_keys, n_tensors, align;
	int whole;        /* 1: the table of tensors was read to its end, and data follows */
	struct span rest; /* what follows */
	size_t used;      /* of pool */
	struct key key[KEYS];
	struct tensor tensor[TENSORS];
	uint8_t pool[POOL]; /* bytes made here */
};

static uint64_t draw(struct gguf *g)
{
	uint64_t z = g->seed + ++g->drawn * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static size_t below(struct gguf *g, size_t n) { return n ? (size_t)(draw(g) % n) : 0; }
#define PICK(g, array) (array)[below(g, sizeof(array) / sizeof *(array))]

/* Room for n bytes until the change is written, or NULL. */
static uint8_t *room(struct gguf *g, size_t n)
{
	if (n > POOL - g->used)
		return NULL;
	g->used += n;
	return g->pool + g->used - n;
}

static struct span text(const char *s) { return (struct span){ (const uint8_t *)s, strlen(s) }; }

/* Reading --------------------------------------------------------------------------------------------------------- */

struct reader {
	const uint8_t *at;
	size_t n, pos;
};

static const uint8_t *take(struct reader *r, size_t n)
{
	if (n > r->n - r->pos)
		return NULL;
	r->pos += n;
	return r->at + r->pos - n;
}

static int take_str(struct reader *r, struct span *s)
{
	const uint8_t *p = take(r, 8);

	if (!p || num_u64(p) > r->n - r->pos)
		return 1;
	*s = (struct span){ r->at + r->pos, (size_t)num_u64(p) };
	r->pos += s->n;
	return 0;
}

static const uint8_t widths[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

/* The value of a type, from where the reader stands. */
static int take_value(struct reader *r, uint32_t type, struct span *v)
{
	size_t from = r->pos;
	uint64_t count = 1;
	struct span s;

	if (type == INFER_META_ARR) {
		const uint8_t *p = take(r, 12);
		if (!p)
			return 1;
		type = num_u32(p);
		count = num_u64(p + 4);
	}
	if (type > INFER_META_F64 || type == INFER_META_ARR)
		return 1;
	if (widths[type] && (count > r->n / widths[type] || !take(r, (size_t)count * widths[type])))
		return 1;
	for (uint64_t i = 0; !widths[type] && i < count; i++)
		if (take_str(r, &s))
			return 1;
	*v = (struct span){ r->at + from, r->pos - from };
	return 0;
}

static int take_key(struct reader *r, struct key *k)
{
	const uint8_t *p;

	if (take_str(r, &k->name) || !(p = take(r, 4)))
		return 1;
	k->name_n = k->name.n;
	k->type = num_u32(p);
	return take_value(r, k->type, &k->value);
}

static int take_tensor(struct reader *r, struct tensor *t)
{
	const uint8_t *p;

	*t = (struct tensor){ .ne = { 1, 1, 1, 1 } };
	if (take_str(r, &t->name) || !(p = take(r, 4)))
		return 1;
	t->name_n = t->name.n;
	t->n_dims = num_u32(p);
	if (t->n_dims > 4 || !(p = take(r, 8 * (size_t)t->n_dims)))
		return 1;
	for (uint32_t i = 0; i < t->n_dims; i++)
		t->ne[i] = num_u64(p + 8 * i);
	if (!(p = take(r, 12)))
		return 1;
	t->type = num_u32(p);
	t->offset = num_u64(p + 4);
	return 0;
}

/* Bytes that a tensor's data takes; 0 for none, for a type not known, and for more than
 * DATA_MOST. */
static size_t data_bytes(const struct tensor *t)
{
	const struct infer_type_info *type = infer_type_info(infer_type_from_gguf(t->type));
	uint64_t n = 1;

	for (int i = 0; i < 4; i++)
		if (__builtin_mul_overflow(n, t->ne[i], &n))
			return 0;
	if (!type ||
	    __builtin_mul_overflow(n / (uint64_t)type->block, (uint64_t)type->block_bytes, &n) ||
	    n > DATA_MOST)
		return 0;
	return (size_t)n;
}

static void find_data(struct gguf *g, struct reader *r)
{
	size_t from, end = r->pos;

	for (size_t i = 0; i < g->n_keys; i++)
		if (g->key[i].type == INFER_META_U32 && g->key[i].name.n == 17 &&
		    !memcmp(g->key[i].name.at, "general.alignment", 17))
			g->align = num_u32(g->key[i].value.at);
	if (!g->align || g->align > 4096 || (g->align & (g->align - 1)))
		g->align = 32;
	from = num_round_up(r->pos, g->align);
	for (size_t i = 0; i < g->n_tensors; i++) {
		struct tensor *t = &g->tensor[i];
		size_t n = data_bytes(t);
		if (from > r->n || t->offset > r->n - from)
			continue;
		n = n < r->n - from - (size_t)t->offset ? n : r->n - from - (size_t)t->offset;
		t->data = (struct span){ r->at + from + t->offset, n };
		end = from + t->offset + n > end ? from + (size_t)t->offset + n : end;
	}
	r->pos = end;
	g->whole = 1;
}

/* As far as it goes; what cannot be read is the rest. */
static int read_gguf(struct gguf *g, const uint8_t *at, size_t n, uint64_t seed, mutate_fn *raw)
{
	struct reader r = { at, n, 24 };
	uint64_t keys, tensors;
	size_t mark = 24;

	if (n < 24 || memcmp(at, "GGUF", 4))
		return 1;
	g->seed = seed, g->raw = raw;
	g->drawn = g->n_keys = g->n_tensors = g->used = 0;
	g->whole = 0, g->align = 32;
	g->version = num_u32(at + 4);
	tensors = num_u64(at + 8), keys = num_u64(at + 16);
	while (g->n_keys < KEYS && g->n_keys < keys && !take_key(&r, &g->key[g->n_keys]))
		g->n_keys++, mark = r.pos;
	while (g->n_keys == keys && g->n_tensors < TENSORS && g->n_tensors < tensors &&
	       !take_tensor(&r, &g->tensor[g->n_tensors]))
		g->n_tensors++, mark = r.pos;
	g->odd_keys = keys - g->n_keys, g->odd_tensors = tensors - g->n_tensors;
	r.pos = mark;
	if (!g->odd_keys && !g->odd_tensors)
		find_data(g, &r);
	g->rest = (struct span){ at + r.pos, n - r.pos };
	return 0;
}

/* Writing --------------------------------------------------------------------------------------------------------- */

struct out {
	uint8_t *at;
	size_t n, most;
	int bad;
};

static void put(struct out *o, const void *p, size_t n)
{
	if (n > o->most - o->n) {
		o->bad = 1;
		return;
	}
	if (n)
		memcpy(o->at + o->n, p, n);
	o->n += n;
}

static void put_u32(struct out *o, uint32_t v) { put(o, &v, 4); }
static void put_u64(struct out *o, uint64_t v) { put(o, &v, 8); }
static void pad(struct out *o, size_t align)
{
	while (o->n % align && !o->bad)
		put(o, "", 1);
}

static void put_tensors(struct out *o, const struct gguf *g)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < g->n_tensors; i++) {
		const struct tensor *t = &g->tensor[i];
		put_u64(o, t->name_n);
		put(o, t->name.at, t->name.n);
		put_u32(o, t->n_dims);
		for (uint32_t k = 0; k < t->n_dims && k < 4; k++)
			put_u64(o, t->ne[k]);
		put_u32(o, t->type);
		put_u64(o, t->kept_offset || !g->whole ? t->offset : offset);
		offset += num_round_up(t->data.n, g->align);
	}
	for (size_t i = 0; g->whole && g->n_tensors && i < g->n_tensors; i++) {
		pad(o, g->align);
		put(o, g->tensor[i].data.at, g->tensor[i].data.n);
	}
}

/* The bytes written; 0: there is no room for them. */
static size_t write_gguf(const struct gguf *g, uint8_t *to, size_t most)
{
	struct out o = { .at = to, .most = most };

	put(&o, "GGUF", 4);
	put_u32(&o, g->version);
	put_u64(&o, g->n_tensors + g->odd_tensors);
	put_u64(&o, g->n_keys + g->odd_keys);
	for (size_t i = 0; i < g->n_keys; i++) {
		put_u64(&o, g->key[i].name_n);
		put(&o, g->key[i].name.at, g->key[i].name.n);
		put_u32(&o, g->key[i].type);
		put(&o, g->key[i].value.at, g->key[i].value.n);
	}
	put_tensors(&o, g);
	put(&o, g->rest.at, g->rest.n);
	return o.bad ? 0 : o.n;
}
#endif
