/* tok/pipe_run.c - run a pipe: split text into words, step by step. */
#include "base/err.h"
#include "base/mem.h"
#include "text/unicode.h"
#include "tok/pipe.h"

#include <string.h>

void pipe_run_free(struct pipe_run *q)
{
	if (!q)
		return;
	for (int i = 0; i < 2; i++)
		buf_fini(&q->text[i]);
	for (int i = 0; i < PIPE_STEPS; i++)
		buf_fini(&q->word[i]);
	mem_free(q->found.at);
	mem_free(q->cut);
	mem_free(q);
}

static struct pipe_run *new_run(void)
{
	struct pipe_run *q = mem_zalloc(MEM_TOK, 1, sizeof *q);

	for (int i = 0; q && i < 2; i++)
		buf_init(&q->text[i], MEM_TOK);
	for (int i = 0; q && i < PIPE_STEPS; i++)
		buf_init(&q->word[i], MEM_TOK);
	return q;
}

static int run_nomem(size_t n, infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "no memory for %zu bytes of text", n);
}

void pipe_fallback(struct tok_run *r, const char *s, size_t n)
{
	const struct tok_pipe *p = r->t->pipe;
	int bytes = p->byte_fallback;

	for (size_t i = 0; i < n && bytes; i++)
		bytes = tok_byte(r, (unsigned char)s[i]) >= 0;
	for (size_t i = 0; i < n && bytes; i++)
		tok_push(&r->ids, tok_byte(r, (unsigned char)s[i]));
	if (bytes || p->unk < 0 || (p->fuse_unk && r->unk_end == r->ids.n))
		return;
	tok_push(&r->ids, p->unk);
	r->unk_end = r->ids.n;
}

/* ---- splitting: a cut is a match, as a pair of offsets in a text */

struct cutting {
	struct pipe_run *q;
	size_t from; /* index in pipe_run.cut of this step's first cut */
	int bad;
};

static int put_cut(void *user, size_t from, size_t to, infer_error *err)
{
	struct cutting *c = user;
	struct pipe_run *q = c->q;

	(void)err;
	if (q->n_cut == q->cap_cut) {
		size_t cap = q->cap_cut ? 2 * q->cap_cut : 64;
		uint32_t *to_cut = mem_realloc(MEM_TOK, q->cut, 2 * cap, sizeof *to_cut);
		if (!to_cut) {
			c->bad = 1;
			return INFER_ENOMEM;
		}
		q->cut = to_cut;
		q->cap_cut = cap;
	}
	q->cut[2 * q->n_cut] = (uint32_t)from;
	q->cut[2 * q->n_cut + 1] = (uint32_t)to;
	q->n_cut++;
	return INFER_OK;
}

static int is_ascii_punct(uint32_t c)
{
	return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
	       (c >= '{' && c <= '~');
}

/* Return the class of a character for a step that splits by classes; 0: no match. */
static int class_of(enum pipe_kind kind, uint32_t cp)
{
	uint32_t set = unicode_set(cp);

	switch (kind) {
	case PIPE_DIGITS:
		return (set & UNI_N) != 0;
	case PIPE_PUNCT:
		return is_ascii_punct(cp) || set & UNI_P;
	case PIPE_WHITE:
		return (set & UNI_SPACE) != 0;
	default: /* PIPE_NOT_WORDS, the only other kind with classes */
		return set & UNI_SPACE ? 0 : unicode_is_word(cp) ? 1 : 2;
	}
}

/* Cut at the matches of a class step: each character; with PIPE_NOT_WORDS each run. */
static void cut_classes(const struct pipe_step *st, struct cutting *c, const char *s, size_t n)
{
	int runs = st->kind == PIPE_NOT_WORDS, before = 0;
	size_t from = 0;
	uint32_t cp;

	for (size_t at = 0, len; at < n && !c->bad; at += len) {
		len = unicode_next(s + at, n - at, &cp);
		int class = class_of(st->kind, cp);
		if (before && (!runs || class != before))
			put_cut(c, from, at, NULL);
		if (!runs || class != before)
			from = at;
		before = class;
	}
	if (before)
		put_cut(c, from, n, NULL);
}

static int cut_string(struct infer_str what, struct cutting *c, const char *s, size_t n)
{
	for (const char *p = s; !c->bad && n >= what.len; p += what.len) {
		p = memmem(p, (size_t)(s + n - p), what.at, what.len);
		if (!p)
			break;
		put_cut(c, (size_t)(p - s), (size_t)(p - s) + what.len, NULL);
	}
	return INFER_OK;
}

