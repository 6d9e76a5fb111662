/* type/type.h - one const row per element type; the scalar decoders here are what every kernel is measured against. */
#ifndef TYPE_TYPE_H
#define TYPE_TYPE_H
#include <infer/type.h>

struct type {
	struct infer_type_info info;
	void (*decode)(float *dst, const void *src, size_t blocks);   /* f32 [blocks * block] from src, any alignment */
};

const struct type *type_get(int type);                /* NULL outside the enum */
size_t type_row_bytes(int type, int64_t n);           /* n a multiple of the block, checked by the caller */
#endif
