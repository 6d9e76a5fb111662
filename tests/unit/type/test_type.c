/* tests/unit/type/test_type.c - decoded blocks, compared with tests/golden/blocks
 * (scripts/golden-blocks.py). */
#include "../nth.h"
#include <infer/kvtype.h>
#include "base/num.h"
#include "base/sha256.h"
#include "type/block.h"
#include "type/grids.h"
#include "type/type.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The row stands where its enum says: names as the enumerators are spelled, ids and sizes as the
 * format has them. */
static void test_rows(void **state)
{
	static const struct infer_type_info want[INFER_TYPE_COUNT] = {
#define ROW(name, id, block, bytes, file_only) \
	[INFER_##name] = { #name, id, block, bytes, file_only }
		ROW(F32, 0, 1, 4, 0),         ROW(F16, 1, 1, 2, 0),
		ROW(BF16, 30, 1, 2, 0),       ROW(F64, 28, 1, 8, 0),
		ROW(I8, 24, 1, 1, 0),         ROW(I16, 25, 1, 2, 0),
		ROW(I32, 26, 1, 4, 0),        ROW(I64, 27, 1, 8, 0),
		ROW(Q4_0, 2, 32, 18, 0),      ROW(Q4_1, 3, 32, 20, 0),
		ROW(Q5_0, 6, 32, 22, 0),      ROW(Q5_1, 7, 32, 24, 0),
		ROW(Q8_0, 8, 32, 34, 0),      ROW(Q8_1, 9, 32, 36, 1),
		ROW(Q8_K, 15, 256, 292, 1),   ROW(Q2_K, 10, 256, 84, 0),
		ROW(Q3_K, 11, 256, 110, 0),   ROW(Q4_K, 12, 256, 144, 0),
		ROW(Q5_K, 13, 256, 176, 0),   ROW(Q6_K, 14, 256, 210, 0),
		ROW(IQ2_XXS, 16, 256, 66, 0), ROW(IQ2_XS, 17, 256, 74, 0),
		ROW(IQ2_S, 22, 256, 82, 0),   ROW(IQ3_XXS, 18, 256, 98, 0),
		ROW(IQ3_S, 21, 256, 110, 0),  ROW(IQ1_S, 19, 256, 50, 0),
		ROW(IQ1_M, 29, 256, 56, 0),   ROW(IQ4_NL, 20, 32, 18, 0),
		ROW(IQ4_XS, 23, 256, 136, 0), ROW(TQ1_0, 34, 256, 54, 0),
		ROW(TQ2_0, 35, 256, 66, 0),   ROW(MXFP4, 39, 32, 17, 0),
		ROW(NVFP4, 40, 64, 36, 0),    ROW(Q1_0, 41, 128, 18, 0),
		ROW(Q2_0, 42, 64, 18, 0),     ROW(Q4_F, 1001, 64, 40, 0),
		ROW(Q8_F, 1002, 64, 72, 0),   ROW(F8_E4M3, 1003, 64, 68, 0),
		ROW(NF4, 1004, 64, 36, 0),    ROW(NVFP4_F, 1005, 64, 40, 0),
	};
	int known = 0;

	(void)state;
	for (int i = 0; i < INFER_TYPE_COUNT; i++) {
		const struct infer_type_info *info = infer_type_info(i);
		assert_non_null(info);
		if (!want[i].name)
			fail_msg("%s: test_rows has no row of it", info->name);
		assert_string_equal(info->name, want[i].name);
		assert_int_equal(info->gguf_id, want[i].gguf_id);
		assert_int_equal(info->block, want[i].block);
		assert_int_equal(info->block_bytes, want[i].block_bytes);
		assert_int_equal(info->file_only, want[i].file_only);
		assert_int_equal(infer_type_from_gguf((uint32_t)info->gguf_id), i);
		assert_int_equal(type_row_bytes(i, 3 * info->block), 3 * info->block_bytes);
	}
	for (uint32_t id = 0; id < 2000; id++)
		known += infer_type_from_gguf(id) >= 0;
	assert_int_equal(known, INFER_TYPE_COUNT);
	assert_int_equal(infer_type_from_gguf(UINT32_MAX), -1);
	assert_null(infer_type_info(-1));
	assert_null(infer_type_info(INFER_TYPE_COUNT));
}

static void lower_name(int type, char out[16])
{
	const char *s = infer_type_info(type)->name;
	size_t i = 0;

	for (; s[i]; i++)
		out[i] = (char)tolower((unsigned char)s[i]);
	out[i] = '\0';
}

/* Bytes and elements as the reference decodes them; the source at an odd address. */
static void test_golden(void **state)
{
	(void)state;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		const struct infer_type_info *info = infer_type_info(type);
		static unsigned char file[4096];
		static float got[1024];
		char name[16], path[64];
		uint32_t blocks;
		lower_name(type, name);
		snprintf(path, sizeof path, "tests/golden/blocks/%s.bin", name);
		FILE *f = fopen(path, "rb");
		if (!f)
			fail_msg("%s is missing: scripts/golden-blocks.py makes it", path);
		size_t n = fread(file + 1, 1, sizeof file - 1, f);
		fclose(f);
		assert_true(n > 4);
		blocks = num_u32(file + 1);
		size_t bytes = blocks * (size_t)info->block_bytes,
		       elems = blocks * (size_t)info->block;
		assert_true(blocks > 0 && elems <= 1024);
		assert_int_equal(n, 4 + bytes + 4 * elems);
		assert_int_equal(infer_type_decode(type, got, file + 5, elems, NULL), INFER_OK);
		for (size_t i = 0; i < elems; i++) {
			float want = num_float(num_u32(file + 5 + bytes + 4 * i));
			if (num_bits(got[i]) != num_bits(want))
				fail_msg("%s: element %zu is %a, not %a", name, i, (double)got[i],
				         (double)want);
		}
	}
}

