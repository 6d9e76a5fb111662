/* grammar/parts_free.c - free text: without words, up to a word, around structural tags. */
#include "base/buf.h"
#include "base/err.h"
#include "grammar/parts_tree.h"
#include "automata/regex.h"

#include <string.h>

/* Append a pattern that matches exactly this text. */
static void quote_text(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] && strchr("\\^$.*+?()[]{}|/", s[i]))
			buf_putc(b, '\\');
		buf_putc(b, s[i]);
	}
}

static void quote_any(struct buf *b, const struct dfa_word *w, uint32_t n)
{
	buf_puts(b, "(?:");
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			buf_putc(b, '|');
		quote_text(b, w[i].at, w[i].n);
	}
	buf_putc(b, ')');
}

/* Compile the pattern in b, and free b. */
static int compile_pattern(struct parts *p, struct dfa **d, struct buf *b, enum regex_how how)
{
	int rc = b->bad ? err_nomem(p->w.err)
	                : regex_dfa(d, b->at, b->len, how, p->w.left, p->w.err);

	buf_fini(b);
	return rc;
}

int parts_contain(struct parts *p, struct dfa **out, const char *what)
{
	const struct dfa_word w = { what, strlen(what) };
	struct buf b;

	buf_init(&b, MEM_GRAMMAR);
	quote_any(&b, &w, 1);
	return compile_pattern(p, out, &b, REGEX_SEARCH);
}

static int exclude_words(struct parts *p, struct dfa **out, const struct dfa_word *w, uint32_t n)
{
	struct dfa *some;
	struct buf b;
	int rc;

	if (!n)
		return dfa_all(out, p->w.left, p->w.err);
	buf_init(&b, MEM_GRAMMAR);
	quote_any(&b, w, n);
	TRY(compile_pattern(p, &some, &b, REGEX_SEARCH));
	rc = dfa_not(out, some, p->w.left, p->w.err);
	dfa_drop(some, p->w.left);
	return rc;
}

/* Set *out to the texts that end with w[k] and contain none of w before it. */
static int end_with(struct parts *p, struct dfa **out, const struct dfa_word *w, uint32_t n,
                    uint32_t k)
{
	struct dfa *ends, *beyond;
	struct buf b;
	int rc;

	buf_init(&b, MEM_GRAMMAR);
	buf_puts(&b, "[\\s\\S]*");
	quote_text(&b, w[k].at, w[k].n);
	TRY(compile_pattern(p, &ends, &b, REGEX_WHOLE));
	buf_init(&b, MEM_GRAMMAR);
	quote_any(&b, w, n);
	buf_puts(&b, "[\\s\\S]");
	rc = compile_pattern(p, &beyond, &b, REGEX_SEARCH);
	if (!rc) {
		rc = dfa_minus(out, ends, beyond, p->w.left, p->w.err);
		dfa_drop(beyond, p->w.left);
	}
	dfa_drop(ends, p->w.left);
	return rc;
}

uint32_t parts_without(struct parts *p, const struct dfa_word *never, uint32_t n)
{
	struct dfa *d = NULL;

	if (p->rc)
		return PART_NONE;
	const int rc = exclude_words(p, &d, never, n);

	return piece_plain(p, rc, d, 0);
}

/* free text up to and with w[k] */
static uint32_t text_up_to(struct parts *p, const struct dfa_word *w, uint32_t n, uint32_t k)
{
	const uint32_t it = parts_text(p, w[k].at, w[k].n);
	struct dfa *d = NULL;

	if (!it)
		return PART_NONE;
	if (p->piece[it].kind != PIECE_TEXT)
		return parts_sequence(p, 2, parts_without(p, w, n), it);
	const int rc = end_with(p, &d, w, n, k);

	return piece_plain(p, rc, d, 0);
}

uint32_t parts_until(struct parts *p, const char *stop)
{
	return text_up_to(p, &(struct dfa_word){ stop, strlen(stop) }, 1, 0);
}

uint32_t parts_tags(struct parts *p, const struct part_tag *tag, uint32_t n, uint32_t between,
                    unsigned flags)
{
	uint32_t *open = NULL, lead, tail;
	struct dfa_word *w = NULL;
	int rc = p->rc;

	if (!rc)
		rc = work_alloc(&p->tree, &w, (uint64_t)n + 1, sizeof *w);
	if (!rc)
		rc = work_alloc(&p->tree, &open, (uint64_t)n + 1, sizeof *open);
	if (rc)
		return piece_fail(p, rc);
	for (uint32_t i = 0; i < n; i++)
		w[i] = (struct dfa_word){ tag[i].begin, strlen(tag[i].begin) };
	lead = between ? parts_repeat(p, parts_sequence(p, 2, parts_without(p, w, n), between), 0,
	                              DFA_FOREVER)
	               : parts_sequence(p, 0);
	tail = parts_sequence(p, 2, lead, parts_without(p, w, n));
	for (uint32_t i = 0; i < n; i++)
		open[i] = parts_sequence(
			p, 3, lead, tag[i].whole ? parts_without(p, w, n) : text_up_to(p, w, n, i),
			tag[i].then);
	if (p->rc)
		return PART_NONE;
	const uint32_t any = parts_one_of(p, open, n), some = flags & PART_TAGS_SOME ? 1 : 0;

	if (flags & PART_TAGS_ONCE)
		return some ? any : parts_either(p, 2, any, tail);
	return parts_sequence(p, 2, parts_repeat(p, any, some, DFA_FOREVER), tail);
}
