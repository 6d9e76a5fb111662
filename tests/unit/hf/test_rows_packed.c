/* tests/unit/hf/test_rows_packed.c - rows of quantised weights in GGUF's order: every place that a value may have, by a
 * method whose value at a row and a column is a formula. */
#include "../nth.h"
#include "hf/packed.h"
#include "hf/rows.h"
#include "type/block.h"

#include <string.h>

enum { MOST = 64 * 128 };

static int value(int64_t mat, int64_t row, int64_t col)
{
	return (int)((mat * 31 + row * 7 + col * 3) % 101) - 50;
}

static int64_t calls; /* of repack */

static void repack(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                   unsigned char *to)
{
	calls++;
	for (int64_t r = row; r < row + n; r++)
		for (int64_t c = 0; c < p->cols; c += 32, to += sizeof(struct q8_0)) {
			struct q8_0 b = { .d = { 0, 0x3c } }; /* 1 in F16 */
			for (int i = 0; i < 32; i++)
				b.q[i] = (int8_t)value((int64_t)(intptr_t)p->own + mat, r, c + i);
			memcpy(to, &b, sizeof b);
		}
}

static const struct packing method = { .name = "test", .rows = repack };

struct given {
	const char *name;
	struct hf_rows h;
	int64_t mats, rows, cols; /* of the source */
	int n_from;
};

/* Row and column of the source for an element of the result. */
static int expected(const struct given *g, int64_t mat, int64_t r, int64_t c)
{
	const struct hf_rows *h = &g->h;
	int64_t row = h->turned ? c : hf_rows_source(h, r),
		col = h->turned                ? hf_rows_source(h, r)
	              : h->how == T_TILED_COLS ? hf_rows_untile(&h->heads, c, h->heads.dv)
	                                       : c;

	if (r >= h->rows - h->zeros)
		return 0;
	if (g->n_from > 1)
		return value(mat, row, col);
	row += mat * h->src_rows;
	return value(row / g->rows, row % g->rows, col);
}

static void check(const struct given *g)
{
	static unsigned char to[MOST * sizeof(float)];
	static float x[MOST];
	struct hf_packed p[4] = { 0 };
	struct safetensors_tensor t[4] = { 0 };
	const struct safetensors_tensor *from[4];
	struct hf_rows h = g->h, *all[] = { &h };
	size_t row = 0;

	for (int i = 0; i < g->n_from; i++) {
		p[i] = (struct hf_packed){ .how = &method,
			                   .own = (const void *)(intptr_t)i,
			                   .mats = g->mats,
			                   .rows = g->rows,
			                   .cols = g->cols,
			                   .type = INFER_Q8_0 };
		t[i].dtype = ST_PACKED;
		t[i].packed = &p[i];
		from[i] = &t[i];
	}
	h.from = from;
	h.n_from = g->n_from;
	h.packed = 1;
	h.to = to;
	memset(to, 0xff, sizeof to);
	assert_null(hf_rows_in_place(&h));
	assert_int_equal(hf_rows_make(all, 1, NULL, NULL), INFER_OK);
	row = hf_rows_row_bytes(&h);
	for (int64_t m = 0; m < h.mats; m++)
		for (int64_t r = 0; r < h.rows; r++) {
			assert_int_equal(infer_type_decode(h.type, x,
			                                   to + (size_t)(m * h.rows + r) * row,
			                                   (size_t)h.cols, NULL),
			                 INFER_OK);
			for (int64_t c = 0; c < h.cols; c++)
				if (x[c] != (float)expected(g, m, r, c))
					fail_msg("%s: matrix %d, row %d, column %d: %g, not %d",
					         g->name, (int)m, (int)r, (int)c, (double)x[c],
					         expected(g, m, r, c));
		}
}

#define SIZE(c, r, m) .cols = (c), .rows = (r), .mats = (m), .step = 1
#define SOURCE(c, r) .src_cols = (c), .src_rows = (r)

