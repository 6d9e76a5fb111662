/* tok/bpe.c - byte-level BPE, and BPE over code points with byte fallback: pairs of tokens merge in
 * the order of the merges' ranks.
 * Radford+ 2019 (GPT-2), section 2.2; Sennrich+ 2016, arXiv:1508.07909, algorithm 1. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "tok/merge.h"
#include "tok/spm.h"
#include "tok/key.h"
#include "text/unicode.h"

#include <string.h>

/* The byte alphabet: 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF are the code points of the same value; the
 * other 68 bytes, in ascending order, are U+0100 ... U+0143. */
uint32_t tok_letter(unsigned char b)
{
	if ((b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad))
		return b;
	return 0x100u + (b <= 0x20 ? b : b == 0xad ? 67u : b - 0x7fu + 33u);
}

static int byte_of(uint32_t cp)
{
	if ((cp >= 0x21 && cp <= 0x7e) || (cp >= 0xa1 && cp <= 0xff && cp != 0xad))
		return (int)cp;
	if (cp < 0x100 || cp > 0x143)
		return -1;
	cp -= 0x100;
	return (int)(cp <= 0x20 ? cp : cp == 67 ? 0xad : cp - 33 + 0x7f);
}

/* True if the symbols of a word are code points, false if they are bytes. */
static int symbols_are_points(const struct infer_tokenizer *t) { return t->raw || t->letters; }

/* True if the eight bytes of x are all in 0x21 ... 0x7e, which the alphabet maps to themselves. */
static int all_plain(uint64_t x)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;

	return !((x | (x + ones) | ~((x | high) - 0x21 * ones)) & high);
}

static size_t bpe_text(const struct infer_tokenizer *t, const char *piece, size_t n, char *out)
{
	size_t k = 0, at = 0;
	uint64_t lo, hi;

	if (t->raw)
		return spm_text(t, piece, n, out);
	while (at < n) {
		size_t r = n - at < 8 ? n - at : 8;
		tok_load(piece + at, r, t->piece.end, &lo, &hi);
		if (all_plain(lo | (UINT64_C(0x2121212121212121) & ~tok_first(UINT64_MAX, r)))) {
			memcpy(out + k, &lo, 8);
			k += r;
			at += r;
			continue;
		}
		do { /* other letters have two bytes each */
			unsigned char c = (unsigned char)piece[at],
				      d = at + 1 < n ? (unsigned char)piece[at + 1] : 0;
			int b = c < 0x80 ? byte_of(c)
			        : c >= 0xc2 && c <= 0xc5 && (d & 0xc0) == 0x80
			                ? byte_of((c & 31u) << 6 | (d & 63u))
			                : -1;
			/* a code point outside the alphabet: the piece is plain text */
			if (b < 0) {
				memcpy(out, piece, n);
				return n;
			}
			out[k++] = (char)b;
			at += c < 0x80 ? 1 : 2;
		} while (at < n && (unsigned char)piece[at] >= 0x80);
	}
	return k;
}

/* Return the index of the space between the halves of a merge, after byte 0; 0: none. */
static size_t find_space(const char *s, size_t n)
{
	const char *space = n > 2 ? memchr(s + 1, ' ', n - 2) : NULL;

	return space ? (size_t)(space - s) : 0;
}

/* Return the token that is h[0] followed by h[1], or -1.  guess: token to try first. */
static int32_t find_joined(const struct infer_tokenizer *t, uint32_t guess, const struct tok_key *h,
                           struct buf *scratch)
{
	const struct tok_strings *p = &t->piece;
	size_t n = h[0].n, m = h[1].n;
	uint64_t lo[2], hi[2];

	if (guess < p->n && p->at[guess].len == n + m && n <= 16 && m <= 16 && !t->duplicates) {
		const char *at = p->base + p->at[guess].at;
		tok_load(at, n, p->end, &lo[0], &hi[0]);
		tok_load(at + n, m, p->end, &lo[1], &hi[1]);
		if (lo[0] == h[0].lo && hi[0] == h[0].hi && lo[1] == h[1].lo && hi[1] == h[1].hi)
			return (int32_t)guess;
	}
	buf_clear(scratch);
	buf_put(scratch, h[0].s, n);
	buf_put(scratch, h[1].s, m);
	return scratch->bad ? -1 : tok_find(t, scratch->at, n + m, scratch->at + n + m);
}

