/* emu_ops.cpp - cp.async, ldmatrix and mma of the emulated machine.
 *
 * Of an operation of a warp, the last lane to arrive computes the results of all lanes (emu_warp).
 * Float mma adds in double, k ascending, and rounds once; EMU_MMA=trunc cuts the terms as the
 * hardware does.  Integer mma is exact. */
#include "emu.h"
#include "machine.h"
#include <math.h>

/* ---- cp.async ---- */
MACHINE void emu_copy_put(void *to, const void *from, int n)
{
	emu_thread *t = emu_current;

	t->what = "cp.async";
	if (t->copy_next - t->copy_first == EMU_COPIES)
		emu_die("too many copies in flight");
	if ((uintptr_t)to % 16 || (uintptr_t)from % 16 || n < 0 || n > 16)
		emu_die("an address is not aligned to 16 bytes, or the size is not 0 to 16");
	if (!emu_is_shared(to, 16) || emu_is_shared(from, 1))
		emu_die("a copy not from global to shared memory");
	t->copies[t->copy_next++ % EMU_COPIES] = emu_copy{ to, from, n, t->group };
	emu_tick(EMU_LOADED, n);
}
/* Take the oldest copy if it is not in the last `left` groups.  Returns 0 if there is none. */
MACHINE int emu_copy_get(emu_copy *c, int left)
{
	emu_thread *t = emu_current;
	const emu_copy *first = &t->copies[t->copy_first % EMU_COPIES];

	if (t->copy_first == t->copy_next || first->group >= t->group - left)
		return 0;
	*c = *first;
	t->copy_first++;
	return 1;
}
MACHINE void emu_copy_commit(void) { emu_current->group++; }

/* ---- matrices ---- */
struct row {
	uint4 v;
	const void *at;
	int trans;
};
struct frag {
	uint32_t r[4];
};
static void count_conflicts(const row **in)
{
	int bank[8] = { 0 }, most = 0;

	for (int j = 0; j < 8; j++) {
		int n = ++bank[(uintptr_t)in[j]->at / 16 % 8];

		most = most < n ? n : most;
	}
	emu_tick(EMU_LDMATRIX, 1);
	emu_tick(EMU_CONFLICTS, most - 1);
}
/* Matrix i has its rows at the addresses of lanes 8 i ... 8 i + 7.  Lane l gets elements 2 (l % 4)
 * and the next of row l / 4, trans: of column l / 4. */
