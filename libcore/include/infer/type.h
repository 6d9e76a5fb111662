/* infer/type.h - element types of tensors.   floor: type
 *
 * type/type_list.h has one row per type.  The enum is dense and independent of GGUF; each row
 * contains the GGUF id. */
#ifndef INFER_TYPE_H
#define INFER_TYPE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum infer_type {
	INFER_F32,
	INFER_F16,
	INFER_BF16,
	INFER_F64,
	INFER_I8,
	INFER_I16,
	INFER_I32,
	INFER_I64,
	INFER_Q4_0,
	INFER_Q4_1,
	INFER_Q5_0,
	INFER_Q5_1,
	INFER_Q8_0,
	INFER_Q8_1,
	INFER_Q8_K,
	INFER_Q2_K,
	INFER_Q3_K,
	INFER_Q4_K,
	INFER_Q5_K,
	INFER_Q6_K,
	INFER_IQ2_XXS,
	INFER_IQ2_XS,
	INFER_IQ2_S,
	INFER_IQ3_XXS,
	INFER_IQ3_S,
	INFER_IQ1_S,
	INFER_IQ1_M,
	INFER_IQ4_NL,
	INFER_IQ4_XS,
	INFER_TQ1_0,
	INFER_TQ2_0,
	INFER_MXFP4,
	INFER_NVFP4,
	INFER_Q1_0,
	INFER_Q2_0,
	/* types of checkpoints quantised by other libraries (libcore/hf); GGUF has no ids for them
	 * */
	INFER_Q4_F,
	INFER_Q8_F,
	INFER_F8_E4M3,
	INFER_NF4,
	INFER_NVFP4_F,
	INFER_TYPE_COUNT
};

struct infer_type_info {
	const char *name; /* "Q4_K" */
	int gguf_id;      /* the id in GGUF files (ggml_type), or 1001 and more */
	int block;        /* elements per block, at least 1 */
	int block_bytes;
	/* 1: a type of activations (Q8_1, Q8_K) that no supported model has as a weight */
	int file_only;
};

/* Return the description of an enum infer_type; NULL for other values.  Static.  Any thread. */
const struct infer_type_info *infer_type_info(int type);
/* Return the enum infer_type of a GGUF id, or -1.  Any thread. */
int infer_type_from_gguf(uint32_t gguf_id);

/* Convert n elements of any type to f32, exactly as the format defines (integers and F64 are
 * rounded to nearest).  Any thread.
 * dst: f32 [n], not overlapping src.  src: n / block blocks, any alignment.
 * INFER_EINVAL: unknown type, or n is not a multiple of its block. */
int infer_type_decode(int type, float *dst, const void *src, size_t n, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
