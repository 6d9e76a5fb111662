/* hf/tensors.h (private) - convert tensors to GGUF's: shared by tensors.c, place.c and leave.c. */
#ifndef HF_TENSORS_H
#define HF_TENSORS_H
#include "hf/hf.h"
#include "hf/rows.h"

/* why a tensor of the checkpoint is left out */
enum hf_leave {
	LEAVE_NOT,
	LEAVE_MEDIA,    /* vision or audio tower, or projector */
	LEAVE_NEXT,     /* multi-token prediction layers */
	LEAVE_DERIVED,  /* computed from config.json */
	LEAVE_HEAD,     /* output matrix that is tied to the embedding table */
	LEAVE_TRAINING, /* pretraining heads of an encoder */
	LEAVES
};

/* The GGUF tensors found so far. */
struct hf_making {
	struct hf_dir *d;
	const infer_model *m;             /* only arch and h are set */
	int64_t first_position, n_tokens; /* n_tokens 0: no vocabulary */
	int layers_next;                  /* layers of the checkpoint after the first n_layers */
	int ranks;                        /* the model has a head that scores texts (reranker) */
	int added_one;       /* gains already include the 1 of T_PLUS1, as MLX stores them */
	struct hf_rows **at; /* [n] GGUF tensors, in the order of the file */
	int64_t n;
	const void *const **parts; /* [tensors of the file] infer_file.parts */
	struct map map;            /* GGUF name -> index in `at` */
	int left[LEAVES];
	int adapts; /* 1: the tensors are those of an adapter, for messages */
};
/* Return the name as in the architecture's rows: without prefixes of multimodal wrappers, and with
 * .weight and .bias for .gamma and .beta.  Borrowed, or in d->brief; .at NULL: out of memory. */
struct infer_str hf_plain_name(struct hf_making *k, struct infer_str name);
/* Find rows for an expert tensor that is stored differently from the architecture's rows: one
 * tensor per expert instead of one for all, or the reverse.  The rows are stored in spare.  n 0:
 * not the name of such a tensor. */
struct arch_parts hf_other_experts(const struct arch *a, struct infer_str rest,
                                   struct arch_tensor spare[2]);
/* tensors.c: add the GGUF tensors made of t, or count why it is left out.
 * INFER_EFORMAT, INFER_EUNSUP name t; INFER_ENOMEM */
int hf_add_tensor(struct hf_making *k, const struct safetensors_tensor *t, infer_error *err);
/* True for the name of a tensor in a vision or audio tower or a projector. */
int hf_is_media(struct infer_str name);
/* Return the reason to leave a tensor out, or 0.  rows: those for its name; layer -1: none. */
enum hf_leave hf_leaves_out(const struct hf_making *k, struct infer_str plain,
                            const struct arch_parts *rows, int layer);
/* Return the GGUF tensor of this name (without "blk.N.") found so far, or NULL.  layer -1: none. */
struct hf_rows *hf_find_target(const struct hf_making *k, const char *name, int layer);
/* Check that no tensor is missing, copy those that cannot be used in place, and add all to the
 * file.
 * INFER_EFORMAT: a tensor is missing; INFER_ENOMEM */
int hf_place_tensors(struct hf_making *k, infer_error *err);
/* Add notes (hf_note) about tensors left out and copied. */
int hf_note_tensors(struct hf_making *k, infer_error *err);
/* Like hf_fail; the message names t and its file. */
int hf_bad_tensor(const struct hf_dir *d, const struct safetensors_tensor *t, int code,
                  infer_error *err, const char *fmt, ...)
	__attribute__((format(printf, 5, 6), cold));
#endif
