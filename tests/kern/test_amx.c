/* tests/kern/test_amx.c - amx without its instructions: the sources of the folder, compiled with
 * functions that replace them, to test the layout and the arithmetic; and the kernels that are
 * used if the system refuses tiles.  Left out under sanitizers, where compiling this takes
 * minutes. */
#include "../unit/left_out.h"
#include "mm_cases.h"

#include <math.h>

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && \
	!defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define WITH_TILES 1
#pragma GCC target("avx2,fma,f16c,avx512f,avx512vl,avx512bw,avx512dq,avx512vnni")
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define KERN_ISA tiles
#include "kern/tmpl/bf16.h"

/* Intel's manual, volume 2: TILELOADD, TILESTORED, TDPBSSD, TDPBF16PS */
struct tile_config;
static struct tile {
	uint8_t at[16][64];
} tiles[8];
static int rows_of[8], bytes_of[8], on;
static void tiles_set(const struct tile_config *c);

static void tile_load(int c, const void *from, long apart)
{
	assert_true(on);
	memset(&tiles[c], 0, sizeof tiles[c]);
	for (int r = 0; r < rows_of[c]; r++)
		memcpy(tiles[c].at[r], (const char *)from + r * apart, (size_t)bytes_of[c]);
}
static void tile_store(int c, void *to, long apart)
{
	assert_true(on);
	for (int r = 0; r < rows_of[c]; r++)
		memcpy((char *)to + r * apart, tiles[c].at[r], (size_t)bytes_of[c]);
}
static void tile_dot(int c, int a, int b)
{
	assert_true(on && bytes_of[a] == 4 * rows_of[b] && rows_of[a] == rows_of[c] &&
	            bytes_of[b] == bytes_of[c]);
	for (int m = 0; m < rows_of[c]; m++)
		for (int n = 0; n < bytes_of[c] / 4; n++) {
			int32_t sum;
			memcpy(&sum, tiles[c].at[m] + 4 * n, 4);
			for (int k = 0; k < bytes_of[a]; k++)
				sum += (int8_t)tiles[a].at[m][k] *
				       (int8_t)tiles[b].at[k / 4][4 * n + k % 4];
			memcpy(tiles[c].at[m] + 4 * n, &sum, 4);
		}
}
static float half_float(const uint8_t *p)
{
	uint16_t h;

	memcpy(&h, p, 2);
	return num_float((uint32_t)h << 16);
}
static void tile_dot_bf16(int c, int a, int b)
{
	assert_true(on && bytes_of[a] == 64 && rows_of[b] == 16 && rows_of[a] == rows_of[c] &&
	            bytes_of[b] == bytes_of[c]);
	for (int m = 0; m < rows_of[c]; m++)
		for (int n = 0; n < bytes_of[c] / 4; n++) {
			float sum, x[32], w[32];
			memcpy(&sum, tiles[c].at[m] + 4 * n, 4);
			for (int k = 0; k < 32; k++) {
				x[k] = bf16_flush(half_float(tiles[a].at[m] + 2 * k));
				w[k] = bf16_flush(
					half_float(tiles[b].at[k / 2] + 4 * n + 2 * (k % 2)));
			}
			sum = bf16_block(sum, w, x);
			memcpy(tiles[c].at[m] + 4 * n, &sum, 4);
		}
}
#define TILE_LOAD(c, from, apart) tile_load(c, from, apart)
#define TILE_PUT(c, to) tile_store(c, to, 64)
#define TILE_STORE(c, to, apart) tile_store(c, to, apart)
#define TILE_ZERO(c) memset(&tiles[c], 0, sizeof tiles[c])
#define TILE_DOT(c, a, b) tile_dot(c, a, b)
#define TILE_DOT_BF16(c, a, b) tile_dot_bf16(c, a, b)
#define TILE_SET(config) tiles_set(&config)
#define TILE_END() (void)(on = 0)

#define kern_amx kern_tiles
extern const struct kern kern_tiles;
#include "kern/amx/peak.c"
#include "kern/amx/mm_q32.c"
#undef ROW
#include "kern/amx/mm_q256.c"
#undef ROW
#include "kern/amx/mm_bf16.c"
#include "kern/amx/table.c"

static void tiles_set(const struct tile_config *c)
{
	assert_int_equal(c->palette, 1);
	for (int i = 0; i < 8; i++) {
		rows_of[i] = c->rows[i];
		bytes_of[i] = c->bytes[i];
		assert_true(rows_of[i] <= 16 && bytes_of[i] <= 64);
	}
	memset(tiles, 0, sizeof tiles);
	on = 1;
}

static void test_bits(void **state)
{
	const uint64_t needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_AVX512VNNI;
	const struct kern ref = kern_select(0);
	int n = 0;

	(void)state;
	if ((cpu_features() & needs) != needs)
		left_out("needs a processor with AVX-512 and VNNI");
	struct kern k = kern_select(needs);
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct kern_mm *o = &kern_tiles.mm[t];
		if (!o->tile)
			continue;
		k.mm[t].pack = o->pack, k.mm[t].pack_bytes = o->pack_bytes, k.mm[t].tile = o->tile;
		k.mm[t].mr = o->mr, k.mm[t].nr = o->nr,
		k.mm[t].tile_transposed = o->tile_transposed;
		k.mm[t].transpose = o->transpose, k.mm[t].skinny = NULL;
		tile_shapes(&k, &ref, t);
		assert_false(on);
		n++;
	}
#define ONE(TYPE, name) +1
	assert_int_equal(n, 0 KERN_ROWS_32(ONE) KERN_ROWS_64(ONE) KERN_ROWS_256(ONE));
}
static void test_bits_bf16(void **state)
{
	const uint64_t needs = CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512;
	struct kern ref = kern_select(0);
	int n = 0;

	(void)state;
	if ((cpu_features() & needs) != needs)
		left_out("needs a processor with AVX-512");
	struct kern k = kern_select(needs);
	kern_act_bf16(&k);
	kern_act_bf16(&ref);
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct kern_mm *o = &kern_tiles.mm_bf16[t];
		if (!o->tile)
			continue;
		k.mm[t].pack = o->pack, k.mm[t].pack_bytes = o->pack_bytes, k.mm[t].tile = o->tile;
		k.mm[t].mr = o->mr, k.mm[t].nr = o->nr, k.mm[t].rows = o->rows;
		tile_shapes(&k, &ref, t);
		assert_false(on);
		n++;
	}
	assert_int_equal(n, 0 KERN_ROWS_HALF(ONE));
}
#endif

/* an overlay of other loops of a type leaves the rest */
static void test_overlay(void **state)
{
	const uint64_t have = cpu_permit(cpu_features());
	const struct kern all = kern_select(have), less = kern_select(have & ~(uint64_t)CPU_AMX);

	(void)state;
	assert_string_not_equal(less.name, "amx");
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		assert_true(all.mm[t].rows == less.mm[t].rows &&
		            all.mm[t].quant == less.mm[t].quant);
		assert_int_equal(all.mm[t].form, less.mm[t].form);
		assert_int_equal(less.mm[t].tile_transposed, 0);
		if (all.mm[t].tile_transposed)
			assert_true(all.mm[t].transpose && all.mm[t].pack != less.mm[t].pack &&
			            (have & CPU_AMX) == CPU_AMX);
		if (less.mm[t].transpose)
			assert_true(all.mm[t].transpose == less.mm[t].transpose);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef WITH_TILES
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_bits_bf16),
#endif
		cmocka_unit_test(test_overlay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