static const struct given places[] = {
	{ "in order", { SIZE(64, 96, 1), SOURCE(64, 96), .type = INFER_Q8_0 }, 1, 96, 64, 1 },
	{ "a slice",
	  { SIZE(64, 16, 1), SOURCE(64, 96), .first = 32, .type = INFER_Q8_0 },
	  1,
	  96,
	  64,
	  1 },
	{ "a slice of each matrix",
	  { SIZE(64, 8, 3), SOURCE(64, 24), .first = 8, .type = INFER_Q8_0 },
	  3,
	  24,
	  64,
	  1 },
	{ "matrices in one",
	  { SIZE(64, 8, 3), SOURCE(64, 24), .first = 8, .type = INFER_Q8_0 },
	  1,
	  72,
	  64,
	  1 },
	{ "pairs",
	  { SIZE(64, 64, 1), SOURCE(64, 64), .how = T_PAIRS, .heads.rows = 16, .type = INFER_Q8_0 },
	  1,
	  64,
	  64,
	  1 },
	{ "odd rows",
	  { .cols = 64,
	    .rows = 24,
	    .mats = 2,
	    .step = 2,
	    .first = 1,
	    SOURCE(64, 48),
	    .how = T_ODD,
	    .type = INFER_Q8_0 },
	  2,
	  48,
	  64,
	  1 },
	{ "tiled rows",
	  { SIZE(64, 32, 1), SOURCE(64, 32), .how = T_TILED,
	    .heads = { .k_heads = 2, .each = 2, .dk = 8, .dv = 8 }, .type = INFER_Q8_0 },
	  1,
	  32,
	  64,
	  1 },
	{ "tiled columns",
	  { SIZE(128, 8, 1), SOURCE(128, 8), .how = T_TILED_COLS,
	    .heads = { .k_heads = 2, .each = 2, .dk = 32, .dv = 32 }, .type = INFER_Q8_0 },
	  1,
	  8,
	  128,
	  1 },
	{ "tiled columns, decoded",
	  { SIZE(128, 8, 1), SOURCE(128, 8), .how = T_TILED_COLS,
	    .heads = { .k_heads = 2, .each = 2, .dk = 32, .dv = 32 }, .type = INFER_F32 },
	  1,
	  8,
	  128,
	  1 },
	{ "decoded", { SIZE(64, 10, 1), SOURCE(64, 10), .type = INFER_F32 }, 1, 10, 64, 1 },
	{ "pairs, decoded",
	  { SIZE(64, 64, 1), SOURCE(64, 64), .how = T_PAIRS, .heads.rows = 32, .type = INFER_F32 },
	  1,
	  64,
	  64,
	  1 },
	{ "columns as rows",
	  { SIZE(16, 32, 2), SOURCE(32, 24), .how = T_TURN, .turned = 1, .type = INFER_F32 },
	  1,
	  48,
	  32,
	  1 },
	{ "rows of 0",
	  { SIZE(64, 20, 1), SOURCE(64, 12), .zeros = 8, .type = INFER_Q8_0 },
	  1,
	  12,
	  64,
	  1 },
	{ "experts",
	  { SIZE(64, 12, 3), SOURCE(64, 12), .how = T_STACK, .type = INFER_Q8_0 },
	  1,
	  12,
	  64,
	  3 },
};

static void test_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		check(&places[i]);
}

/* Rows that change places within heads are repacked together, because methods that store outputs side by side
 * are slow row by row. */
static void test_calls(void **state)
{
	static const struct given pairs = {
		"pairs",
		{ SIZE(64, 64, 1), SOURCE(64, 64), .how = T_PAIRS, .heads.rows = 16, .type = INFER_Q8_0 },
		1,
		64,
		64,
		1
	};

	(void)state;
	calls = 0;
	check(&pairs);
	assert_int_equal(calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