static int find_matches(const struct pipe_step *st, struct cutting *c, const char *s, size_t n,
                        infer_error *err)
{
	int rc = INFER_OK;

	if (st->kind == PIPE_METASPACE)
		rc = cut_string(st->with, c, s, n);
	else if (st->kind != PIPE_SPLIT)
		cut_classes(st, c, s, n);
	else if (st->code)
		rc = pretok_each(st->code, s, n, put_cut, c, err);
	else
		rc = cut_string(st->s, c, s, n);
	return c->bad ? run_nomem(n, err) : rc;
}

struct words {
	struct tok_run *r;
	const struct tok_pipe *p;
	infer_error *err;
};

static int run_step(struct words *w, int k, const char *s, size_t n, int first);

/* A piece.  Matches may be joined to the text before or after them. */
struct piece {
	size_t from, to;
	int match;
};

static int end_piece(struct words *w, int k, const char *s, const struct piece *x, int first)
{
	return x->to > x->from ? run_step(w, k + 1, s + x->from, x->to - x->from, first && !x->from)
	                       : INFER_OK;
}

/* True if piece b joins the piece a before it. */
static int must_join(const struct pipe_step *st, const struct piece *a, const struct piece *b)
{
	switch (st->how) {
	case PIPE_CONTIGUOUS:
		return a->match == b->match;
	case PIPE_WITH_BEFORE:
		return b->match && !a->match;
	case PIPE_WITH_NEXT:
		return a->match && !b->match;
	case PIPE_REMOVED:
	case PIPE_ISOLATED:
		break;
	}
	return 0;
}

/* Run the next step on each piece of s, split at the cuts from c->from on. */
static int run_pieces(struct words *w, int k, const char *s, size_t n, int first,
                      const struct cutting *c)
{
	const struct pipe_step *st = &w->p->pre[k];
	struct pipe_run *q = w->r->pipe;
	size_t end = q->n_cut, at = 0;
	struct piece open = { 0 };
	int rc = INFER_OK, last = 0; /* true if the last part of `open` is a match */

	/* later steps append their own cuts, which may move the array */
	for (size_t i = c->from; !rc && i <= end; i++) {
		size_t from = i < end ? q->cut[2 * i] : n, to = i < end ? q->cut[2 * i + 1] : n;
		struct piece encode_normalised[2] = { { at, from, st->invert },
			                              { from, to, !st->invert } };
		at = to;
		for (int j = 0; !rc && j < 2; j++) {
			struct piece x = encode_normalised[j], a = { open.from, open.to, last };
			if (x.from == x.to || (st->how == PIPE_REMOVED && x.match))
				continue;
			if (open.to > open.from && open.to == x.from && must_join(st, &a, &x)) {
				open.to = x.to;
			} else {
				rc = end_piece(w, k, s, &open, first);
				open = x;
			}
			last = x.match;
		}
	}
	if (!rc)
		rc = end_piece(w, k, s, &open, first);
	q->n_cut = c->from;
	return rc;
}

static int split_piece(struct words *w, int k, const char *s, size_t n, int first)
{
	const struct pipe_step *st = &w->p->pre[k];
	struct cutting c = { w->r->pipe, w->r->pipe->n_cut, 0 };
	int rc = find_matches(st, &c, s, n, w->err);

	if (!rc)
		return run_pieces(w, k, s, n, first, &c);
	w->r->pipe->n_cut = c.from;
	return rc;
}

static int split_metaspace(struct words *w, int k, const char *s, size_t n, int first)
{
	const struct pipe_step *st = &w->p->pre[k];
	struct buf *b = &w->r->pipe->word[k];
	size_t m = st->with.len;
	int prefixed = *s == ' ' || (n >= m && !memcmp(s, st->with.at, m));

	buf_clear(b);
	if (!prefixed && (st->flags & PIPE_ALWAYS || (st->flags & PIPE_FIRST && first)))
		buf_put(b, st->with.at, m);
	for (size_t at = 0; at < n;) {
		const char *space = memchr(s + at, ' ', n - at);
		size_t end = space ? (size_t)(space - s) : n;
		buf_put(b, s + at, end - at);
		if (space)
			buf_put(b, st->with.at, m);
		at = end + 1;
	}
	if (b->bad)
		return run_nomem(n, w->err);
	return st->flags & PIPE_CUT ? split_piece(w, k, b->at, b->len, first)
	                            : run_step(w, k + 1, b->at, b->len, first);
}

