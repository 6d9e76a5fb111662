/* tok/spm.c - SentencePiece BPE: neighbours merge if the result is a piece, the best score first.
 * Kudo+ 2018, arXiv:1808.06226; the merge order is that of Sennrich+ 2016, arXiv:1508.07909. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "tok/merge.h"
#include "tok/spm.h"
#include "tok/tok.h"
#include "text/unicode.h"

#include <string.h>

struct part {
	const char *s;
	size_t n;
};
struct word {
	struct tok_run *r;
	const char *s;
	/* merged pieces of type "unused" (see tok_run.left); they are split again at the end */
	int32_t *unused;
	struct part *part; /* stack of parts to output; in tok_run.part */
	size_t n_unused, cap, n_part;
	int bad;
};

static int open_spm(struct infer_tokenizer *t, struct tok_source *src, infer_error *err)
{
	t->words_separate = 1;
	for (uint32_t i = 0; i < t->piece.n && t->words_separate; i++) {
		const char *s = t->piece.base + t->piece.at[i].at, *p = s;
		size_t n = t->piece.at[i].len;
		if (t->kind[i] != TOK_NORMAL && t->kind[i] != TOK_UNUSED && t->kind[i] != TOK_USER)
			continue;
		/* skip U+2581 at the start */
		while (n >= 3 && !memcmp(p, TOK_SPACE, 3)) {
			p += 3;
			n -= 3;
		}
		while (t->words_separate && n >= 3 && (p = memchr(p, TOK_SPACE[0], n - 2))) {
			t->words_separate = memcmp(p, TOK_SPACE, 3) != 0;
			p++;
			n = t->piece.at[i].len - (size_t)(p - s);
		}
	}
	return spm_charsmap_open(t, src, err);
}

static void close_spm(struct infer_tokenizer *t) { (void)t; }

size_t spm_text(const struct infer_tokenizer *t, const char *piece, size_t n, char *out)
{
	char *to = out;

	(void)t;
	for (size_t i = 0; i < n;) {
		if (n - i >= 3 && !memcmp(piece + i, TOK_SPACE, 3)) {
			*to++ = ' ';
			i += 3;
		} else {
			*to++ = piece[i++];
		}
	}
	return (size_t)(to - out);
}

/* Map a float to an integer in reverse order: the greatest float has the lowest rank. */
static uint32_t rank_of(float score)
{
	uint32_t u = num_bits(score + 0.0f); /* + 0.0f turns -0 into 0 */
	return u >> 31 ? u : 0x7fffffff - u;
}

static int32_t find_piece(const struct tok_run *r, const char *s, size_t n)
{
	const struct infer_tokenizer *t = r->t;
	int32_t id = tok_find(t, s, n, r->end);

	return id >= 0 &&
	                       (t->kind[id] == TOK_NORMAL || t->kind[id] == TOK_UNUSED ||
	                        t->kind[id] == TOK_USER) &&
	                       tok_may(r, id)
	               ? id
	               : -1;
}

static void remember_unused(struct word *w, int32_t id, uint32_t left)
{
	struct tok_run *r = w->r;

	if (!r->left)
		r->left = mem_zalloc(MEM_TOK, r->t->piece.n, sizeof *r->left);
	if (w->n_unused == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 8;
		int32_t *u = mem_realloc(MEM_TOK, w->unused, cap, sizeof *u);
		w->bad |= !u;
		if (!u)
			return;
		w->unused = u;
		w->cap = cap;
	}
	w->bad |= !r->left;
	if (!r->left)
		return;
	if (!r->left[id])
		w->unused[w->n_unused++] = id;
	r->left[id] = left;
}

static uint32_t merge_rank_of(void *user, const struct merge_sym *l, const struct merge_sym *r,
                              int32_t *to)
{
	struct word *w = user;
	const struct infer_tokenizer *t = w->r->t;

	*to = find_piece(w->r, w->s + l->at, (size_t)l->len + r->len);
	if (*to < 0)
		return MERGE_NONE;
	if (t->kind[*to] == TOK_UNUSED)
		remember_unused(w, *to, l->len);
	return rank_of(t->score[*to]);
}

