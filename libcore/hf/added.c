/* hf/added.c - tokens that are added to a tokenizer.model. */
#include "base/err.h"
#include "hf/spm.h"

#include <string.h>

int hf_looks_special(const char *s, size_t n)
{
	static const char *const whole[] = { "<pad>", "<mask>", "<2mass>", "[@BOS@]" };
	static const char *const ends[][2] = { { "<|", "|>" },
		                               { "<｜", "｜>" },
		                               { "<unused", ">" } };

	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (n == strlen(whole[i]) && !memcmp(s, whole[i], n))
			return 1;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t a = strlen(ends[i][0]), b = strlen(ends[i][1]);
		if (n >= a && n >= b && !memcmp(s, ends[i][0], a) &&
		    !memcmp(s + n - b, ends[i][1], b))
			return 1;
	}
	return 0;
}

int spm_with_spaces(struct hf_dir *d, struct spm_piece *x, infer_error *err)
{
	char *to = arena_raw(&d->brief, x->n + 1);
	size_t n = 0;

	if (!to)
		return hf_nomem(d, err);
	for (size_t i = 0; i < x->n;) {
		int space = x->n - i >= 3 && !memcmp(x->at + i, "\xe2\x96\x81", 3);
		to[n++] = space ? ' ' : x->at[i];
		i += space ? 3 : 1;
	}
	x->at = to;
	x->n = n;
	return INFER_OK;
}

/* Replace token `id` by an added one.  Ignores ids without a row in the embedding table. */
static void put_added(struct spm *s, int64_t id, struct spm_piece x)
{
	if (id >= s->n)
		return;
	s->piece[id] = x;
}

/* Read added_tokens.json: {"text": id}. */
static int add_listed(struct hf_dir *d, struct spm *s, infer_error *err)
{
	const struct json *all;

	if (!d->added_tokens.at)
		return INFER_OK;
	TRY(hf_json_read(d, &d->added_tokens, &all, err));
	if (!json_is_object(all))
		return hf_fail(d, "added_tokens.json", INFER_EFORMAT, err, "must be an object");
	json_each(v, all) {
		char text[FILE_QUOTE];

		if (v->kind != JSON_INT || v->i < 0)
			return hf_fail(d, "added_tokens.json", INFER_EFORMAT, err,
			               "%s must be a token's number",
			               file_quote(text, v->key, v->key_n));
		put_added(s, v->i, (struct spm_piece){ v->key, v->key_n, -1000, SPM_USER });
	}
	return INFER_OK;
}

/* Parse the id in a key of added_tokens_decoder; -1: not an id. */
static int64_t parse_token_id(const struct json *v)
{
	int64_t id = 0;

	if (!v->key_n || v->key_n > 10)
		return -1;
	for (uint32_t i = 0; i < v->key_n; i++) {
		if (v->key[i] < '0' || v->key[i] > '9')
			return -1;
		id = id * 10 + v->key[i] - '0';
	}
	return id;
}

/* The keys tokenizer.infer.added.*: ids, flags and texts of tokens that strip adjacent white
 * space. */
struct edges {
	struct buf ids, flags, texts;
	uint64_t n;
};
enum { TAKES_LEFT = 1, TAKES_RIGHT = 2, WHOLE_WORD = 4 };

/* Append the flags of an entry of added_tokens_decoder, if it has any. */
static int add_edges(struct hf_dir *d, const struct spm *s, struct edges *e, int64_t id,
                     const struct json *v, infer_error *err)
{
	static const struct {
		const char *member;
		unsigned char flag;
	} rows[] = { { "lstrip", TAKES_LEFT },
		     { "rstrip", TAKES_RIGHT },
		     { "single_word", WHOLE_WORD } };
	const struct json *text = json_get(v, "content");
	unsigned char flags = 0;
	int32_t number = (int32_t)id;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct json *is = json_get(v, rows[i].member);

		if (is && !json_is_bool(is))
			return hf_fail(d, v->key ? "tokenizer_config.json" : "tokenizer.json",
			               INFER_EFORMAT, err,
			               "%s of an added token must be true or false",
			               rows[i].member);
		flags |= json_is(is, JSON_TRUE) ? rows[i].flag : 0;
	}
	if (!flags || id >= s->n)
		return INFER_OK;
	buf_put(&e->ids, &number, sizeof number);
	buf_putc(&e->flags, flags);
	gguf_put_str(&e->texts, text->s, text->n);
	e->n++;
	return INFER_OK;
}

