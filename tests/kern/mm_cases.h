/* tests/kern/mm_cases.h - products of a kernel set compared with ref: activations, rows, tiles,
 * over fenced memory. */
#ifndef TESTS_KERN_MM_CASES_H
#define TESTS_KERN_MM_CASES_H
#include "kern_test.h"
#include "base/num.h"
#include "kern/act.h"
#include "type/type.h"

struct shape {
	int type, m, n, k;
	enum kern_data_fill fill;
	int flat; /* most of x as large as possible, so that sums reach their bounds */
};

static int skinny_cases;     /* products that went through a skinny loop */
static int transposed_cases; /* products that went through tiles that read transposed rows */

static struct kern_act act_make(const struct kern *kern, int type, const float *x, int m, int k,
                                void **mem)
{
	const struct kern_mm *mm = &kern->mm[type];
	struct kern_act a;
	size_t bytes = kern_act_bytes(mm->form, m, k);

	*mem = block_new(bytes);
	memset(*mem, 0xa5, bytes);
	kern_act_init(&a, mm->form, *mem, m, k);
	assert_true((size_t)m * a.q_row <= bytes);
	for (int t = 0; t < m; t++)
		mm->quant(&a, t, x + (size_t)t * (size_t)k, k);
	return a;
}

static void same(const float *got, const float *want, size_t n, const struct kern *k,
                 struct shape s, const char *what)
{
	int64_t i = kern_data_differ(got, want, n);

	if (i >= 0)
		fail_msg("%s %s %s m %d n %d k %d fill %d: at %lld %a, not %a", k->name,
		         infer_type_info(s.type)->name, what, s.m, s.n, s.k, s.fill, (long long)i,
		         (double)got[i], (double)want[i]);
}

/* the tile over panels, as a backend runs it */
static void by_tiles(const struct kern *kern, struct shape s, float *y, const char *w,
                     const struct kern_act *a)
{
	const struct kern_mm *mm = &kern->mm[s.type];
	size_t row = type_row_bytes(s.type, s.k), bytes = mm->pack_bytes(s.k);
	char *panel = block_new(bytes);
	struct kern_prefetch prefetch = { .lines = 3 };
	struct kern_act x = *a;

	memset(panel, 0xa5, bytes);
	x.prefetch = s.m % 2 ? &prefetch : NULL;
	for (int r = 0; r < s.n; r += mm->nr) {
		/* from the weights to past their mapping: the prefetched bytes may be anywhere */
		prefetch.at = w, prefetch.end = w + row * (size_t)s.n + 8192;
		int n = s.n - r < mm->nr ? s.n - r : mm->nr;
		mm->pack(panel, w + (size_t)r * row, row, n, s.k);
		mm->tile(y + r, (size_t)s.n, panel, &x, 0, s.m, n, s.k);
	}
	free(panel);
}

/* Make a transposed copy of x, in pieces. */
static void transposed_make(const struct kern_mm *mm, struct kern_act *x, int m, int k)
{
	size_t bytes = kern_transposed_bytes(mm->form, m, k);
	int half = k / 512 * 256;

	x->transposed = block_new(bytes);
	memset(x->transposed, 0xa5, bytes);
	for (int g = 0; g < m; g += KERN_LANES) {
		int some = m - g < KERN_LANES ? m - g : KERN_LANES;
		mm->transpose(x, g, some, k, half, k);
		mm->transpose(x, g, some, k, 0, half);
	}
}

/* Tiles that read a transposed copy: of all rows; of those from the second group on, and from a row
 * between. */
static void by_transposed_tiles(const struct kern *kern, struct shape s, const float *want,
                                const char *w, const struct kern_act *a)
{
	const struct kern_mm *mm = &kern->mm[s.type];
	size_t row = type_row_bytes(s.type, s.k), bytes = mm->pack_bytes(s.k),
	       ldy = (size_t)s.n + 3;
	char *panel = block_new(bytes);
	float *y = block_new((size_t)s.m * ldy * 4);
	struct kern_act x = *a;

	transposed_make(mm, &x, s.m, s.k);
	for (int from = 0; from < s.m && from <= KERN_LANES; from += from ? KERN_LANES - 5 : 5) {
		memset(y, 0xff, (size_t)s.m * ldy * 4);
		for (int r = 0; r < s.n; r += mm->nr) {
			int n = s.n - r < mm->nr ? s.n - r : mm->nr;
			mm->pack(panel, w + (size_t)r * row, row, n, s.k);
			mm->tile(y + r, ldy, panel, &x, from, s.m - from, n, s.k);
		}
		for (int t = 0; t < s.m - from; t++) {
			same(y + (size_t)t * ldy, want + (from + t) * s.n, (size_t)s.n, kern, s,
			     "tile of transposed rows");
			for (size_t i = (size_t)s.n; i < ldy; i++)
				assert_int_equal(num_bits(y[(size_t)t * ldy + i]), 0xffffffff);
		}
	}
	free(panel), free(x.transposed), free(y);
	transposed_cases++;
}

