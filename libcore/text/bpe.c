/* text/bpe.c - byte-level BPE, and BPE over code points with byte fallback: pairs of tokens join by the rank of a merge.
 * Radford+ 2019 (GPT-2), section 2.2; Sennrich+ 2016, arXiv:1508.07909, algorithm 1. */
#include <string.h>
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "text/merge.h"
#include "text/spm.h"
#include "text/tok.h"
#include "text/unicode.h"

/* The byte alphabet: 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF are the code points of their value, the other 68 bytes in their
 * order U+0100 ... U+0143. */
static uint32_t letter_of(unsigned b)
{
	if ((b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad))
		return b;
	return 0x100 + (b <= 0x20 ? b : b == 0xad ? 67 : b - 0x7f + 33);
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

static int raw(const struct infer_tokenizer *t) { return (t->pre->flags & PRETOK_RAW) != 0; }

static size_t text(const struct infer_tokenizer *t, const char *piece, size_t n, char *out)
{
	size_t k = 0;

	if (raw(t))
		return spm_text(t, piece, n, out);
	for (size_t at = 0; at < n;) {
		unsigned char c = (unsigned char)piece[at];
		uint32_t cp = c;
		if (c >= 0x80) {   /* the alphabet's code points take one or two bytes */
			unsigned char d = at + 1 < n ? (unsigned char)piece[at + 1] : 0;
			cp = c >= 0xc2 && c < 0xe0 && (d & 0xc0) == 0x80 ? (c & 31u) << 6 | (d & 63u) : UNI_BAD;
			at++;
		}
		at++;
		int b = byte_of(cp);
		if (b < 0) {       /* a code point outside of it: the piece is plain text */
			memcpy(out, piece, n);
			return n;
		}
		out[k++] = (char)b;
	}
	return k;
}

/* Where s is cut in two: at its first space behind the first byte; 0: nowhere. */
static uint32_t cut(const char *s, uint32_t n)
{
	const char *space = n > 2 ? memchr(s + 1, ' ', n - 2) : NULL;

	return space ? (uint32_t)(space - s) : 0;
}

/* The token of left right: often the one behind the last; else searched. */
static int32_t joined(const struct infer_tokenizer *t, int32_t l, int32_t r, int32_t guess, struct buf *scratch)
{
	const struct tok_strings *p = &t->piece;
	uint32_t n = p->len[l], m = p->len[r];

	if (guess >= 0 && (uint32_t)guess < p->n && p->len[guess] == n + m && !memcmp(p->base + p->at[guess], p->base + p->at[l], n) &&
	    !memcmp(p->base + p->at[guess] + n, p->base + p->at[r], m) && t->kind[guess] == TOK_NORMAL)
		return guess;
	buf_clear(scratch);
	buf_put(scratch, p->base + p->at[l], n);
	buf_put(scratch, p->base + p->at[r], m);
	return scratch->bad ? -1 : tok_find(t, scratch->at, n + m);
}

static void pair_put(struct tok_map *m, const struct tok_merge *merge, uint32_t i)
{
	uint32_t hash = tok_pair_hash(merge[i].left, merge[i].right), j = hash & m->mask;

	for (; m->slot[j].at; j = (j + 1) & m->mask)
		if (merge[m->slot[j].at - 1].left == merge[i].left && merge[m->slot[j].at - 1].right == merge[i].right)
			return;   /* the first of equal merges counts */
	m->slot[j] = (struct tok_slot){ hash, i + 1 };
}

/* Merges [from, to), at most 32: their halves' hashes first, so that the table's lines are on their way. */
static int merges(struct infer_tokenizer *t, const struct tok_source *source, uint32_t from, uint32_t to, struct buf *scratch,
                  infer_error *err)
{
	const struct tok_strings *src = &source->merges;
	uint32_t at[32], hl[32], hr[32];

	for (uint32_t i = from; i < to; i++) {
		const char *s = src->base + src->at[i];
		uint32_t n = src->len[i], k = at[i - from] = cut(s, n);
		if (!k)
			return err_set(err, INFER_EFORMAT, "%s: key tokenizer.ggml.merges: merge %u is no pair", source->name, i);
		__builtin_prefetch(&t->map.slot[(hl[i - from] = tok_hash(s, k)) & t->map.mask]);
		__builtin_prefetch(&t->map.slot[(hr[i - from] = tok_hash(s + k + 1, n - k - 1)) & t->map.mask]);
	}
	for (uint32_t i = from; i < to; i++) {
		const char *s = src->base + src->at[i];
		uint32_t n = src->len[i], k = at[i - from];
		int32_t l = tok_map_get(&t->map, &t->piece, hl[i - from], s, k);
		int32_t r = tok_map_get(&t->map, &t->piece, hr[i - from], s + k + 1, n - k - 1);
		int32_t both = l < 0 || r < 0 ? -1 : joined(t, l, r, i ? (int32_t)t->merge[i - 1].to + 1 : -1, scratch);
		if (scratch->bad)
			return err_set(err, INFER_ENOMEM, "%s: %u merges", source->name, src->n);
		if (both < 0)
			return err_set(err, INFER_EFORMAT, "%s: key tokenizer.ggml.merges: merge %u is not of tokens, or does not make one",
				source->name, i);
		t->merge[i] = (struct tok_merge){ (uint32_t)l, (uint32_t)r, (uint32_t)both };
		__builtin_prefetch(&t->pair.slot[tok_pair_hash((uint32_t)l, (uint32_t)r) & t->pair.mask], 1);
	}
	for (uint32_t i = from; i < to; i++)
		pair_put(&t->pair, t->merge, i);
	return INFER_OK;
}

static int open(struct infer_tokenizer *t, const struct tok_source *src, infer_error *err)
{
	struct buf scratch;
	int rc = INFER_OK;

	if (src->charsmap_bytes)
		return err_set(err, INFER_EUNSUP, "%s: key tokenizer.ggml.precompiled_charsmap with a tokenizer of kind %s", src->name, t->model->gguf);
	for (unsigned b = 0; b < 256 && !raw(t); b++) {
		char c[4];
		int32_t id = tok_find(t, c, (size_t)utf8_put(c, letter_of(b)));
		t->byte_id[b] = id >= 0 ? id : t->byte_id[b];
	}
	t->merge = mem_alloc(MEM_TEXT, src->merges.n, sizeof *t->merge);
	if (!t->merge || tok_map_new(&t->pair, src->merges.n))
		return err_set(err, INFER_ENOMEM, "%s: %u merges", src->name, src->merges.n);
	buf_init(&scratch, MEM_TEXT);
	for (uint32_t i = 0; !rc && i < src->merges.n; i += 32)
		rc = merges(t, src, i, src->merges.n - i < 32 ? src->merges.n : i + 32, &scratch, err);
	buf_fini(&scratch);
	return rc ? rc : pretok_new(&t->pre_code, t->pre, PRETOK_WITH_SCANNERS, err);
}

static void close(struct infer_tokenizer *t)
{
	mem_free(t->merge);
	mem_free(t->pair.slot);
	pretok_free(t->pre_code);
}

static uint32_t rank(void *user, const struct merge_sym *l, const struct merge_sym *r, int32_t *to)
{
	const struct infer_tokenizer *t = user;

	if (l->id < 0 || r->id < 0)
		return MERGE_NONE;
	uint32_t a = (uint32_t)l->id, b = (uint32_t)r->id, hash = tok_pair_hash(a, b);
	for (uint32_t j = hash & t->pair.mask; t->pair.slot[j].at; j = (j + 1) & t->pair.mask) {
		const struct tok_merge *m = &t->merge[t->pair.slot[j].at - 1];
		if (t->pair.slot[j].hash == hash && m->left == a && m->right == b) {
			*to = (int32_t)m->to;
			return t->pair.slot[j].at - 1;
		}
	}
	return MERGE_NONE;
}

static int plain(const struct infer_tokenizer *t, int32_t id)
{
	return id >= 0 && t->kind[id] != TOK_CONTROL && t->kind[id] != TOK_UNKNOWN;
}

/* The token that the whole piece is, or -1. */
static int whole(const struct infer_tokenizer *t, const char *s, size_t n, int32_t *id, infer_error *err)
{
	char small[256], *key = small;
	size_t k = 0;

	*id = -1;
	if (n > t->max_len)
		return INFER_OK;
	if (raw(t)) {
		*id = tok_find(t, s, n);
	} else {
		if (2 * n > sizeof small && !(key = mem_alloc(MEM_TEXT, n, 2)))
			return err_set(err, INFER_ENOMEM, "a word of %zu bytes", n);
		for (size_t i = 0; i < n; i++)
			k += (size_t)utf8_put(key + k, letter_of((unsigned char)s[i]));
		*id = tok_find(t, key, k);
		if (key != small)
			mem_free(key);
	}
	*id = plain(t, *id) ? *id : -1;
	return INFER_OK;
}

static size_t symbols(struct tok_run *r, const char *s, size_t n)
{
	const struct infer_tokenizer *t = r->t;
	struct merge_sym *sym = r->merge->sym;
	size_t k = 0;
	uint32_t cp;

	for (size_t at = 0, len = 1; at < n; at += len, k++) {
		int32_t id;
		if (raw(t)) {
			len = unicode_next(s + at, n - at, &cp);
			id = tok_find(t, s + at, len);
			id = plain(t, id) ? id : -1;
		} else {
			id = t->byte_id[(unsigned char)s[at]];
		}
		sym[k] = (struct merge_sym){ .at = (uint32_t)at, .len = (uint32_t)len, .id = id };
	}
	return k;
}

static int word(void *user, const char *s, size_t n, infer_error *err)
{
	struct tok_run *r = user;
	struct tok_word *slot;
	size_t from = r->ids.n;
	int32_t id = -1;

	if (tok_word_get(r, s, n, &slot))
		return INFER_OK;
	if (r->t->pre->flags & PRETOK_WHOLE)
		TRY(whole(r->t, s, n, &id, err));
	if (id >= 0) {
		tok_push(&r->ids, id);
	} else {
		if (merge_room(&r->merge, n))
			return err_set(err, INFER_ENOMEM, "a word of %zu bytes", n);
		r->merge->n = symbols(r, s, n);
		if (merge_run(r->merge, rank, (void *)r->t))
			return err_set(err, INFER_ENOMEM, "a word of %zu bytes", n);
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

static int encode(struct tok_run *r, const char *s, size_t n, int opens, infer_error *err)
{
	struct buf b;
	int rc;

	if (!raw(r->t) && !(opens && r->t->add_space && *s != ' '))
		return pretok_run(r->t->pre_code, s, n, word, r, err);
	buf_init(&b, MEM_TEXT);
	if (raw(r->t)) {
		spm_escape(&b, s, n, opens && r->t->add_space);
	} else {
		buf_putc(&b, ' ');
		buf_put(&b, s, n);
	}
	rc = b.bad ? err_set(err, INFER_ENOMEM, "%zu bytes of text", n) : pretok_run(r->t->pre_code, b.at, b.len, word, r, err);
	buf_fini(&b);
	return rc;
}

#define NO_IDS [TOK_EOT] = -1, [TOK_EOM] = -1, [TOK_SEP] = -1, [TOK_PAD] = -1, [TOK_MASK] = -1, [TOK_CLS] = -1, [TOK_FIM_PAD] = -1, \
	[TOK_FIM_REP] = -1, [TOK_FIM_SEP] = -1, [TOK_UNK] = -1

const struct tok_model tok_bpe = {
	.gguf = "gpt2", .kind = "bpe", .pre = "default", .id = { [TOK_BOS] = 11, [TOK_EOS] = 11, NO_IDS },
	.open = open, .close = close, .text = text, .encode = encode,
};

const struct tok_model tok_gemma4 = {
	.gguf = "gemma4", .kind = "bpe", .pre = "gemma4", .id = { [TOK_BOS] = -1, [TOK_EOS] = -1, NO_IDS }, .add_bos = 1,
	.open = open, .close = close, .text = text, .encode = encode,
};
