/* grammar/parts_code.c - compile parts to code. */
#include "base/err.h"
#include "base/utf8.h"
#include "grammar/parts_tree.h"
#include "schema/schema.h"

enum { MOST_CODE = 1 << 20, MOST_DEPTH = 1000 };

int piece_emit(struct parts *p, enum op op, uint32_t a, uint32_t b)
{
	if (p->n_code == MOST_CODE)
		return err_set(p->w.err, INFER_EUNSUP, "the constraint is too large");
	TRY(work_steps(&p->w, 1));
	TRY(work_grow(&p->w, &p->code, &p->cap_code, p->n_code + 1, sizeof *p->code));
	p->code[p->n_code++] = (struct code){ op, a, b };
	return INFER_OK;
}

/* Emit reading the character cp; n 0: no character at all. */
static int emit_char(struct parts *p, uint32_t cp, uint32_t n)
{
	struct dfa_range *r;

	if (n && cp < 128 && p->ascii[cp])
		return piece_emit(p, OP_CHAR, p->ascii[cp] - 1, 0);
	TRY(work_alloc(&p->w, &r, 1, sizeof *r));
	*r = (struct dfa_range){ cp, cp };
	TRY(work_grow(&p->w, &p->set, &p->cap_sets, p->n_sets + 1, sizeof *p->set));
	p->set[p->n_sets] = (struct charset){ n, r };
	if (n && cp < 128)
		p->ascii[cp] = p->n_sets + 1;
	return piece_emit(p, OP_CHAR, p->n_sets++, 0);
}

static int emit_piece(struct parts *p, uint32_t part, uint32_t depth);

static int emit_text(struct parts *p, const struct piece *x)
{
	uint32_t cp;

	for (uint32_t i = 0; i < x->n;) {
		i += (uint32_t)utf8_get(x->s + i, x->n - i, &cp);
		TRY(emit_char(p, cp, 1));
	}
	return INFER_OK;
}

static int emit_either(struct parts *p, const uint32_t *kid, uint32_t n, uint32_t depth)
{
	uint32_t jumps = NOWHERE;

	if (!n)
		return emit_char(p, 0, 0);
	for (uint32_t i = 0; i + 1 < n; i++) {
		const uint32_t split = p->n_code;

		TRY(piece_emit(p, OP_SPLIT, split + 1, NOWHERE));
		TRY(emit_piece(p, kid[i], depth));
		TRY(piece_emit(p, OP_JUMP, jumps, 0));
		jumps = p->n_code - 1;
		p->code[split].b = p->n_code;
	}
	TRY(emit_piece(p, kid[n - 1], depth));
	while (jumps != NOWHERE) {
		const uint32_t before = p->code[jumps].a;

		p->code[jumps].a = p->n_code;
		jumps = before;
	}
	return INFER_OK;
}

static int emit_repeat(struct parts *p, uint32_t kid, uint32_t lo, uint32_t hi, uint32_t depth)
{
	uint32_t splits = NOWHERE, at;

	for (uint32_t i = 0; i < lo; i++)
		TRY(emit_piece(p, kid, depth));
	if (hi == DFA_FOREVER) {
		at = p->n_code;
		TRY(piece_emit(p, OP_SPLIT, at + 1, NOWHERE));
		TRY(emit_piece(p, kid, depth));
		TRY(piece_emit(p, OP_JUMP, at, 0));
		p->code[at].b = p->n_code;
		return INFER_OK;
	}
	for (uint32_t i = lo; i < hi; i++) {
		at = p->n_code;
		TRY(piece_emit(p, OP_SPLIT, at + 1, splits));
		splits = at;
		TRY(emit_piece(p, kid, depth));
	}
	/* the splits are chained by b; set b to the end of the code */
	while (splits != NOWHERE) {
		at = p->code[splits].b;
		p->code[splits].b = p->n_code;
		splits = at;
	}
	return INFER_OK;
}

/* Emit a call; its operand a is the number of the part until the code of the part is emitted. */
static int emit_call(struct parts *p, uint32_t part)
{
	struct piece *x = p->piece + part;

	if (x->start == NOWHERE) {
		TRY(work_grow(&p->tree, &p->call, &p->cap_calls, p->n_calls + 1, sizeof *p->call));
		p->call[p->n_calls++] = part;
		x->start = 0;
	}
	return piece_emit(p, OP_CALL, part, 0);
}

static int emit_piece(struct parts *p, uint32_t part, uint32_t depth)
{
	const struct piece x = p->piece[part];

	if (++depth > MOST_DEPTH)
		return err_set(p->w.err, INFER_EUNSUP, "the constraint is too deep");
	switch (x.kind) {
	case PIECE_NEVER:
		return emit_char(p, 0, 0);
	case PIECE_TEXT:
		return emit_text(p, &x);
	case PIECE_BYTE:
		return piece_emit(p, OP_BYTE, x.a, 0);
	case PIECE_SEQUENCE:
		for (uint32_t i = 0; i < x.n; i++)
			TRY(emit_piece(p, x.kid[i], depth));
		return INFER_OK;
	case PIECE_EITHER:
		return emit_either(p, x.kid, x.n, depth);
	case PIECE_REPEAT:
		return emit_repeat(p, *x.kid, x.a, x.b, depth);
	case PIECE_PLAIN:
		return piece_emit(p, OP_TEXT, x.a, x.b);
	case PIECE_VALUE:
		return piece_emit(p, OP_VALUE, x.a, 0);
	case PIECE_CALL:
		return emit_call(p, x.a);
	case PIECE_CODE:
		break;
	}
	return INFER_OK;
}

int parts_code(struct parts *p, uint32_t root)
{
	const uint32_t first = p->n_code; /* the code before is that of parts_grammar */
	struct grammar *g = p->g;

	TRY(emit_piece(p, root, 0));
	TRY(piece_emit(p, OP_END, 0, 0));
	for (uint32_t i = 0; i < p->n_calls; i++) {
		const uint32_t part = p->call[i];

		p->piece[part].start = p->n_code;
		TRY(emit_piece(p, part, 0));
		TRY(piece_emit(p, OP_END, 0, 0));
	}
	for (uint32_t pc = first; pc < p->n_code; pc++)
		if (p->code[pc].op == OP_CALL)
			p->code[pc].a = p->piece[p->code[pc].a].start;
	TRY(ir_prune(&p->w, g));
	TRY(work_alloc(&p->w, &g->code_live, p->n_code, 1));
	TRY(work_alloc(&p->w, &g->code_ends, p->n_code, 1));
	g->code = p->code;
	g->set = p->set;
	g->n_code = p->n_code;
	g->root = first;
	TRY(ir_find_ends(&p->w, g, g->code_live, 0));
	TRY(ir_find_ends(&p->w, g, g->code_ends, 1));
	return ir_sweep(g, &p->w, p->n_plain);
}
