/* kern/ref/simd.h - the vector words of tmpl/ in plain C: a vector is 16 lanes, whatever the machine.
 * Every other simd.h defines the same words; lane by lane they mean what stands here. */
#ifndef KERN_REF_SIMD_H
#define KERN_REF_SIMD_H
#include <stdint.h>
#include <math.h>
#include "base/num.h"
#define KERN_FN(x) kern_ref_##x
#include "kern/tmpl/decl.h"

enum { MM_R = 1, MM_T = 1, MM_W = 1, MM_PANEL = 16 };

typedef struct { float f[16]; } vf;
typedef struct { int32_t i[16]; } vi;      /* also a mask: -1 or 0 a lane */
#define EACH for (int i_ = 0; i_ < 16; i_++)

static inline vf v_set(float x) { vf r; EACH r.f[i_] = x; return r; }
static inline vf v_load(const float *p) { vf r; EACH r.f[i_] = p[i_]; return r; }
static inline void v_store(float *p, vf a) { EACH p[i_] = a.f[i_]; }
/* the first n lanes, 0 <= n <= 16; the others are +0 and no byte of theirs is touched */
static inline vf v_loadn(const float *p, int n) { vf r; EACH r.f[i_] = i_ < n ? p[i_] : 0; return r; }
static inline void v_storen(float *p, vf a, int n) { for (int i = 0; i < n; i++) p[i] = a.f[i]; }
static inline vf v_load_h(const uint16_t *p) { vf r; EACH r.f[i_] = num_f16(p[i_]); return r; }
static inline vf v_loadn_h(const uint16_t *p, int n) { vf r; EACH r.f[i_] = i_ < n ? num_f16(p[i_]) : 0; return r; }
static inline vf v_load_b(const uint16_t *p) { vf r; EACH r.f[i_] = num_bf16(p[i_]); return r; }
static inline vf v_loadn_b(const uint16_t *p, int n) { vf r; EACH r.f[i_] = i_ < n ? num_bf16(p[i_]) : 0; return r; }
static inline void v_storen_h(uint16_t *p, vf a, int n) { for (int i = 0; i < n; i++) p[i] = num_to_f16(a.f[i]); }

static inline vf v_add(vf a, vf b) { EACH a.f[i_] += b.f[i_]; return a; }
static inline vf v_sub(vf a, vf b) { EACH a.f[i_] -= b.f[i_]; return a; }
static inline vf v_mul(vf a, vf b) { EACH a.f[i_] *= b.f[i_]; return a; }
static inline vf v_div(vf a, vf b) { EACH a.f[i_] /= b.f[i_]; return a; }
static inline vf v_fma(vf a, vf b, vf c) { EACH c.f[i_] = fmaf(a.f[i_], b.f[i_], c.f[i_]); return c; }
/* b where either is NaN or both are zero */
static inline vf v_max(vf a, vf b) { EACH b.f[i_] = a.f[i_] > b.f[i_] ? a.f[i_] : b.f[i_]; return b; }
static inline vf v_min(vf a, vf b) { EACH b.f[i_] = a.f[i_] < b.f[i_] ? a.f[i_] : b.f[i_]; return b; }
static inline vf v_keep(int n, vf a, vf b) { EACH a.f[i_] = i_ < n ? a.f[i_] : b.f[i_]; return a; }

static inline vi v_bits(vf a) { vi r; EACH r.i[i_] = (int32_t)num_bits(a.f[i_]); return r; }
static inline vf v_from(vi a) { vf r; EACH r.f[i_] = num_float((uint32_t)a.i[i_]); return r; }
static inline vi vi_set(int32_t x) { vi r; EACH r.i[i_] = x; return r; }
static inline vi vi_add(vi a, vi b) { EACH a.i[i_] = (int32_t)((uint32_t)a.i[i_] + (uint32_t)b.i[i_]); return a; }
static inline vi vi_sub(vi a, vi b) { EACH a.i[i_] = (int32_t)((uint32_t)a.i[i_] - (uint32_t)b.i[i_]); return a; }
static inline vi vi_and(vi a, vi b) { EACH a.i[i_] &= b.i[i_]; return a; }
static inline vi vi_or(vi a, vi b) { EACH a.i[i_] |= b.i[i_]; return a; }
static inline vi vi_shl23(vi a) { EACH a.i[i_] = (int32_t)((uint32_t)a.i[i_] << 23); return a; }
static inline vi vi_sar1(vi a) { EACH a.i[i_] >>= 1; return a; }
static inline vf v_cvt(vi a) { vf r; EACH r.f[i_] = (float)a.i[i_]; return r; }
/* mask ? a : b */
static inline vi v_lt(vf a, vf b) { vi r; EACH r.i[i_] = -(a.f[i_] < b.f[i_]); return r; }
static inline vi v_nan(vf a) { vi r; EACH r.i[i_] = -(a.f[i_] != a.f[i_]); return r; }
static inline vf v_pick(vi m, vf a, vf b) { EACH a.f[i_] = m.i[i_] ? a.f[i_] : b.f[i_]; return a; }

static inline float v_sum(vf a) { return kern_sum16(a.f); }
/* sums of 4 vectors */
static inline void v_sum4(float s[4], vf a, vf b, vf c, vf d) { s[0] = v_sum(a); s[1] = v_sum(b); s[2] = v_sum(c); s[3] = v_sum(d); }
static inline float v_hmax(vf a) { float m = a.f[0]; for (int i = 1; i < 16; i++) m = a.f[i] > m ? a.f[i] : m; return m; }
static inline void v_prefetch(const void *p) { (void)p; }
#undef EACH
#endif
