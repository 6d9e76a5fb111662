/* lark/emit.c - emit the code of rules, one instance after the other. */
#include "lark/tree.h"
#include "base/jread.h"
#include "schema/schema.h"

#include <string.h>

enum { MOST_CODE = 1 << 20, MOST_INSTANCES = 1 << 18, MOST_INLINE = 4 };

static int emit_node(struct lark *p, const struct node *x);

static int emit_op(struct lark *p, enum op op, uint32_t a, uint32_t b)
{
	if (p->n_code == MOST_CODE)
		return err_set(p->w.err, INFER_EUNSUP, "the grammar is too large");
	TRY(work_steps(&p->tree, 4));
	TRY(work_grow(&p->tree, &p->code, &p->cap_code, (uint64_t)p->n_code + 1, sizeof *p->code));
	p->code[p->n_code++] = (struct code){ op, a, b };
	return INFER_OK;
}

/* -- instances ------------------------------------------------------------------------------ */

/* Find or add the instance of a rule or group with the parameter p->param. */
static int find_instance(struct lark *p, struct scope *scope, const struct node *body,
                         int has_param, uint64_t param, uint32_t *number)
{
	uint32_t hash = htab_mix(htab_mix((uint32_t)(uintptr_t)body, (uint32_t)param),
	                         (uint32_t)(param >> 32));
	struct htab_slot *e;

	for (e = htab_find(&p->index, hash); e->index != NOWHERE; e = htab_next(&p->index, e)) {
		const struct instance *x = p->instance + e->index;

		TRY(work_steps(&p->tree, 1));
		if (x->body == body && x->param == param && x->has_param == has_param) {
			*number = e->index;
			return INFER_OK;
		}
	}
	if (p->n_instances == MOST_INSTANCES)
		return err_set(p->w.err, INFER_EUNSUP, "the grammar is too large");
	TRY(work_grow(&p->tree, &p->instance, &p->cap_instances, (uint64_t)p->n_instances + 1,
	              sizeof *p->instance));
	*number = p->n_instances++;
	p->instance[*number] = (struct instance){ .scope = scope,
		                                  .body = body,
		                                  .param = param,
		                                  .has_param = has_param,
		                                  .line = body->line };
	return htab_insert(&p->tree, &p->index, e, hash, *number);
}

static int emit_call(struct lark *p, struct scope *scope, const struct node *body, int has_param,
                     uint64_t param)
{
	uint32_t number = 0;

	TRY(find_instance(p, scope, body, has_param, param, &number));
	return emit_op(p, OP_CALL, number, 0);
}

/* -- nodes ---------------------------------------------------------------------------------- */

/* Emit a terminal; one that can be empty may be skipped. */
static int emit_terminal(struct lark *p, const struct node *x, const struct node *suffix, int lazy)
{
	uint32_t number;
	int empty;

	TRY(lark_terminal(p, x, suffix, &number, &empty));
	if (number == NOWHERE)
		return INFER_OK;
	if (empty)
		TRY(emit_op(p, OP_SPLIT, p->n_code + 1, p->n_code + 2));
	return emit_op(p, OP_LEX, number, (uint32_t)lazy);
}

static int emit_name(struct lark *p, const struct node *x)
{
	struct def *d;
	uint64_t param = 0;

	TRY(work_steps(&p->tree, p->scope->n_defs / 4 + 1));
	d = lark_find_def(p, p->scope, x->s, x->n);
	if (!d || d->is_terminal)
		return emit_terminal(p, x, NULL, 0);
	if (d->is_lazy)
		return emit_terminal(p, d->body, d->suffix, 1);
	if (!d->is_parametric != !x->param)
		return lark_fail(p, x->line, INFER_EINVAL, "the rule %.*s %s",
		                 x->n < 60 ? (int)x->n : 60, x->s,
		                 x->param ? "has no parameter" : "needs a parameter");
	if (x->param && x->param->op != PARAM_VALUE && !p->has_param)
		return lark_fail(p, x->line, INFER_EINVAL,
		                 "this rule has no parameter to compute with");
	if (x->param)
		param = param_apply(x->param, p->param);
	return emit_call(p, p->scope, d->body, d->is_parametric, param);
}

static int emit_json(struct lark *p, const struct node *x)
{
	const struct json *schema;
	uint32_t goal;

	TRY(jread(&schema, &p->tree.mem, x->s, x->n, "%json", p->w.err));
	TRY(schema_goal_of(p->g, &p->w, schema, p->json, &goal));
	return emit_op(p, OP_VALUE, goal, 0);
}

static int emit_lark(struct lark *p, const struct node *x)
{
	const struct def *start = lark_find_def(p, x->scope, "start", 5);

	if (!start || start->is_lazy || start->is_parametric)
		return lark_fail(p, x->line, INFER_EINVAL, "%%lark has no rule start");
	if (x->scope->ignore || p->scope->ignore)
		return lark_fail(p, x->line, INFER_EUNSUP,
		                 "%%ignore together with %%lark is not supported");
	return emit_call(p, x->scope, start->body, 0, 0);
}