/* True if token `id` has this text already. */
static int has_text(const struct spm *s, int64_t id, const struct json *text)
{
	return id < s->n && s->piece[id].n == text->n && !memcmp(s->piece[id].at, text->s, text->n);
}

/* Add added_tokens of tokenizer.json that are not pieces, unless tokenizer_config.json lists added
 * tokens.  For Phi-3, add all in any case, as the public converter does. */
static int add_json(struct hf_dir *d, struct spm *s, struct edges *e, infer_error *err)
{
	int is_phi3 = !strcmp(d->arch->gguf, "phi3"),
	    listed = json_is_object(json_get(d->tokenizer_config, "added_tokens_decoder"));
	const struct json *all = NULL;

	if (is_phi3 || !listed)
		TRY(hf_added_tokens(d, &all, err));
	json_each(v, all) {
		const struct json *text = json_get(v, "content"), *id = json_get(v, "id");
		int special = json_is(json_get(v, "special"), JSON_TRUE);

		if (!json_bytes(text) || !json_is(id, JSON_INT) || id->i < 0)
			return hf_fail(d, "tokenizer.json", INFER_EFORMAT, err,
			               "an element of added_tokens must have an id and a content");
		if (!is_phi3 && has_text(s, id->i, text))
			continue;
		struct spm_piece x = { text->s, text->n, -1000, SPM_USER };
		if (special || (!is_phi3 && hf_looks_special(text->s, text->n)))
			x.type = SPM_CONTROL;
		else if (!is_phi3)
			TRY(spm_with_spaces(d, &x, err));
		put_added(s, id->i, x);
		if (!listed)
			TRY(add_edges(d, s, e, id->i, v, err));
	}
	return INFER_OK;
}

static int put_edges(struct hf_dir *d, const struct edges *e, infer_error *err)
{
	if (e->ids.bad || e->flags.bad || e->texts.bad)
		return hf_nomem(d, err);
	if (!e->n)
		return INFER_OK;
	gguf_write_array(d->keys, "tokenizer.infer.added.ids", INFER_META_I32, e->n, e->ids.at,
	                 e->ids.len);
	gguf_write_array(d->keys, "tokenizer.infer.added.flags", INFER_META_U8, e->n, e->flags.at,
	                 e->flags.len);
	gguf_write_array(d->keys, "tokenizer.infer.added.content", INFER_META_STR, e->n,
	                 e->texts.at, e->texts.len);
	return INFER_OK;
}

/* Read added_tokens_decoder of tokenizer_config.json: {"id": {"content": text, ...}}. */
static int add_decoded(struct hf_dir *d, struct spm *s, struct edges *e, infer_error *err)
{
	const struct json *all = json_get(d->tokenizer_config, "added_tokens_decoder");

	if (!all || json_is_null(all))
		return INFER_OK;
	if (!json_is_object(all))
		return hf_fail(d, "tokenizer_config.json", INFER_EFORMAT, err,
		               "added_tokens_decoder must be an object");
	json_each(v, all) {
		const struct json *text = json_get(v, "content"), *special = json_get(v, "special");
		int64_t id = parse_token_id(v);

		if (id < 0 || !json_bytes(text) || (special && !json_is_bool(special))) {
			char key[FILE_QUOTE];
			return hf_fail(d, "tokenizer_config.json", INFER_EFORMAT, err,
			               "added_tokens_decoder: %s must be a "
			               "token's number with its content",
			               file_quote(key, v->key, v->key_n));
		}
		struct spm_piece x = { text->s, text->n, -1000, SPM_USER };
		if (json_is(special, JSON_TRUE) || hf_looks_special(text->s, text->n))
			x.type = SPM_CONTROL;
		else
			TRY(spm_with_spaces(d, &x, err));
		put_added(s, id, x);
		TRY(add_edges(d, s, e, id, v, err));
	}
	return INFER_OK;
}

int spm_add(struct hf_dir *d, struct spm *s, infer_error *err)
{
	struct edges e = { .n = 0 };

	buf_init(&e.ids, MEM_FILE);
	buf_init(&e.flags, MEM_FILE);
	buf_init(&e.texts, MEM_FILE);
	int rc = add_listed(d, s, err);

	if (!rc)
		rc = add_decoded(d, s, &e, err);
	if (!rc)
		rc = add_json(d, s, &e, err);
	if (!rc)
		rc = put_edges(d, &e, err);
	buf_fini(&e.ids);
	buf_fini(&e.flags);
	buf_fini(&e.texts);
	return rc;
}
