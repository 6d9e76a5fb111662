/* tok/detok.c - texts of tokens, and a stream of text that never ends inside a UTF-8 sequence. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "tok/tok.h"
#include "base/utf8.h"

#include <string.h>

struct infer_detok {
	const struct infer_tokenizer *t;
	uint32_t flags;
	size_t given;   /* bytes at the start of out that the caller has received */
	struct buf out; /* returned bytes, then bytes held back */
};

static int check_id(const infer_tokenizer *t, int32_t id, infer_error *err)
{
	if (id < 0 || (uint32_t)id >= t->piece.n)
		return err_set(err, INFER_EINVAL, "token %d is outside the vocabulary of %u tokens",
		               id, t->piece.n);
	return INFER_OK;
}

int infer_token_bytes(const infer_tokenizer *t, int32_t id, uint32_t flags, const char **bytes,
                      size_t *n, infer_error *err)
{
	*bytes = NULL;
	*n = 0;
	TRY(check_id(t, id, err));
	if (!(flags & INFER_DECODE_SPECIAL) && !(t->flag[id] & TOK_SHOWN) &&
	    (t->kind[id] == TOK_CONTROL || t->kind[id] == TOK_UNKNOWN))
		return INFER_OK;
	*bytes = t->text + t->text_at[id];
	*n = t->text_at[id + 1] - t->text_at[id];
	if (flags & INFER_DECODE_FIRST && t->add_space && *n && **bytes == ' ' &&
	    t->kind[id] == TOK_NORMAL) {
		++*bytes;
		--*n;
	}
	return INFER_OK;
}

int infer_detok_new(infer_detok **out, const infer_tokenizer *t, uint32_t flags, int32_t after,
                    infer_error *err)
{
	struct infer_detok *d;

	*out = NULL;
	if (after != -1)
		TRY(check_id(t, after, err));
	d = mem_zalloc(MEM_TOK, 1, sizeof *d);
	if (!d)
		return err_set(err, INFER_ENOMEM, "no memory for a detokeniser");
	d->t = t;
	d->flags = flags & INFER_DECODE_SPECIAL;
	if (flags & INFER_DECODE_FIRST || after == -1 || after == t->id[TOK_BOS])
		d->flags |= INFER_DECODE_FIRST;
	buf_init(&d->out, MEM_TOK);
	*out = d;
	return INFER_OK;
}

/* Drop the returned bytes, so that out begins with those held back. */
static void drop_returned(struct infer_detok *d)
{
	size_t held = d->out.len - d->given;

	if (held)
		memmove(d->out.at, d->out.at + d->given, held);
	d->out.len = held;
	d->given = 0;
}

int infer_detok_put(infer_detok *d, int32_t id, const char **bytes, size_t *n, infer_error *err)
{
	const char *s;
	size_t k;

	*bytes = NULL;
	*n = 0;
	TRY(infer_token_bytes(d->t, id, d->flags, &s, &k, err));
	drop_returned(d);
	if (buf_reserve(&d->out, k)) {
		d->out.bad = 0; /* the bytes held back are intact */
		return err_set(err, INFER_ENOMEM, "no memory for %zu bytes of text", k);
	}
	buf_put(&d->out, s, k);
	if (id != d->t->id[TOK_BOS])
		d->flags &= ~(uint32_t)INFER_DECODE_FIRST;
	d->given = d->out.len - utf8_tail(d->out.at, d->out.len);
	*bytes = d->out.at;
	*n = d->given;
	return INFER_OK;
}

int infer_detok_end(infer_detok *d, const char **bytes, size_t *n, infer_error *err)
{
	(void)err;
	drop_returned(d);
	*bytes = d->out.at;
	*n = d->given = d->out.len;
	return INFER_OK;
}

void infer_detok_free(infer_detok *d)
{
	if (!d)
		return;
	buf_fini(&d->out);
	mem_free(d);
}

int32_t infer_tokenizer_count(const infer_tokenizer *t) { return (int32_t)t->piece.n; }

const char *infer_tokenizer_kind(const infer_tokenizer *t) { return t->model->kind; }

const char *infer_tokenizer_pre(const infer_tokenizer *t) { return t->pre_name; }

int infer_token_info(const infer_tokenizer *t, int32_t id, struct infer_token_info *info,
                     infer_error *err)
{
	*info = (struct infer_token_info){ 0 };
	TRY(check_id(t, id, err));
	info->piece = (struct infer_str){ t->piece.base + t->piece.at[id].at, t->piece.at[id].len };
	info->score = t->score ? t->score[id] : 0;
	info->kind = t->kind[id];
	info->eog = (t->flag[id] & TOK_EOG) != 0;
	return INFER_OK;
}

int infer_token_is_eog(const infer_tokenizer *t, int32_t id)
{
	return id >= 0 && (uint32_t)id < t->piece.n && t->flag[id] & TOK_EOG;
}

int32_t infer_token_find(const infer_tokenizer *t, const char *piece, size_t n)
{
	return tok_find(t, piece, n, piece + n);
}

int32_t infer_token_special(const infer_tokenizer *t, int which)
{
	static const int of[] = {
		[INFER_BOS] = TOK_BOS, [INFER_EOS] = TOK_EOS, [INFER_EOT] = TOK_EOT,
		[INFER_UNK] = TOK_UNK, [INFER_SEP] = TOK_SEP, [INFER_PAD] = TOK_PAD
	};

	return which >= 0 && which < (int)(sizeof of / sizeof *of) ? t->id[of[which]] : -1;
}