static int is_plain_token(const struct infer_tokenizer *t, int32_t id)
{
	return id >= 0 && t->kind[id] != TOK_CONTROL && t->kind[id] != TOK_UNKNOWN &&
	       !(t->flag[id] & TOK_OUTSIDE);
}

static void add_pair(struct tok_map *m, const uint64_t secret[3], const struct tok_merge *merge,
                     uint32_t i)
{
	uint32_t hash = tok_pair_hash(secret, merge[i].left, merge[i].right), j = hash & m->mask;

	for (; m->slot[j]; j = (j + 1) & m->mask) {
		const struct tok_merge *old = &merge[(m->slot[j] & m->at) - 1];
		if (!((m->slot[j] ^ hash) & ~m->at) && old->left == merge[i].left &&
		    old->right == merge[i].right)
			return; /* keep the first of equal merges */
	}
	m->slot[j] = (hash & ~m->at) | (i + 1);
}

enum { BATCH = 32 };

/* Read up to BATCH merges, hash their halves and look them up: three dependent loads that miss the
 * cache, so each is prefetched well before it is needed. */
static int read_halves(const struct infer_tokenizer *t, struct tok_source *src, uint32_t from,
                       uint32_t to, struct tok_key *h, int32_t *id, infer_error *err)
{
	const struct tok_strings *p = &t->piece;
	uint32_t n = 2 * (to - from);
	struct infer_str s;

	for (uint32_t i = 0; i < n; i += 2) {
		src->next_merge(src, &s);
		size_t k = find_space(s.at, s.len);
		if (!k)
			return err_set(err, INFER_EFORMAT,
			               "%s: key tokenizer.ggml.merges: merge %u must be two pieces "
			               "with a space between",
			               src->name, from + i / 2);
		tok_key(t->secret, &h[i], s.at, k, src->merges_end);
		tok_key(t->secret, &h[i + 1], s.at + k + 1, s.len - k - 1, src->merges_end);
		__builtin_prefetch(&t->map.slot[h[i].hash & t->map.mask]);
		__builtin_prefetch(&t->map.slot[h[i + 1].hash & t->map.mask]);
	}
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(&p->at[(t->map.slot[h[i].hash & t->map.mask] & t->map.at) - 1]);
	for (uint32_t i = 0; i < n; i++)
		if (t->map.slot[h[i].hash & t->map.mask])
			__builtin_prefetch(
				p->base +
				p->at[(t->map.slot[h[i].hash & t->map.mask] & t->map.at) - 1].at);
	for (uint32_t i = 0; i < n; i++) {
		id[i] = tok_map_get(&t->map, p, &h[i]);
		if (id[i] < 0)
			return err_set(err, INFER_EFORMAT,
			               "%s: key tokenizer.ggml.merges: a half of merge %u is not "
			               "in the vocabulary",
			               src->name, from + i / 2);
	}
	return INFER_OK;
}

/* Read merges [from, to), at most BATCH, into the tables. */
static int read_merges(struct infer_tokenizer *t, struct tok_source *src, uint32_t from,
                       uint32_t to, struct buf *scratch, infer_error *err)
{
	struct tok_key key[2 * BATCH];
	int32_t id[2 * BATCH];

	TRY(read_halves(t, src, from, to, key, id, err));
	for (uint32_t i = from; i < to; i++) {
		uint32_t l = (uint32_t)id[2 * (i - from)], r = (uint32_t)id[2 * (i - from) + 1];
		int32_t both = find_joined(t, i ? t->merge[i - 1].to + 1 : UINT32_MAX,
		                           &key[2 * (i - from)], scratch);
		if (scratch->bad)
			return err_set(err, INFER_ENOMEM, "%s: no memory for %u merges", src->name,
			               src->n_merges);
		if (both < 0)
			return err_set(err, INFER_EFORMAT,
			               "%s: key tokenizer.ggml.merges: the result of merge %u is "
			               "not in the vocabulary",
			               src->name, i);
		t->merge[i] = (struct tok_merge){ l, r, (uint32_t)both };
		__builtin_prefetch(&t->pair.slot[tok_pair_hash(t->secret, l, r) & t->pair.mask], 1);
	}
	for (uint32_t i = from; i < to; i++)
		if (is_plain_token(t, (int32_t)t->merge[i].to)) /* no merge makes a control token */
			add_pair(&t->pair, t->secret, t->merge, i);
	return INFER_OK;
}

