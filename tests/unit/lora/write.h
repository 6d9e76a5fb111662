/* tests/unit/lora/write.h - adapters in GGUF, written to a folder of the test. */
#ifndef TESTS_LORA_WRITE_H
#define TESTS_LORA_WRITE_H
#include "../nth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/num.h"
#include "file/gguf_write.h"
#include "lora/lora.h"

static char folder[] = "/tmp/infer-test-lora-XXXXXX";
static char adapter_path[96];

__attribute__((unused)) static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(adapter_path, sizeof adapter_path, "%s/a.gguf", folder);
	return 0;
}

__attribute__((unused)) static int drop_folder(void **state)
{
	(void)state;
	unlink(adapter_path);
	return rmdir(folder);
}

/* Element i of the values of a seed: a multiple of 1/16 in [-0.5, 0.5], which every float type holds. */
static inline float made_value(uint32_t seed, int64_t i)
{
	uint32_t x = seed * 0x9e3779b9u + (uint32_t)i * 0x85ebca6bu;

	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	x ^= x >> 13;
	return (float)((int)(x % 17) - 8) / 16;
}

/* A tensor of an adapter with the values of its seed; or all of them `fill`, if that is not 0. */
struct made_tensor {
	char name[96];
	int type; /* F32, F16 or BF16 */
	int64_t ne[4];
	uint32_t seed;
	float fill;
};

static inline int made_rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct made_tensor *t = user;

	(void)err;
	for (int64_t i = 0; i < n * t->ne[0]; i++) {
		float v = t->fill != 0 ? t->fill : made_value(t->seed, row * t->ne[0] + i);
		uint32_t bits = num_bits(v);
		uint16_t half = t->type == INFER_F16 ? num_to_f16(v) : (uint16_t)(bits >> 16);
		if (t->type == INFER_F32)
			memcpy((float *)dst + i, &bits, 4);
		else
			memcpy((uint16_t *)dst + i, &half, 2);
	}
	return INFER_OK;
}

/* Keys of an adapter; NULL and NAN: left out. */
struct made_keys {
	const char *type, *arch, *method, *extra; /* extra: a key with the value 1 */
	float alpha;
};

static inline void write_adapter(const struct made_keys *k, struct made_tensor *t, int n)
{
	struct gguf_write *w;
	infer_error e;

	assert_int_equal(gguf_write_new(&w, adapter_path, &e), 0);
	if (k->type)
		gguf_write_str(w, "general.type", k->type, strlen(k->type));
	if (k->arch)
		gguf_write_str(w, "general.architecture", k->arch, strlen(k->arch));
	if (k->method)
		gguf_write_str(w, "adapter.type", k->method, strlen(k->method));
	if (k->alpha == k->alpha)
		gguf_write_f32(w, "adapter.lora.alpha", k->alpha);
	if (k->extra)
		gguf_write_u32(w, k->extra, 1);
	for (int i = 0; i < n; i++) {
		int dims = t[i].ne[2] > 1 ? 3 : t[i].ne[1] > 1 ? 2 : 1;
		int rc = gguf_write_tensor(w, t[i].name, t[i].type, dims, t[i].ne, made_rows, &t[i],
		                           &e);
		if (rc)
			fail_msg("%s", e.message);
	}
	if (gguf_write_end(w, &e))
		fail_msg("%s", e.message);
	gguf_write_free(w);
}

/* The halves of a pair of the tensor; shared: A has one matrix for all. */
static inline void made_pair(struct made_tensor t[2], const struct infer_tensor *of, int64_t rank,
                             int type, int table, int shared, uint32_t seed)
{
	int64_t mats = of->ne[2], a_mats = shared ? 1 : mats;

	for (int i = 0; i < 2; i++) {
		snprintf(t[i].name, sizeof t[i].name, "%.*s.lora_%c", (int)of->name.len,
		         of->name.at, 'a' + i);
		t[i].type = type;
		t[i].seed = seed + (uint32_t)i;
		t[i].fill = 0;
	}
	memcpy(t[0].ne,
	       (int64_t[4]){ table ? rank : of->ne[0], table ? of->ne[1] : rank, a_mats, 1 },
	       sizeof t[0].ne);
	memcpy(t[1].ne, (int64_t[4]){ rank, table ? of->ne[0] : of->ne[1], mats, 1 },
	       sizeof t[1].ne);
}

/* Element (matrix, row, column) of B A. */
static inline double made_product(const struct made_tensor t[2], int table, int64_t mat,
                                  int64_t row, int64_t col)
{
	int64_t rank = t[1].ne[0];
	int64_t a0 = (t[0].ne[2] > 1 ? mat : 0) * t[0].ne[0] * t[0].ne[1],
		b0 = (t[1].ne[2] > 1 ? mat : 0) * t[1].ne[0] * t[1].ne[1];
	double sum = 0;

	for (int64_t r = 0; r < rank; r++)
		sum += (double)made_value(t[0].seed,
		                          a0 + (table ? row * rank + r : r * t[0].ne[0] + col)) *
		       (double)made_value(t[1].seed, b0 + (table ? col : row) * rank + r);
	return sum;
}
#endif
