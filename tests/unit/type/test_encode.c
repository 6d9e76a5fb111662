/* tests/unit/type/test_encode.c - encoders: what each format promises of any block, blocks that
 * come back as they were, values at the ends of the range, and errors no larger than those of
 * another quantiser (tests/golden/encode.txt, scripts/golden-encode.py). */
#include "../nth.h"
#include "base/num.h"
#include "type/grids.h"
#include "type/type.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2048 };

/* What a format can do with values of one sign and both: half of its widest step, relative to the
 * largest magnitude (whole = 0) or to the range from the least to the greatest value, 0 included
 * for K types.  offset: the largest magnitude's share of error from a minimum's rounding. */
static const struct {
	int type, whole;
	double half, offset;
} rows[] = {
	{ INFER_Q4_0, 0, 0.5 / 7, 0 },
	{ INFER_Q5_0, 0, 0.5 / 15, 0 },
	{ INFER_Q8_0, 0, 0.5 / 127, 0 },
	{ INFER_Q4_1, 1, 0.5 / 15, 0x1p-11 },
	{ INFER_Q5_1, 1, 0.5 / 31, 0x1p-11 },
	{ INFER_Q2_K, 2, 0.5 / 3, 0 },
	{ INFER_Q4_K, 2, 0.5 / 15, 0 },
	{ INFER_Q5_K, 2, 0.5 / 31, 0 },
	{ INFER_Q3_K, 0, 0.5 / 3, 0 },
	{ INFER_Q6_K, 0, 0.5 / 31, 0 },
	{ INFER_IQ1_S, 0, 0.5, 0 },
	{ INFER_IQ1_M, 0, 0.5, 0 },
	{ INFER_IQ2_XXS, 0, 0.4, 0 },
	{ INFER_IQ2_XS, 0, 0.4, 0 },
	{ INFER_IQ2_S, 0, 0.4, 0 },
	{ INFER_IQ3_XXS, 0, 0.2, 0 },
	{ INFER_IQ3_S, 0, 0.2, 0 },
	{ INFER_IQ4_NL, 0, 12.0 / 113, 0 },
	{ INFER_IQ4_XS, 0, 12.0 / 113, 0 },
	{ INFER_TQ1_0, 0, 0.5, 0 },
	{ INFER_TQ2_0, 0, 0.5, 0 },
	{ INFER_MXFP4, 0, 1.0 / 3, 0 },
	{ INFER_NVFP4, 0, 3.0 / 16, 0 },
	{ INFER_Q1_0, 0, 0.5, 0 },
	{ INFER_Q2_0, 0, 0.5, 0 },
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Types that nobody quantises weights to. */
static const int without_encoder[] = {
	INFER_F64,  INFER_I8,   INFER_I16,  INFER_I32,     INFER_I64, INFER_Q8_1,
	INFER_Q8_K, INFER_Q4_F, INFER_Q8_F, INFER_F8_E4M3, INFER_NF4, INFER_NVFP4_F,
};
enum { WITHOUT = sizeof without_encoder / sizeof *without_encoder };

/* Whether an encoder chooses among fewer values than floats have. */
static int chooses(int t)
{
	return type_get(t)->encode && t != INFER_F32 && t != INFER_F16 && t != INFER_BF16;
}

static uint64_t splitmix(uint64_t i)
{
	uint64_t z = i * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Sums of four 16-bit numbers, near to normal: scripts/golden-encode.py makes the same. */
static float bell(uint64_t i)
{
	uint64_t z = splitmix(i + 1);
	int sum =
		(int)(z & 65535) + (int)(z >> 16 & 65535) + (int)(z >> 32 & 65535) + (int)(z >> 48);

	return (float)(sum - 131070) * 0x1p-18f;
}
static float heed(uint64_t i) { return (float)(1 + (splitmix(i + 1000000) >> 60)); }

static float x[N], y[N], w[N];
static uint8_t code[N * 4 + 8], other[N * 4 + 8];

static int no_search;

static size_t pass(int type, const float *src, const float *importance, size_t n)
{
	const struct type *t = type_get(type);
	size_t blocks = n / (size_t)t->info.block;

	memset(code, 0xa5, sizeof code);
	t->encode(code, src, importance, blocks, no_search);
	t->decode(y, code, blocks);
	assert_true(type_find_bad(type, code, n) == SIZE_MAX);
	for (size_t i = 0; i < n; i++)
		if (!isfinite(y[i]))
			fail_msg("%s: %a becomes %a", t->info.name, (double)src[i], (double)y[i]);
	return blocks * (size_t)t->info.block_bytes;
}

static double error(const float *src, const float *importance, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double d = (double)src[i] - (double)y[i];
		sum += (importance ? (double)importance[i] : 1) * d * d;
	}
	return sum;
}

/* The error that row r stays under for these values; those of importance 0 do not count. */
static double limit(int r, const float *src, const float *importance, size_t n)
{
	size_t block = (size_t)infer_type_info(rows[r].type)->block;
	double sum = 0;

	for (size_t b = 0; b < n; b += block) {
		double lo = HUGE_VAL, hi = -HUGE_VAL, weight = 0;
		for (size_t i = b; i < b + block; i++) {
			double c = importance ? (double)importance[i] : 1;
			weight += c;
			lo = c > 0 ? fmin(lo, (double)src[i]) : lo;
			hi = c > 0 ? fmax(hi, (double)src[i]) : hi;
		}
		if (rows[r].whole == 2) {
			lo = fmin(lo, 0);
			hi = fmax(hi, 0);
		}
		double top = fmax(fabs(lo), fabs(hi));
		double e = rows[r].half * (rows[r].whole ? hi - lo : top) + rows[r].offset * top;
		sum += weight * (e * 1.002 * e * 1.002);
	}
	return sum;
}

static void within(int r, const float *importance, const char *what)
{
	const char *name = infer_type_info(rows[r].type)->name;

	pass(rows[r].type, x, importance, N);
	double e = error(x, importance, N), most = limit(r, x, importance, N);
	if (!(e <= most))
		fail_msg("%s, %s: error %g, more than %g", name, what, e, most);
}

/* A type has an encoder or says that it has none; an encoder has a row here. */
static void test_rows(void **state)
{
	(void)state;
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const char *name = infer_type_info(t)->name;
		int without = 0, row = 0;
		for (int i = 0; i < WITHOUT; i++)
			without |= without_encoder[i] == t;
		for (int r = 0; r < ROWS; r++)
			row |= rows[r].type == t;
		if (without == (type_get(t)->encode != NULL))
			fail_msg("%s: %s", name,
			         without ? "has an encoder and stands in without_encoder"
			                 : "no encoder, and not in without_encoder");
		if (row != chooses(t))
			fail_msg("%s: %s", name,
			         row ? "a row in rows without an encoder" : "no row in rows");
	}
}

