/* tests/tools/hostile_cases.h - all the ways in which a copy of a good file is damaged. */
#ifndef TESTS_TOOLS_HOSTILE_CASES_H
#define TESTS_TOOLS_HOSTILE_CASES_H
#include <math.h>
#include "hostile.h"

#define ALL "333"   /* no file at all */
#define TOK "033"   /* the file is well formed, its vocabulary is not */
#define MODEL "003" /* ... its hyper-parameters are not */
#define ANY "0--"

static void cuts(struct hostile *h)
{
	for (size_t n = 0; n < 32; n++)
		hostile_cut(h, n, ALL);
	for (uint64_t i = 0; i <= h->n_keys; i++)
		for (size_t d = 0; d < 16; d += 5)
			hostile_cut(h, hostile_key(h, i) + d, ALL);
	for (uint64_t i = 1; i <= h->n_tensors; i++)
		for (size_t d = 1; d < 24; d += 7)
			hostile_cut(h, hostile_tensor(h, i) - d, ALL);
	for (uint64_t i = 0; i < h->n_tensors; i++)
		hostile_cut(h,
		            infer_file_tensor_at(h->f, i)->offset +
		                    infer_file_tensor_at(h->f, i)->bytes - 1,
		            ALL);
	hostile_cut(h, h->data, ALL);
}

/* A count or size of `bytes` bytes is 0, 2^31, 2^63, all ones. */
static void sizes(struct hostile *h, size_t at, size_t bytes, const char *want_0, const char *name)
{
	static const uint64_t v[] = { 0, (uint64_t)1 << 31, (uint64_t)1 << 63, UINT64_MAX };
	char full[96];

	for (int i = 0; i < 4; i++) {
		if (!memcmp(h->good + at, &v[i], bytes) || (bytes == 4 && i == 2))
			continue;
		snprintf(full, sizeof full, "%s-%s", name,
		         i == 0   ? "0"
		         : i == 1 ? "2^31"
		         : i == 2 ? "2^63"
		                  : "ones");
		hostile_patch(h, at, &v[i], bytes, i ? ALL : want_0, full);
	}
}

static void fields(struct hostile *h)
{
	char name[64];

	sizes(h, 4, 4, ALL, "version");
	sizes(h, 8, 8, "0--", "tensors");
	sizes(h, 16, 8, ALL, "keys");
	for (uint64_t i = 0; i < h->n_keys; i++) {
		const struct infer_meta *m = infer_file_meta_at(h->f, i);
		size_t key = hostile_at(h, m->key.at), value = key + m->key.len + 4;
		snprintf(name, sizeof name, "key%d", (int)i);
		sizes(h, key - 8, 8, ALL, name);
		snprintf(name, sizeof name, "key%d-type", (int)i);
		/* type 0 has one byte too */
		sizes(h, key + m->key.len, 4, file_value(m)->bytes == 1 ? ANY : ALL, name);
		snprintf(name, sizeof name, "key%d-elem", (int)i);
		if (m->type == INFER_META_ARR)
			sizes(h, value, 4, ALL, name);
		snprintf(name, sizeof name, "key%d-size", (int)i);
		if (m->type == INFER_META_ARR || m->type == INFER_META_STR)
			sizes(h, value + (m->type == INFER_META_ARR ? 4 : 0), 8, ALL, name);
	}
	for (uint64_t i = 0; i < h->n_tensors; i++) {
		const struct infer_tensor *t = infer_file_tensor_at(h->f, i);
		size_t at = hostile_at(h, t->name.at);
		snprintf(name, sizeof name, "tensor%d", (int)i);
		sizes(h, at - 8, 8, ALL, name);
		snprintf(name, sizeof name, "tensor%d-dims", (int)i);
		sizes(h, at + t->name.len, 4, ALL, name);
		snprintf(name, sizeof name, "tensor%d-ne0", (int)i);
		sizes(h, at + t->name.len + 4, 8, i + 1 == h->n_tensors ? "003" : ALL, name);
		snprintf(name, sizeof name, "tensor%d-offset", (int)i);
		sizes(h, at + t->name.len + 4 + 8 * (size_t)t->n_dims + 4, 8, ALL, name);
	}
}

