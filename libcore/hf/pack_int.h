/* hf/pack_int.h (private) - integer weights with a scale and a zero point per group of inputs, stored one
 * matrix [in, out] at a time: GPTQ and AWQ.
 *
 *   value = scale (q - zero), q = 0 ... 2^bits - 1
 *
 * They become Q4_0 or Q8_0 if every zero point is 2^(bits - 1) and every scale is a binary16, otherwise Q4_F or Q8_F:
 * value = scale (q - half) + scale (half - zero), which is exact because scales have few bits. */
#ifndef HF_PACK_INT_H
#define HF_PACK_INT_H
#include <string.h>
#include "hf/packed.h"

enum {
	PACK_INT_COLS = 16, /* outputs of a tile */
	PACK_INT_RUN = 32,  /* inputs of a tile */
	PACK_INT_WORDS = 8  /* words of an output in a tile: each 8 codes of 4 bits, or 4 of 8 */
};

/* A stored matrix of GPTQ or AWQ: hf_packed.own. */
struct pack_int {
	int bits;              /* 2, 4 or 8; codes() widens 2 bits to 4 */
	int64_t group, groups; /* a group of `group` inputs has one scale */
	const struct safetensors_tensor *scales;
	int64_t scale_group, scale_out; /* distance in elements from one group to the next, and
	                                 * from one output to the next */
	int plus_one;                   /* 1: zero points are stored minus 1 */
	/* Unpack the codes of inputs run * 32 ... + 31 of outputs out ... out + n - 1, n <= 16: code i of output c is in
	 * words[i / 8][c], 4 bits each from the lowest on, or in words[i / 4][c] if bits is 8. */
	void (*codes)(const struct hf_packed *p, int64_t run, int64_t out, int n,
	              uint32_t words[PACK_INT_WORDS][PACK_INT_COLS]);
	/* Return the zero point of an output in a group, as it is stored. */
	int (*zero)(const struct hf_packed *p, int64_t group, int64_t out);
};

/* Copy the words of n outputs; the other words of the tile keep their values. */
static inline void pack_int_load(uint32_t to[PACK_INT_COLS], const unsigned char *from, int n)
{
	if (n == PACK_INT_COLS)
		memcpy(to, from, PACK_INT_COLS * sizeof *to);
	else
		memcpy(to, from, (size_t)n * sizeof *to);
}

/* Set p->type, p->general and the members for infer-inspect, and check every scale.  The caller has
 * set p->rows, p->cols and p->own, a struct pack_int.  symmetric: the config says that every zero
 * point is 2^(bits - 1).
 * INFER_ENAN: a scale that is not finite; INFER_EFORMAT, INFER_EUNSUP */
int pack_int_open(struct hf_dir *d, struct hf_packed *p, int symmetric, infer_error *err);
/* packing->rows of GPTQ and AWQ. */
void pack_int_rows(const struct hf_packed *p, int64_t mat, int64_t row, int64_t n,
                   unsigned char *to);

/* Pairs of bits and group size of a quantisation config and its overrides. */
enum { PACK_SIZES = 16 };
struct pack_sizes {
	int n;
	struct {
		int bits;
		int64_t group; /* group size; -1: all inputs */
	} at[PACK_SIZES];
};
/* Add a pair unless s has it.  INFER_EUNSUP: too many pairs */
int pack_sizes_add(struct hf_dir *d, struct pack_sizes *s, int bits, int64_t group,
                   infer_error *err);
/* Set g->group from p->cols, g->groups and g->bits.  t: tensor for messages.
 * INFER_EFORMAT: the config has no such pair of bits and group size */
int pack_sizes_find(const struct hf_dir *d, const struct pack_sizes *s, const struct hf_packed *p,
                    const struct safetensors_tensor *t, struct pack_int *g, infer_error *err);
#endif
