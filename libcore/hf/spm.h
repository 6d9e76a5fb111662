/* hf/spm.h (private) - pieces of a tokenizer.model, for sentencepiece.c and added.c. */
#ifndef HF_SPM_H
#define HF_SPM_H
#include "hf/hf.h"

#define SPM_FILE "tokenizer.model"

/* numbers in tokenizer.model and in GGUF */
enum spm_type { SPM_NORMAL = 1, SPM_UNKNOWN, SPM_CONTROL, SPM_USER, SPM_UNUSED, SPM_BYTE };
enum spm_model { SPM_UNIGRAM = 1, SPM_BPE };

struct spm_piece {
	const char *at;
	size_t n;
	float score;
	int type; /* enum spm_type */
};
struct spm {
	struct hf_dir *d;
	struct spm_piece *piece; /* [n] pieces by id; capacity `cap` */
	uint32_t n, cap;
	int model; /* enum spm_model */
	int dummy_prefix, squeeze;
	const unsigned char *charsmap;
	size_t charsmap_n;
};

/* added.c: append or replace pieces by the tokens of added_tokens.json and tokenizer_config.json,
 * and write keys for tokens that strip white space next to them.
 * INFER_EFORMAT: a file has another structure; INFER_ENOMEM */
int spm_add(struct hf_dir *d, struct spm *s, infer_error *err);
/* Replace the text of a piece by a copy with a space for each U+2581, in d->brief.  INFER_ENOMEM */
int spm_with_spaces(struct hf_dir *d, struct spm_piece *x, infer_error *err);
#endif