static int part_push(struct word *w, const char *s, size_t n)
{
	if (w->n_part == w->r->part_cap) {
		size_t cap = w->r->part_cap ? 2 * w->r->part_cap : 8;
		struct part *p = mem_realloc(MEM_TOK, w->part, cap, sizeof *p);
		w->bad |= !p;
		if (!p)
			return INFER_ENOMEM;
		w->part = w->r->part = p;
		w->r->part_cap = cap;
	}
	w->part[w->n_part++] = (struct part){ s, n };
	return INFER_OK;
}

/* Push the tokens of a symbol; an unused piece is split into the parts it was merged from. */
static void emit_parts(struct word *w, const char *s, size_t n)
{
	const struct infer_tokenizer *t = w->r->t;

	for (w->n_part = 0;;) {
		int32_t id = find_piece(w->r, s, n);
		size_t left =
			id >= 0 && t->kind[id] == TOK_UNUSED && w->r->left ? w->r->left[id] : 0;
		if (id < 0)
			tok_fallback(w->r, s, n);
		if (left) {
			if (part_push(w, s + left, n - left))
				return;
			n = left;
			continue;
		}
		if (id >= 0)
			tok_push(&w->r->ids, id);
		if (!w->n_part)
			return;
		s = w->part[--w->n_part].s;
		n = w->part[w->n_part].n;
	}
}

static int encode_word(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	struct word w = { .r = r, .s = s, .part = r->part };
	struct tok_word *slot;
	size_t from = r->ids.n, k = 0;

	if (tok_word_get(r, s, n, &slot))
		return INFER_OK;
	if (merge_room(&r->merge, n))
		return err_set(err, INFER_ENOMEM, "no memory for a word of %zu bytes", n);
	for (size_t at = 0; at < n; k++) {
		uint32_t cp;
		size_t len = unicode_next(s + at, n - at, &cp);
		r->merge->sym[k] =
			(struct merge_sym){ .at = (uint32_t)at, .len = (uint32_t)len, .id = -1 };
		at += len;
	}
	r->merge->n = k;
	int rc = merge_run(r->merge, merge_rank_of, &w);
	for (size_t i = 0; !rc && i < r->merge->n; i++) {
		const struct merge_sym *y = &r->merge->sym[i];
		if (y->id >= 0 && r->t->kind[y->id] != TOK_UNUSED)
			tok_push(&r->ids, y->id);
		else
			emit_parts(&w, s + y->at, y->len);
	}
	while (w.n_unused)
		r->left[w.unused[--w.n_unused]] = 0;
	mem_free(w.unused);
	if (rc || w.bad)
		return err_set(err, INFER_ENOMEM, "no memory for a word of %zu bytes", n);
	tok_word_put(r, slot, s, n, from);
	return INFER_OK;
}

static int encode_spm(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	struct buf *b = &r->text;
	int rc;

	buf_clear(b);
	buf_reserve(b, n + n / 2 + 16);
	rc = spm_normal(r->t, b, s, n, r->t->add_space, err);
	r->end = b->bad ? NULL : b->at + b->len;
	for (size_t at = 0; !rc && at < b->len;) {
		size_t end = r->t->words_separate ? at : b->len;
		while (end + 3 <= b->len && !memcmp(b->at + end, TOK_SPACE, 3))
			end += 3;
		while (end < b->len) { /* find the next U+2581 */
			const char *p = memchr(b->at + end, TOK_SPACE[0], b->len - end);
			end = p ? (size_t)(p - b->at) : b->len;
			if (p && b->len - end >= 3 && !memcmp(p, TOK_SPACE, 3))
				break;
			end += p != NULL;
		}
		rc = encode_word(r, b->at + at, end - at, err);
		at = end;
	}
	return rc;
}

const struct tok_model tok_spm = {
	.gguf = "llama",
	.kind = "spm",
	.id = { [TOK_BOS] = 1,
	        [TOK_EOS] = 2,
	        [TOK_UNK] = 0,
	        [TOK_EOT] = -1,
	        [TOK_EOM] = -1,
	        [TOK_SEP] = -1,
	        [TOK_PAD] = -1,
	        [TOK_MASK] = -1,
	        [TOK_CLS] = -1,
	        [TOK_FIM_PAD] = -1,
	        [TOK_FIM_REP] = -1,
	        [TOK_FIM_SEP] = -1 },
	.add_bos = 1,
	.add_space = 1,
	.scored = 1,
	.longest = TOK_LONGEST,
	.open = open_spm,
	.close = close_spm,
	.text = spm_text,
	.encode = encode_spm,
};
