/* type/block.h - the blocks of all types as stored in files, and functions that the type files
 * share: unaligned fields, sub-scales of the K types.  The file of each type draws its block and
 * explains the fields.
 * Block structs consist of bytes only, so a pointer to one may have any alignment. */
#ifndef TYPE_BLOCK_H
#define TYPE_BLOCK_H
#include <assert.h>
#include <stddef.h>
#include "base/num.h"
#include "type/type.h"

struct q4_0    { uint8_t d[2], qs[16]; };
struct q4_1    { uint8_t d[2], m[2], qs[16]; };
struct q5_0    { uint8_t d[2], qh[4], qs[16]; };
struct q5_1    { uint8_t d[2], m[2], qh[4], qs[16]; };
struct q8_0    { uint8_t d[2]; int8_t q[32]; };
struct q8_1    { uint8_t d[2], s[2]; int8_t q[32]; };
struct q8_k    { uint8_t d[4]; int8_t q[256]; uint8_t sums[32]; };
struct q2_k    { uint8_t scales[16], qs[64], d[2], dmin[2]; };
struct q3_k    { uint8_t hmask[32], qs[64], sc[12], d[2]; };
struct q4_k    { uint8_t d[2], dmin[2], sc[12], qs[128]; };
struct q5_k    { uint8_t d[2], dmin[2], sc[12], qh[32], qs[128]; };
struct q6_k    { uint8_t ql[128], qh[64]; int8_t sc[16]; uint8_t d[2]; };
struct iq2_xxs { uint8_t d[2], qs[64]; };
struct iq2_xs  { uint8_t d[2], q[64], sc[8]; };
struct iq2_s   { uint8_t d[2], qs[32], signs[32], qh[8], sc[8]; };
struct iq3_xxs { uint8_t d[2], qs[64], aux[32]; };
struct iq3_s   { uint8_t d[2], qs[64], qh[8], signs[32], sc[4]; };
struct iq1_s   { uint8_t d[2], qs[32], qh[16]; };
struct iq1_m   { uint8_t qs[32], qh[16], sc[8]; };
struct iq4_nl  { uint8_t d[2], qs[16]; };
struct iq4_xs  { uint8_t d[2], sh[2], sl[4], qs[128]; };
struct tq1_0   { uint8_t qs[48], qh[4], d[2]; };
struct tq2_0   { uint8_t qs[64], d[2]; };
struct mxfp4   { uint8_t e, qs[16]; };
struct nvfp4   { uint8_t d[4], qs[32]; };
struct q1_0    { uint8_t d[2], qs[16]; };
struct q2_0    { uint8_t d[2], qs[16]; };
struct q4_f    { uint8_t d[4], m[4], qs[32]; };
struct q8_f    { uint8_t d[4], m[4]; int8_t q[64]; };
struct f8_e4m3 { uint8_t d[4], q[64]; };
struct nf4     { uint8_t d[4], qs[32]; };
struct nvfp4_f { uint8_t d[4], s[4], qs[32]; };

