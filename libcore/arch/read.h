/* arch/read.h - how rows of architectures read keys, and readers that several of them share.  Read through arch.h. */
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
	uint8_t read[ARCH_KEYS]; /* keys that were looked up */
};
/* Reads keys that belong together. */
typedef int arch_read(struct arch_hparam *h, struct arch_reader *r, infer_error *err);
struct key_found arch_key_look(struct arch_reader *r, enum arch_key key); /* now it was read */
/* "key NAME: why"; returns code. */
__attribute__((format(printf, 5, 6), cold)) int arch_key_refuse(const struct arch_reader *r,
                                                                enum arch_key key, int code,
                                                                infer_error *err, const char *fmt,
                                                                ...);
/* Absent: *v is left alone.  Outside [lo, hi], or no number: INFER_EFORMAT. */
int arch_key_i32(struct arch_reader *r, enum arch_key key, int32_t *v, int64_t lo, int64_t hi,
                 infer_error *err);
int arch_key_float(struct arch_reader *r, enum arch_key key, float *v, double lo, double hi,
                   infer_error *err);
int arch_key_double(struct arch_reader *r, enum arch_key key, double *v, double lo, double hi,
                    infer_error *err);
int arch_key_bool(struct arch_reader *r, enum arch_key key, int *v, infer_error *err);
/* Which layers slide: a bool for each, or a period n of which layer `full` does not (0: all do);
 * absent: period. */
enum arch_full { ARCH_FULL_LAST, ARCH_FULL_FIRST };
int arch_key_slides(struct arch_reader *r, struct arch_hparam *h, int32_t period,
                    enum arch_full full, infer_error *err);
/* Which of the names, the last of which is NULL, the value is; absent: *v is left alone. */
int arch_key_pick(struct arch_reader *r, enum arch_key key, const char *const *names, int *v,
                  infer_error *err);
/* A flag for each layer; absent: flags are left alone. */
int arch_key_flags(struct arch_reader *r, enum arch_key key, const struct arch_hparam *h,
                   uint8_t *flags, infer_error *err);
/* How many columns of each head rotate. */
int arch_key_rotating(struct arch_reader *r, enum arch_key key, struct arch_hparam *h,
                      infer_error *err);
/* Of encoders: rows see later ones, and the file says nothing else.  centred: of the norms. */
int arch_key_encoder(struct arch_reader *r, struct arch_hparam *h, int centred, infer_error *err);
/* Refuses to go on without a key. */
int arch_key_must(struct arch_reader *r, enum arch_key key, infer_error *err);
const struct arch *arch_key_of(const struct arch_reader *r); /* whose keys are read */
/* Check the keys that *h was not read from.  INFER_EUNSUP names one that may have an effect. */
int arch_check_keys(const struct arch_hparam *h, struct arch_reader *r, infer_error *err);
/* Refuses a key that is there. */
int arch_key_none(struct arch_reader *r, enum arch_key key, infer_error *err);

/* For arch.read.  Layers slide, where there is a window: all, every other one, or all but every
 * sixth, with a base of 10000. */
arch_read arch_read_all_slide, arch_read_half_slide, arch_read_most_slide;
arch_read arch_read_three_slide; /* of four */
arch_read arch_read_encoder;     /* arch_key_encoder; and with norms that take the mean away */
arch_read arch_read_centred_encoder;
/* Files of GLM with pictures have rows of halves, and say so by sections of positions alone: refused. */
arch_read arch_read_no_sections;
arch_read arch_read_sigmoid;       /* experts are scored by it where the file does not say */
arch_read arch_read_groups_by_two; /* as arch_read_groups; each as good as its two best */
/* Layers that slide rotate by a base of their own. */
arch_read arch_read_own_base;
/* Heads are of other sizes and numbers in layers that slide; once it is known which do. */
arch_read arch_read_heads;
arch_read arch_read_shared_kv;   /* layers read the K and V of others; after arch_read_heads */
arch_read arch_read_layer_embd;  /* tokens have an embedding for each layer */
arch_read arch_read_altup;       /* of rows, of which a layer computes one */
arch_read arch_read_gauss_topk;  /* which gates of FFNs let only the most through */
arch_read arch_read_short_conv;  /* which layers convolve, and how many rows */
arch_read arch_read_states;      /* which layers are recurrent, and the sizes of their states */
arch_read arch_read_unattending; /* layers without heads of K and V are recurrent */
arch_read arch_read_ssd;         /* the same of Mamba 2 */
arch_read arch_read_positions;   /* whether layers rotate at all */
arch_read arch_read_next;  /* layers that predict further tokens: behind the others, of no use */
arch_read arch_read_dense; /* layers at the front without experts */
/* Of so many layers the last has experts. */
arch_read arch_read_experts_step;
/* Layers that rotate nothing: listed, or each that is a multiple of a number. */
arch_read arch_read_no_rope;
arch_read arch_read_groups; /* of experts; after expert_gating is known */
arch_read arch_read_shared; /* how many experts every row takes, as wide as the others */
/* Queries grow with the position, by the context before YaRN where no other length is said. */
arch_read arch_read_attn_temp;
/* Weights of experts add to 1 where the file says so, and only there. */
arch_read arch_read_norm_said;
/* How wide the expert is that every row takes, where there are others. */
arch_read arch_read_shared_ff, arch_read_some_shared_ff; /* some: files may have none */
/* Rows of positions begin behind that of padding. */
arch_read arch_read_first_position;
arch_read arch_read_gate;     /* attention is gated */
arch_read arch_read_mla;      /* sizes of latent attention, and its scale */
arch_read arch_read_scales;   /* of embeddings, residuals and logits */
arch_read arch_read_gemma;    /* gelu, scales, capped logits */
arch_read arch_read_unscaled; /* the same; scores are not scaled, and heads of v normed */
#endif
