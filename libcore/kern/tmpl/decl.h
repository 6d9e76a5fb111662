/* kern/tmpl/decl.h - the names of one kernel set, and the parts of its table.
 *
 * Every file of a folder is compiled with KERN_ISA, the name of the folder, and KERN_FN(x) is
 * kern_<folder>_x: a folder may include the headers of another folder, and the functions made from
 * them carry its own name.  The table of a folder names only the functions that the folder defines;
 * for the others kern_select keeps those of the narrower sets.
 *
 * KERN_ROWS_*(X) list the types that share kernels; tables, instances and declarations are
 * generated from these lists. */
#ifndef KERN_TMPL_DECL_H
#define KERN_TMPL_DECL_H
#include "kern/kern.h"

#ifndef KERN_ISA
#error "KERN_ISA, the name of the folder, is defined by the makefile for every file in it"
#endif
#define KERN_JOIN(isa, x) kern_##isa##_##x
#define KERN_NAME(isa, x) KERN_JOIN(isa, x)
#define KERN_FN(x) KERN_NAME(KERN_ISA, x)

#define INLINE static inline __attribute__((always_inline))

/* UNROLL: put it before a loop of constant length whose counter indexes arrays that should be in
 * registers. */
#ifdef __clang__
/* below -O2 clang does not unroll and would warn about it */
#pragma clang diagnostic ignored "-Wpass-failed"
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

/* prefetch distance in a stream of weights, in bytes */
enum { KERN_AHEAD = 256 };

#define KERN_ROWS_F(X) X(F32, f32) X(F16, f16) X(BF16, bf16)
/* float codes in blocks of 64, with f32 activations */
#define KERN_ROWS_CODED(X) X(F8_E4M3, f8_e4m3) X(NF4, nf4)
/* 16-bit floats with bf16 activations */
#define KERN_ROWS_HALF(X) X(F16, f16_b) X(BF16, bf16_b)
#define KERN_ROWS_32(X) \
	X(Q8_0, q8_0) \
	X(Q4_0, q4_0) X(Q4_1, q4_1) X(Q5_0, q5_0) X(Q5_1, q5_1) X(IQ4_NL, iq4_nl) X(MXFP4, mxfp4)
/* blocks of 64: two groups of 32 that share a scale and a minimum, in f32 */
#define KERN_ROWS_64(X) X(Q4_F, q4_f) X(Q8_F, q8_f)
/* blocks of 64 with a scale for each 16 */
#define KERN_ROWS_16(X) X(NVFP4_F, nvfp4_f)
#define KERN_ROWS_256(X) \
	KERN_ROWS_K46(X) \
	KERN_ROWS_K235(X)
#define KERN_ROWS_K46(X) X(Q4_K, q4_k) X(Q6_K, q6_k)
#define KERN_ROWS_K235(X) X(Q5_K, q5_k) X(Q2_K, q2_k) X(Q3_K, q3_k) X(IQ4_XS, iq4_xs)
#define KERN_ROWS_GRID(X) KERN_ROWS_GRID1(X) KERN_ROWS_GRID23(X)
#define KERN_ROWS_GRID12(X) KERN_ROWS_GRID1(X) KERN_ROWS_GRID2(X)
#define KERN_ROWS_GRID23(X) KERN_ROWS_GRID2(X) KERN_ROWS_GRID3(X)
#define KERN_ROWS_GRID1(X) X(IQ1_S, iq1_s) X(IQ1_M, iq1_m)
#define KERN_ROWS_GRID2(X) X(IQ2_XXS, iq2_xxs) X(IQ2_XS, iq2_xs) X(IQ2_S, iq2_s)
#define KERN_ROWS_GRID3(X) X(IQ3_XXS, iq3_xxs) X(IQ3_S, iq3_s)
#define KERN_ROWS_TERNARY(X) X(TQ2_0, tq2_0) X(TQ1_0, tq1_0)

#define S(slot, args) void KERN_FN(slot) args;
KERN_SLOTS(S)
#undef S
void KERN_FN(peak_dot)(double *ops, int32_t *sink, int reps);
void KERN_FN(quant_f32)(struct kern_act *x, int row, const float *src, int k);
void KERN_FN(quant_bf16)(struct kern_act *x, int row, const float *src, int k);
void KERN_FN(quant_q8)(struct kern_act *x, int row, const float *src, int k);
void KERN_FN(quant_q8k)(struct kern_act *x, int row, const float *src, int k);
#define ROW(TYPE, name) \
	void KERN_FN(name##_rows)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                          const struct kern_act *x, int x_row, int m, int n, int k); \
	void KERN_FN(name##_pack)(void *dst, const void *w, size_t row_bytes, int n, int k); \
	void KERN_FN(name##_tile)(float *y, size_t ldy, const void *packed, \
	                          const struct kern_act *x, int x_row, int m, int n, int k); \
	size_t KERN_FN(name##_pack_bytes)(int k);
KERN_ROWS_F(ROW)
KERN_ROWS_CODED(ROW)
KERN_ROWS_HALF(ROW)
KERN_ROWS_32(ROW)
KERN_ROWS_64(ROW)
KERN_ROWS_16(ROW)
KERN_ROWS_256(ROW)
KERN_ROWS_GRID(ROW)
KERN_ROWS_TERNARY(ROW)
#undef ROW
#define ROW(TYPE, name) \
	void KERN_FN(name##_skinny)(float *y, size_t ldy, const void *w, size_t row_bytes, \
	                         const struct kern_act *x, int x_row, int m, int n, int k);
KERN_ROWS_32(ROW)
KERN_ROWS_64(ROW)
KERN_ROWS_K46(ROW)
#undef ROW
void KERN_FN(transpose_q8)(struct kern_act *x, int row, int m, int k, int from, int to);
void KERN_FN(transpose_q8k)(struct kern_act *x, int row, int m, int k, int from, int to);

/* Parts of a table entry of a type: quantisation of x; kernels in place, for panels, and for a
 * skinny x; and for which numbers of rows of x each is the fastest (kern/dispatch.h). */
#define KERN_MM_QUANT(quant_, form_) .quant = KERN_FN(quant_), .form = KERN_FORM_##form_,
#define KERN_MM_ROWS(name) .rows = KERN_FN(name##_rows),
#define KERN_MM_TILE(name, mr_, nr_) \
	.pack = KERN_FN(name##_pack), .tile = KERN_FN(name##_tile), \
	.pack_bytes = KERN_FN(name##_pack_bytes), .mr = mr_, .nr = nr_,
#define KERN_MM_SKINNY(name, transpose_, band) \
	.skinny = KERN_FN(name##_skinny), .transpose = KERN_FN(transpose_), .skinny_band = band,
#define KERN_MM_DISPATCH(...) KERN_MM_DISPATCH_(__VA_ARGS__)
#define KERN_MM_DISPATCH_(most, skinny) .rows_max = most, .skinny_mask = skinny,
#endif
