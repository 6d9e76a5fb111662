/* infer/gptq.h - rounding that makes up for its errors (GPTQ).   floor: quant
 *
 * Frantar and others, 2022, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
 * Transformers".
 *
 * A weight matrix W is rounded column by column, and what each column loses is taken off the columns
 * that are still to come, so that the products W x lose least over the rows x of a text.  That takes
 * the Hessian of each matrix, the sum of x x': infer_quant_write has the engine read the text,
 * several times where all Hessians together need too much memory.  Only matrices of layers are
 * rounded so; an input of more than 8192 columns is cut into parts that do not make up for each
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

/* Linear algebra of the caller, on one thread: the lower triangle of a, n x n, row by row; what is
 * above it is neither read nor kept. */
struct infer_solver {
	/* What the bits of the results depend on besides their input; static, 1 ... 63 bytes. */
	const char *core;
	/* a = L L': L in the place of a.  Nonzero: a is not positive definite. */
	int (*factor)(double *a, int n);
	/* The inverse of L in its place.  Nonzero: it has none. */
	int (*invert)(double *a, int n);
};

typedef struct infer_gptq infer_gptq;

/* solver: copied.  INFER_ENOMEM */
int infer_gptq_new(infer_gptq **out, const struct infer_solver *solver, infer_error *err);
void infer_gptq_free(infer_gptq *g); /* NULL is fine */
/* The observer to open the engine with; g must outlive the engine.  The engine should have no
 * prefix cache: tokens that come from the cache are not computed. */
struct infer_observer infer_gptq_observer(infer_gptq *g);

/* What is read, as infer/eval.h cuts it into windows; all of it is borrowed. */
struct infer_gptq_text {
	const infer_model *model; /* of the file that is quantised */
	infer_engine *engine;     /* opened with the observer */
	const int32_t *ids;
	size_t n_ids;
	const char *sha256; /* of the bytes that ids are of, in hex, for recipes; NULL: not known */
	/* of the files that these bytes come from, for certificates; NULL: as above */
	const char *files_sha256;
	int32_t window; /* 0: 512 */
	/* what is added to the diagonal of a Hessian, of its mean; 0: 0.01 */
	double damping;
	uint64_t most_bytes; /* of Hessians at a time; one is always there.  0: 512 MiB */
	infer_log_fn *log;   /* is told of passes over the text; may be NULL */
	void *log_user;
};
/* Give it the text, and see which matrices read what.
 * INFER_EINVAL  the text is shorter than a window; INFER_ENOMEM; errors of the engine */
int infer_gptq_read(infer_gptq *g, const struct infer_gptq_text *t, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