static int open_bpe(struct infer_tokenizer *t, struct tok_source *src, infer_error *err)
{
	struct buf scratch;
	int rc = INFER_OK;

	if (src->charsmap_bytes)
		return err_set(
			err, INFER_EUNSUP,
			"%s: key tokenizer.ggml.precompiled_charsmap with a tokenizer of kind %s",
			src->name, t->model->gguf);
	for (unsigned b = 0; b < 256 && !symbols_are_points(t); b++) {
		char c[16] = { 0 };
		int32_t id = tok_find(t, c, (size_t)utf8_put(c, tok_letter((unsigned char)b)),
		                      c + sizeof c);
		t->byte_id[b] = is_plain_token(t, id) ? id : t->byte_id[b];
	}
	t->merge = mem_alloc(MEM_TOK, src->n_merges, sizeof *t->merge);
	if (!t->merge || tok_map_new(&t->pair, src->n_merges))
		return err_set(err, INFER_ENOMEM, "%s: no memory for %u merges", src->name,
		               src->n_merges);
	buf_init(&scratch, MEM_TOK);
	for (uint32_t i = 0; !rc && i < src->n_merges; i += BATCH)
		rc = read_merges(t, src, i, src->n_merges - i < BATCH ? src->n_merges : i + BATCH,
		                 &scratch, err);
	buf_fini(&scratch);
	return rc ? rc : pretok_new(&t->pre_code, t->pre, PRETOK_WITH_SCANNERS, err);
}

static void close_bpe(struct infer_tokenizer *t)
{
	mem_free(t->merge);
	mem_free(t->pair.slot);
	pretok_free(t->pre_code);
}

static uint32_t merge_rank_of(void *user, const struct merge_sym *l, const struct merge_sym *r,
                              int32_t *to)
{
	const struct tok_run *run = user;
	const struct infer_tokenizer *t = run->t;

	if (l->id < 0 || r->id < 0)
		return MERGE_NONE;
	uint32_t a = (uint32_t)l->id, b = (uint32_t)r->id, hash = tok_pair_hash(t->secret, a, b);
	for (uint32_t j = hash & t->pair.mask, slot; (slot = t->pair.slot[j]);
	     j = (j + 1) & t->pair.mask) {
		const struct tok_merge *m = &t->merge[(slot & t->pair.at) - 1];
		if (!((slot ^ hash) & ~t->pair.at) && m->left == a && m->right == b) {
			*to = (int32_t)m->to;
			if (!tok_may(run, *to))
				break;
			return (slot & t->pair.at) - 1;
		}
	}
	return MERGE_NONE;
}

/* Set *id to the token equal to the whole word, or -1. */
static int find_whole_word(const struct tok_run *r, const char *s, size_t n, int32_t *id,
                           infer_error *err)
{
	const struct infer_tokenizer *t = r->t;
	char small[256], *key = small;
	size_t k = 0;

	*id = -1;
	if (!n || n > t->max_len)
		return INFER_OK;
	small[0] = 0;
	if (symbols_are_points(t)) {
		*id = tok_find(t, s, n, r->end);
	} else {
		if (2 * n > sizeof small && !(key = mem_alloc(MEM_TOK, n, 2)))
			return err_set(err, INFER_ENOMEM, "no memory for a word of %zu bytes", n);
		for (size_t i = 0; i < n; i++)
			k += (size_t)utf8_put(key + k, tok_letter((unsigned char)s[i]));
		*id = tok_find(t, key, k, key + k);
		if (key != small)
			mem_free(key);
	}
	*id = is_plain_token(t, *id) && tok_may(r, *id) ? *id : -1;
	return INFER_OK;
}