static void test_bounds(void **state)
{
	(void)state;
	for (int i = 0; i < N; i++) {
		x[i] = bell((uint64_t)i);
		w[i] = heed((uint64_t)i);
	}
	for (int r = 0; r < ROWS; r++) {
		within(r, NULL, "normal");
		within(r, w, "normal, weighed");
	}
	for (int i = 0; i < N; i += 77)
		x[i] *= 1000;
	for (int r = 0; r < ROWS; r++)
		within(r, NULL, "outliers");
	for (int i = 0; i < N; i++)
		x[i] = (float)(1 + i / 256) * 0.37f;
	for (int r = 0; r < ROWS; r++) {
		within(r, NULL, "constant");
		within(r, w, "constant, weighed");
	}
	for (int i = 0; i < N; i++)
		x[i] = 3 + bell((uint64_t)i);
	for (int r = 0; r < ROWS; r++)
		within(r, NULL, "all positive");
	for (int i = 0; i < N; i++)
		x[i] = -x[i];
	for (int r = 0; r < ROWS; r++)
		within(r, NULL, "all negative");
}

/* Values that nobody heeds cost nothing, however large; 0 for all is as if there were none. */
static void test_importance(void **state)
{
	(void)state;
	for (int i = 0; i < N; i++) {
		x[i] = bell((uint64_t)i);
		w[i] = splitmix((uint64_t)i) & 1 ? heed((uint64_t)i) : 0;
		x[i] *= w[i] > 0 ? 1 : 1000;
	}
	for (int r = 0; r < ROWS; r++)
		within(r, w, "half of it unheeded");
	memset(w, 0, sizeof w);
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (type_get(t)->encode) {
			size_t bytes = pass(t, x, NULL, N);
			memcpy(other, code, bytes);
			pass(t, x, w, N);
			assert_memory_equal(code, other, bytes);
		}
	for (int i = 0; i < N; i++) /* one that all hear; the others are not lost */
		w[i] = i % 32 == 5 ? 0x1p100f : 0x1p80f;
	for (int i = 0; i < N; i++)
		x[i] = bell((uint64_t)i);
	for (int r = 0; r < ROWS; r++)
		within(r, w, "one of 32 heavy");
}