static uint64_t splitmix(uint64_t i)
{
	uint64_t z = i * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Where the top of the exponent is in a float field of a type. */
static size_t exponent(int type)
{
	switch (type) {
	case INFER_F32:
	case INFER_Q8_K:
	case INFER_Q4_F:
	case INFER_Q8_F:
	case INFER_NF4:
	case INFER_NVFP4_F:
		return 3;
	case INFER_F64:
	case INFER_IQ1_M:
		return 7;
	default:
		return 1;
	}
}

/* The blocks of scripts/golden-blocks.py: random bytes whose floats are finite. */
static void fill(int type, uint8_t *to, size_t blocks)
{
	size_t size = (size_t)infer_type_info(type)->block_bytes, at;

	for (size_t i = 0; i < blocks * size; i += 8) {
		uint64_t z = splitmix(1 + i / 8);
		memcpy(to + i, &z, blocks * size - i < 8 ? blocks * size - i : 8);
	}
	if (type == INFER_MXFP4) /* 255 is not NaN to the reference's decoder */
		return;
	while ((at = type_find_bad(type, to, blocks * (size_t)infer_type_info(type)->block)) !=
	       SIZE_MAX) {
		if (type == INFER_F8_E4M3) /* its codes are floats too */
			to[at + (at % sizeof(struct f8_e4m3) ? 0 : 3)] &= 0xbf;
		else
			to[at + exponent(type)] &= 0xbf;
	}
}

/* Many random blocks, by the digest of what they decode to: every point of every codebook is in
 * them. */
static void test_sums(void **state)
{
	char name[16], want[65], line[128];
	int n;
	uint64_t seen = 0;
	FILE *f = fopen("tests/golden/blocks/sums.txt", "r");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		int type = 0;
		char my[16], hex[65];
		struct sha256 s;
		uint8_t sum[32];
		assert_int_equal(sscanf(line, "%15s %d %64s", name, &n, want), 3);
		for (; lower_name(type, my), strcmp(my, name); type++)
			assert_true(type + 1 < INFER_TYPE_COUNT);
		const struct infer_type_info *info = infer_type_info(type);
		uint8_t *src = malloc((size_t)n * (size_t)info->block_bytes);
		size_t elems = (size_t)n * (size_t)info->block;
		float *got = malloc(elems * sizeof *got);
		assert_true(src && got);
		fill(type, src, (size_t)n);
		assert_int_equal(infer_type_decode(type, got, src, elems, NULL), INFER_OK);
		sha256_init(&s);
		sha256_add(&s, got, elems * sizeof *got);
		sha256_end(&s, sum);
		sha256_hex(sum, hex);
		free(src);
		free(got);
		if (strcmp(hex, want))
			fail_msg("%s: %d random blocks decode to something else", name, n);
		seen |= UINT64_C(1) << type;
	}
	fclose(f);
	for (int type = 0; type < INFER_TYPE_COUNT; type++)
		if (!(seen >> type & 1))
			fail_msg("%s: no line in tests/golden/blocks/sums.txt",
			         infer_type_info(type)->name);
}

