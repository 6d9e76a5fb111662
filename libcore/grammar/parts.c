/* grammar/parts.c - build the tree of parts. */
#include "grammar/parts_tree.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "schema/schema.h"
#include "automata/regex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PIECES = 1 << 22 };

int parts_new(struct parts **out, const struct dfa_word *controls, size_t n, struct budget *left,
              infer_error *err)
{
	struct parts *p = mem_zalloc(MEM_GRAMMAR, 1, sizeof *p);

	*out = p;
	if (!p)
		return err_nomem(err);
	work_begin(&p->tree, "the constraint", left, err);
	work_begin(&p->w, "the constraint", left, err);
	p->tree.mem.who = p->w.mem.who = MEM_GRAMMAR;
	p->control = controls;
	p->n_controls = n;
	p->rc = work_alloc(&p->w, &p->g, 1, sizeof *p->g);
	if (!p->rc)
		piece_add(p, &(struct piece){ .kind = PIECE_NEVER }); /* PART_NONE */
	return INFER_OK;
}

void parts_free(struct parts *p)
{
	if (!p)
		return;
	work_end(&p->tree);
	if (p->g) {
		p->g->mem = p->w.mem;
		p->g->bytes = p->w.taken;
		ir_drop(p->g, p->w.left);
	} else {
		work_end(&p->w);
	}
	mem_free(p);
}

int parts_build(struct grammar **out, struct parts *p, uint32_t root)
{
	int rc = p->rc;

	*out = NULL;
	must(rc || root);
	if (!rc)
		rc = parts_code(p, root);
	if (!rc) {
		p->g->mem = p->w.mem;
		p->g->bytes = p->w.taken;
		*out = p->g;
		work_end(&p->tree);
		mem_free(p);
		return INFER_OK;
	}
	parts_free(p);
	return rc;
}

uint32_t piece_fail(struct parts *p, int rc)
{
	if (!p->rc)
		p->rc = rc;
	return PART_NONE;
}

uint32_t parts_refuse(struct parts *p, int code, const char *fmt, ...)
{
	char text[sizeof p->w.err->message];
	va_list ap;

	if (p->rc)
		return PART_NONE;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return piece_fail(p, err_set(p->w.err, code, "%s", text));
}

uint32_t parts_blame(struct parts *p, const char *what)
{
	infer_error *err = p->w.err;
	char text[sizeof err->message];

	if (!err || p->blamed || (p->rc != INFER_EINVAL && p->rc != INFER_EUNSUP))
		return PART_NONE;
	p->blamed = 1;
	snprintf(text, sizeof text, "%s", err->message);
	if (strncmp(text, what, strlen(what)) != 0)
		err_set(err, p->rc, "%s: %s", what, text);
	return PART_NONE;
}

uint32_t piece_add(struct parts *p, const struct piece *like)
{
	int rc = p->rc;

	if (!rc && p->n_pieces == MOST_PIECES)
		rc = err_set(p->w.err, INFER_EUNSUP, "the constraint is too large");
	if (!rc)
		rc = work_grow(&p->tree, &p->piece, &p->cap_pieces, p->n_pieces + 1,
		               sizeof *p->piece);
	if (rc)
		return piece_fail(p, rc);
	p->piece[p->n_pieces] = *like;
	p->piece[p->n_pieces].start = NOWHERE;
	return p->n_pieces++;
}

/* -- several -------------------------------------------------------------------------------- */

/* Add a piece with kids. */
static uint32_t add_with_kids(struct parts *p, enum piece_kind kind, const uint32_t *of, uint32_t n)
{
	struct piece x = { .kind = kind, .n = n };
	int rc = p->rc;

	if (!rc)
		rc = work_alloc(&p->tree, &x.kid, (uint64_t)n + 1, sizeof *x.kid);
	if (rc)
		return piece_fail(p, rc);
	for (uint32_t i = 0; i < n; i++) {
		must(of[i]);
		x.kid[i] = of[i];
	}
	return piece_add(p, &x);
}

uint32_t parts_all_of(struct parts *p, const uint32_t *of, uint32_t n)
{
	return add_with_kids(p, PIECE_SEQUENCE, of, n);
}

uint32_t parts_one_of(struct parts *p, const uint32_t *of, uint32_t n)
{
	return add_with_kids(p, PIECE_EITHER, of, n);
}

enum { MOST_ARGS = 16 };

uint32_t parts_sequence(struct parts *p, uint32_t n, ...)
{
	uint32_t of[MOST_ARGS];
	va_list ap;

	must(n <= MOST_ARGS);
	va_start(ap, n);
	for (uint32_t i = 0; i < n; i++)
		of[i] = va_arg(ap, uint32_t);
	va_end(ap);
	return parts_all_of(p, of, n);
}

uint32_t parts_either(struct parts *p, uint32_t n, ...)
{
	uint32_t of[MOST_ARGS];
	va_list ap;

	must(n <= MOST_ARGS);
	va_start(ap, n);
	for (uint32_t i = 0; i < n; i++)
		of[i] = va_arg(ap, uint32_t);
	va_end(ap);
	return parts_one_of(p, of, n);
}