/* A word of a step with the GPT-2 expression, in the byte alphabet unless pieces are bytes. */
struct byte_word {
	struct words *w;
	int k;
	const char *s; /* text that contains the word */
	int first;
};

static int write_letters(void *user, const char *s, size_t n, infer_error *err)
{
	struct byte_word *x = user;
	struct words *w = x->w;
	struct buf *b = &w->r->pipe->word[x->k];
	int first = x->first && s == x->s;
	size_t from = b->len;

	if (!w->r->t->letters)
		return run_step(w, x->k + 1, s, n, first);
	for (size_t i = 0; i < n; i++) {
		char letter[4];
		buf_put(b, letter, (size_t)utf8_put(letter, tok_letter((unsigned char)s[i])));
	}
	if (b->bad)
		return run_nomem(n, err);
	return run_step(w, x->k + 1, b->at + from, b->len - from, first);
}

static int split_bytes(struct words *w, int k, const char *s, size_t n, int first)
{
	const struct pipe_step *st = &w->p->pre[k];
	struct buf *b = &w->r->pipe->word[k];
	int prefix = st->flags & PIPE_PREFIX && *s != ' ';

	buf_clear(b);
	/* reserve now: letters of a word are appended to b while the word in b is used */
	if (buf_reserve(b, (w->r->t->letters ? 3 : 1) * (n + 1)))
		return run_nomem(n, w->err);
	if (prefix) {
		buf_putc(b, ' ');
		buf_put(b, s, n);
		s = b->at;
		n++;
	}
	struct byte_word x = { w, k, s, first };
	return st->code ? pretok_run(st->code, s, n, write_letters, &x, w->err)
	                : write_letters(&x, s, n, w->err);
}

/* Run step k of the pre-tokenizer on a piece. first: it begins the text. */
static int run_step(struct words *w, int k, const char *s, size_t n, int first)
{
	if (!n)
		return INFER_OK;
	if (k == w->p->n_pre) {
		w->r->end = s + n;
		w->r->unk_end = SIZE_MAX;
		return w->r->t->model->word(w->r, s, n, w->err);
	}
	switch (w->p->pre[k].kind) {
	case PIPE_METASPACE:
		return split_metaspace(w, k, s, n, first);
	case PIPE_BYTES:
		return split_bytes(w, k, s, n, first);
	default:
		return split_piece(w, k, s, n, first);
	}
}

/* Encode normalised text between added tokens. */
static int encode_normalised(struct tok_run *r, const char *s, size_t n,
                             const unsigned char *content, int first, infer_error *err)
{
	struct words w = { r, r->t->pipe, err };

	(void)content;
	return run_step(&w, 0, s, n, first && r->pipe->first);
}

/* Normalise and encode text between the added tokens matched in the original text. */
static int normalise_part(struct tok_run *r, const char *s, size_t n, const unsigned char *content,
                          int first, infer_error *err)
{
	const struct tok_pipe *p = r->t->pipe;
	struct pipe_run *q = r->pipe;
	const size_t all = n;

	r->no_end = content && r->t->ends_in_text && memchr(content, 1, n);
	q->first = first;
	for (int i = 0; i < p->n_norm; i++) {
		struct buf *b = &q->text[i & 1];
		buf_clear(b);
		TRY(pipe_normal(r, &p->norm[i], b, s, n, err));
		if (b->bad)
			return run_nomem(n, err);
		s = b->at;
		n = b->len;
		/* Unicode normalisation grows text at most 18 times */
		if (n / 32 > all + 256)
			return err_set(err, INFER_EUNSUP,
			               "the normaliser makes the text more than 32 times as long");
	}
	if (!n)
		return INFER_OK;
	return content ? encode_normalised(r, s, n, NULL, 1, err)
	               : tok_added_split(r, &p->normal, &q->found, s, n, NULL, q->flags,
	                                 encode_normalised, err);
}

int pipe_encode(struct tok_run *r, const char *s, size_t n, const unsigned char *content,
                uint32_t flags, infer_error *err)
{
	const struct tok_pipe *p = r->t->pipe;

	if (!r->pipe && !(r->pipe = new_run()))
		return run_nomem(n, err);
	r->pipe->flags = flags;
	r->pipe->n_cut = 0;
	/* `content` marks bytes of the original text, so all added tokens are matched there */
	return tok_added_split(r, content ? &r->t->added : &p->plain, &r->added, s, n, content,
	                       flags, normalise_part, err);
}
