/* lark/terminal.c - compile terminals to automata. */
#include "lark/tree.h"
#include "base/jread.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <stdio.h>
#include <string.h>

enum { MOST_CHUNKS = 1000, MOST_DEPTH = 500 };

static int build_term(struct lark *p, const struct node *x, uint32_t depth, const struct re **out);

/* -- names ---------------------------------------------------------------------------------- */

static int build_named(struct lark *p, const struct node *x, uint32_t depth, const struct re **out)
{
	struct def *d;

	TRY(work_steps(&p->tree, p->scope->n_defs / 4 + 1));
	d = lark_find_def(p, p->scope, x->s, x->n);
	if (!d)
		return lark_fail(p, x->line, INFER_EINVAL, "%.*s is not defined",
		                 x->n < 60 ? (int)x->n : 60, x->s);
	if (!d->is_terminal || x->param)
		return lark_fail(p, x->line, INFER_EINVAL,
		                 "a terminal cannot contain the rule %.*s",
		                 x->n < 60 ? (int)x->n : 60, x->s);
	if (d->in_progress)
		return lark_fail(p, x->line, INFER_EINVAL, "the terminal %.*s contains itself",
		                 x->n < 60 ? (int)x->n : 60, x->s);
	if (!d->term) {
		d->in_progress = 1;
		TRY(build_term(p, d->body, depth + 1, &d->term));
		d->in_progress = 0;
	}
	*out = d->term;
	return INFER_OK;
}

/* -- %regex --------------------------------------------------------------------------------- */

/* Return the kind of a character: white space, part of a word, other. */
static int char_kind(uint32_t cp)
{
	const uint32_t set = unicode_set(cp);

	return set & UNI_SPACE ? 0 : (set & (UNI_L | UNI_N)) || cp == '_' ? 1 : 2;
}

/* Return the bytes of the next chunk of s[0 .. n): a character; words: all of one kind. */
static uint32_t chunk_length(const char *s, uint32_t n, int words)
{
	uint32_t cp, next, len = (uint32_t)utf8_get(s, n, &cp);

	while (words && len < n) {
		const uint32_t more = (uint32_t)utf8_get(s + len, n - len, &next);

		if (char_kind(next) != char_kind(cp))
			break;
		len += more;
	}
	return len;
}

/* Append the chunks of %regex to chunk; NULL: count them. */
static int list_chunks(struct lark *p, const struct node *x, const struct json *v,
                       struct dfa_word *chunk, uint32_t *n)
{
	const int words = v->key_n == 15 && !memcmp(v->key, "substring_words", 15),
		  chars = v->key_n == 15 && !memcmp(v->key, "substring_chars", 15);

	*n = 0;
	if ((words || chars) && v->kind == JSON_STRING) {
		for (uint32_t i = 0, len; i < v->n; i += len) {
			len = chunk_length(v->s + i, v->n - i, words);
			if (chunk)
				chunk[*n] = (struct dfa_word){ v->s + i, len };
			++*n;
		}
		return INFER_OK;
	}
	if (v->key_n != 16 || memcmp(v->key, "substring_chunks", 16) != 0 || v->kind != JSON_ARRAY)
		return lark_fail(p, x->line, INFER_EUNSUP, "%%regex: %.*s: not supported",
		                 v->key_n < 60 ? (int)v->key_n : 60, v->key);
	json_each(e, v) {
		if (e->kind != JSON_STRING)
			return lark_fail(p, x->line, INFER_EINVAL,
			                 "%%regex: a chunk must be a text");
		if (chunk)
			chunk[*n] = (struct dfa_word){ e->s, e->n };
		++*n;
	}
	return INFER_OK;
}

/* Build the term of any chunks that follow each other. */
static int build_chunks(struct lark *p, const struct node *x, const struct re **out)
{
	const struct json *v;
	struct dfa_word *chunk;
	const struct re **from, *rest = NULL, *pair[2];
	uint32_t n;

	TRY(jread(&v, &p->tree.mem, x->s, x->n, "%regex", p->w.err));
	if (!json_is(v, JSON_OBJECT) || v->n != 1)
		return lark_fail(p, x->line, INFER_EINVAL,
		                 "%%regex must be an object with one member");
	TRY(list_chunks(p, x, v->first, NULL, &n));
	if (n > MOST_CHUNKS)
		return lark_fail(p, x->line, INFER_EUNSUP, "%%regex: more than %d chunks",
		                 MOST_CHUNKS);
	TRY(work_alloc(&p->tree, &chunk, (uint64_t)n + 1, sizeof *chunk));
	TRY(work_alloc(&p->tree, &from, (uint64_t)n + 1, sizeof *from));
	TRY(list_chunks(p, x, v->first, chunk, &n));
	for (uint32_t i = n; i--; rest = from[i]) {
		TRY(terms_text(&p->terms, chunk[i].at, chunk[i].n, 0, pair));
		pair[1] = rest;
		TRY(terms_join(&p->terms, TERMS_CAT, pair, rest ? 2 : 1, from + i));
		TRY(terms_repeat(&p->terms, from[i], 0, 1, from + i));
	}
	TRY(terms_join(&p->terms, TERMS_CAT, NULL, 0, from + n));
	return terms_join(&p->terms, TERMS_ALT, from, n + 1, out);
}

/* -- expressions ---------------------------------------------------------------------------- */