/* X(TYPE, struct, elements, bytes), in the order of enum infer_type */
#define BLOCK_LIST(X) \
	X(Q4_0, q4_0, 32, 18) \
	X(Q4_1, q4_1, 32, 20) \
	X(Q5_0, q5_0, 32, 22) \
	X(Q5_1, q5_1, 32, 24) \
	X(Q8_0, q8_0, 32, 34) \
	X(Q8_1, q8_1, 32, 36) \
	X(Q8_K, q8_k, 256, 292) \
	X(Q2_K, q2_k, 256, 84) \
	X(Q3_K, q3_k, 256, 110) \
	X(Q4_K, q4_k, 256, 144) \
	X(Q5_K, q5_k, 256, 176) \
	X(Q6_K, q6_k, 256, 210) \
	X(IQ2_XXS, iq2_xxs, 256, 66) \
	X(IQ2_XS, iq2_xs, 256, 74) \
	X(IQ2_S, iq2_s, 256, 82) \
	X(IQ3_XXS, iq3_xxs, 256, 98) \
	X(IQ3_S, iq3_s, 256, 110) \
	X(IQ1_S, iq1_s, 256, 50) \
	X(IQ1_M, iq1_m, 256, 56) \
	X(IQ4_NL, iq4_nl, 32, 18) \
	X(IQ4_XS, iq4_xs, 256, 136) \
	X(TQ1_0, tq1_0, 256, 54) \
	X(TQ2_0, tq2_0, 256, 66) \
	X(MXFP4, mxfp4, 32, 17) \
	X(NVFP4, nvfp4, 64, 36) \
	X(Q1_0, q1_0, 128, 18) \
	X(Q2_0, q2_0, 64, 18) \
	X(Q4_F, q4_f, 64, 40) \
	X(Q8_F, q8_f, 64, 72) \
	X(F8_E4M3, f8_e4m3, 64, 68) \
	X(NF4, nf4, 64, 36) \
	X(NVFP4_F, nvfp4_f, 64, 40)
#define X(TYPE, name, elements, bytes) static_assert(sizeof(struct name) == bytes, "no padding");
BLOCK_LIST(X)
#undef X

/* Return the bytes of a block.  A type without a case does not compile (-Werror=switch). */
static inline int block_bytes(enum infer_type t)
{
	switch (t) {
#define X(TYPE, name, elements, bytes) case INFER_##TYPE: return bytes;
	BLOCK_LIST(X)
#undef X
	case INFER_I8: return 1;
	case INFER_F16: case INFER_BF16: case INFER_I16: return 2;
	case INFER_F32: case INFER_I32: return 4;
	case INFER_F64: case INFER_I64: return 8;
	case INFER_TYPE_COUNT: break;
	}
	__builtin_unreachable();
}

static inline float block_f16(const uint8_t at[2]) { return num_f16(num_u16(at)); }
static inline float block_f32(const uint8_t at[4]) { return num_float(num_u32(at)); }
static inline int block_f32_bad(const uint8_t at[4]) { return (num_u32(at) & 0x7f800000) == 0x7f800000; }

/* Codes 0 ... 15 in 16 bytes: element i < 16 in the low half of byte i, element i >= 16 in the high half of byte i - 16. */
static inline int block_nibble(const uint8_t *qs, int i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }

/* Codes 0 ... 15 in 32 bytes: element i < 32 in the low half of byte i, element i >= 32 in the high half of byte i - 32. */
static inline int block_nibble64(const uint8_t *qs, int i) { return i < 32 ? qs[i] & 15 : qs[i - 32] >> 4; }

/* F8_E4M3: converted through an F16, whose exponent bias is 8 more. */
static inline float block_e4m3(int q) { return num_f16((uint16_t)((q & 0x80) << 8 | (q & 0x7f) << 7)) * 256; }

/* NVFP4 and NVFP4_F: half of an unsigned E4M3 scale.  The codes 0 and 0x7f are 0. */
static inline float block_half_e4m3(int x)
{
	int e = x >> 3 & 15, m = x & 7;

	if (x == 0x7f)
		return 0.0f;
	if (e == 0)
		return (float)m * 0x1p-10f;
	return (float)(8 + m) * num_float((uint32_t)(e + 127 - 7 - 3 - 1) << 23);
}

/* Q4_K and Q5_K: eight 6-bit scales and eight 6-bit minima in 12 bytes; pair k of 32 elements. */
static inline void block_scale_min(const uint8_t sc[12], int k, int *scale, int *min)
{
	if (k < 4) {
		*scale = sc[k] & 63;
		*min = sc[k + 4] & 63;
	} else {
		*scale = (sc[k + 4] & 15) | sc[k - 4] >> 6 << 4;
		*min = sc[k + 4] >> 4 | sc[k] >> 6 << 4;
	}
}

/* Return -1 if bit j of mask m is set, else 1. */
static inline float block_sign(int m, int j) { return m >> j & 1 ? -1.0f : 1.0f; }
#endif