static void tensors(struct hostile *h)
{
	static const uint32_t types[] = { 4,  5,   31,  32,  33,  36,  37,  38,   43,       96,
		                          97, 133, 137, 144, 158, 202, 399, 1000, 1u << 31, ~0u };
	static const struct {
		const char *name;
		int64_t move;
	} moves[] = { { "overlap", -32 }, { "gap", 32 },           { "odd", 1 },
		      { "half", 16 },     { "before", INT64_MIN }, { "past", (int64_t)1 << 40 } };
	const struct infer_tensor *t = infer_file_tensor_at(h->f, 1),
				  *u = infer_file_tensor_at(h->f, 2);
	size_t name = hostile_at(h, t->name.at), ne = name + t->name.len + 4,
	       type = ne + 8 * (size_t)t->n_dims, offset = type + 4;
	uint64_t v = (uint64_t)1 << 32, long_name = 64, was;
	unsigned char row[128] = { 0 };
	char full[64];

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		snprintf(full, sizeof full, "type-%u", types[i]);
		hostile_patch(h, type, &types[i], 4, ALL, full);
	}
	memcpy(&was, h->good + offset, 8);
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
		v = was + (uint64_t)moves[i].move;
		hostile_patch(h, offset, &v, 8, ALL, moves[i].name);
	}
	for (int bits = 31; bits < 64; bits += 8) {
		v = (uint64_t)1 << bits;
		snprintf(full, sizeof full, "ne0-2^%d", bits);
		hostile_patch(h, ne, &v, 8, ALL, full);
		snprintf(full, sizeof full, "two-dims-of-2^%d", bits); /* products that wrap */
		memcpy(row, &(uint32_t){ 2 }, 4), memcpy(row + 4, &v, 8), memcpy(row + 12, &v, 8);
		hostile_splice(h, ne - 4, 4 + 8 * (size_t)t->n_dims, row, 20, 0, 0, ALL, full);
	}
	v = 33;
	hostile_patch(h, hostile_at(h, u->name.at) + u->name.len + 4, &v, 8, ALL, "rows-of-33");
	memset(row, 'n', sizeof row), memcpy(row, &long_name, 8);
	hostile_splice(h, name - 8, 8 + t->name.len, row, 8 + 64, 0, 0, ALL, "name-of-64");
	hostile_splice(h, name - 8, 8 + t->name.len, row + 64, 0, 0, 0, ALL, "name-without-length");
	hostile_splice(h, name - 8, 8 + t->name.len, "\0\0\0\0\0\0\0", 8, 0, 0, ALL, "name-empty");
	hostile_splice(h, hostile_tensor(h, 2), 8 + u->name.len, h->good + name - 8,
	               8 + t->name.len, 0, 0, ALL, "name-twice");
	hostile_splice(h, hostile_tensor(h, 1), 0, h->good + hostile_tensor(h, 1),
	               hostile_tensor(h, 2) - hostile_tensor(h, 1), 0, 1, ALL, "tensor-twice");
	for (uint64_t i = 0; i < h->n_tensors; i++) {
		snprintf(full, sizeof full, "no-tensor%d", (int)i);
		size_t len = hostile_tensor(h, i + 1) - hostile_tensor(h, i);
		hostile_splice(h, hostile_tensor(h, i), len, "", 0, 0, -1,
		               i + 1 == h->n_tensors ? "003" : ALL, full);
	}
}

