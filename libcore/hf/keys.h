/* hf/keys.h (private) - convert config.json to keys, for keys.c, keys_check.c, classes.c, rope.c
 * and pooling.c. */
#ifndef HF_KEYS_H
#define HF_KEYS_H
#include "hf/hf.h"

/* State of the conversion of d->text_config into d->keys.  h: parameters read from config.json. */
struct hf_out {
	struct hf_dir *d;
	struct arch_keys k;
	struct arch arch; /* k.arch: a copy of d->arch, without `must` for Mistral Small */
	struct arch_hparam h;
};

/* Value type of a key in a GGUF file. */
enum hf_key_type { HF_U32, HF_F32, HF_BOOL, HF_STR };

/* True if `names`, separated by spaces, contains d's architecture. */
int hf_arch_is(const struct hf_dir *d, const char *names);
/* Write the GGUF name of a key to out. */
void hf_key_name(const struct hf_dir *d, enum arch_key key, char out[KEY_NAME]);
/* Append a key with one value to o->d->keys. */
void hf_put_u32(struct hf_out *o, enum arch_key key, int64_t v);
void hf_put_f32(struct hf_out *o, enum arch_key key, double v);
void hf_put_bool(struct hf_out *o, enum arch_key key, int v);
/* Append a key with a list of o->h.n_layers flags. */
void hf_put_flags(struct hf_out *o, enum arch_key key, const uint8_t *flags);
/* Append a key with a list of o->h.n_layers numbers. */
void hf_put_layers(struct hf_out *o, enum arch_key key, const int32_t *v);

/* classes.c: set d->arch and d->text_config.  d->text_config is the part of config.json for the text model, plus the
 * defaults of its class for missing members.
 * INFER_EUNSUP: the class is not supported, or a member next to text_config is unknown; INFER_EFORMAT; INFER_ENOMEM */
int hf_find_class(struct hf_dir *d, infer_error *err);
/* keys_check.c: append keys that the converter omits although they change the model, then compare the parameters
 * that arch_hparam_read returns for d->keys with o->h.
 * INFER_EUNSUP: no key of a GGUF file can express a member of config.json; INFER_ENOMEM */
int hf_complete_keys(struct hf_out *o, infer_error *err);
/* rope.c: append the RoPE frequency divisors of llama3, proportional and longrope scaling to d->made.
 * INFER_EFORMAT: a number is missing or out of range; INFER_EUNSUP: the architecture has no such tensor; INFER_ENOMEM */
int hf_make_rope(struct hf_dir *d, infer_error *err);
/* pooling.c: read modules.json of sentence-transformers: append the pooling type to d->keys and call hf_dense for each
 * dense layer.  *embeds: true if there is a modules.json.
 * INFER_EUNSUP: a module is not supported; INFER_EFORMAT; INFER_EIO; INFER_ENOMEM */
int hf_pooling(struct hf_dir *d, int *embeds, infer_error *err);
/* tied.c: compare tie_word_embeddings with the tensors of d->raw.  embeds: the output matrix may be missing.
 * INFER_EUNSUP: it is true, but lm_head differs from the embeddings; INFER_EFORMAT: it is false,
 * but lm_head is missing */
int hf_check_tied(struct hf_dir *d, int embeds, infer_error *err);
#endif
