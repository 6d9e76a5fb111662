/* hf/post.c - the post-processor of tokenizer.json: the special tokens that encoding adds.  GGUF has three
 * flags for this: for one token before a text, one after it and one between two texts.  tokenizer.c
 * writes a template with more tokens under a key of our own.
 * https://huggingface.co/docs/tokenizers/api/post-processors */
#include "base/err.h"
#include "hf/special.h"

#include <string.h>

/* True if v is the text of a token. */
static int is_named(const struct json *v)
{
	return v && !json_is_null(v) && (!json_is_string(v) || v->n);
}

/* True if both are equal strings.  As in the converter, an object with "content" is not equal. */
static int same_text(const struct json *a, const struct json *b)
{
	return json_is_string(a) && json_is_string(b) && a->n == b->n && !memcmp(a->s, b->s, a->n);
}

/* Return the token of a template's piece {"SpecialToken": {"id": text}}, or NULL. */
static const struct json *token_of(const struct json *piece)
{
	const struct json *text = json_get(json_get(piece, "SpecialToken"), "id");

	return json_bytes(text) ? text : NULL;
}

/* Read the first token of the template, which is inserted before every text. */
static void read_first(struct special *s, const struct json *first)
{
	const struct json **bos = &s->text[SPECIAL_BOS], **cls = &s->text[SPECIAL_CLS];

	if (!first)
		return;
	if (!s->d->tokenizer_config) {
		*bos = first;
	} else if (!same_text(first, *bos) && !same_text(first, *cls)) {
		if (!is_named(*bos))
			*bos = first;
		if (!is_named(*cls))
			*cls = first;
	}
	s->add[SPECIAL_BOS] = same_text(first, *bos) || same_text(first, *cls) ? ADD_YES : ADD_NO;
}

/* Read the last token.  If tokenizer_config.json names another end token, this one ends a turn. */
static void read_last(struct special *s, const struct json *last)
{
	const struct json **eos = &s->text[SPECIAL_EOS];

	if (!last)
		return;
	if (s->d->tokenizer_config && !same_text(last, *eos)) {
		if (!s->text[SPECIAL_EOT])
			s->text[SPECIAL_EOT] = *eos;
		else if (!s->text[SPECIAL_EOM])
			s->text[SPECIAL_EOM] = *eos;
	}
	*eos = last;
	s->add[SPECIAL_EOS] = ADD_YES;
}

/* Read the separator of a pair "A sep B".  first, last: tokens of the template for one text. */
static void read_pair(struct special *s, const struct json *pair, const struct json *first,
                      const struct json *last)
{
	const struct json *sep = s->text[SPECIAL_SEP], *eos = s->text[SPECIAL_EOS];
	size_t from = 0, n = json_count(pair);
	int adds = 0;

	if (n && first && same_text(token_of(json_at(pair, 0)), first))
		from = 1;
	if (n > from && last && same_text(token_of(json_at(pair, n - 1)), last))
		n--;
	if (n < from + 3 ||
	    !json_equals(json_get(json_get(json_at(pair, from), "Sequence"), "id"), "A") ||
	    !json_equals(json_get(json_get(json_at(pair, n - 1), "Sequence"), "id"), "B"))
		return;
	const struct json *one = token_of(json_at(pair, from + 1));
	const struct json *two = n - from == 4 ? token_of(json_at(pair, from + 2)) : NULL;
	if (one && (same_text(one, sep) || same_text(one, eos)) && !last)
		adds = 1;
	if (two && (same_text(two, sep) || same_text(two, eos)))
		adds = 1;
	s->add[SPECIAL_SEP] = adds ? ADD_YES : ADD_NO;
	if (adds && !is_named(sep) && s->d->tokenizer_config)
		s->text[SPECIAL_SEP] = eos;
}

/* Read {"type": "TemplateProcessing", "single": [...], "pair": [...]}. */
static int read_template(struct special *s, const struct json *p, infer_error *err)
{
	const struct json *single = json_get(p, "single"), *pair = json_get(p, "pair");
	const struct json *first = NULL, *last = NULL;
	size_t n = json_count(single);

	if (!json_is_array(single) || (pair && !json_is_array(pair)))
		return hf_fail(s->d, "tokenizer.json", INFER_EFORMAT, err,
		               "post_processor: single and pair must be arrays");
	if (n > 1) {
		first = token_of(json_at(single, 0));
		read_first(s, first);
		last = token_of(json_at(single, n - 1));
		read_last(s, last);
	}
	read_pair(s, pair, first, last);
	return INFER_OK;
}

/* Return the first element of a pair [text, id], or `other` if there is no such member. */
static const struct json *text_in(const struct json *p, const char *name, const struct json *other)
{
	const struct json *v = json_get(p, name);

	return v ? json_at(v, 0) : other;
}

static void read_roberta(struct special *s, const struct json *p)
{
	s->add[SPECIAL_BOS] = s->add[SPECIAL_EOS] = s->add[SPECIAL_SEP] = ADD_YES;
	if (!s->d->tokenizer_config)
		return;
	if (!is_named(s->text[SPECIAL_CLS]))
		s->text[SPECIAL_CLS] = text_in(p, "cls", s->text[SPECIAL_BOS]);
	if (!is_named(s->text[SPECIAL_SEP]))
		s->text[SPECIAL_SEP] = text_in(p, "sep", s->text[SPECIAL_EOS]);
}

static int read_one(struct special *s, const struct json *p, infer_error *err)
{
	const struct json *type = json_get(p, "type");
	char text[FILE_QUOTE];

	if (json_equals(type, "ByteLevel")) {
		for (int i = SPECIAL_BOS; i <= SPECIAL_EOS; i++)
			if (s->add[i] == ADD_UNKNOWN)
				s->add[i] = ADD_NO;
		return INFER_OK;
	}
	if (json_equals(type, "RobertaProcessing")) {
		read_roberta(s, p);
		return INFER_OK;
	}
	if (json_equals(type, "TemplateProcessing"))
		return read_template(s, p, err);
	if (json_equals(type, "BertProcessing")) /* GGUF readers add these tokens themselves */
		return INFER_OK;
	return hf_fail(s->d, "tokenizer.json", INFER_EUNSUP, err,
	               "post_processor of type %s is not supported",
	               json_is_string(type) ? file_quote(text, type->s, type->n) : "(none)");
}

int special_post(struct special *s, infer_error *err)
{
	const struct json *post, *list;

	TRY(hf_json_read(s->d, &s->d->post_processor, &post, err));
	if (!post || json_is_null(post))
		return INFER_OK;
	list = json_get(post, "processors");
	if (!json_is_object(post) || (list && !json_is_array(list)))
		return hf_fail(s->d, "tokenizer.json", INFER_EFORMAT, err,
		               "post_processor must be an object");
	if (!list)
		return read_one(s, post, err);
	json_each(p, list)
		TRY(read_one(s, p, err));
	return INFER_OK;
}
