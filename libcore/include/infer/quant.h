/* infer/quant.h - quantise: write a model file again in other element types.   floor: quant
 *
 * infer_quant_new decides the type of each tensor, from the headers alone; infer_quant_write writes
 * the file with several threads.  Its bytes depend only on the input and the options, not on the
 * number of threads.  Confined. */
#ifndef INFER_QUANT_H
#define INFER_QUANT_H
#include <stddef.h>
#include <stdint.h>
#include <infer/file.h>
#include <infer/gptq.h>
#include <infer/lora.h>
#include <infer/recipe.h>
#include <infer/status.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_quant_opts {
	/* a type ("Q4_K") or a mix ("Q4_K_M"); NULL: every tensor is copied as it is */
	const char *type;
	/* [n_keep] type overrides "PATTERN=TYPE", before the mix.  PATTERN: a Perl regular
	 * expression that matches a part of the tensor's name; the first that matches counts. */
	const char *const *keep;
	size_t n_keep;
	const char *imatrix;  /* path of an importance matrix; NULL: none, or the recipe's */
	uint64_t shard_bytes; /* most bytes of a file, as far as tensors allow; 0: one file */
	/* 1: nothing will be written, so tensors may lack importances that their type needs */
	int dry;
	int note;   /* 1: write keys infer.quant.* about how the file was made */
	int verify; /* 1: read the output again and compare */
	int zstd;   /* 1 ... 22: compress with this level; 0: do not */
	/* instead of type and keep; borrowed until infer_quant_free; NULL: none.  imatrix is then
	 * the path of the recipe's importance matrix */
	const infer_recipe *recipe;
	/* with type: "search"; "rtn": no search, scales follow from the range of the values;
	 * "gptq".
	 * NULL: search, or gptq if `gptq` is set */
	const char *method;
	const char *isa; /* as in infer_engine_opts; the output does not depend on it */
	/* For the method gptq, also of a recipe: after infer_gptq_read.  Rounds the matrices whose
	 * inputs it has measured to types of up to 5 bits.  Borrowed until infer_quant_free. */
	infer_gptq *gptq;
	/* adapters of the model that was opened from `in`, merged into the weights; not with gptq.
	 * One with factor 0 is left out.  Borrowed until infer_quant_free */
	const struct infer_lora_use *loras;
	int32_t n_loras;
};

typedef struct infer_quant infer_quant;

/* Decide the types.  in: borrowed until infer_quant_free.
 * INFER_EINVAL: an unknown type; a pattern that is malformed or matches no tensor; missing
 *               importances that a type needs; a type that weights never have, or with GPTQ one of
 *               more than 5 bits; adapters: one twice, of another model, with GPTQ.
 * INFER_EUNSUP: a tensor name without a layer number; more files than a name can count; a kernel
 *               set that this machine lacks; adapters that replace one tensor, or that change a
 *               tensor whose type is not written or which has a scale or order of its own.
 * INFER_EIO, INFER_EFORMAT: the importance matrix, or keys of the model; a recipe that is wrong for
 *               this model.
 * INFER_ENOMEM */
int infer_quant_new(infer_quant **out, const infer_file *in, const struct infer_quant_opts *o,
                    infer_error *err);
void infer_quant_free(infer_quant *q); /* NULL is fine */

/* Return the recipe of these decisions as a text for infer_recipe_read: the same text for the same
 * recipe, however it was given.  Borrowed from q.  NULL: every tensor is copied. */
const char *infer_quant_recipe(const infer_quant *q);

struct infer_quant_info {
	const char *type; /* canonical name; NULL: tensors are copied */
	int file_type;    /* general.file_type; -1: as in the input */
	uint64_t n_tensors, n_elements;
	uint64_t in_bytes, out_bytes; /* of the tensors */
	uint64_t file_bytes;          /* of all files */
	int n_shards;
	/* tensors that are encoded; of these: n_again quantised in the input, n_fallback of another
	 * type than wanted because of their shape, n_unweighed missing in the importance matrix */
	uint64_t n_encoded, n_again, n_fallback, n_unweighed;
	int needs_importance; /* 1: tensors lack importances that their type needs */
	/* GPTQ: number of tensors it rounds; infer_solver.core; sha256, in hex, of the text's
	 * tokens and of how they are read; else 0, NULL, NULL */
	uint64_t n_gptq;
	const char *core, *text;
	const char *method; /* of tensors without an override by a pattern; NULL: copied */
};
/* Fill *info; its strings are borrowed from q. */
void infer_quant_info(const infer_quant *q, struct infer_quant_info *info);

struct infer_quant_tensor {
	const struct infer_tensor *in;
	int type;   /* enum infer_type to write */
	int wanted; /* the type wanted: `type`, or one that the shape does not allow */
	int shard;  /* from 0 */
	uint64_t bytes;
	int weighed; /* 1: importances are used */
	int gptq;    /* 1: rounded by GPTQ */
	int plain;   /* 1: rounded without a search */
	int merged;  /* 1: an adapter changes it */
	/* after infer_quant_write with verify: root mean square of the error, relative to that of
	 * the values; below 0: unknown */
	double error;
};
/* Get tensor i in the order of the file.  INFER_EINVAL: there is no tensor i. */
int infer_quant_tensor(const infer_quant *q, uint64_t i, struct infer_quant_tensor *t,
                       infer_error *err);

/* The result of writing. */
struct infer_quant_result {
	uint64_t resumed_bytes; /* of input tensors that an earlier run had written */
	uint64_t packed_bytes;  /* of compressed files; 0: not compressed */
	int kept;               /* writing failed, and a later run can continue it */
};
/* Write the model to path; several files get names like NAME-00001-of-00003.gguf.  Until it is
 * complete and synced, the output is in PATH.part (from which a compressed file is made at the
 * end), and PATH.resume records the progress.  If a stopped run left these, and the input and the
 * options are the same, the run continues there.
 * threads: 1 ... 1024.  w (may be NULL): receives bytes of the input, on this thread.  result:
 * filled on failure too.
 * INFER_EINVAL: path is the input, or threads is out of range.
 * INFER_ENAN: a weight is not finite; names the tensor and the element.
 * INFER_EIO INFER_ENOMEM; with GPTQ, errors of the engine */
int infer_quant_write(infer_quant *q, const char *path, int threads, const struct infer_watch *w,
                      struct infer_quant_result *result, infer_error *err);
/* Write the name of file `no` of infer_quant_write(q, path) into out [n], NUL-terminated.
 * INFER_EINVAL: no such file, or it does not fit. */
int infer_quant_path(const infer_quant *q, const char *path, int no, char *out, size_t n,
                     infer_error *err);
/* Return name i that infer_quant_opts.type may have, and its general.file_type (file_type may be
 * NULL); NULL at the end.  Static. */
const char *infer_quant_name(int i, int *file_type);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
