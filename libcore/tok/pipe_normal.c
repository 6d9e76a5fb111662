/* tok/pipe_normal.c - run the steps of a normaliser. */
#include "base/err.h"
#include "text/normal.h"
#include "tok/pipe.h"
#include "tok/spm.h"

#include <string.h>

/* True if a step grew n bytes to more than SPM_TIMES * (n + SPM_MAPPED): such rules are hostile. */
static int too_long(const struct buf *b, size_t n) { return b->len / SPM_TIMES > n + SPM_MAPPED; }

static void put_cp(struct buf *b, uint32_t cp)
{
	char s[4];

	buf_put(b, s, (size_t)utf8_put(s, cp));
}

static void put_lower(struct buf *b, uint32_t cp)
{
	put_cp(b, unicode_to_lower(cp));
	if (cp == 0x130)
		put_cp(b, 0x307); /* the lower case of U+0130 has two code points */
}

static int is_cjk(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
	       (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
	       (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

/* Return the action for a character: 0 keep, 1 remove (control characters), 2 replace by a space
 * (line ends, invisible characters). */
static int nmt_action(uint32_t c)
{
	if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
	    c == 0x9f)
		return 1;
	return c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
	                       (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
	                       c == 0x2581 || c == 0xfeff || c == 0xfffd
	               ? 2
	               : 0;
}

/* Apply a step that maps single characters. */
static void map_characters(const struct pipe_step *st, unsigned flags, struct buf *b, const char *s,
                           size_t n)
{
	uint32_t cp;

	for (size_t at = 0, len; at < n; at += len) {
		len = unicode_next(s + at, n - at, &cp);
		uint32_t set = unicode_set(cp);
		int what = st->kind == PIPE_NMT ? nmt_action(cp) : 0;
		if (cp == UNI_BAD) {
			buf_putc(b, s[at]);
		} else if (st->kind == PIPE_LOWER ||
		           (st->kind == PIPE_BERT && flags == PIPE_TO_LOWER)) {
			put_lower(b, cp);
		} else if (st->kind == PIPE_ACCENTS
		                   ? set & UNI_M
		                   : flags == PIPE_MARKS && set & UNI_BIT(UNI_MN)) {
			continue;
		} else if (flags == PIPE_CJK && is_cjk(cp)) {
			buf_putc(b, ' ');
			put_cp(b, cp);
			buf_putc(b, ' ');
		} else if (flags == PIPE_CLEAN) {
			int line = cp == '\t' || cp == '\n' || cp == '\r';
			if (cp && cp != 0xfffd &&
			    (line ||
			     !(set & (UNI_BIT(UNI_CC) | UNI_BIT(UNI_CF) | UNI_BIT(UNI_CO)))))
				put_cp(b, line || set & UNI_SPACE ? ' ' : cp);
		} else if (what != 1) {
			put_cp(b, what ? ' ' : cp);
		}
	}
}

/* Apply the parts of a BertNormalizer in order. */
static void normalise_bert(const struct pipe_step *st, struct buf *b, const char *s, size_t n)
{
	struct buf text[2];
	int to = 0;

	buf_init(&text[0], MEM_TOK);
	buf_init(&text[1], MEM_TOK);
	buf_put(&text[1], s, n);
	for (unsigned flag = PIPE_CLEAN; flag <= PIPE_TO_LOWER; flag <<= 1) {
		if (!(st->flags & flag))
			continue;
		if (flag == PIPE_MARKS) {
			buf_clear(&text[to]);
			unicode_normal(&text[to], text[!to].at, text[!to].len, UNICODE_NFD);
			to = !to;
		}
		buf_clear(&text[to]);
		map_characters(st, flag, &text[to], text[!to].at, text[!to].len);
		to = !to;
	}
	buf_put(b, text[!to].at, text[!to].len);
	b->bad |= text[0].bad | text[1].bad;
	buf_fini(&text[0]);
	buf_fini(&text[1]);
}

static void strip_spaces(const struct pipe_step *st, struct buf *b, const char *s, size_t n)
{
	uint32_t cp;
	size_t from = 0, end = 0;
	int begun = !(st->flags & PIPE_LEFT);

	for (size_t at = 0, len; at < n; at += len) {
		len = unicode_next(s + at, n - at, &cp);
		int space = (unicode_set(cp) & UNI_SPACE) != 0;
		if (!begun && space)
			from = at + len;
		else
			begun = 1;
		if (!space || !(st->flags & PIPE_RIGHT))
			end = at + len;
	}
	if (end > from)
		buf_put(b, s + from, end - from);
}

struct replacing {
	const struct pipe_step *st;
	struct buf *b;
	const char *s;
	size_t n, done;
};

static int replace_match(void *user, size_t from, size_t to, infer_error *err)
{
	struct replacing *r = user;

	if (from < to) {
		buf_put(r->b, r->s + r->done, from - r->done);
		buf_put(r->b, r->st->with.at, r->st->with.len);
		r->done = to;
	}
	return too_long(r->b, r->n)
	               ? err_set(err, INFER_EUNSUP,
	                         "normalizer.Replace makes the text more than %d times as long",
	                         SPM_TIMES)
	               : INFER_OK;
}

static int replace_matches(const struct pipe_step *st, struct buf *b, const char *s, size_t n,
                           infer_error *err)
{
	struct replacing r = { st, b, s, n, 0 };
	int rc = INFER_OK;

	if (st->code)
		rc = pretok_each(st->code, s, n, replace_match, &r, err);
	for (const char *p = s; !st->code && !rc; p += st->s.len) {
		p = memmem(p, (size_t)(s + n - p), st->s.at, st->s.len);
		if (!p)
			break;
		rc = replace_match(&r, (size_t)(p - s), (size_t)(p - s) + st->s.len, err);
	}
	buf_put(b, s + r.done, n - r.done);
	return rc;
}

/* Return the end of the grapheme cluster at s: a character with the marks and joiners after it, or
 * CR LF. */
static size_t end_of_cluster(const char *s, size_t n)
{
	uint32_t cp;
	size_t at = unicode_next(s, n, &cp), len;

	if (cp == '\r' && at < n && s[at] == '\n')
		return 2;
	if (unicode_set(cp) &
	            (UNI_BIT(UNI_CC) | UNI_BIT(UNI_CF) | UNI_BIT(UNI_ZL) | UNI_BIT(UNI_ZP)) &&
	    cp != 0x200d && cp != 0x200c)
		return at;
	for (; at < n; at += len) {
		len = unicode_next(s + at, n - at, &cp);
		if (!(unicode_set(cp) & UNI_M) && cp != 0x200c && cp != 0x200d)
			break;
	}
	return at;
}

/* Apply a charsmap as `tokenizers` does: a grapheme cluster of less than 6 bytes is replaced as a
 * whole by the rule of its shortest prefix that has one; in longer clusters each character is
 * replaced separately. */
static void apply_charsmap(const struct infer_tokenizer *t, struct buf *b, const char *s, size_t n)
{
	const char *to;
	uint32_t cp;

	for (size_t at = 0, end; at < n; at = end) {
		end = at + end_of_cluster(s + at, n - at);
		if (end - at < 6 && spm_mapped_first(&t->charsmap, s + at, end - at, &to)) {
			buf_puts(b, to);
			continue;
		}
		for (size_t len; at < end; at += len) {
			len = unicode_next(s + at, end - at, &cp);
			if (spm_mapped_first(&t->charsmap, s + at, len, &to))
				buf_puts(b, to);
			else
				buf_put(b, s + at, len);
		}
	}
}

int pipe_normal(struct tok_run *r, const struct pipe_step *st, struct buf *b, const char *s,
                size_t n, infer_error *err)
{
	switch (st->kind) {
	case PIPE_NFC:
	case PIPE_NFD:
	case PIPE_NFKC:
	case PIPE_NFKD:
		unicode_normal(b, s, n, (enum unicode_form)(st->kind - PIPE_NFC));
		return INFER_OK;
	case PIPE_STRIP:
		strip_spaces(st, b, s, n);
		return INFER_OK;
	case PIPE_PREPEND:
		if (n)
			buf_put(b, st->with.at, st->with.len);
		buf_put(b, s, n);
		return INFER_OK;
	case PIPE_REPLACE:
		return replace_matches(st, b, s, n, err);
	case PIPE_BERT:
		normalise_bert(st, b, s, n);
		return INFER_OK;
	case PIPE_CHARSMAP:
		apply_charsmap(r->t, b, s, n);
		return INFER_OK;
	default:
		map_characters(st, 0, b, s, n);
		return INFER_OK;
	}
}

int pipe_normal_all(const struct infer_tokenizer *t, struct arena *a, struct infer_str *s)
{
	struct tok_run r = { .t = t };
	struct buf text[2];
	int rc = INFER_OK;

	buf_init(&text[0], MEM_TOK);
	buf_init(&text[1], MEM_TOK);
	for (int i = 0; !rc && i < t->pipe->n_norm; i++) {
		struct buf *b = &text[i & 1];
		buf_clear(b);
		rc = pipe_normal(&r, &t->pipe->norm[i], b, s->at, s->len, NULL);
		if (b->bad)
			rc = INFER_ENOMEM;
		if (!rc)
			*s = (struct infer_str){ b->at ? b->at : "", b->len };
	}
	if (!rc)
		s->at = arena_strndup(a, s->at, s->len);
	buf_fini(&text[0]);
	buf_fini(&text[1]);
	return rc ? rc : s->at ? INFER_OK : INFER_ENOMEM;
}
