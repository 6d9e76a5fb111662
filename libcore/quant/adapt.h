/* quant/adapt.h - (private) adapters that are merged into the weights as they are written. */
#ifndef QUANT_ADAPT_H
#define QUANT_ADAPT_H
#include "file/gguf_write.h"
#include "quant/plan.h"

struct sha256;

/* Take the adapters of the options whose factor is not 0, and mark the tensors that they change.  A tied
 * output that changes, or whose table does, becomes a tensor of its own, the last one.
 * INFER_EINVAL: an adapter of another model or one given twice, too many of them, a factor that is not
 * finite; GPTQ.  INFER_EUNSUP: two adapters replace a tensor, or its weights have a scale or an order
 * of their own; names the tensor.  INFER_ENOMEM */
int adapt_plan(infer_quant *q, const struct infer_quant_opts *o, infer_error *err);
/* Check that the changed tensors can be written in their types, without a recipe.  Counts them in
 * q->info.  INFER_EUNSUP: a type that is not written, or that needs importances. */
int adapt_types(infer_quant *q, infer_error *err);
static inline int adapt_changes(const struct quant_tensor *t) { return t->whole || t->pairs; }
/* Return the most columns of a changed tensor. */
size_t adapt_columns(const infer_quant *q);
/* Decode elements [from, from + n) of a tensor to x, with the adapters added.  row: [adapt_columns].
 * INFER_ENOMEM */
int adapt_decode(const infer_quant *q, const struct quant_tensor *t, uint64_t from, size_t n,
                 float *x, float *row, infer_error *err);
/* Hash what the adapters are and their factors. */
void adapt_hash(struct sha256 *s, const infer_quant *q);
/* Write the keys that name the adapters, after those of earlier merges. */
void adapt_keys(struct gguf_write *w, const infer_quant *q);
/* Write the name of the model with those of the adapters.  name: the model's.  INFER_ENOMEM */
int adapt_name(struct gguf_write *w, const infer_quant *q, struct infer_str name, infer_error *err);
#endif
