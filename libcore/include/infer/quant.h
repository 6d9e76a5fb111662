/* infer/quant.h - a model file written again in other element types.   floor: quant
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
	/* "PATTERN=TYPE" [n_keep]: tensors of that type, whatever the mix says.  A regular
	 * expression of Perl that matches a part of the name; the first that matches counts. */
	const char *const *keep;
	size_t n_keep;
	const char *imatrix;  /* path of an importance matrix; NULL: none, or the recipe's */
	uint64_t shard_bytes; /* most bytes of a file, where the tensors allow it; 0: one file */
	/* 1: a tensor may lack the importances that its type needs, since nothing is written */
	int dry;
	int note;   /* 1: keys infer.quant.* say how the file was made */
	int verify; /* 1: what was written is read again and compared */
	int zstd;   /* 1 ... 22: compressed with that level; 0: not */
	/* instead of type and keep; borrowed until infer_quant_free; NULL: none.  imatrix then says
	 * where the matrix of the recipe lies */
	const infer_recipe *recipe;
	/* with type: "search", "rtn": no search, scales follow from the range of the values, or
	 * "gptq"; NULL: search, or gptq where there is one */
	const char *method;
	const char *isa; /* as in struct infer_engine_opts; the bytes are the same */
	/* For the method gptq, of the recipe too: matrices that it knows are rounded so, to types of
	 * up to 5 bits; it has read the text.  Borrowed until infer_quant_free. */
	infer_gptq *gptq;
};

typedef struct infer_quant infer_quant;

/* Decide everything.  in: borrowed until infer_quant_free.
 * INFER_EINVAL   an unknown type, a pattern that is malformed or matches no tensor, importances
 *                that a type needs and that are missing, a type that weights never have, one of
 *                more than 5 bits with GPTQ
 * INFER_EUNSUP   a layer that a name does not say, more files than a name can count, a kernel set
 *                that is not here
 * INFER_EIO, INFER_EFORMAT  the importance matrix, or keys of the model; what a recipe says that
 *                is wrong for this model
 * INFER_ENOMEM */
int infer_quant_new(infer_quant **out, const infer_file *in, const struct infer_quant_opts *o,
                    infer_error *err);
void infer_quant_free(infer_quant *q); /* NULL is fine */

/* The recipe of all this as a text that infer_recipe_read takes: the same text for the same recipe,
 * however it was given.  NULL: every tensor is copied as it is. */
const char *infer_quant_recipe(const infer_quant *q);

struct infer_quant_info {
	const char *type; /* of the recipe, as it is spelt; NULL: copied */
	int file_type;    /* general.file_type; -1: as in the input */
	uint64_t n_tensors, n_elements;
	uint64_t in_bytes, out_bytes; /* of the tensors */
	uint64_t file_bytes;          /* of all files */
	int n_shards;
	/* tensors that are encoded; of those: that were quantised before, that got another type
	 * because of their shape, that have no importances although there is a matrix of them */
	uint64_t n_encoded, n_again, n_fallback, n_unweighed;
	int needs_importance; /* 1: tensors lack the importances that their type needs */
	/* with GPTQ: tensors that are rounded so, what the bits depend on besides the files, the
	 * text and the options (struct infer_solver), and the sha256 of the text's tokens and how they
	 * are read, in hex; else 0, NULL, NULL */
	uint64_t n_gptq;
	const char *core, *text;
	const char *method; /* of tensors without a pattern that says another; NULL: copied */
};
void infer_quant_info(const infer_quant *q, struct infer_quant_info *info);

struct infer_quant_tensor {
	const struct infer_tensor *in;
	int type;   /* enum infer_type that it is written in */
	int wanted; /* the same, or the type that its shape does not allow */
	int shard;  /* from 0 */
	uint64_t bytes;
	int weighed; /* 1: importances take part */
	int gptq;    /* 1: rounded by GPTQ */
	int plain;   /* 1: rounded without a search */
	/* after infer_quant_write with verify: the root of the mean squared error, of that of the
	 * values; below 0: not known */
	double error;
};
/* INFER_EINVAL: past the end.  In the order of the file. */
int infer_quant_tensor(const infer_quant *q, uint64_t i, struct infer_quant_tensor *t,
                       infer_error *err);

/* What was written. */
struct infer_quant_result {
	uint64_t resumed_bytes; /* of the tensors of the input that an earlier run had done */
	uint64_t packed_bytes;  /* of the compressed files; 0: they are not */
	int kept;               /* it has failed, and what is there can be continued */
};
/* Write it to path; several files get names like NAME-00001-of-00003.gguf.  Until it is complete and
 * synced, the output is in PATH.part (a compressed file is made of that at the end), and PATH.resume
 * records the progress.  If a run that was stopped has left these, and the input and the options are
 * the same, the run continues there.
 * threads  1 ... 1024
 * w        is told of bytes of the input, on this thread; may be NULL
 * result   filled on failure too
 * INFER_EINVAL  path is the input
 * INFER_ENAN    a weight is not finite; the tensor and the element are named
 * INFER_EIO INFER_ENOMEM */
int infer_quant_write(infer_quant *q, const char *path, int threads, const struct infer_watch *w,
                      struct infer_quant_result *result, infer_error *err);
/* The name of file `no` that infer_quant_write(q, path) writes, NUL-terminated, into out [n].
 * INFER_EINVAL: no such file, or it does not fit */
int infer_quant_path(const infer_quant *q, const char *path, int no, char *out, size_t n,
                     infer_error *err);
/* The names that infer_quant_opts.type may have, and what general.file_type each gives; NULL past
 * the end.  Static. */
const char *infer_quant_name(int i, int *file_type);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
