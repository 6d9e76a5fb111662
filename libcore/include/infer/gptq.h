/* infer/gptq.h - rounding that compensates its errors (GPTQ).   floor: quant
 *
 * Frantar and others, 2022, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
 * Transformers".
 *
 * A weight matrix W is rounded column by column, and the error of each column is subtracted from
 * the columns that follow, so that the products W x change least over the rows x of a text.  That
 * needs the Hessian of each matrix, the sum of x x'.  infer_quant_write lets the engine read the
 * text, several times if all Hessians together need too much memory.  Only matrices of layers are
 * rounded so; an input of more than 8192 columns is split into parts that do not compensate each
 * other.  Confined. */
#ifndef INFER_GPTQ_H
#define INFER_GPTQ_H
#include <stddef.h>
#include <stdint.h>
#include <infer/engine.h>
#include <infer/model.h>
#include <infer/observe.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The caller's linear algebra, on one thread, on the lower triangle of a, [n][n] row by row;
 * elements above it are neither read nor kept. */
struct infer_solver {
	/* identifies the code that the bits of results depend on; static, 1 ... 63 bytes */
	const char *core;
	/* factor a = L L' in place.  Nonzero: a is not positive definite. */
	int (*factor)(double *a, int n);
	/* invert L in place.  Nonzero: it is singular. */
	int (*invert)(double *a, int n);
};

typedef struct infer_gptq infer_gptq;

/* Create a GPTQ state.  solver: copied.  INFER_ENOMEM */
int infer_gptq_new(infer_gptq **out, const struct infer_solver *solver, infer_error *err);
void infer_gptq_free(infer_gptq *g); /* NULL is fine */
/* Return the observer to open the engine with; g must outlive the engine.  Open the engine without
 * a prefix cache: tokens from the cache are not computed. */
struct infer_observer infer_gptq_observer(infer_gptq *g);

/* A text, cut into windows as for infer/eval.h; everything is borrowed until g is freed or reads
 * another text. */
struct infer_gptq_text {
	const infer_model *model; /* the model that is quantised */
	infer_engine *engine;     /* opened with the observer */
	const int32_t *ids;
	size_t n_ids;
	const char *sha256; /* of the bytes that ids encode, in hex, for recipes; NULL: unknown */
	/* hash of the files that contain these bytes, for certificates; NULL: unknown */
	const char *files_sha256;
	int32_t window; /* 0: 512 */
	/* damping: fraction of the mean diagonal added to the diagonal of a Hessian; 0: 0.01 */
	double damping;
	uint64_t most_bytes; /* of Hessians in memory, at least one; 0: 512 MiB */
	infer_log_fn *log;   /* receives passes over the text; may be NULL */
	void *log_user;
};
/* Set the text, and find which matrices have the same inputs.
 * INFER_EINVAL: the text is shorter than a window.  INFER_ENOMEM; errors of the engine. */
int infer_gptq_read(infer_gptq *g, const struct infer_gptq_text *t, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