/* No infinity, no NaN, and never worse than zeros: near the smallest and the largest floats. */
static void test_ends(void **state)
{
	static const float unit[] = { 0x1p-149f, 0x1p-140f, 0x1p-127f, 0x1p-120f, 0x1p-60f,
		                      0x1p-26f,  0x1p-24f,  0x1p-20f,  0x1p-14f,  0x1p10f,
		                      0x1p16f,   0x1p17f,   0x1p30f,   0x1p126f,  0x1.fffffep127f };

	(void)state;
	for (size_t k = 0; k < sizeof unit / sizeof *unit; k++) {
		double none = 0;
		for (int i = 0; i < N; i++) {
			float b = bell((uint64_t)i);
			x[i] = k == 0 ? (float)(int)(b * 8) * unit[k] : b * unit[k];
			w[i] = i % 3 ? heed((uint64_t)i) * 0x1p-140f : 0x1p120f;
		}
		x[3] = unit[k];
		x[5] = -unit[k];
		for (int i = 0; i < N; i++)
			none += (double)x[i] * (double)x[i];
		for (int t = 0; t < INFER_TYPE_COUNT; t++)
			if (type_get(t)->encode) {
				pass(t, x, NULL, N);
				if (!(error(x, NULL, N) <= none * 1.000001))
					fail_msg("%s: near %a worse than zeros",
					         infer_type_info(t)->name, (double)unit[k]);
				pass(t, x, w, N);
			}
	}
	memset(x, 0, sizeof x);
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (type_get(t)->encode) {
			pass(t, x, NULL, N);
			assert_true(error(x, NULL, N) == 0);
		}
}

static uint32_t rest;
static int pick(int lo, int hi) { return lo + (int)(splitmix(rest++) >> 33) % (hi - lo + 1); }

/* What a block of test_exact has beside its codes. */
struct fields {
	float d, m;
	int scale[16], min[16];
};

/* A code of element i of a group of n: the first two are the ends. */
static float between(int i, int n, int lo, int hi)
{
	return (float)(i % n == 0 ? lo : i % n == 1 ? hi : pick(lo, hi));
}

/* Element i of points of a codebook of n, in groups of size group: word j of eight elements is a
 * point, or two; the first of a group is the last of the codebook, which has the largest value. */
static float on_grid(int i, int group, int n, const uint64_t *grid8, const uint32_t *grid4,
                     float unit, const struct fields *b)
{
	static int at, signs;
	int dims = grid8 ? 8 : 4;

	if (i % dims == 0)
		at = i % group == 0 ? n - 1 : pick(0, n - 1);
	if (i % 8 == 0)
		signs = grid_signs((uint32_t)pick(0, 127));
	int c = (int)((grid8 ? grid8[at] : grid4[at]) >> 8 * (i % dims) & 255),
	    sc = b->scale[i % 256 / group] % 16;
	return unit * b->d * (float)((2 * sc + 1) * c) * (signs >> i % 8 & 1 ? -1.0f : 1.0f);
}

/* The same for IQ1.  The points of a group have one shift: from others, the search for IQ1_M finds
 * a scale that is not quite the best. */