static void raw_keys(struct hostile *h)
{
	static const unsigned char nest[] = { 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		                              4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint32_t types[] = { 13, 14, 255, 256, 1u << 31 };
	static unsigned char kv[HOSTILE_ROOM / 2];
	static char big[65536];
	uint64_t v64 = 32;
	size_t at = h->table, n;
	char name[64];

	memset(big, 'k', sizeof big);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof name, "value-type-%u", types[i]);
		hostile_set(h, "extra", types[i], nest, 4, ALL, name);
	}
	hostile_set(h, "extra", INFER_META_ARR, nest, sizeof nest, ALL, "array-of-arrays");
	hostile_set(h, "extra", INFER_META_BOOL, "\2", 1, ALL, "bool-2");
	hostile_set_array(h, "extra", INFER_META_BOOL, 3, "\xff", 1, ALL, "bools-255");
	hostile_set(h, "general.alignment", INFER_META_U64, &v64, 8, ALL, "alignment-u64");
	for (int i = 0; i < 6; i++)
		hostile_set_u32(h, "general.alignment",
		                (const uint32_t[]){ 0, 1, 3, 33, 128, 1u << 31 }[i], ALL);
	hostile_set_u32(h, "general.alignment", 32, "000");
	n = hostile_make(kv, big, 65535, INFER_META_U8, "", 1);
	hostile_splice(h, at, 0, kv, n, 1, 0, "000", "key-of-65535");
	n = hostile_make(kv, big, 65536, INFER_META_U8, "", 1);
	hostile_splice(h, at, 0, kv, n, 1, 0, ALL, "key-of-65536");
	n = hostile_make(kv, "", 0, INFER_META_U8, "", 1);
	hostile_splice(h, at, 0, kv, n, 1, 0, ALL, "key-empty");
	n = hostile_make(kv, "A key\n\0\xc3\xbc\xff{}", 12, INFER_META_U8, "", 1);
	hostile_splice(h, at, 0, kv, n, 1, 0, "000", "key-strange");
	hostile_splice(h, 24, 0, h->good + 24, hostile_key(h, 1) - 24, 1, 0, ALL, "key-twice");
	hostile_patch(h, 0, "GGML", 4, ALL, "magic");
	hostile_patch(h, 4, "\0\0\0\3", 4, ALL, "big-endian");
	for (int i = 0; i < 4; i++)
		hostile_patch(h, 4, (const uint32_t[]){ 1, 2, 4, 0x10003 } + i, 4,
		              i == 1 ? "000" : ALL,
		              (const char *[]){ "version-1", "version-2", "version-4",
		                                "version-0x10003" }[i]);
}

/* 160 bytes that ask for more. */
static void tiny(struct hostile *h)
{
	static const struct {
		const char *name;
		uint64_t tensors, keys;
		uint32_t type, elem;
		uint64_t count;
	} asks[] = { { "tiny-tensors", (uint64_t)1 << 40, 0, 0, 0, 0 },
		     { "tiny-keys", 0, (uint64_t)1 << 40, 0, 0, 0 },
		     { "tiny-both", 1 << 30, 1 << 30, 0, 0, 0 },
		     { "tiny-strings", 0, 1, INFER_META_ARR, INFER_META_STR, 1 << 28 },
		     { "tiny-u64s", 0, 1, INFER_META_ARR, INFER_META_U64, 1 << 30 },
		     { "tiny-u64s-2^61", 0, 1, INFER_META_ARR, INFER_META_U64, (uint64_t)1 << 61 },
		     { "tiny-bools", 0, 1, INFER_META_ARR, INFER_META_BOOL, 1 << 30 },
		     { "tiny-string", 0, 1, INFER_META_STR, 1 << 30, 0 },
		     { "tiny-string-4g", 0, 1, INFER_META_STR, UINT32_MAX, 0 },
		     { "tiny-string-all", 0, 1, INFER_META_STR, UINT32_MAX, UINT64_MAX } };

	for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
		memset(h->out, 0, 160);
		memcpy(h->out, "GGUF\3\0\0", 8);
		memcpy(h->out + 8, &asks[i].tensors, 8), memcpy(h->out + 16, &asks[i].keys, 8);
		h->out[24] = 1, h->out[32] = 'k';
		memcpy(h->out + 33, &asks[i].type, 4), memcpy(h->out + 37, &asks[i].elem, 4),
			memcpy(h->out + 41, &asks[i].count, 8);
		hostile_give(h, 160, ALL, asks[i].name);
	}
}
#endif