/* What the format's description says of the codebooks. */
static void test_grids(void **state)
{
	static const struct {
		const uint64_t *at;
		int n, pairs[4];
	} even[] = {
		{ grid_iq2_xxs, 256, { 37, 163, 53, 3 } },
		{ grid_iq2_xs, 512, { 97, 261, 152, 2 } },
		{ grid_iq2_s, 1024, { 91, 522, 383, 28 } },
	};

	(void)state;
	for (int k = 0; k < 3; k++) {
		int count[4] = { 0 };
		for (int i = 0; i < even[k].n; i++) {
			int ones = 0;
			for (int j = 0; j < 8; j++) {
				int v = even[k].at[i] >> 8 * j & 255;
				assert_true(v == 8 || v == 25 || v == 43);
				ones += v == 25;
			}
			assert_int_equal(ones % 2, 0);
			assert_true(ones <= 6);
			count[ones / 2]++;
		}
		assert_memory_equal(count, even[k].pairs, sizeof count);
	}
	for (int v = 0; v < 128; v++) {
		assert_int_equal(grid_signs((uint32_t)v) & 127, v);
		assert_int_equal(__builtin_popcount((unsigned)grid_signs((uint32_t)v)) % 2, 0);
	}
}

static void test_refuses(void **state)
{
	float x[64];
	char y[64] = { 0 };
	infer_error err;

	(void)state;
	assert_int_equal(infer_type_decode(INFER_Q4_0, x, y, 31, &err), INFER_EINVAL);
	assert_int_equal(err.code, INFER_EINVAL);
	assert_non_null(strstr(err.message, "Q4_0"));
	assert_int_equal(infer_type_decode(INFER_TYPE_COUNT, x, y, 32, NULL), INFER_EINVAL);
	assert_int_equal(infer_type_decode(-1, x, y, 32, NULL), INFER_EINVAL);
	assert_int_equal(infer_type_decode(INFER_Q4_0, x, y, 0, NULL), INFER_OK);
}

/* Every f32 field of the blocks of 64, infinite and NaN. */
static void test_wide_bad(void)
{
	static const struct {
		int type, fields;
	} of[] = { { INFER_Q4_F, 2 }, { INFER_Q8_F, 2 }, { INFER_NVFP4_F, 1 } };

	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		for (int j = 0; j < of[i].fields; j++) {
			size_t size = (size_t)infer_type_info(of[i].type)->block_bytes,
			       at = size + 4 * (size_t)j;
			uint8_t b[3 * 72] = { 0 };

			b[at + 2] = of[i].type == INFER_NVFP4_F ? 0 : 0x7f;
			b[at + 3] = of[i].type == INFER_NVFP4_F ? 0xf7 : 0xff;
			assert_true(type_find_bad(of[i].type, b, 192) == SIZE_MAX);
			b[at + 2] = 0x80, b[at + 3] = 0xff;
			assert_int_equal(type_find_bad(of[i].type, b, 192), at);
			b[at + 3] = 0x7f, b[at] = 1;
			assert_int_equal(type_find_bad(of[i].type, b, 192), at);
		}
}

