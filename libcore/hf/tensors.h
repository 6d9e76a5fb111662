/* hf/tensors.h (private) - what the files that turn tensors of a checkpoint into GGUF's share. */
#ifndef HF_TENSORS_H
#define HF_TENSORS_H
#include "hf/hf.h"
#include "hf/rows.h"

/* why a tensor of the checkpoint is left out */
enum hf_leave {
	LEAVE_NOT,
	LEAVE_MEDIA,    /* of a part that sees or hears */
	LEAVE_NEXT,     /* of layers that predict further tokens */
	LEAVE_DERIVED,  /* follows from config.json */
	LEAVE_HEAD,     /* the output is the embedding table, whatever this contains */
	LEAVE_TRAINING, /* heads of the training of an encoder */
	LEAVES
};

/* The tensors of GGUF while they are collected. */
struct hf_making {
	struct hf_dir *d;
	const infer_model *m;             /* its arch and its parameters alone */
	int64_t first_position, n_tokens; /* n_tokens 0: no vocabulary */
	int layers_next;                  /* layers of the checkpoint after the n_layers */
	int ranks;                        /* it has a head that scores texts */
	struct hf_rows **at;              /* [n], in the order of the file */
	int64_t n;
	const void *const **parts; /* [tensors of the file] of struct infer_file */
	struct map map;            /* name of GGUF -> index */
	int left[LEAVES];
};
/* The name of a tensor as the rows of its architecture have it: without the parts that wrappers add, in
 * today's spelling.  May be a copy in d->brief; .at NULL: no memory. */
struct infer_str hf_plain_name(struct hf_making *k, struct infer_str name);
/* The rows of a name that a class of a has no name for, as transformers 5 may save experts: one by one
 * where the class has them in one tensor, or the other way round.  spare: for rows. */
struct arch_parts hf_other_experts(const struct arch *a, struct infer_str rest,
                                   struct arch_tensor spare[2]);
/* rows: what the name stands for; layer: -1 for none */
enum hf_leave hf_leaves_out(const struct hf_making *k, struct infer_str plain,
                            const struct arch_parts *rows, int layer);
/* The tensor of that name in a layer, or of none (-1); NULL: there is none yet. */
struct hf_rows *hf_find_target(const struct hf_making *k, const char *name, int layer);
/* Add all of k->at to the file.  INFER_EFORMAT: not all are there; INFER_ENOMEM */
int hf_place_tensors(struct hf_making *k, infer_error *err);
int hf_no_memory(const struct hf_making *k, infer_error *err);
/* Add sentences about what was left out and what was copied. */
int hf_note_tensors(struct hf_making *k, infer_error *err);
/* As hf_fail, for the file of a tensor. */
int hf_bad_tensor(const struct hf_dir *d, const struct safetensors_tensor *t, int code,
                  infer_error *err, const char *fmt, ...)
	__attribute__((format(printf, 5, 6), cold));
#endif