static void load_matrices(const row **i, frag **o)
{
	for (int m = 0; m < 4; m++) {
		uint16_t e[8][8];

		count_conflicts(i + 8 * m);
		for (int j = 0; j < 8; j++)
			memcpy(e[j], &i[8 * m + j]->v, sizeof e[j]);
		for (int l = 0; l < EMU_WARP; l++) {
			int g = l / 4, t = l % 4 * 2, tr = i[l]->trans;
			uint16_t lo = tr ? e[t][g] : e[g][t], hi = tr ? e[t + 1][g] : e[g][t + 1];

			o[l]->r[m] = (uint32_t)hi << 16 | lo;
		}
	}
}
void emu_ldmatrix(uint32_t r[4], uint4 v, const void *at, int trans)
{
	row in = { v, at, trans };
	frag f;

	if ((uintptr_t)at % 16 || !emu_is_shared(at, 16))
		emu_die("ldmatrix: a row is not in shared memory at a multiple of 16 bytes");
	f = emu_warp<row, frag>(trans ? "ldmatrix.trans" : "ldmatrix", ~0u, in, load_matrices);
	memcpy(r, f.r, sizeof f.r);
}
struct mma_in {
	uint32_t a[4], b[2];
	float c[4];
	int bf16;
};
struct mma_out {
	float d[4];
};
/* 16 bytes: vectors of every processor; larger ones go through memory */
typedef double doubles __attribute__((vector_size(16), may_alias));
typedef float floats __attribute__((vector_size(16), may_alias));
struct matrices { /* of one mma */
	double a[16][16];
	alignas(16) double b[16][8], c[16][8], d[16][8];
};
/* A row of d = c + a b, in double, k ascending. */
static void sum_double(matrices *x, int row)
{
	const doubles *c = (const doubles *)x->c[row];
	doubles *d = (doubles *)x->d[row], s0 = c[0], s1 = c[1], s2 = c[2], s3 = c[3];

	for (int k = 0; k < 16; k++) {
		const doubles *b = (const doubles *)x->b[k];
		double a = x->a[row][k];

		s0 += a * b[0];
		s1 += a * b[1];
		s2 += a * b[2];
		s3 += a * b[3];
	}
	d[0] = s0;
	d[1] = s1;
	d[2] = s2;
	d[3] = s3;
}
/* One element with every term cut to a multiple of 2^-23 of the largest one's power of two. */
static double sum_cut(const matrices *x, int row, int col)
{
	double c = x->c[row][col], most = fabs(c), unit, s;

	for (int k = 0; k < 16; k++)
		most = fmax(most, fabs(x->a[row][k] * x->b[k][col]));
	if (most == 0 || !(most < INFINITY))
		unit = 0;
	else
		unit = ldexp(1, ilogb(most) - 23);
	s = unit ? unit * trunc(c / unit) : c;
	for (int k = 0; k < 16; k++) {
		double v = x->a[row][k] * x->b[k][col];

		s += unit ? unit * trunc(v / unit) : v;
	}
	return s;
}
/* a: register 0 row g, 1 row g + 8, 2 and 3 the same at k + 8; b: register 0, 1 k + 8 */
static void load_fragments(matrices *x, const mma_in **in)
{
	for (int l = 0; l < EMU_WARP; l++)
		for (int i = 0; i < 8; i++) {
			int g = l / 4, k = l % 4 * 2 + i % 2;
			uint16_t u = (uint16_t)(in[l]->a[i / 2] >> 16 * (i % 2));
			uint16_t v = (uint16_t)(in[l]->b[i / 2 % 2] >> 16 * (i % 2));

			x->a[g + 8 * (i / 2 % 2)][k + 8 * (i / 4)] =
				in[l]->bf16 ? bf16_float(u) : half_float(u);
			if (i >= 4)
				continue;
			x->b[k + 8 * (i / 2)][g] = in[l]->bf16 ? bf16_float(v) : half_float(v);
			x->c[g + 8 * (i / 2)][k] = in[l]->c[i];
		}
}
static void do_mma(const mma_in **in, mma_out **out)
{
	matrices x;

	emu_tick(EMU_MMA, 1);
	load_fragments(&x, in);
	for (int row = 0; row < 16; row++)
		if (!emu_mma_cuts())
			sum_double(&x, row);
		else
			for (int col = 0; col < 8; col++)
				x.d[row][col] = sum_cut(&x, row, col);
	for (int l = 0; l < EMU_WARP; l++)
		for (int i = 0; i < 4; i++)
			out[l]->d[i] = (float)x.d[l / 4 + 8 * (i / 2)][l % 4 * 2 + i % 2];
}
void emu_mma(float d[4], const uint32_t a[4], const uint32_t b[2], int bf16)
{
	mma_in in = {
		{ a[0], a[1], a[2], a[3] }, { b[0], b[1] }, { d[0], d[1], d[2], d[3] }, bf16
	};
	mma_out o = emu_warp<mma_in, mma_out>(bf16 ? "mma.bf16" : "mma.f16", ~0u, in, do_mma);

	memcpy(d, o.d, sizeof o.d);
}
struct s8_in {
	uint32_t a[4], b[2];
	int c[4], k;
};
struct s8_out {
	int d[4];
};
/* a 16 x k: register 0 row g, 1 row g + 8, 2 and 3 the same at k + 16; b k x 8: register 0, 1 k +
 * 16.  Sums are below 2^24, so exact in float. */
static void do_mma_s8(const s8_in **in, s8_out **out)
{
	float a[16][32];
	alignas(16) float b[32][8], d[16][8];
	int n = in[0]->k;

	emu_tick(EMU_MMA, 1);
	for (int l = 0; l < EMU_WARP; l++)
		for (int i = 0; i < n / 2; i++) {
			int g = l / 4, r = i / 4, k = l % 4 * 4 + i % 4; /* r: register */

			a[g + r % 2 * 8][k + r / 2 * 16] = (int8_t)(in[l]->a[r] >> 8 * (i % 4));
			if (i < n / 4)
				b[k + r * 16][g] = (int8_t)(in[l]->b[r] >> 8 * (i % 4));
		}
	for (int row = 0; row < 16; row++) {
		floats s0 = { 0 }, s1 = { 0 };

		for (int k = 0; k < n; k++) {
			s0 += a[row][k] * ((const floats *)b[k])[0];
			s1 += a[row][k] * ((const floats *)b[k])[1];
		}
		((floats *)d[row])[0] = s0;
		((floats *)d[row])[1] = s1;
	}
	for (int l = 0; l < EMU_WARP; l++)
		for (int i = 0; i < 4; i++) {
			int v = (int)d[l / 4 + 8 * (i / 2)][l % 4 * 2 + i % 2];

			out[l]->d[i] = (int)((unsigned)in[l]->c[i] + (unsigned)v);
		}
}
void emu_mma_s8(int d[4], const uint32_t *a, const uint32_t *b, int k)
{
	s8_in in = { { a[0], a[1], 0, 0 }, { b[0], 0 }, { d[0], d[1], d[2], d[3] }, k };
	s8_out o;

	if (k == 32) {
		in.a[2] = a[2];
		in.a[3] = a[3];
		in.b[1] = b[1];
	}
	o = emu_warp<s8_in, s8_out>(k == 32 ? "mma.s8.k32" : "mma.s8.k16", ~0u, in, do_mma_s8);
	memcpy(d, o.d, sizeof o.d);
}
