/* kern/ref/mm_bf16.c - products with bf16 activations, as kern/tmpl/bf16.h defines them.
 *
 *   bytes per flop: 2 per 2 m;  limits: none
 *   panel: bf16 [4][k rounded up to 32] */
#include <string.h>
#include "kern/tmpl/bf16.h"

enum { NR = 4 };

/* Load n <= 32 weights, rounded to bf16 and padded to 32 with +0. */
static void load(enum infer_type type, float w[32], const unsigned char *p, int n)
{
	uint16_t h[32] = { 0 };

	memcpy(h, p, (size_t)n * 2);
	for (int i = 0; i < 32; i++)
		w[i] = bf16_round(type == INFER_F16 ? num_f16(h[i]) : num_bf16(h[i]));
}

static void rows(enum infer_type type, float *y, size_t ldy, const void *wv, size_t row_bytes,
                 const struct kern_act *x, int x_row, int m, int n, int k)
{
	for (int r = 0; r < n; r++) {
		const unsigned char *w = (const unsigned char *)wv + (size_t)r * row_bytes;
		for (int t = 0; t < m; t++)
			y[(size_t)t * ldy + (size_t)r] = 0;
		for (int i = 0; i < k; i += 32) {
			float v[32];
			load(type, v, w + (size_t)i * 2, k - i < 32 ? k - i : 32);
			for (int t = 0; t < m; t++) {
				float *to = &y[(size_t)t * ldy + (size_t)r];
				*to = bf16_block(*to, v, act_f(x, x_row + t) + i);
			}
		}
	}
}

static size_t panel_row(int k) { return (size_t)act_bf16_k(k) * 2; }

static void pack(enum infer_type type, void *dst, const void *w, size_t row_bytes, int n, int k)
{
	memset(dst, 0, NR * panel_row(k));
	for (int r = 0; r < n; r++)
		for (int i = 0; i < k; i += 32) {
			float v[32];
			uint16_t *to =
				(uint16_t *)dst + (size_t)r * (size_t)act_bf16_k(k) + (size_t)i;
			load(type, v,
			     (const unsigned char *)w + (size_t)r * row_bytes + (size_t)i * 2,
			     k - i < 32 ? k - i : 32);
			for (int j = 0; j < 32; j++)
				to[j] = num_to_bf16(v[j]);
		}
}

void KERN_FN(quant_bf16)(struct kern_act *x, int row, const float *src, int k)
{
	float *to = (float *)(void *)((char *)x->q + (size_t)row * x->q_row);
	uint16_t *half = (uint16_t *)(to + act_bf16_k(k));

	for (int i = 0; i < act_bf16_k(k); i++) {
		to[i] = i < k ? bf16_round(src[i]) : 0;
		half[i] = num_to_bf16(to[i]);
	}
}

#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		rows(INFER_##TYPE, y, ldy, w, row_bytes, x, x_row, m, n, k); \
	} \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k) \
	{ \
		pack(INFER_##TYPE, dst, w, row_bytes, n, k); \
	} \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k) \
	{ \
		rows(INFER_BF16, y, ldy, packed, panel_row(k), x, x_row, m, n, k); \
	} \
	size_t KERN_FN(name##_pack_bytes)(int k) { return NR * panel_row(k); }
KERN_ROWS_HALF(ROW)
#undef ROW