/* The skinny loop, from a transposed copy; then the rows from the second group on alone. */
static void by_skinny(const struct kern *kern, struct shape s, const float *want, const char *w,
                      const struct kern_act *a)
{
	const struct kern_mm *mm = &kern->mm[s.type];
	size_t row = type_row_bytes(s.type, s.k), ny = (size_t)s.m * (size_t)s.n,
	       ldy = (size_t)s.n + 3;
	float *y = block_new(((size_t)s.m * ldy) * 4), *got = block_new(ny * 4);
	struct kern_act x = *a;

	transposed_make(mm, &x, s.m, s.k);
	for (int from = 0; from < s.m && from <= KERN_LANES; from += KERN_LANES) {
		memset(y, 0xff, (size_t)s.m * ldy * 4);
		mm->skinny(y, ldy, w, row, &x, from, s.m - from, s.n, s.k);
		for (int t = 0; t < s.m - from; t++) {
			memcpy(got + t * s.n, y + (size_t)t * ldy, (size_t)s.n * 4);
			for (size_t i = (size_t)s.n; i < ldy; i++)
				assert_int_equal(num_bits(y[(size_t)t * ldy + i]), 0xffffffff);
		}
		same(got, want + from * s.n, (size_t)(s.m - from) * (size_t)s.n, kern, s, "skinny");
	}
	free(x.transposed), free(y), free(got);
	skinny_cases++;
}

static void act_same(const struct kern_act *a, const struct kern_act *b, struct shape s,
                     const struct kern *k)
{
	size_t bytes = a->form == KERN_FORM_F32    ? (size_t)s.k * 4
	               : a->form == KERN_FORM_BF16 ? kern_act_bytes(KERN_FORM_BF16, 1, s.k)
	               : a->form == KERN_FORM_Q8   ? (size_t)s.k / 32 * sizeof(struct kern_q8)
	                                           : (size_t)s.k / 256 * sizeof(struct kern_q8k);

	assert_int_equal(a->form, b->form);
	for (int t = 0; t < s.m; t++)
		if (memcmp(act_row(a, t), act_row(b, t), bytes))
			fail_msg("%s %s k %d: activations differ", k->name,
			         infer_type_info(s.type)->name, s.k);
}

/* Of three rows of x the second is all ones, and the third has the signs of a row of weights. */
static void flatten(float *x, struct shape s, const void *w)
{
	float *v = block_new((size_t)s.k * sizeof *v);

	type_get(s.type)->decode(v, w, (size_t)(s.k / infer_type_info(s.type)->block));
	for (int t = 0; t < s.m; t++)
		for (int i = 0; t % 3 && i < s.k; i++)
			x[t * s.k + i] = t % 3 == 1 || v[i] > 0 ? 1 : -1;
	free(v);
}

