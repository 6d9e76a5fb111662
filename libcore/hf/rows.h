/* hf/rows.h - rearrange tensors of a checkpoint into GGUF tensors: slices, stacks, transposes,
 * permutations of rows or columns, and changes of values.
 *
 * Source and result are arrays of matrices.  Row r of a result matrix is row s(r) of the source
 * matrix, or column s(r) if `turned`.  s(r) = first + step * r, unless `how` permutes rows. */
#ifndef HF_ROWS_H
#define HF_ROWS_H
#include <stdatomic.h>
#include "arch/tensor.h"
#include "file/safetensors.h"

/* Sizes of heads, for transforms that permute rows of heads. */
struct hf_heads {
	int64_t rows;    /* T_PAIRS: rows of a head */
	int64_t k_heads; /* recurrent layers: number of k heads */
	int64_t each;    /* v heads per k head */
	int64_t dk, dv;  /* widths of a k head, of a v head */
};
struct hf_rows {
	struct infer_str name; /* name in GGUF */
	int slot, layer;       /* layer -1: none */
	int type, n_dims;      /* type: enum infer_type of the result */
	int64_t ne[4];
	int64_t cols, rows, mats; /* sizes of the result; cols is 1 for a vector */
	/* [n_from] one tensor with all matrices, or one per matrix (T_STACK; NULL: not found) */
	const struct safetensors_tensor **from;
	int64_t n_from;
	int64_t src_cols, src_rows; /* sizes of a source matrix */
	int64_t first, step;        /* see s(r) above; step 1 or 2 */
	int turned;
	int packed;    /* the source is quantised */
	int64_t zeros; /* zero rows to append to the source's rows */
	enum arch_transform how;
	struct hf_heads heads;
	unsigned char *to;
	const void *const *apart; /* [mats] source matrices; NULL: copied or contiguous */
	int64_t end; /* set by hf_rows_make: pieces of work of this tensor and all before it */
	_Atomic int64_t left; /* unfinished pieces of this tensor */
};
/* Return a pointer to matrix i in the source, or NULL if the matrix must be copied: its rows,
 * values or type change, or it is not aligned. */
const unsigned char *hf_rows_matrix(const struct hf_rows *h, int64_t i);
/* Return a pointer to the whole tensor in the source; NULL: copied or not contiguous. */
const unsigned char *hf_rows_in_place(const struct hf_rows *h);
/* Return the enum infer_type for weights of a dtype; -1: not supported (integers, F64). */
int hf_type_of(int dtype);
/* Return the enum infer_type of the source. */
int hf_source_type(const struct safetensors_tensor *t);
/* Return the bytes of a row of the result. */
size_t hf_rows_row_bytes(const struct hf_rows *h);
/* Copy n tensors into their .to, on several threads if they are large, and report the bytes written
 * to w.  Each source must be in the mapping of a file: the pages that were read are unmapped
 * (madvise).  INFER_ENOMEM */
int hf_rows_make(struct hf_rows *const *h, int64_t n, const struct infer_watch *w,
                 infer_error *err);

/* True if the transform permutes rows or columns. */
int hf_rows_permutes(enum arch_transform how);
/* Return s(r). */
int64_t hf_rows_source(const struct hf_rows *h, int64_t r);
/* Return the source row (or column) of row r of T_TILED: v head k + k_heads * v of the result is v
 * head k * each + v of the source. */
int64_t hf_rows_untile(const struct hf_heads *h, int64_t r, int64_t dv);
/* rows_packed.c: return the bytes of scratch for n rows; 0: the source is not quantised. */
size_t hf_rows_packed_scratch(const struct hf_rows *h, int64_t n);
/* rows_packed.c: copy rows row ... row + n - 1 of matrix mat of a quantised source; h->turned
 * requires all rows. */
void hf_rows_packed(const struct hf_rows *h, int64_t mat, int64_t row, int64_t n, unsigned char *to,
                    unsigned char *scratch);
#endif
