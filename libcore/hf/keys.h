/* hf/keys.h (private) - what the files keys_*.c share. */
#ifndef HF_KEYS_H
#define HF_KEYS_H
#include "hf/hf.h"

/* The keys of d->text_config, on their way into d->keys.  h: what they come to. */
struct hf_out {
	struct hf_dir *d;
	struct arch_keys k;
	struct arch arch; /* of k: d->arch, or like it */
	struct arch_hparam h;
};

/* How a GGUF file stores the value of a key. */
enum hf_key_type { HF_U32, HF_F32, HF_BOOL, HF_STR };

/* True if the architecture is one of `names`, with spaces between. */
int hf_arch_is(const struct hf_dir *d, const char *names);
/* The name of a key in a GGUF file. */
void hf_key_name(const struct hf_dir *d, enum arch_key key, char out[KEY_NAME]);
/* Write single values. */
void hf_put_u32(struct hf_out *o, enum arch_key key, int64_t v);
void hf_put_f32(struct hf_out *o, enum arch_key key, double v);
void hf_put_bool(struct hf_out *o, enum arch_key key, int v);
/* A flag for each layer. */
void hf_put_flags(struct hf_out *o, enum arch_key key, const uint8_t *flags);
/* A number for each layer. */
void hf_put_layers(struct hf_out *o, enum arch_key key, const int32_t *v);

/* classes.c: set d->arch, and d->text_config to the part of config.json that describes the text model,
 * with the values that its class has for the members that are missing.
 * INFER_EUNSUP: no such class, or a member of a class with pictures or sounds that is not known */
int hf_find_class(struct hf_dir *d, infer_error *err);
/* keys_check.c: write the keys that the converter leaves out although they change the model, then compare
 * the parameters that d->keys come to with o->h.
 * INFER_EUNSUP: config.json has what no key of a GGUF file says */
int hf_complete_keys(struct hf_out *o, infer_error *err);
/* rope.c: add the divisors of frequencies of rotation that d->text_config says or implies to d->made.
 * INFER_EFORMAT: numbers of them are missing or wrong; INFER_ENOMEM */
int hf_make_rope(struct hf_dir *d, infer_error *err);
/* pooling.c: read what sentence-transformers adds: write how the states of a text become one vector, and take in
 * the layers after it.  *embeds: the checkpoint has a list of modules.
 * INFER_EUNSUP: a module that is not supported; INFER_EFORMAT */
int hf_pooling(struct hf_dir *d, int *embeds, infer_error *err);
/* tied.c: tie_word_embeddings agrees with the tensors, where it is said.
 * INFER_EUNSUP: both matrices are there and differ; INFER_EFORMAT: one is missing */
int hf_check_tied(struct hf_dir *d, int embeds, infer_error *err);
#endif
