/* hf/rows.h (private) - a tensor made from tensors of a checkpoint: which element of which is which of
 * its elements, and how its value changes.
 *
 * Source and result are sequences of matrices.  Row r of a matrix of the result is row
 * first + step * hf_source(r) of the source's matrix or, if it is turned, that column. */
#ifndef HF_ROWS_H
#define HF_ROWS_H
#include <stdatomic.h>
#include "arch/tensor.h"
#include "file/safetensors.h"

/* how rows of heads are permuted */
struct hf_heads {
	int64_t rows;    /* T_PAIRS: rows of a head */
	int64_t k_heads; /* of recurrent layers: heads of k, heads of v for each, widths */
	int64_t each, dk, dv;
};
struct hf_rows {
	struct infer_str name; /* of GGUF */
	int slot, layer;       /* -1: of no layer */
	int type, n_dims;      /* enum infer_type */
	int64_t ne[4];
	int64_t cols, rows, mats; /* ne as matrices; cols is 1 for a vector */
	/* a tensor with all matrices, or n of which each is one; NULL: not yet found */
	const struct safetensors_tensor **from;
	int64_t n_from;
	int64_t src_cols, src_rows; /* of a matrix */
	int64_t first, step;        /* step 1 or 2 */
	int turned;
	int64_t zeros; /* rows of 0 after those of the source */
	enum arch_transform how;
	struct hf_heads heads;
	unsigned char *to;
	const void *const
		*apart;       /* [mats] matrices that are used where they are; NULL: to be copied */
	int64_t end;          /* of hf_rows_make: pieces of work up to its last */
	_Atomic int64_t left; /* and those of its own that are not done */
};
/* Where matrix i is in the source, if it is one as it is; else NULL. */
const unsigned char *hf_rows_matrix(const struct hf_rows *h, int64_t i);
/* The same of the whole tensor. */
const unsigned char *hf_rows_in_place(const struct hf_rows *h);
/* enum infer_type that holds every value of a dtype; -1: none, an integer or F64 */
int hf_type_of(int dtype);
/* Compute n tensors into their .to, on several cores if there is much to do.  Sources are in mappings of
 * files: their pages are dropped. */
void hf_rows_make(struct hf_rows *const *h, int64_t n);
#endif