static float on_grid1(int i, int group, const struct fields *b)
{
	static int at, down;

	if (i % 8 == 0)
		at = i % group == 0 ? 2047 : pick(0, 2047);
	if (i % group == 0)
		down = pick(0, 1);
	float c = (float)(int8_t)(grid_iq1[at] >> 8 * (i % 8) & 255) + (down ? -0.125f : 0.125f);
	return b->d * (float)(2 * (b->scale[i % 256 / group] % 8) + 1) * c;
}

/* Values of the types with groups in a block of 256. */
static float grouped(int type, int i, const struct fields *b)
{
	int s16 = b->scale[i % 256 / 16], s32 = b->scale[i % 256 / 32], m16 = b->min[i % 256 / 16],
	    m32 = b->min[i % 256 / 32];

	switch (type) {
	case INFER_Q3_K:
		return b->d * (float)(s16 % 32) * between(i, 16, -4, 3);
	case INFER_Q6_K:
		return b->d * (float)s16 * between(i, 16, -32, 31);
	case INFER_IQ1_S:
		return on_grid1(i, 32, b);
	case INFER_IQ1_M:
		return on_grid1(i, 16, b);
	case INFER_IQ2_XXS:
		return on_grid(i, 32, 256, grid_iq2_xxs, NULL, 0.125f, b);
	case INFER_IQ2_XS:
		return on_grid(i, 16, 512, grid_iq2_xs, NULL, 0.125f, b);
	case INFER_IQ2_S:
		return on_grid(i, 16, 1024, grid_iq2_s, NULL, 0.125f, b);
	case INFER_IQ3_XXS:
		return on_grid(i, 32, 256, NULL, grid_iq3_xxs, 0.25f, b);
	case INFER_IQ3_S:
		return on_grid(i, 32, 512, NULL, grid_iq3_s, 1, b);
	case INFER_IQ4_XS:
		return b->d * (float)(s32 % 32) * (float)grid_iq4[(int)between(i, 32, 0, 15)];
	case INFER_Q2_K:
		return b->d * (float)(s16 % 16) * between(i, 16, 0, 3) - b->m * (float)(m16 % 16);
	case INFER_Q4_K:
		return b->d * (float)(s32 % 64) * between(i, 32, 0, 15) - b->m * (float)(m32 % 64);
	case INFER_Q5_K:
		return b->d * (float)(s32 % 64) * between(i, 32, 0, 31) - b->m * (float)(m32 % 64);
	default:
		fail_msg("%s: no values in test_exact", infer_type_info(type)->name);
	}
	return 0;
}

/* A value that an encoder finds again: codes and scales reach the ends of their range in every
 * group (for the FP4 types, any codes). */
static float valid(int type, int i, const struct fields *b)
{
	static const int8_t fp4[15] = { -12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12 };

	switch (type) {
	case INFER_Q4_0:
		return b->d * between(i, 32, -8, 7);
	case INFER_Q5_0:
		return b->d * between(i, 32, -16, 15);
	case INFER_Q8_0:
		return b->d * between(i, 32, -127, 127);
	case INFER_Q4_1:
		return b->d * between(i, 32, 0, 15) + b->m;
	case INFER_Q5_1:
		return b->d * between(i, 32, 0, 31) + b->m;
	case INFER_TQ1_0:
	case INFER_TQ2_0:
		return b->d * (float)pick(-1, 1);
	case INFER_Q1_0:
		return b->d * (float)(2 * pick(0, 1) - 1);
	case INFER_Q2_0:
		return b->d * between(i, 32, -1, 2);
	case INFER_IQ4_NL:
		return b->d * (float)grid_iq4[(int)between(i, 32, 0, 15)];
	case INFER_MXFP4:
		return (float)fp4[pick(0, 14)] * 0x1p-9f;
	case INFER_NVFP4:
		return (float)fp4[pick(0, 14)] * (float)(8 + b->scale[i % 256 / 16] % 8) * 0x1p-9f;
	default:
		return grouped(type, i, b);
	}
}

