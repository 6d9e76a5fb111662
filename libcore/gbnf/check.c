/* gbnf/check.c - compile rules: find empty rules, refuse left recursion. */
#include "gbnf/compile.h"
#include "base/err.h"

#include <string.h>

/* a walk over the code that is reached without reading a character
 * stack, seen: [n_code]; seen[pc] == mark: visited */
struct code_walk {
	uint32_t *stack, *seen, n, mark;
};

static void visit_code(struct code_walk *k, uint32_t pc)
{
	if (pc == NOWHERE || k->seen[pc] == k->mark)
		return;
	k->seen[pc] = k->mark;
	k->stack[k->n++] = pc;
}

/* Walk a rule from `start`.  *ends: 1 if its end is reached; called: [n_rules] or NULL, set to 1
 * for rules called before any character */
static int walk_rule(struct gbnf *p, struct code_walk *k, uint32_t start, int *ends,
                     uint8_t *called)
{
	k->mark++;
	k->n = 0;
	*ends = 0;
	visit_code(k, start);
	while (k->n) {
		const uint32_t pc = k->stack[--k->n];
		const struct code *c = p->code + pc;

		TRY(work_steps(&p->w, 1));
		if (c->op == OP_SPLIT)
			visit_code(k, c->b);
		if (c->op == OP_SPLIT || c->op == OP_JUMP)
			visit_code(k, c->a);
		if (c->op == OP_CALL && called)
			called[c->a] = 1;
		if (c->op == OP_CALL && p->rule[c->a].empty)
			visit_code(k, pc + 1);
		*ends |= c->op == OP_END;
	}
	return INFER_OK;
}

static int find_empty_rules(struct gbnf *p, struct code_walk *k)
{
	for (int more = 1; more;) {
		more = 0;
		for (uint32_t r = 0; r < p->n_rules; r++) {
			int ends;

			if (p->rule[r].empty)
				continue;
			TRY(walk_rule(p, k, p->rule[r].start, &ends, NULL));
			p->rule[r].empty = ends;
			more |= ends;
		}
	}
	return INFER_OK;
}

/* Set *yes if r calls a remaining rule before any character; callers: if one so calls r. */
static int calls_first(struct gbnf *p, struct code_walk *k, uint32_t r, const uint8_t *gone,
                       uint8_t *called, int callers, int *yes)
{
	int ends;

	*yes = 0;
	TRY(work_steps(&p->w, p->n_rules));
	for (uint32_t i = callers ? 0 : r; i < (callers ? p->n_rules : r + 1); i++) {
		if (gone[i])
			continue;
		memset(called, 0, p->n_rules);
		TRY(walk_rule(p, k, p->rule[i].start, &ends, called));
		for (uint32_t j = 0; j < p->n_rules; j++)
			*yes |= called[j] && !gone[j] && (!callers || j == r);
	}
	return INFER_OK;
}

/* Remove rules that call no remaining rule before a character, then rules that no remaining rule
 * calls before a character.  Rules that remain are left recursive. */
static int refuse_left_recursion(struct gbnf *p, struct code_walk *k)
{
	uint8_t *called, *gone;

	TRY(work_alloc(&p->w, &called, p->n_rules, 1));
	TRY(work_alloc(&p->w, &gone, p->n_rules, 1));
	for (int callers = 0; callers < 2; callers++)
		for (int more = 1; more;) {
			more = 0;
			for (uint32_t r = 0; r < p->n_rules; r++) {
				int yes;

				if (gone[r])
					continue;
				TRY(calls_first(p, k, r, gone, called, callers, &yes));
				gone[r] |= !yes;
				more |= !yes;
			}
		}
	for (uint32_t r = 0; r < p->n_rules; r++)
		if (!gone[r])
			return err_set(
				p->w.err, INFER_EINVAL,
				"rule %.*s of the grammar begins with itself (left recursion)",
				p->rule[r].n < 60 ? (int)p->rule[r].n : 60, p->rule[r].name);
	return INFER_OK;
}

static int compile_rules(struct gbnf *p, struct grammar *g)
{
	struct code_walk k = { 0 };

	TRY(gbnf_parse(p));
	TRY(work_alloc(&p->w, &k.stack, p->n_code, sizeof *k.stack));
	TRY(work_alloc(&p->w, &k.seen, p->n_code, sizeof *k.seen));
	TRY(find_empty_rules(p, &k));
	TRY(refuse_left_recursion(p, &k));
	for (uint32_t pc = 0; pc < p->n_code; pc++)
		if (p->code[pc].op == OP_CALL)
			p->code[pc].a = p->rule[p->code[pc].a].start;
	g->code = p->code;
	g->set = p->set;
	g->token_set = p->token_set;
	g->n_token_sets = p->n_tokens;
	g->n_code = p->n_code;
	g->root = p->rule[p->root].start;
	TRY(work_alloc(&p->w, &g->code_live, p->n_code, 1));
	return ir_find_ends(&p->w, g, g->code_live, 0);
}

int gbnf_compile(struct grammar **out, const char *text, size_t n, struct budget *left,
                 infer_error *err)
{
	struct gbnf p = { .text = text, .s = text, .end = text + n };
	struct grammar *g;
	int rc;

	*out = NULL;
	work_begin(&p.w, "the grammar", left, err);
	p.w.mem.who = MEM_GRAMMAR;
	rc = work_alloc(&p.w, &g, 1, sizeof *g);
	if (!rc)
		rc = compile_rules(&p, g);
	if (rc) {
		work_end(&p.w);
		return rc;
	}
	g->mem = p.w.mem;
	g->bytes = p.w.taken;
	*out = g;
	return INFER_OK;
}