uint32_t parts_shared(struct parts *p, uint32_t of)
{
	return of ? piece_add(p, &(struct piece){ .kind = PIECE_CALL, .a = of }) : PART_NONE;
}

uint32_t parts_repeat(struct parts *p, uint32_t of, uint32_t lo, uint32_t hi)
{
	const uint32_t kid = parts_all_of(p, &of, 1);

	if (!kid)
		return PART_NONE;
	return piece_add(
		p,
		&(struct piece){
			.kind = PIECE_REPEAT, .a = lo, .b = hi, .n = 1, .kid = p->piece[kid].kid });
}

/* -- literals ------------------------------------------------------------------------------- */

static uint32_t add_literal(struct parts *p, const char *s, size_t n)
{
	char *own = NULL;
	uint32_t cp;
	int rc = p->rc;

	if (!rc)
		rc = work_alloc(&p->tree, &own, (uint64_t)n + 1, 1);
	if (rc)
		return piece_fail(p, rc);
	if (n)
		memcpy(own, s, n);
	for (size_t i = 0, k; i < n; i += k) {
		k = (size_t)utf8_get(s + i, n - i, &cp);
		if (!k)
			return parts_refuse(p, INFER_EINVAL,
			                    "a text of the constraint is not UTF-8");
	}
	return piece_add(p, &(struct piece){ .kind = PIECE_TEXT, .s = own, .n = (uint32_t)n });
}

uint32_t parts_control(struct parts *p, const char *s, size_t n)
{
	return parts_sequence(p, 2, piece_add(p, &(struct piece){ .kind = PIECE_BYTE, .a = 0xff }),
	                      add_literal(p, s, n));
}

/* Return the length of the longest control token at s; 0: none. */
static size_t find_control(const struct parts *p, const char *s, size_t n)
{
	size_t best = 0;

	for (size_t i = 0; i < p->n_controls; i++) {
		const struct dfa_word *c = p->control + i;

		if (c->n > best && c->n <= n && !memcmp(c->at, s, c->n))
			best = c->n;
	}
	return best;
}

uint32_t parts_text(struct parts *p, const char *s, size_t n)
{
	uint32_t all = PART_NONE;
	size_t from = 0, i = 0, k;

	while (i < n) {
		uint32_t one;

		k = find_control(p, s + i, n - i);
		if (!k) {
			i++;
			continue;
		}
		one = parts_control(p, s + i, k);
		if (i > from)
			one = parts_sequence(p, 2, add_literal(p, s + from, i - from), one);
		all = all ? parts_sequence(p, 2, all, one) : one;
		from = i += k;
	}
	if (!all)
		return add_literal(p, s, n);
	return from < n ? parts_sequence(p, 2, all, add_literal(p, s + from, n - from)) : all;
}

uint32_t parts_string(struct parts *p, const char *s) { return parts_text(p, s, strlen(s)); }

/* -- automata and values -------------------------------------------------------------------- */

/* Make the grammar own d. */
static int own_dfa(struct parts *p, struct dfa *d)
{
	struct grammar *g = p->g;
	int rc = work_grow(&p->w, &g->dfa, &g->cap_dfas, g->n_dfas + 1, sizeof *g->dfa);

	if (rc)
		dfa_drop(d, p->w.left);
	else
		g->dfa[g->n_dfas++] = d;
	return rc;
}

uint32_t piece_borrowed(struct parts *p, const struct dfa *d, int escapes)
{
	int rc = p->rc;

	if (!rc)
		rc = work_grow(&p->w, &p->g->plain, &p->cap_plain, p->n_plain + 1,
		               sizeof *p->g->plain);
	if (rc)
		return piece_fail(p, rc);
	p->g->plain[p->n_plain] = d;
	return piece_add(
		p,
		&(struct piece){ .kind = PIECE_PLAIN, .a = p->n_plain++, .b = (uint32_t)escapes });
}

uint32_t piece_plain(struct parts *p, int rc, struct dfa *d, int escapes)
{
	if (!rc)
		rc = own_dfa(p, d);
	return rc ? piece_fail(p, rc) : piece_borrowed(p, d, escapes);
}

uint32_t parts_regex(struct parts *p, const char *pattern)
{
	struct dfa *d = NULL;
	int rc;

	if (p->rc)
		return PART_NONE;
	rc = regex_dfa(&d, pattern, strlen(pattern), REGEX_WHOLE, p->w.left, p->w.err);
	return piece_plain(p, rc, d, 0);
}

uint32_t parts_schema(struct parts *p, const struct json *schema, const struct schema_opts *opts)
{
	struct piece x = { .kind = PIECE_VALUE };
	int rc = p->rc;

	if (!rc)
		rc = schema_goal_of(p->g, &p->w, schema, opts, &x.a);
	return rc ? piece_fail(p, rc) : piece_add(p, &x);
}

uint32_t parts_object(struct parts *p, const struct json *schema, const struct schema_opts *opts)
{
	uint32_t goal = 0;
	int rc = p->rc;

	if (!rc)
		rc = schema_goal_of(p->g, &p->w, schema, opts, &goal);
	return rc ? piece_fail(p, rc) : piece_of_types(p, goal, 1 << ALT_OBJECT);
}