/* What a block can hold comes back without error. */
static void test_exact(void **state)
{
	(void)state;
	for (int r = 0; r < 4 * ROWS; r++) {
		int type = rows[r / 4].type;
		struct fields b = { 0 };
		for (int i = 0; i < N; i++) {
			if (i % 256 == 0) {
				b.d = num_f16((uint16_t)pick(0x1c00, 0x2400));
				b.m = num_f16((uint16_t)pick(0x2000, 0x2c00));
				if (rows[r / 4].whole == 1 && pick(0, 1))
					b.m = -b.m;
				for (int g = 0; g < 16; g++) {
					b.scale[g] = pick(32, 127);
					b.min[g] = pick(0, 63);
				}
				b.scale[3] = b.min[4] = 127;
			}
			x[i] = valid(type, i, &b);
		}
		pass(type, x, NULL, N);
		for (int i = 0; i < N; i++)
			if (x[i] != y[i])
				fail_msg("%s: element %d is %a, not %a",
				         infer_type_info(type)->name, i, (double)y[i],
				         (double)x[i]);
	}
}

/* No point that differs in one byte is nearer.  IQ1_S chooses points under a smaller scale. */
static void test_points(void **state)
{
	static const struct {
		int type, at, count, step;
	} to[] = {
		{ INFER_IQ1_M, 0, 32, 1 },   { INFER_IQ2_XS, 2, 32, 2 }, { INFER_IQ2_S, 2, 32, 1 },
		{ INFER_IQ3_XXS, 2, 64, 1 }, { INFER_IQ3_S, 2, 64, 1 },
	};

	(void)state;
	for (int i = 0; i < 256; i++) {
		x[i] = bell((uint64_t)i) * (float)(1 + i / 64);
		w[i] = heed((uint64_t)i);
	}
	for (size_t r = 0; r < sizeof to / sizeof *to; r++) {
		pass(to[r].type, x, w, 256);
		double best = error(x, w, 256);
		for (int i = 0; i < to[r].count; i++) {
			uint8_t *byte = code + to[r].at + i * to[r].step, was = *byte;
			for (int v = 0; v < 256; v++) {
				*byte = (uint8_t)v;
				type_get(to[r].type)->decode(y, code, 1);
				if (!(error(x, w, 256) >= best * 0.999999))
					fail_msg("%s: point %d is not the nearest",
					         infer_type_info(to[r].type)->name, i);
			}
			*byte = was;
		}
	}
}

/* F16 and BF16 give back all that they can hold, round to nearest even, and stay finite. */
static void test_floats(void **state)
{
	static const struct {
		int type;
		float x, want;
	} to[] = {
		{ INFER_F16, 65519, 65504 },
		{ INFER_F16, 65520, 65504 },
		{ INFER_F16, -1e30f, -65504 },
		{ INFER_F16, 1 + 0x1p-11f, 1 },
		{ INFER_F16, 1 + 0x3p-11f, 1 + 0x1p-9f },
		{ INFER_F16, 0x1p-25f, 0 },
		{ INFER_F16, 0x1.8p-25f, 0x1p-24f },
		{ INFER_BF16, 0x1.fffffep127f, 0x1.fep127f },
		{ INFER_BF16, -0x1.ffp127f, -0x1.fep127f },
		{ INFER_BF16, 1 + 0x1p-8f, 1 },
		{ INFER_BF16, 1 + 0x3p-8f, 1 + 0x1p-6f },
		{ INFER_F32, 0x1.234566p-149f, 0x1p-149f },
	};

	(void)state;
	for (int h = 0; h < 65536; h++) {
		float f = num_f16((uint16_t)h), g = num_bf16((uint16_t)h);
		uint16_t back;
		if (isfinite(f)) {
			type_get(INFER_F16)->encode(&back, &f, NULL, 1, 0);
			assert_int_equal(back, h);
		}
		if (isfinite(g)) {
			type_get(INFER_BF16)->encode(&back, &g, NULL, 1, 0);
			assert_int_equal(back, h);
		}
	}
	for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
		pass(to[i].type, &to[i].x, NULL, 1);
		if (num_bits(y[0]) != num_bits(to[i].want))
			fail_msg("%a becomes %a", (double)to[i].x, (double)y[0]);
	}
}