/* Each code of F8_E4M3 that stands for NaN, and its scale; the scale of NF4. */
static void test_coded_bad(void)
{
	uint8_t b[2 * 68] = { 0 }, q[2 * 36] = { 0 };

	for (size_t at = 68 + 4; at < sizeof b; at++) {
		b[at] = 0x7e;
		assert_true(type_find_bad(INFER_F8_E4M3, b, 128) == SIZE_MAX);
		b[at] = 0x7f;
		assert_int_equal(type_find_bad(INFER_F8_E4M3, b, 128), at);
		b[at] = 0xff;
		assert_int_equal(type_find_bad(INFER_F8_E4M3, b, 128), at);
		b[at] = 0xfe;
	}
	b[68 + 3] = 0xf7, b[68 + 2] = 0xff;
	assert_true(type_find_bad(INFER_F8_E4M3, b, 128) == SIZE_MAX);
	b[68 + 3] = 0x78, b[68 + 2] = 0;
	assert_int_equal(type_find_bad(INFER_F8_E4M3, b, 128), 68);
	memset(q, 0xff, 36), memset(q, 0, 4);
	q[36 + 3] = 0x7f, q[36 + 2] = 0x7f;
	assert_true(type_find_bad(INFER_NF4, q, 128) == SIZE_MAX);
	q[36 + 2] = 0x80;
	assert_int_equal(type_find_bad(INFER_NF4, q, 128), 36);
}

/* A bad float in any field of any block is found, at its byte; and only there. */
static void test_find_bad(void **state)
{
	(void)state;
	for (int type = 0; type < INFER_TYPE_COUNT; type++) {
		const struct type *t = type_get(type);
		size_t size = (size_t)t->info.block_bytes, n = 3 * (size_t)t->info.block;
		uint8_t b[3 * 292] = { 0 };
		assert_true(type_find_bad(type, b, n) == SIZE_MAX);
		for (int i = 0; i < t->n_f16; i++) {
			size_t at = 2 * size + t->f16[i];
			b[at] = 1;
			b[at + 1] = 0x7b;
			assert_true(type_find_bad(type, b, n) == SIZE_MAX);
			b[at + 1] = 0xfc;
			assert_int_equal(type_find_bad(type, b, n), at);
			b[at + 1] = 0x7c;
			assert_int_equal(type_find_bad(type, b, n), at);
			b[at] = b[at + 1] = 0;
		}
	}
	uint8_t b[600] = { [6] = 0x80, [7] = 0x7f };
	assert_int_equal(type_find_bad(INFER_F32, b, 4), 4);
	assert_int_equal(type_find_bad(INFER_BF16, b, 4), 6);
	assert_true(type_find_bad(INFER_I32, b, 4) == SIZE_MAX);
	b[6] = 0xf0;
	assert_int_equal(type_find_bad(INFER_F64, b, 2), 0);
	uint8_t k[2 * 292] = { [292 + 2] = 0x80, [292 + 3] = 0xff };
	assert_int_equal(type_find_bad(INFER_Q8_K, k, 512), 292);
	test_wide_bad();
	test_coded_bad();
	uint8_t m[2 * 56] = { [56 + 53] = 0xc0, [56 + 55] = 0x70 };
	assert_int_equal(type_find_bad(INFER_IQ1_M, m, 512), 56 + 48);
	uint8_t x[34] = { [17] = 255 };
	assert_int_equal(type_find_bad(INFER_MXFP4, x, 64), 17);
}

/* A cache type is called as its element type, in lower case, and is in the list once. */
static void test_kv_types(void **state)
{
	const struct infer_kv_type *t;
	int i = 0;

	(void)state;
	for (; (t = infer_kv_type(i)); i++) {
		const char *name = infer_type_info(t->type)->name;

		assert_int_equal(strlen(t->name), strlen(name));
		for (size_t c = 0; name[c]; c++)
			assert_int_equal(t->name[c], tolower((unsigned char)name[c]));
		for (int j = 0; j < i; j++)
			assert_int_not_equal(infer_kv_type(j)->type, t->type);
	}
	assert_true(i > 0);
	assert_int_equal(infer_kv_type(0)->type, INFER_F16);
	assert_null(infer_kv_type(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),     cmocka_unit_test(test_golden),
		cmocka_unit_test(test_sums),     cmocka_unit_test(test_grids),
		cmocka_unit_test(test_refuses),  cmocka_unit_test(test_find_bad),
		cmocka_unit_test(test_kv_types),
	};
	return nth_group(tests);
}
