/* lora/inner.h (private) - an open adapter, and how the readers of its two forms fill it.
 *
 * A reader (gguf.c, peft.c) describes each change by the tensor of the model's file, with values in
 * the order of that file; add.c turns it into changes of the model's weights. */
#ifndef LORA_INNER_H
#define LORA_INNER_H
#include <stdatomic.h>
#include <string.h>
#include "arch/arch.h"
#include "base/arena.h"
#include "file/file.h"
#include "lora/lora.h"

/* One half of a pair, or a whole tensor: `mats` matrices of rows x cols, row-major. */
struct lora_values {
	int type; /* enum infer_type */
	const void *at;
	int64_t cols, rows, mats;
	/* [mats] the matrices, if they are apart; NULL: that one is not changed */
	const void *const *each;
};

/* A change of one tensor, in the order of the model's file: `a` and `b` are as in struct
 * backend_delta, for a table too.  mats 1 in one of them: all matrices share it. */
struct lora_item {
	struct infer_lora_entry entry;
	struct lora_values a, b; /* WHOLE: a has the values, b is empty */
	int table;               /* 1: rows are selected, not multiplied */
};

/* Uses of a weight in the graph; they are combined. */
enum lora_role {
	ROLE_PRODUCT = 1, /* a matrix of products */
	ROLE_TABLE = 2,   /* rows are selected by id */
	ROLE_GAIN = 4,    /* gain or bias of a norm */
	ROLE_BIAS = 8,    /* bias of a product */
	ROLE_OTHER = 16
};

struct infer_lora {
	atomic_int refs;
	const infer_model *m;
	infer_file *file; /* the GGUF file, or the mapped safetensors file; its values are in use */
	int is_gguf;
	struct infer_lora_info info;
	struct lora_item *items; /* [info.n_entries] */
	int32_t cap;
	struct backend_adapter adapter;
	struct backend_change *product, *table; /* [n_weights] those of `adapter` */
	uint8_t *roles;                         /* [n_weights] sets of enum lora_role */
	char sha256[65];
	/* y = fma(s, b, a), of the kernel set of this processor */
	void (*add_scaled)(float *y, const float *a, const float *b, float s, int n);
	infer_log_fn *log; /* while it is opened */
	void *log_user;
	struct arena arena;
};

/* The tensor of the model's file that a name stands for, and the weights made of it. */
struct lora_part {
	int32_t weight;
	int64_t from, rows; /* of each matrix of the tensor */
	/* W_K_B made of attn_kv_b: the transposed first rows of each head; W_V_B: the other rows */
	enum { PART_ROWS, PART_K_B, PART_V_B } kind;
};
struct lora_target {
	const struct infer_tensor *tensor;
	struct infer_str name; /* its own, but "output.weight" if that is the embedding table */
	int table;             /* its rows are selected by id */
	int vector;
	int expert; /* the tensor is one matrix of the weight; -1: all of them */
	int n;      /* 0: the model does not use the tensor */
	struct lora_part part[ARCH_MAX_PARTS];
};

/* target.c: find the tensor of a name, as in a GGUF file of this model.
 * INFER_EUNSUP: the model has none; the message begins with "tensor NAME: " */
int lora_find(const infer_lora *l, struct infer_str name, struct lora_target *t, infer_error *err);
/* Set the roles of all weights. */
void lora_find_roles(infer_lora *l);

/* add.c: add a pair or a whole tensor.  from: name in the adapter, for messages.  item: its values
 * and entry.rank, .scale and .kind; the others are set here.
 * INFER_EFORMAT: a shape does not fit, or the tensor is changed twice; INFER_EUNSUP: it cannot be adapted;
 * INFER_ENOMEM.  The message names the tensor. */
int lora_add(infer_lora *l, const struct lora_target *t, struct infer_str from,
             const struct lora_item *item, infer_error *err);
/* Replace values by an aligned copy, decoded to F32 unless the type is F32, F16 or BF16, if they
 * cannot be used in place.  INFER_EUNSUP: a type of integers; INFER_ENOMEM */
int lora_settle(infer_lora *l, struct lora_values *v, struct infer_str from, infer_error *err);
/* Like err_set; the message begins with the adapter's file and "tensor NAME: ". */
int lora_fail(const infer_lora *l, struct infer_str from, int code, infer_error *err,
              const char *fmt, ...) __attribute__((format(printf, 5, 6), cold));
int lora_nomem(const infer_lora *l, infer_error *err);

/* gguf.c, peft.c: read the adapter at l->info.path. */
int lora_read_gguf(infer_lora *l, infer_error *err);
int lora_read_peft(infer_lora *l, infer_error *err);

static inline int lora_str_is(struct infer_str s, const char *text)
{
	return strlen(text) == s.len && !memcmp(s.at, text, s.len);
}
static inline int lora_str_begins(struct infer_str s, const char *head)
{
	return s.len >= strlen(head) && !memcmp(s.at, head, strlen(head));
}
static inline int lora_str_ends(struct infer_str s, const char *end)
{
	return s.len >= strlen(end) && !memcmp(s.at + s.len - strlen(end), end, strlen(end));
}
/* Return the bytes of an element of F32, F16 or BF16. */
static inline size_t lora_element(int type) { return type == INFER_F32 ? 4 : 2; }
static inline size_t lora_row_bytes(const struct lora_values *v)
{
	return (size_t)v->cols * lora_element(v->type);
}
/* True if v has a matrix of this number. */
static inline int lora_has(const struct lora_values *v, int64_t mat)
{
	return !v->each || v->each[mat];
}
/* Return row `row` of matrix `mat`. */
static inline const unsigned char *lora_row(const struct lora_values *v, int64_t mat, int64_t row)
{
	if (v->each)
		return (const unsigned char *)v->each[mat] + (size_t)row * lora_row_bytes(v);
	return (const unsigned char *)v->at +
	       (size_t)((v->mats > 1 ? mat : 0) * v->rows + row) * lora_row_bytes(v);
}
#endif