/* The same bytes block by block and at an odd address; nothing is written behind them. */
static void test_bytes(void **state)
{
	(void)state;
	for (int i = 0; i < N; i++) {
		x[i] = bell((uint64_t)i + 5000);
		w[i] = heed((uint64_t)i);
	}
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct type *row = type_get(t);
		size_t block = (size_t)row->info.block, size = (size_t)row->info.block_bytes,
		       at = 1;
		if (!row->encode)
			continue;
		for (int k = 0; k < 3; k++, at = 1) {
			no_search = k == 2;
			size_t bytes = pass(t, x, k == 1 ? w : NULL, N);
			no_search = 0;
			assert_int_equal(code[bytes], 0xa5);
			for (size_t i = 0; i < N; i += block, at += size)
				row->encode(other + at, x + i, k == 1 ? w + i : NULL, 1, k == 2);
			assert_memory_equal(code, other + 1, bytes);
		}
	}
}

static uint64_t digest(size_t bytes)
{
	uint64_t d = 0xcbf29ce484222325;

	for (size_t i = 0; i < bytes; i++)
		d = (d ^ code[i]) * 0x100000001b3;
	return d;
}

/* The same bytes on every machine: those of tests/golden/encode-bytes.txt, whose lines this test
 * prints.  An encoder that is made better gets a new one. */
static void test_machines(void **state)
{
	char line[80], want[4096] = "";
	FILE *f = fopen("tests/golden/encode-bytes.txt", "r");

	(void)state;
	assert_non_null(f);
	want[fread(want, 1, sizeof want - 1, f)] = 0;
	fclose(f);
	for (int i = 0; i < N; i++) {
		x[i] = bell((uint64_t)i + 7000);
		w[i] = heed((uint64_t)i);
	}
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		if (!type_get(t)->encode)
			continue;
		uint64_t plain = digest(pass(t, x, NULL, N)), weighed = digest(pass(t, x, w, N));
		no_search = 1;
		uint64_t rtn = digest(pass(t, x, NULL, N));
		assert_true(rtn == digest(pass(t, x, w, N))); /* importances do not count */
		no_search = 0;
		snprintf(line, sizeof line, "%s %016llx %016llx %016llx\n",
		         infer_type_info(t)->name, (unsigned long long)plain,
		         (unsigned long long)weighed, (unsigned long long)rtn);
		const char *at = strstr(want, line);
		if (!at || (at > want && at[-1] != '\n'))
			fail_msg("not in tests/golden/encode-bytes.txt: %s", line);
	}
}

/* Not worse than the program that the file names. */
static void test_golden(void **state)
{
	char line[256], name[16];
	double plain, weighed;
	int seen[INFER_TYPE_COUNT] = { 0 };
	FILE *f = fopen("tests/golden/encode.txt", "r");

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < N; i++) {
		x[i] = bell((uint64_t)i);
		w[i] = heed((uint64_t)i);
	}
	while (fgets(line, sizeof line, f)) {
		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%15s %lf %lf", name, &plain, &weighed), 3);
		int t = 0;
		while (strcmp(infer_type_info(t)->name, name))
			assert_true(++t < INFER_TYPE_COUNT);
		pass(t, x, NULL, N);
		if (!(error(x, NULL, N) <= plain * 1.000001))
			fail_msg("%s: error %g, more than %g", name, error(x, NULL, N), plain);
		pass(t, x, w, N);
		if (!(error(x, w, N) <= weighed * 1.000001))
			fail_msg("%s, weighed: error %g, more than %g", name, error(x, w, N),
			         weighed);
		seen[t] = 1;
	}
	fclose(f);
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (chooses(t) && !seen[t])
			fail_msg("%s: not in tests/golden/encode.txt", infer_type_info(t)->name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),       cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_importance), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_exact),      cmocka_unit_test(test_points),
		cmocka_unit_test(test_floats),     cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_machines),   cmocka_unit_test(test_golden),
	};
	return nth_group(tests);
}