static int emit_alternatives(struct lark *p, const struct node *x)
{
	uint32_t split = NOWHERE, jumps = NOWHERE;

	for (const struct node *k = x->kid; k; k = k->next) {
		if (k->cond && !p->has_param)
			return lark_fail(p, k->line, INFER_EINVAL,
			                 "a condition needs a rule with a parameter");
		if (k->cond && !cond_holds(k->cond, p->param))
			continue;
		if (split != NOWHERE)
			p->code[split].b = p->n_code;
		split = p->n_code;
		TRY(emit_op(p, OP_SPLIT, split + 1, NOWHERE));
		TRY(emit_node(p, k));
		TRY(emit_op(p, OP_JUMP, jumps, 0));
		jumps = p->n_code - 1;
	}
	if (split == NOWHERE) /* no alternative: nothing matches */
		TRY(emit_op(p, OP_SPLIT, NOWHERE, NOWHERE));
	while (jumps != NOWHERE) {
		const uint32_t before = p->code[jumps].a;

		p->code[jumps].a = p->n_code;
		jumps = before;
	}
	return INFER_OK;
}

/* Emit one repetition: a node, or a call of a group. */
static int emit_item(struct lark *p, const struct node *x)
{
	while (x->kid && !x->kid->next && !x->cond && !x->kid->cond &&
	       (x->kind == N_SEQ || x->kind == N_ALT))
		x = x->kid;
	if (x->kind == N_ALT || x->kind == N_SEQ || x->kind == N_REPEAT)
		return emit_call(p, p->scope, x, p->has_param, p->param);
	return emit_node(p, x);
}

static int emit_repeat(struct lark *p, const struct node *x)
{
	const struct node *kid = x->kid;
	uint32_t first, at;

	for (uint32_t i = 0; i < x->lo; i++)
		TRY(emit_item(p, kid));
	first = p->n_code;
	if (x->hi == NOWHERE) {
		TRY(emit_op(p, OP_SPLIT, first + 1, 0));
		TRY(emit_item(p, kid));
		TRY(emit_op(p, OP_JUMP, first, 0));
		p->code[first].b = p->n_code;
		return INFER_OK;
	}
	for (uint32_t i = x->lo; i < x->hi; i++) {
		at = p->n_code;
		TRY(emit_op(p, OP_SPLIT, at + 1, first));
		first = at;
		TRY(emit_item(p, kid));
	}
	/* the splits are chained by b; set b to the end of the code */
	for (uint32_t i = x->lo; i < x->hi; i++) {
		at = p->code[first].b;
		p->code[first].b = p->n_code;
		first = at;
	}
	return INFER_OK;
}

static int emit_node(struct lark *p, const struct node *x)
{
	uint32_t number;

	switch (x->kind) {
	case N_TEXT:
	case N_RANGE:
	case N_REGEX:
	case N_CHUNKS:
	case N_NOT:
		return emit_terminal(p, x, NULL, 0);
	case N_NAME:
		return emit_name(p, x);
	case N_TOKEN:
		TRY(lark_token_set(p, x, &number));
		return emit_op(p, OP_TOKEN, number, 0);
	case N_JSON:
		return emit_json(p, x);
	case N_LARK:
		return emit_lark(p, x);
	case N_SEQ:
		for (const struct node *k = x->kid; k; k = k->next)
			TRY(emit_node(p, k));
		return INFER_OK;
	case N_ALT:
		return emit_alternatives(p, x);
	case N_AND:
		return lark_fail(p, x->line, INFER_EINVAL,
		                 "& is for terminals; write the name of the rule in upper case");
	case N_REPEAT:
		return emit_repeat(p, x);
	}
	return INFER_OK;
}

/* -- all ------------------------------------------------------------------------------------ */

static int emit_instance(struct lark *p, uint32_t i)
{
	const struct instance x = p->instance[i];
	const uint32_t start = p->n_code;

	p->scope = x.scope;
	p->param = x.param;
	p->has_param = x.has_param;
	TRY(emit_node(p, x.body));
	TRY(emit_op(p, OP_END, 0, 0));
	p->instance[i].start = start;
	p->instance[i].n = p->n_code - start;
	return INFER_OK;
}

int lark_emit(struct lark *p)
{
	struct scope *root = p->scope;
	struct def *start = lark_find_def(p, root, "start", 5);
	struct node *call;

	if (!start)
		return err_set(p->w.err, INFER_EINVAL, "the grammar has no rule start");
	/* the first instance calls start: it may be lazy */
	p->at = 0;
	TRY(lark_add_node(p, N_NAME, &call));
	call->s = start->name;
	call->n = start->n;
	TRY(htab_init(&p->tree, &p->index));
	TRY(emit_call(p, root, call, 0, 0));
	p->n_code = 0;
	for (uint32_t i = 0; i < p->n_instances; i++)
		TRY(emit_instance(p, i));
	p->scope = root;
	return INFER_OK;
}
