/* hf/special.h (private) - special tokens of a directory, for special.c and post.c. */
#ifndef HF_SPECIAL_H
#define HF_SPECIAL_H
#include "hf/hf.h"

enum special_id {
	SPECIAL_BOS,
	SPECIAL_EOS,
	SPECIAL_UNK,
	SPECIAL_SEP,
	SPECIAL_PAD,
	SPECIAL_CLS,
	SPECIAL_MASK,
	SPECIAL_EOT,
	SPECIAL_EOM,
	SPECIAL_IDS
};
/* ADD_YES: encoding adds the token. */
enum special_add { ADD_UNKNOWN, ADD_NO, ADD_YES };

/* State of reading special tokens.
 * text: a string, or an object with a string `content`; NULL: no file names the token.
 * add: set for SPECIAL_BOS, SPECIAL_EOS and SPECIAL_SEP only */
struct special {
	struct hf_dir *d;
	const struct json *added; /* added_tokens of tokenizer.json */
	const struct json *text[SPECIAL_IDS];
	int64_t id[SPECIAL_IDS]; /* token ids; -1: none */
	enum special_add add[SPECIAL_IDS];
};

/* Read the post-processor: set s->add, and the texts of tokens that no other file names.
 * INFER_EUNSUP: a type that is not supported; INFER_EFORMAT */
int special_post(struct special *s, infer_error *err);
#endif