/* Compare quant, rows and tile of one shape with the rows of ref. */
static void one(const struct kern *kern, const struct kern *ref, struct shape s)
{
	size_t row = type_row_bytes(s.type, s.k), ny = (size_t)s.m * (size_t)s.n;
	struct fence f = fence_new(row * (size_t)s.n);
	float *x = block_new((size_t)s.m * (size_t)s.k * 4), *want = block_new(ny * 4),
	      *y = block_new(ny * 4);
	void *mem, *mem_ref;

	kern_data_weights(f.at, s.type, (size_t)s.n, s.k, s.fill,
	                  (uint64_t)(s.type * 131 + s.n * 7 + s.k));
	kern_data_floats(x, (size_t)s.m * (size_t)s.k, s.fill, (uint64_t)(s.m * 31 + s.k));
	if (s.flat)
		flatten(x, s, f.at);
	struct kern_act a = act_make(kern, s.type, x, s.m, s.k, &mem),
			b = act_make(ref, s.type, x, s.m, s.k, &mem_ref);
	act_same(&a, &b, s, kern);
	ref->mm[s.type].rows(want, (size_t)s.n, f.at, row, &b, 0, s.m, s.n, s.k);
	memset(y, 0xff, ny * 4);
	kern->mm[s.type].rows(y, (size_t)s.n, f.at, row, &a, 0, s.m, s.n, s.k);
	same(y, want, ny, kern, s, "rows");
	memset(y, 0xff, ny * 4);
	by_tiles(kern, s, y, f.at, &a);
	same(y, want, ny, kern, s, "tile");
	if (kern->mm[s.type].tile_transposed)
		by_transposed_tiles(kern, s, want, f.at, &a);
	if (kern->mm[s.type].skinny)
		by_skinny(kern, s, want, f.at, &a);
	if (s.m > 1) { /* the last row alone, and nothing else in y may change */
		memset(y, 0xff, ny * 4);
		kern->mm[s.type].rows(y, (size_t)s.n, f.at, row, &a, s.m - 1, 1, s.n, s.k);
		same(y, want + (size_t)(s.m - 1) * (size_t)s.n, (size_t)s.n, kern, s, "one row");
		for (size_t i = (size_t)s.n; i < ny; i++)
			assert_int_equal(num_bits(y[i]), 0xffffffff);
	}
	fence_free(&f);
	free(x), free(want), free(y), free(mem), free(mem_ref);
}

/* Shapes that only matter to a tile: few of them, because functions in place of instructions are
 * slow. */
static inline void tile_shapes(const struct kern *kern, const struct kern *ref, int type)
{
	int block = infer_type_info(type)->block;

	for (int i = 0; i < 8; i++)
		one(kern, ref,
		    (struct shape){ type, 1 + 3 * i, 1 + 6 * i,
		                    block * (block == 1    ? 1 + 31 * i
		                             : block == 32 ? 1 + 3 * i
		                                           : 1 + i / 2),
		                    i % 3 ? KERN_DATA_PLAIN : KERN_DATA_ODD, i % 2 });
	one(kern, ref, (struct shape){ type, 83, 40, block == 32 ? 320 : 512, KERN_DATA_PLAIN, 1 });
}

static inline void shapes_of(const struct kern *kern, const struct kern *ref, int type)
{
	static const int floats[] = { 1, 15, 16, 17, 100, 512, 513, 1040 },
			 ns[] = { 1, 2, 3, 5, 8, 11, 16, 17, 35 };
	int block = infer_type_info(type)->block;

	for (int i = 0; i < 8; i++) {
		int k = block == 1 ? floats[i] : block * (block == 32 ? 1 + 3 * i : 1 + i / 2);
		for (int j = 0; j < 9; j++)
			one(kern, ref,
			    (struct shape){ type, 1 + (i + 2 * j) % 9, ns[j], k,
			                    (i + j) % 3 ? KERN_DATA_PLAIN : KERN_DATA_ODD, 0 });
	}
	for (int m = 1; m <= 64; m++)
		one(kern, ref,
		    (struct shape){ type, m, 19, block == 1 ? 75 : block * 2,
		                    m % 4 ? KERN_DATA_PLAIN : KERN_DATA_ODD, 0 });
	/* more rows of weights than a band of the skinny loop */
	for (int m = 1; m <= 41; m += 5)
		one(kern, ref,
		    (struct shape){ type, m, 45 + m + m % 7, block == 1 ? 75 : block * 3,
		                    KERN_DATA_PLAIN, m % 2 });
	if (kern->mm[type].tile_transposed) /* more rows of x than a tile takes at a time */
		for (int m = 63; m <= 147; m += 42)
			one(kern, ref,
			    (struct shape){ type, m, m % 2 ? 33 : 16, block == 32 ? 960 : 768,
			                    KERN_DATA_PLAIN, m == 105 });
	if (block == 1) /* more rows of x than the loop in place keeps in L2 */
		one(kern, ref, (struct shape){ type, 31, 11, 8200, KERN_DATA_PLAIN, 0 });
	for (int m = 1; m <= 16; m++)
		one(kern, ref,
		    (struct shape){ type, m, 35, block == 1 ? 75 : 512, KERN_DATA_PLAIN, 1 });
}
#endif
