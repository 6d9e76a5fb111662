/* lark/lark.c - compile a Lark grammar. */
#include "lark/tree.h"
#include "base/utf8.h"

#include <string.h>

/* -- which grammar is it -------------------------------------------------------------------- */

static int is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

int lark_is(const char *text, size_t n)
{
	const char *s = text, *end = text + n;

	while (s < end) {
		if (*s == '#' || (*s == '/' && end - s > 1 && s[1] == '/'))
			while (s < end && *s != '\n')
				s++;
		else if (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
			s++;
		else
			break;
	}
	if (s == end)
		return 0;
	if (*s == '%' || *s == '?' || *s == '!')
		return 1;
	while (s < end && is_name_char(*s))
		s++;
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	if (end - s > 2 && !memcmp(s, "::=", 3))
		return 0;
	return s < end && *s && strchr(":.[{", *s) != NULL;
}

/* -- compiling ------------------------------------------------------------------------------ */

static int compile_ignore(struct lark *p)
{
	struct grammar *g = p->g;
	int empty;

	g->skip = NOWHERE;
	g->skip_once = p->scope->ignore_once;
	g->skip_first = p->scope->initial_skip;
	return p->scope->ignore ? lark_terminal(p, p->scope->ignore, NULL, &g->skip, &empty)
	                        : INFER_OK;
}

static int compile_rules(struct lark *p)
{
	struct grammar *g = p->g;
	struct scope *root;
	const size_t n = (size_t)(p->end - p->text), good = n ? utf8_check(p->text, n) : 0;

	if (good < n)
		return err_set(p->w.err, INFER_EINVAL, "the grammar is not UTF-8");
	TRY(lark_tokens(p));
	TRY(lark_parse(p, &root, 0));
	p->scope = root;
	TRY(compile_ignore(p));
	TRY(lark_emit(p));
	TRY(lark_finish_code(p));
	TRY(ir_prune(&p->w, g));
	g->code = p->final;
	g->n_code = p->n_final;
	g->lexed = 1;
	TRY(work_alloc(&p->w, &g->code_live, g->n_code, 1));
	TRY(work_alloc(&p->w, &g->code_ends, g->n_code, 1));
	TRY(ir_find_ends(&p->w, g, g->code_live, 0));
	TRY(ir_find_ends(&p->w, g, g->code_ends, 1));
	return ir_sweep(g, &p->w, p->n_plain);
}

int lark_compile(struct grammar **out, const char *text, size_t n, const struct schema_opts *json,
                 struct buf *ignored, struct budget *left, infer_error *err)
{
	struct lark p = { .text = text, .end = text + n, .json = json, .ignored = ignored };
	int rc;

	*out = NULL;
	if (n >= UINT32_MAX)
		return err_set(err, INFER_EUNSUP, "the grammar is too large");
	work_begin(&p.tree, "the grammar", left, err);
	work_begin(&p.w, "the grammar", left, err);
	p.w.mem.who = MEM_GRAMMAR;
	rc = terms_init(&p.terms, &p.tree);
	if (!rc)
		rc = work_alloc(&p.w, &p.g, 1, sizeof *p.g);
	if (!rc)
		rc = compile_rules(&p);
	terms_fini(&p.terms);
	if (rc == INFER_EFORMAT) { /* of the JSON after %json and the like */
		rc = INFER_EINVAL;
		if (err)
			err->code = rc;
	}
	if (rc) {
		if (p.g)
			ir_free_dfas(p.g, left);
		work_end(&p.w);
	} else {
		p.g->mem = p.w.mem;
		p.g->bytes = p.w.taken;
		*out = p.g;
	}
	work_end(&p.tree);
	return rc;
}
