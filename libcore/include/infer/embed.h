/* infer/embed.h - how the embedding of a text is pooled.   floor: engine */
#ifndef INFER_EMBED_H
#define INFER_EMBED_H

/* From the hidden states after the last norm (the input of the output matrix): the mean over all
 * tokens, the state of the last token, or of the first (CLS).  RANK: a ranking head's logit. */
enum infer_embed {
	INFER_EMBED_NONE,
	INFER_EMBED_MEAN,
	INFER_EMBED_LAST,
	INFER_EMBED_CLS,
	INFER_EMBED_RANK
};

#endif
