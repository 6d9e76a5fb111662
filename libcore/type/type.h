/* type/type.h - struct type, one constant per element type.  Its scalar decoder is the reference
 * that every kernel is compared with. */
#ifndef TYPE_TYPE_H
#define TYPE_TYPE_H
#include <infer/type.h>

/* Bits of `how`, the options of an encoder.  Registers that the processor lacks are never used. */
enum {
	/* no search: scales are computed from the range of the values, importances are ignored */
	ENCODE_PLAIN = 1,
	ENCODE_128 = 2, /* registers of at most 128 bits */
	ENCODE_256 = 4, /* registers of at most 256 bits */
};

struct type {
	struct infer_type_info info;
	/* Decode blocks to dst f32 [blocks * block].  src: any alignment */
	void (*decode)(float *dst, const void *src, size_t blocks);
	/* Encode blocks * block finite values of src.  dst: any alignment, not overlapping src
	 * importance  f32 [blocks * block], finite, >= 0: weight of the squared error of each
	 * value;
	 *             NULL: 1 for all
	 * how         ENCODE_PLAIN and others
	 * The bytes are the same on every machine, in registers of every width, and whether blocks
	 * are encoded one by one or all at once.  NULL: no encoder.  Any thread. */
	void (*encode)(void *dst, const float *src, const float *importance, size_t blocks,
	               int how);
	/* Round elements i ... i + unit - 1 of a block to the codes nearest to x f32 [unit], with
	 * all scales fixed.  x is replaced by the values of the codes.  w f32 [unit], > 0: weights
	 * of the squared errors.  i is a multiple of unit: 1, or the number of elements whose codes
	 * depend on each other.  NULL: not supported.  Any thread. */
	int unit;
	void (*round)(void *block, int i, float *x, const float *w);
	/* Positions of floats in a block, to find weights that are not finite: n_f16 f16 fields at
	 * these byte offsets, or `bad`, which returns the index of the first byte of the first bad
	 * float, SIZE_MAX if there is none.  n_f16 0 and bad NULL: a type without floats. */
	int n_f16;
	uint16_t f16[2];
	size_t (*bad)(const void *src, size_t blocks);
	/* Multiply the scales of a block.  NULL: the scales are the n_f16 fields. */
	void (*rescale)(void *block, double by);
	int raised; /* 1: encode removes the bias of its scales, so type_encode does not */
};

#define TYPE(x) extern const struct type type_##x;
#include "type/type_list.h"
#undef TYPE

const struct type *type_get(int type); /* NULL outside the enum */
/* Return the number of vectors of four floats in the registers that `how` allows: 1, 2 or 4. */
int type_width(int how);
/* Encode.  For types below 4.5 bits, then remove the bias of the scales: the weighted regression of
 * a block's values on src gets the slope 1 (unbias.c).  With ENCODE_PLAIN the scales are not
 * corrected. */
void type_encode(int type, void *dst, const float *src, const float *importance, size_t blocks,
                 int how);
size_t type_row_bytes(int type, int64_t n); /* bytes of n elements; n: a multiple of the block */
/* Return the byte offset of the first float in src that is infinite or NaN, SIZE_MAX if all are
 * finite.  n: number of elements, a multiple of the block. */
size_t type_find_bad(int type, const void *src, size_t n);
#endif
