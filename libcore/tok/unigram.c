/* tok/unigram.c - the segmentation with the greatest sum of scores.  Kudo 2018, arXiv:1804.10959,
 * section 3.2: Viterbi.
 *
 * best[e] is the best segmentation of the bytes before e; each piece that begins at e extends it.
 * Sums are float and added from the left, so ties are broken as in SentencePiece: the longer last
 * piece wins.  With a pipe they are double, as in `tokenizers`. */
#include "base/err.h"
#include "base/mem.h"
#include "tok/key.h"
#include "tok/pipe.h"
#include "tok/spm.h"
#include "text/unicode.h"

#include <string.h>

enum { REACH = 4096, UNSEEN = -2, UNKNOWN = -1 };

/* The best segmentation of a prefix: score, last piece, its start.  id UNSEEN: none so far */
struct best {
	double score;
	int32_t id;
	uint32_t from;
};

static int is_usable(const struct infer_tokenizer *t, int32_t id)
{
	return id >= 0 &&
	       (t->kind[id] == TOK_NORMAL || t->kind[id] == TOK_USER ||
	        (t->pipe && t->kind[id] == TOK_BYTE)) &&
	       !(t->flag[id] & TOK_OUTSIDE);
}

static double score_of(const struct infer_tokenizer *t, int32_t id)
{
	return t->pipe && t->pipe->score ? t->pipe->score[id] : (double)t->score[id];
}

/* Add two scores as the reference implementation does: in float, with a pipe in double. */
static double add_scores(const struct infer_tokenizer *t, double a, double b)
{
	return t->pipe ? a + b : (double)(float)(a + b);
}

static uint16_t *reach_slot(const struct infer_tokenizer *t, const char *s, size_t n)
{
	uint32_t cp;

	unicode_next(s, n, &cp);
	return &t->reach[tok_pair_hash(t->secret, cp, 0) % REACH];
}

static int open_unigram(struct infer_tokenizer *t, struct tok_source *src, infer_error *err)
{
	double least = 0;
	int seen = 0;

	t->reach = mem_zalloc(MEM_TOK, REACH, sizeof *t->reach);
	if (!t->reach)
		return err_set(err, INFER_ENOMEM, "%s: no memory for %u tokens", src->name,
		               t->piece.n);
	for (uint32_t i = 0; i < t->piece.n; i++) {
		const char *s = t->piece.base + t->piece.at[i].at;
		uint32_t n = t->piece.at[i].len;
		if (!n || !is_usable(t, (int32_t)i))
			continue;
		uint16_t *r = reach_slot(t, s, n);
		if (n > *r)
			*r = (uint16_t)n; /* fits: .longest limits n */
		if (t->kind[i] != TOK_NORMAL && !t->pipe)
			continue;
		double score = score_of(t, (int32_t)i);
		least = !seen || score < least ? score : least;
		t->max_score = !seen || t->score[i] > t->max_score ? t->score[i] : t->max_score;
		seen = 1;
	}
	t->unk_score = add_scores(t, least, -10);
	return spm_charsmap_open(t, src, err);
}

static void close_unigram(struct infer_tokenizer *t) { mem_free(t->reach); }

/* Extend best[at] by every piece that begins at `at`.  True if the code point at `at`, of `one`
 * bytes, is a piece. */
static int extend_best(const struct tok_run *r, struct best *best, const char *s, size_t n,
                       size_t at, size_t one)
{
	const struct infer_tokenizer *t = r->t;
	struct tok_prefix prefix = { 0 };
	struct tok_key key = { 0 };
	size_t most = *reach_slot(t, s + at, n - at);
	double here = best[at].score;
	int single = 0;
	uint32_t cp;

	for (size_t len = one; len <= most && at + len <= n;) {
		tok_key_more(t->secret, &prefix, &key, s + at, len, s + n);
		int32_t id = tok_map_get(&t->map, &t->piece, &key);
		if (is_usable(t, id) && tok_may(r, id)) {
			/* a user-defined piece beats all other pieces of its length */
			int user = t->kind[id] == TOK_USER && !t->pipe;
			float most_of = (float)len * t->max_score - 0.1f;
			double score =
				add_scores(t, user ? (double)most_of : score_of(t, id), here);
			struct best *b = &best[at + len];
			if (b->id == UNSEEN || score > b->score)
				*b = (struct best){ score, id, (uint32_t)at };
			single |= len == one;
		}
		if (at + len >= n)
			break;
		len += unicode_next(s + at + len, n - at - len, &cp);
	}
	return single;
}

static int encode_normalised(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	const struct infer_tokenizer *t = r->t;
	struct best *best = mem_alloc(MEM_TOK, n + 1, sizeof *best);
	uint32_t cp;

	if (!best)
		return err_set(err, INFER_ENOMEM, "no memory for %zu bytes of text", n);
	for (size_t i = 0; i <= n; i++)
		best[i] = (struct best){ 0, UNSEEN, 0 };
	for (size_t at = 0, one; at < n; at += one) {
		one = unicode_next(s + at, n - at, &cp);
		if (!extend_best(r, best, s, n, at, one)) {
			double score = add_scores(t, t->unk_score, best[at].score);
			if (best[at + one].id == UNSEEN || score > best[at + one].score)
				best[at + one] = (struct best){ score, UNKNOWN, (uint32_t)at };
		}
	}
	/* reverse the path: best[at].from becomes the end of the piece that begins at `at` */
	for (size_t end = n, from, next = n; end; next = end, end = from) {
		from = best[end].from;
		best[end].from = (uint32_t)next;
		if (!from)
			best[0].from = (uint32_t)end;
	}
	for (size_t at = 0; at < n;) {
		size_t end = best[at].from;
		if (best[end].id >= 0)
			tok_push(&r->ids, best[end].id);
		else
			tok_fallback(r, s + at, end - at);
		at = end;
	}
	mem_free(best);
	return INFER_OK;
}

static int encode_unigram(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	struct buf b;
	int rc;

	buf_init(&b, MEM_TOK);
	buf_reserve(&b, n + n / 2 + 16);
	rc = spm_normal(r->t, &b, s, n, r->t->add_space, err);
	if (!rc && b.len)
		rc = encode_normalised(r, b.at, b.len, err);
	buf_fini(&b);
	return rc;
}

const struct tok_model tok_unigram = {
	.gguf = "t5",
	.kind = "unigram",
	.id = { [TOK_BOS] = -1,
	        [TOK_EOS] = 1,
	        [TOK_UNK] = 2,
	        [TOK_PAD] = 0,
	        [TOK_EOT] = -1,
	        [TOK_EOM] = -1,
	        [TOK_SEP] = -1,
	        [TOK_MASK] = -1,
	        [TOK_CLS] = -1,
	        [TOK_FIM_PAD] = -1,
	        [TOK_FIM_REP] = -1,
	        [TOK_FIM_SEP] = -1 },
	.add_eos = 1,
	.add_space = 1,
	.squeeze = 1,
	.scored = 1,
	.longest = TOK_LONGEST / 2,
	.open = open_unigram,
	.close = close_unigram,
	.text = spm_text,
	.word = encode_normalised,
	.encode = encode_unigram,
};
