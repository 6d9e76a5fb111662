/* infer/dims.h - the shape of a model without its weights: from config.json, or from a size class.   floor: plan
 *
 * Any thread. */
#ifndef INFER_DIMS_H
#define INFER_DIMS_H
#include <stddef.h>
#include <stdint.h>
#include <infer/plan.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The dimensions of a decoder.  0: it has no such part. */
struct infer_dims {
	char name[64];
	int32_t layers, embd, heads, kv_heads, head, ff, vocab, ctx;
	int32_t tied; /* 1: the output is the embedding table */
	int32_t experts, used, expert_ff;
	int32_t shared_ff;   /* width of the experts that every token uses, together */
	int32_t shared_gate; /* 1: a matrix of one row weights them */
	int32_t dense;       /* leading layers without experts */
	/* layers that attend to the last `window` positions only */
	int32_t windowed, window;
	/* MLA: ranks of queries (0: full) and of the cache, and head sizes: with and without RoPE, of V */
	int32_t q_rank, kv_rank, rope, nope, v_head;
	int32_t ff_matrices; /* 2: up and down; 3: a gate too */
	int type;            /* enum infer_type, of matrices */
	int expert_type;     /* of matrices of experts; 0 (F32): as type */
};
/* Read the dimensions from the text of a config.json of Hugging Face.  name: for messages.
 * INFER_EFORMAT: malformed, or a member is missing or out of range.
 * INFER_EUNSUP: a kind of model whose shape these dimensions cannot describe.  INFER_ENOMEM */
int infer_dims_config(struct infer_dims *d, const char *text, size_t bytes, const char *name,
                      infer_error *err);
/* Set the dimensions of a usual model of that size: "8B", "0.6B", "30B-A3B" (3 billion active
 * parameters), or of the one with that name: "Llama-3.1-8B", in any case, also with "-Instruct", "-it", "-Chat" or
 * "-Base" after it.  INFER_EINVAL: not a size, or one for which no model is known. */
int infer_dims_class(struct infer_dims *d, const char *size, infer_error *err);
/* True if the text has the form of a size class, or is the name of such a model. */
int infer_dims_is_class(const char *text);
/* Return name i of the usual models; NULL after the last. */
const char *infer_dims_usual(int i);
/* Fill the shape of a model with these dimensions.  INFER_EUNSUP: as infer_shape_of */
int infer_dims_shape(struct infer_shape *s, const struct infer_dims *d, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
