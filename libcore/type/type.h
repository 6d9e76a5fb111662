/* type/type.h - one const row per element type; the scalar decoders here are the truth that every
 * kernel is measured against. */
#ifndef TYPE_TYPE_H
#define TYPE_TYPE_H
#include <infer/type.h>

/* How values are encoded: bits of `how`.  Registers that the processor lacks are not used either. */
enum {
	/* scales follow from the range of the values alone, nothing is searched, and importances
	 * do not count */
	ENCODE_PLAIN = 1,
	ENCODE_128 = 2, /* registers of at most 128 bits */
	ENCODE_256 = 4, /* registers of at most 256 bits */
};

struct type {
	struct infer_type_info info;
	/* f32 [blocks * block] from src, any alignment */
	void (*decode)(float *dst, const void *src, size_t blocks);
	/* Codes for blocks * block finite values of src; dst any alignment, not overlapping src.
	 * importance  f32 [blocks * block], finite, >= 0: what a squared error of each value costs;
	 *             NULL: 1 for all
	 * how         ENCODE_PLAIN and others
	 * The same bytes on every machine and in registers of every width, whether block by block or
	 * all at once.  NULL: no encoder.  Any thread. */
	void (*encode)(void *dst, const float *src, const float *importance, size_t blocks,
	               int how);
	/* Give elements i ... i + unit - 1 of a block the codes nearest to x f32 [unit] while all its
	 * scales stay; x becomes what they stand for.  w f32 [unit], > 0: what a squared error of
	 * each costs.  i is a multiple of unit: 1, or the elements whose codes depend on each
	 * other.  NULL: no such function.  Any thread. */
	int unit;
	void (*round)(void *block, int i, float *x, const float *w);
	/* Where a block has floats, to look for weights that are not finite: n_f16 f16 fields at
	 * these byte offsets, or a function of the type that returns the index of the first byte
	 * of the first bad float, SIZE_MAX if there is none.  Neither: a type without floats. */
	int n_f16;
	uint16_t f16[2];
	size_t (*bad)(const void *src, size_t blocks);
	/* Multiply the scales of a block.  NULL: they are the n_f16 fields. */
	void (*rescale)(void *block, double by);
	int raised; /* encode raises the scales itself: type_encode leaves them */
};

#define TYPE(x) extern const struct type type_##x;
#include "type/type_list.h"
#undef TYPE

const struct type *type_get(int type); /* NULL outside the enum */
/* How many vectors of four floats the registers hold that `how` allows: 1, 2 or 4. */
int type_width(int how);
/* Write the codes of encode, then remove the bias of the scales in types of less than 4.5 bits: the
 * weighted regression of a block's values on src gets the slope 1 (unbias.c).  With ENCODE_PLAIN the
 * scales stay. */
void type_encode(int type, void *dst, const float *src, const float *importance, size_t blocks,
                 int how);
size_t type_row_bytes(int type, int64_t n); /* n a multiple of the block, checked by the caller */
/* Byte of the first float in src that is infinite or NaN, SIZE_MAX if all are finite.  n elements,
 * whole blocks. */
size_t type_find_bad(int type, const void *src, size_t n);
#endif
