/* tok/wpm.c - WordPiece: words of normalised text, each split greedily into the longest pieces.
 * Devlin+ 2018, arXiv:1810.04805; Wu+ 2016, arXiv:1609.08144, section 4.1.
 *
 * Pieces that begin a word start with U+2581; other pieces do not. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "tok/pipe.h"
#include "tok/spm.h"
#include "tok/tok.h"
#include "text/unicode.h"

#include <string.h>

/* most characters of a word; a longer one is one unknown token */
enum { WORD_CHARS = 100 };

struct chunk {
	struct tok_run *r;
	uint32_t *cp;
	size_t n, cap;
	struct buf word;
	size_t chars;
	int bad;
};

static int is_cjk(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
	       (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
	       (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static int is_punct(uint32_t c)
{
	return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
	       (c >= '{' && c <= '~') || unicode_set(c) & UNI_P;
}

static void add_code_point(struct chunk *c, uint32_t cp)
{
	if (c->n == c->cap && !c->bad) {
		size_t cap = c->cap ? 2 * c->cap : 64;
		uint32_t *at = mem_realloc(MEM_TOK, c->cp, cap, sizeof *at);
		c->bad |= !at;
		if (at) {
			c->cp = at;
			c->cap = cap;
		}
	}
	if (!c->bad)
		c->cp[c->n++] = cp;
}

/* Return the longest piece that is a prefix of word[at .. n), or -1; *len: length of the piece.
 * word begins with U+2581. */
static int32_t find_longest_piece(const struct tok_run *r, const char *word, size_t at, size_t n,
                                  size_t *len)
{
	const struct infer_tokenizer *t = r->t;
	const char *s = at == 3 ? word : word + at; /* the first piece includes U+2581 */
	size_t mark = at == 3 ? 3 : 0, most = n - at;

	if (!mark && most >= 3 && !memcmp(s, TOK_SPACE, 3))
		return -1; /* U+2581 in the text does not begin a word */
	if (most + mark > t->max_len)
		most = t->max_len > mark ? t->max_len - mark : 0;
	for (; most; most--) {
		if (at + most < n && ((unsigned char)word[at + most] & 0xc0) == 0x80)
			continue; /* not at a code point boundary */
		int32_t id = tok_find(t, s, most + mark, word + n);
		if (id >= 0 && t->kind[id] != TOK_CONTROL && t->kind[id] != TOK_UNKNOWN &&
		    !(t->flag[id] & TOK_OUTSIDE) && tok_may(r, id)) {
			*len = most;
			return id;
		}
	}
	return -1;
}

static void push_unknown(struct tok_run *r)
{
	if (r->t->pipe)
		pipe_fallback(r, "", 0);
	else if (r->t->unk >= 0)
		tok_push(&r->ids, r->t->unk);
	else
		r->lost = 1;
}

static void end_word(struct chunk *c)
{
	struct tok_run *r = c->r;
	size_t from = r->ids.n, len = 0, n = c->word.len;
	struct tok_word *slot = NULL;

	if (n)
		r->end = c->word.at + n;
	if (n > 3 && !c->word.bad && !tok_word_get(r, c->word.at, n, &slot)) {
		int32_t id = c->chars > (r->t->pipe ? r->t->pipe->word_chars : WORD_CHARS) ? -1 : 0;
		for (size_t at = 3; at < n && id >= 0; at += len) {
			id = find_longest_piece(r, c->word.at, at, n, &len);
			if (id >= 0)
				tok_push(&r->ids, id);
		}
		if (id < 0) {
			r->ids.n = from;
			push_unknown(r);
		}
		tok_word_put(r, slot, c->word.at, n, from);
	}
	c->bad |= c->word.bad;
	buf_clear(&c->word);
	buf_put(&c->word, TOK_SPACE, 3);
	c->chars = 0;
}

static void put_lower(struct chunk *c, uint32_t cp)
{
	char s[4];

	if (is_punct(cp))
		end_word(c);
	buf_put(&c->word, s, (size_t)utf8_put(s, cp));
	c->chars++;
	if (is_punct(cp))
		end_word(c);
}

/* Encode the collected run of code points without white space: remove accents, convert to lower
 * case, split at punctuation. */
static void end_chunk(struct chunk *c)
{
	const struct infer_tokenizer *t = c->r->t;

	if (t->strip)
		unicode_order(c->cp, c->n);
	for (size_t i = 0; i < c->n; i++) {
		if (t->strip && unicode_set(c->cp[i]) & UNI_BIT(UNI_MN))
			continue;
		put_lower(c, t->lower ? unicode_to_lower(c->cp[i]) : c->cp[i]);
		if (t->lower && c->cp[i] == 0x130)
			put_lower(c, 0x307); /* lower case of U+0130: two code points */
	}
	c->n = 0;
	end_word(c);
}

/* Encode a word that a pipe produced. */
static int encode_pipe_word(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	struct chunk c = { .r = r };
	uint32_t cp;

	buf_init(&c.word, MEM_TOK);
	buf_put(&c.word, TOK_SPACE, 3);
	buf_put(&c.word, s, n);
	for (size_t at = 0; at < n; c.chars++)
		at += unicode_next(s + at, n - at, &cp);
	end_word(&c);
	buf_fini(&c.word);
	return c.bad ? err_set(err, INFER_ENOMEM, "no memory for a word of %zu bytes", n)
	             : INFER_OK;
}

static int encode_wpm(struct tok_run *r, const char *s, size_t n, infer_error *err)
{
	struct chunk c = { .r = r };
	uint32_t cp, parts[4];

	buf_init(&c.word, MEM_TOK);
	end_word(&c);
	for (size_t at = 0; at < n && !c.bad;) {
		at += unicode_next(s + at, n - at, &cp);
		uint32_t set = unicode_set(cp);
		int control = set & (UNI_BIT(UNI_CC) | UNI_BIT(UNI_CF) | UNI_BIT(UNI_CO)) ||
		              cp == 0xfffd || cp == UNI_BAD;
		if (cp == '\t' || cp == '\n' || cp == '\r' || (set & UNI_SPACE && !control)) {
			end_chunk(&c);
		} else if (
			/* control characters and invalid bytes are dropped, even inside a word */
			!control) {
			if (is_cjk(cp))
				end_chunk(&c);
			int k = r->t->strip ? unicode_decompose(cp, parts) : (parts[0] = cp, 1);
			for (int i = 0; i < k; i++)
				add_code_point(&c, parts[i]);
			if (is_cjk(cp))
				end_chunk(&c);
		}
	}
	end_chunk(&c);
	int bad = c.bad || c.word.bad;
	buf_fini(&c.word);
	mem_free(c.cp);
	return bad ? err_set(err, INFER_ENOMEM, "no memory for %zu bytes of text", n) : INFER_OK;
}

static int open_wpm(struct infer_tokenizer *t, struct tok_source *src, infer_error *err)
{
	if (src->charsmap_bytes)
		return err_set(
			err, INFER_EUNSUP,
			"%s: key tokenizer.ggml.precompiled_charsmap with a tokenizer of kind %s",
			src->name, t->model->gguf);
	return INFER_OK;
}

static void close_wpm(struct infer_tokenizer *t) { (void)t; }

const struct tok_model tok_wpm = {
	.gguf = "bert",
	.kind = "wpm",
	.id = { [TOK_BOS] = 101,
	        [TOK_CLS] = 101,
	        [TOK_SEP] = 102,
	        [TOK_UNK] = 100,
	        [TOK_MASK] = 103,
	        [TOK_PAD] = 0,
	        [TOK_EOS] = -1,
	        [TOK_EOT] = -1,
	        [TOK_EOM] = -1,
	        [TOK_FIM_PAD] = -1,
	        [TOK_FIM_REP] = -1,
	        [TOK_FIM_SEP] = -1 },
	.add_bos = 1,
	.add_sep = 1,
	.add_space = 1,
	.longest = TOK_LONGEST,
	.open = open_wpm,
	.close = close_wpm,
	.text = spm_text,
	.word = encode_pipe_word,
	.encode = encode_wpm,
};
