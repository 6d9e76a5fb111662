/* arch/read.h - reading hyper-parameters from keys: helpers, and readers that architectures share. 
 * Read through arch.h.
 *
 * An absent key leaves the value alone, unless noted.  INFER_EFORMAT and
 * INFER_EUNSUP name the key. */
#ifndef ARCH_READ_H
#define ARCH_READ_H
#include <stdint.h>
#include <infer/file.h>
#include "arch/keys.h"

struct arch;
struct arch_hparam;
/* the keys of one checkpoint */
struct arch_reader {
	struct arch_keys keys;
	uint8_t read[ARCH_KEYS]; /* 1: the key was read */
};
/* Read some keys into *h. */
typedef int arch_read(struct arch_hparam *h, struct arch_reader *r, infer_error *err);
/* Find a key and mark it as read. */
struct key_found arch_key_look(struct arch_reader *r, enum arch_key key);
/* Set the message "key NAME: why" and return code. */
__attribute__((format(printf, 5, 6), cold)) int arch_key_refuse(const struct arch_reader *r,
                                                                enum arch_key key, int code,
                                                                infer_error *err, const char *fmt,
                                                                ...);
/* Read a number.  INFER_EFORMAT: it is not a number in [lo, hi]; INFER_EUNSUP: a list of different
 * integers. */
int arch_key_i32(struct arch_reader *r, enum arch_key key, int32_t *v, int64_t lo, int64_t hi,
                 infer_error *err);
int arch_key_float(struct arch_reader *r, enum arch_key key, float *v, double lo, double hi,
                   infer_error *err);
int arch_key_double(struct arch_reader *r, enum arch_key key, double *v, double lo, double hi,
                    infer_error *err);
int arch_key_bool(struct arch_reader *r, enum arch_key key, int *v, infer_error *err);
/* Read which layers have a sliding window: a flag for each layer, or a period n: the first or last
 * (`full`) of every n layers has full attention. n 0: all layers have a window. Without the key n
 * is `period`. */
enum arch_full { ARCH_FULL_LAST, ARCH_FULL_FIRST };
int arch_key_slides(struct arch_reader *r, struct arch_hparam *h, int32_t period,
                    enum arch_full full, infer_error *err);
/* Read a string and set *v to its index in names, a list that ends with NULL.  INFER_EUNSUP:
 * another string. */
int arch_key_pick(struct arch_reader *r, enum arch_key key, const char *const *names, int *v,
                  infer_error *err);
/* Read a flag for each layer. */
int arch_key_flags(struct arch_reader *r, enum arch_key key, const struct arch_hparam *h,
                   uint8_t *flags, infer_error *err);
/* Read h->n_rot, the rotated columns of a head; it must be even. */
int arch_key_rotating(struct arch_reader *r, enum arch_key key, struct arch_hparam *h,
                      infer_error *err);
/* Make h an encoder: bidirectional, with LayerNorm if centred is 1. INFER_EUNSUP: a key makes it
 * causal. */
int arch_key_encoder(struct arch_reader *r, struct arch_hparam *h, int centred, infer_error *err);
/* Check that the key is present. INFER_EFORMAT: it is not. */
int arch_key_must(struct arch_reader *r, enum arch_key key, infer_error *err);
const struct arch *arch_key_of(const struct arch_reader *r); /* the architecture */
/* Check the keys that were not read.  INFER_EUNSUP names one that may change the computation. */
int arch_check_keys(const struct arch_hparam *h, struct arch_reader *r, infer_error *err);
/* Check that the key is absent. INFER_EUNSUP: it is not. */
int arch_key_none(struct arch_reader *r, enum arch_key key, infer_error *err);

/* Readers for arch.read.  If the model has a window, it applies to all layers, to 1 of 2, or to 5
 * of 6, whose RoPE base is 10000. */
arch_read arch_read_all_slide, arch_read_half_slide, arch_read_most_slide;
arch_read arch_read_three_slide; /* a window in 3 of 4 layers */
arch_read arch_read_encoder;     /* encoder with RMSNorm; the next: with LayerNorm */
arch_read arch_read_centred_encoder;
/* Refuse GLM files with vision, which have RoPE sections: they rotate halves. */
arch_read arch_read_no_sections;
arch_read arch_read_sigmoid;       /* router: sigmoid by default */
arch_read arch_read_groups_by_two; /* arch_read_groups with group_best 2 */
/* Layers with a window have their own RoPE base. */
arch_read arch_read_own_base;
/* Sizes and numbers of heads in windowed layers; after the reader that sets h->windowed. */
arch_read arch_read_heads;
arch_read arch_read_shared_kv;   /* last layers read K and V of others; after arch_read_heads */
arch_read arch_read_layer_embd;  /* per-layer embeddings */
arch_read arch_read_altup;       /* AltUp */
arch_read arch_read_gauss_topk;  /* Gaussian top-k of FFN gates */
arch_read arch_read_short_conv;  /* layers with a short conv1d, and its taps */
arch_read arch_read_states;      /* recurrent layers and sizes of their states */
arch_read arch_read_unattending; /* layers with 0 KV heads are recurrent */
arch_read arch_read_ssd;         /* recurrent layers of Mamba 2 and sizes of their states */
arch_read arch_read_positions;   /* whether the model has RoPE */
arch_read arch_read_next;  /* layers of multi-token prediction, last in the file and not used */
arch_read arch_read_dense; /* leading layers without experts */
/* Every n-th layer has experts. */
arch_read arch_read_experts_step;
/* Layers without RoPE: listed, or every n-th. */
arch_read arch_read_no_rope;
arch_read arch_read_groups; /* groups of experts; after the reader of expert_gating */
arch_read arch_read_shared; /* number of shared experts, each as wide as the others */
/* Attention temperature; by default its length is the context before YaRN. */
arch_read arch_read_attn_temp;
/* Router weights are not normalised by default. */
arch_read arch_read_norm_said;
/* FFN width of the shared expert, if the model has experts. */
arch_read arch_read_shared_ff, arch_read_some_shared_ff; /* some: even without experts */
/* Rows of the position table before position 0 (padding). */
arch_read arch_read_first_position;
arch_read arch_read_gate;     /* attention output gate */
arch_read arch_read_mla;      /* MLA: sizes and scale */
arch_read arch_read_scales;   /* scales of embeddings, residuals and logits */
arch_read arch_read_gemma;    /* Gemma: gelu, scales, soft caps */
arch_read arch_read_unscaled; /* arch_read_gemma with attention scale 1 and norm_v */
#endif