static int build_regex(struct lark *p, const struct node *x, const struct re **out)
{
	int rc = terms_regex(&p->terms, x->s, x->n, x->flags, out);
	char text[200];

	if ((rc == INFER_EINVAL || rc == INFER_EUNSUP) && !p->tree.left->exhausted && p->w.err) {
		const char *colon = strchr(p->w.err->message, ':');

		snprintf(text, sizeof text, "%.180s", colon ? colon + 2 : p->w.err->message);
		return lark_fail(p, x->line, rc, "the expression, %s", text);
	}
	return rc;
}

/* Build the kids of a node in sequence, or one of them. */
static int build_kids(struct lark *p, const struct node *x, uint32_t depth, const struct re **out)
{
	const struct re **kid;
	uint32_t n = 0;

	for (const struct node *k = x->kid; k; k = k->next)
		n++;
	TRY(work_alloc(&p->tree, &kid, (uint64_t)n + 1, sizeof *kid));
	n = 0;
	for (const struct node *k = x->kid; k; k = k->next) {
		if (k->cond)
			return lark_fail(p, k->line, INFER_EINVAL,
			                 "a terminal cannot have a condition");
		TRY(build_term(p, k, depth, kid + n++));
	}
	return terms_join(&p->terms, x->kind == N_SEQ ? TERMS_CAT : TERMS_ALT, kid, n, out);
}

static int build_and(struct lark *p, const struct node *x, uint32_t depth, const struct re **out)
{
	const struct re *other;

	TRY(build_term(p, x->kid, depth, out));
	for (const struct node *k = x->kid->next; k; k = k->next) {
		TRY(build_term(p, k, depth, &other));
		TRY(terms_and(&p->terms, *out, other, out));
	}
	return INFER_OK;
}

static int build_term(struct lark *p, const struct node *x, uint32_t depth, const struct re **out)
{
	TRY(work_steps(&p->tree, 4));
	if (depth++ > MOST_DEPTH)
		return lark_fail(p, x->line, INFER_EUNSUP, "terminals are nested too deeply");
	switch (x->kind) {
	case N_TEXT:
		return terms_text(&p->terms, x->s, x->n, *x->flags != 0, out);
	case N_RANGE:
		return terms_range(&p->terms, x->lo, x->hi, out);
	case N_REGEX:
		return build_regex(p, x, out);
	case N_NAME:
		return build_named(p, x, depth, out);
	case N_CHUNKS:
		return build_chunks(p, x, out);
	case N_SEQ:
	case N_ALT:
		return build_kids(p, x, depth, out);
	case N_AND:
		return build_and(p, x, depth, out);
	case N_REPEAT:
		TRY(build_term(p, x->kid, depth, out));
		return terms_repeat(&p->terms, *out, x->lo, x->hi, out);
	case N_NOT:
		TRY(build_term(p, x->kid, depth, out));
		return terms_not(&p->terms, *out, out);
	case N_TOKEN:
		return lark_fail(p, x->line, INFER_EINVAL,
		                 "a terminal cannot contain the token <%.*s>",
		                 x->n < 60 ? (int)x->n : 60, x->s);
	case N_JSON:
	case N_LARK:
		break;
	}
	return lark_fail(p, x->line, INFER_EINVAL, "a terminal cannot contain %s",
	                 x->kind == N_JSON ? "%json" : "%lark");
}

/* -- automata ------------------------------------------------------------------------------- */

static int is_same_dfa(const struct dfa *a, const struct dfa *b)
{
	return a->n_states == b->n_states && a->n_classes == b->n_classes &&
	       a->n_ranges == b->n_ranges && a->start == b->start &&
	       !memcmp(a->flags, b->flags, a->n_states) &&
	       !memcmp(a->next, b->next, (size_t)a->n_states * a->n_classes * sizeof *a->next) &&
	       !memcmp(a->from, b->from, a->n_ranges * sizeof *a->from) &&
	       !memcmp(a->range_class, b->range_class, a->n_ranges * sizeof *a->range_class);
}

/* Find or add an automaton; takes d. */
static int add_dfa(struct lark *p, struct dfa *d, uint32_t *number)
{
	struct grammar *g = p->g;
	int rc = work_steps(&p->w, p->n_plain + 1);

	for (uint32_t i = 0; i < p->n_plain && !rc; i++)
		if (is_same_dfa(g->plain[i], d)) {
			dfa_drop(d, p->w.left);
			*number = i;
			return INFER_OK;
		}
	if (!rc)
		rc = work_grow(&p->w, &g->plain, &p->cap_plain, (uint64_t)p->n_plain + 1,
		               sizeof *g->plain);
	if (!rc)
		rc = work_grow(&p->w, &g->dfa, &g->cap_dfas, (uint64_t)g->n_dfas + 1,
		               sizeof *g->dfa);
	if (rc) {
		dfa_drop(d, p->w.left);
		return rc;
	}
	g->dfa[g->n_dfas++] = g->plain[p->n_plain] = d;
	*number = p->n_plain++;
	return INFER_OK;
}

int lark_terminal(struct lark *p, const struct node *x, const struct node *suffix, uint32_t *number,
                  int *empty)
{
	const struct re *pair[2], *re;
	struct dfa *d;

	TRY(build_term(p, x, 0, pair));
	re = pair[0];
	if (suffix) {
		TRY(build_term(p, suffix, 0, pair + 1));
		TRY(terms_join(&p->terms, TERMS_CAT, pair, 2, &re));
	}
	TRY(terms_dfa(&d, &p->terms, re));
	*empty = dfa_accepts(d, d->start);
	if (*empty && !d->greatest[d->start]) {
		dfa_drop(d, p->w.left);
		*number = NOWHERE;
		return INFER_OK;
	}
	return add_dfa(p, d, number);
}