static size_t make_symbols(struct tok_run *r, const char *s, size_t n)
{
	const struct infer_tokenizer *t = r->t;
	struct merge_sym *sym = r->merge->sym;
	size_t k = 0;
	uint32_t cp;

	for (size_t at = 0, len = 1; at < n; at += len, k++) {
		int32_t id;
		if (symbols_are_points(t)) {
			len = unicode_next(s + at, n - at, &cp);
			id = tok_find(t, s + at, len, r->end);
			id = is_plain_token(t, id) && tok_may(r, id) ? id : -1;
		} else {
			id = tok_byte(r, (unsigned char)s[at]);
		}
		sym[k] = (struct merge_sym){ .at = (uint32_t)at, .len = (uint32_t)len, .id = id };
	}
	return k;
}

static int encode_bpe_word(void *user, const char *s, size_t n, infer_error *err)
{
	struct tok_run *r = user;
	struct tok_word *slot;
	size_t from = r->ids.n;
	int32_t id = -1;

	if (tok_word_get(r, s, n, &slot))
		return INFER_OK;
	if (r->t->whole)
		TRY(find_whole_word(r, s, n, &id, err));
	if (id >= 0) {
		tok_push(&r->ids, id);
	} else {
		if (merge_room(&r->merge, n))
			return err_set(err, INFER_ENOMEM, "no memory for a word of %zu bytes", n);
		r->merge->n = make_symbols(r, s, n);
		if (merge_run(r->merge, merge_rank_of, r))
			return err_set(err, INFER_ENOMEM, "no memory for a word of %zu bytes", n);
		for (size_t i = 0; i < r->merge->n; i++) {
			const struct merge_sym *y = &r->merge->sym[i];
			if (y->id >= 0)
				tok_push(&r->ids, y->id);
			else
				tok_fallback(r, s + y->at, y->len);
		}
	}
	tok_word_put(r, slot, s, n, from);
	return INFER_OK;
}

static int pipe_word(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	return encode_bpe_word(r, s, n, err);
}

static int encode_bpe(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	struct buf *b = &r->text;

	r->end = s + n;
	if (!r->t->raw && !(r->t->add_space && *s != ' '))
		return pretok_run(r->t->pre_code, s, n, encode_bpe_word, r, err);
	buf_clear(b);
	if (r->t->raw) {
		spm_escape(b, s, n, r->t->add_space);
	} else {
		buf_putc(b, ' ');
		buf_put(b, s, n);
	}
	r->end = b->bad ? NULL : b->at + b->len;
	return b->bad ? err_set(err, INFER_ENOMEM, "no memory for %zu bytes of text", n)
	              : pretok_run(r->t->pre_code, b->at, b->len, encode_bpe_word, r, err);
}

#define NO_IDS \
	[TOK_EOT] = -1, [TOK_EOM] = -1, [TOK_SEP] = -1, [TOK_PAD] = -1, [TOK_MASK] = -1, \
	[TOK_CLS] = -1, [TOK_FIM_PAD] = -1, [TOK_FIM_REP] = -1, [TOK_FIM_SEP] = -1, [TOK_UNK] = -1

const struct tok_model tok_bpe = {
	.gguf = "gpt2",
	.kind = "bpe",
	.pre = "default",
	.id = { [TOK_BOS] = 11, [TOK_EOS] = 11, NO_IDS },
	.open = open_bpe,
	.close = close_bpe,
	.text = bpe_text,
	.word = pipe_word,
	.encode = encode_bpe,
};

const struct tok_model tok_gemma4 = {
	.gguf = "gemma4",
	.kind = "bpe",
	.pre = "gemma4",
	.id = { [TOK_BOS] = -1, [TOK_EOS] = -1, NO_IDS },
	.add_bos = 1,
	.open = open_bpe,
	.close = close_bpe,
	.text = bpe_text,
	.encode = encode_bpe,
};
