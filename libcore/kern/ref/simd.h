/* kern/ref/simd.h - the vector operations of tmpl/ in plain C: a vector has 16 lanes on every machine.
 * Every simd.h defines the same operations, with the same result in each lane. */
#ifndef KERN_REF_SIMD_H
#define KERN_REF_SIMD_H
#include <stdint.h>
#include <math.h>
#include "base/num.h"
#include "kern/tmpl/decl.h"

typedef struct {
	float of[16];
} vf;
typedef struct {
	int32_t of[16];
} vi; /* also a mask: -1 or 0 in each lane */
enum { MM_R = 1, MM_T = 1, MM_W = 1, MM_PANEL = 16 };

/* body of a function: lane i of the result is the expression e of x_, y_, z_, lane i of the
 * arguments */
#define EACH(type, e) \
	{ \
		type r_; \
		for (int i = 0; i < 16; i++) \
			r_.of[i] = (e); \
		return r_; \
	}
#define x_ (x.of[i])
#define y_ (y.of[i])
#define z_ (z.of[i])

static inline vf v_set(float x) EACH(vf, x) static inline vf v_load(const float *p)
	EACH(vf, p[i]) static inline vf v_load_h(const uint16_t *p)
		EACH(vf, num_f16(p[i])) static inline vf v_load_b(const uint16_t *p)
			EACH(vf, num_bf16(p[i]))
	/* load the first n lanes, 0 <= n <= 16; the other lanes are +0, and their memory is not
	 * read */
	static inline vf v_loadn(const float *p, int n) EACH(vf, i < n ? p[i] : 0) static inline vf
	v_loadn_h(const uint16_t *p, int n) EACH(vf, i < n ? num_f16(p[i]) : 0) static inline vf
	v_loadn_b(const uint16_t *p, int n)
		EACH(vf, i < n ? num_bf16(p[i]) : 0) static inline void v_storen(float *p, vf x,
                                                                                 int n)
{
	for (int i = 0; i < n; i++)
		p[i] = x_;
}
static inline void v_storen_h(uint16_t *p, vf x, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = num_to_f16(x_);
}
static inline void v_store(float *p, vf x) { v_storen(p, x, 16); }

static inline vf v_add(vf x, vf y) EACH(vf, x_ + y_) static inline vf v_sub(vf x, vf y)
	EACH(vf, x_ - y_) static inline vf v_mul(vf x, vf y) EACH(vf, x_ *y_) static inline vf
	v_div(vf x, vf y) EACH(vf, x_ / y_) static inline vf v_fma(vf x, vf y, vf z)
		EACH(vf, fmaf(x_, y_, z_))
	/* the larger; y if either is NaN or both are zero */
	static inline vf v_max(vf x, vf y) EACH(vf, x_ > y_ ? x_ : y_) static inline vf
	v_min(vf x, vf y) EACH(vf, x_ < y_ ? x_ : y_)
	/* the first n lanes of x, the other lanes of y; n may be negative or exceed 16 */
	static inline vf v_keep(int n, vf x, vf y) EACH(vf, i < n ? x_ : y_)

		static inline vi v_bits(vf x) EACH(vi, (int32_t)num_bits(x_)) static inline vf
	v_from(vi x) EACH(vf, num_float((uint32_t)x_)) static inline vi
	vi_set(int32_t x) EACH(vi, x) static inline vi vi_add(vi x, vi y)
		EACH(vi, (int32_t)((uint32_t)x_ + (uint32_t)y_)) static inline vi vi_sub(vi x, vi y)
			EACH(vi, (int32_t)((uint32_t)x_ - (uint32_t)y_)) static inline vi
	vi_and(vi x, vi y) EACH(vi, x_ &y_) static inline vi vi_or(vi x, vi y)
		EACH(vi, x_ | y_) static inline vi vi_shl23(vi x)
			EACH(vi, (int32_t)((uint32_t)x_ << 23)) static inline vi vi_sar1(vi x)
				EACH(vi, x_ >> 1) static inline vi
	vi_shr4(vi x) EACH(vi, (int32_t)((uint32_t)x_ >> 4)) static inline vi vi_shr8(vi x)
		EACH(vi, (int32_t)((uint32_t)x_ >> 8)) static inline vi vi_max(vi x, vi y)
			EACH(vi, x_ > y_ ? x_ : y_) static inline vf v_int(vi x) EACH(vf, (float)x_)
	/* load 64 bytes: each lane is a little-endian number of four bytes */
	static inline vi vi_load(const void *p)
{
	const uint8_t *b = p;

	EACH(vi, (int32_t)((uint32_t)b[4 * i] | (uint32_t)b[4 * i + 1] << 8 |
	                   (uint32_t)b[4 * i + 2] << 16 | (uint32_t)b[4 * i + 3] << 24))
}
/* |x| < 2^15 */
static inline void vi_store_s16(int16_t *p, vi x)
{
	for (int i = 0; i < 16; i++)
		p[i] = (int16_t)x_;
}
/* x + the two products of the signed 16-bit halves of y and z, modulo 2^32 */
static inline vi vi_mac16(vi x, vi y, vi z)
	EACH(vi, (int32_t)((uint32_t)x_ + (uint32_t)((int16_t)y_ * (int16_t)z_) +
                           (uint32_t)((y_ >> 16) * (z_ >> 16))))
	/* v_lt: the mask of x < y; v_pick: x in the lanes of a mask, y in the others */
	static inline vi v_lt(vf x, vf y) EACH(vi, -(x_ < y_)) static inline vf
	v_pick(vi m, vf x, vf y) EACH(vf, m.of[i] ? x_ : y_)

		static inline float v_sum(vf x)
{
	return kern_sum16(x.of);
}
static inline void v_sum4(float s[4], vf a, vf b, vf c, vf d)
{
	s[0] = v_sum(a);
	s[1] = v_sum(b);
	s[2] = v_sum(c);
	s[3] = v_sum(d);
}
static inline float v_hmax(vf x)
{
	float m = x.of[0];

	for (int i = 1; i < 16; i++)
		m = x_ > m ? x_ : m;
	return m;
}
static inline int32_t vi_hmax(vi x)
{
	int32_t m = x.of[0];

	for (int i = 1; i < 16; i++)
		m = x_ > m ? x_ : m;
	return m;
}
/* prefetch to L1; to L2 if the data is read much later */
static inline void v_prefetch(const void *p) { (void)p; }
static inline void v_prefetch_far(const void *p) { (void)p; }
#undef EACH
#undef x_
#undef y_
#undef z_
#endif
