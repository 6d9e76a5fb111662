/* infer/embed.h - what the vector of a text is made of.   floor: engine */
#ifndef INFER_EMBED_H
#define INFER_EMBED_H

/* Of the states behind the last norm, which the logits are made of: the mean over all tokens, that
 * of the last token, or that of the first.  RANK: the score that a head of the model gives the text, as a
 * logit, in a vector of one number. */
enum infer_embed {
	INFER_EMBED_NONE,
	INFER_EMBED_MEAN,
	INFER_EMBED_LAST,
	INFER_EMBED_CLS,
	INFER_EMBED_RANK
};

#endif
