/* lark/final.c - rewrite the code of rules so that no rule accepts the empty text and none begins with
 * itself.
 *
 * A rule is emitted as two blocks: `fresh`, in which nothing has been read since the rule began, and `read`.
 * In `fresh` the end is not reached, so the rule is not empty; calls of rules that can be empty may be
 * skipped.
 *
 * Left recursion.  Rules that call each other in `fresh` form a component.  The code of rule i of a component
 * is: begin with the `fresh` block of any rule of it, in which the calls of the component are left out.  When
 * a rule m has been read, continue after any such call of m in the component, or end if m is i. */
#include "lark/tree.h"

#include <string.h>

enum { MOST_FINAL = 1 << 21, FRESH = 0, READ = 1, MOST_SCC = 4096 };

struct finish {
	struct lark *p;
	uint32_t *map[2]; /* [n_code] where the final code of an op begins, by block */
	uint32_t *work, n_work, *seen, mark;
	uint32_t *next, *kin; /* of components: the next instance with the same scc */
	/* left calls that wait for the end of a rule: jumps to it, chained by a */
	uint32_t *ends; /* [n_instances] chain of jumps to the end of the rule */
};

static int emit_final(struct lark *p, enum op op, uint32_t a, uint32_t b)
{
	if (p->n_final == MOST_FINAL)
		return err_set(p->w.err, INFER_EUNSUP, "the grammar is too large");
	TRY(work_steps(&p->w, 1));
	TRY(work_grow(&p->w, &p->final, &p->cap_final, (uint64_t)p->n_final + 1, sizeof *p->final));
	p->final[p->n_final++] = (struct code){ op, a, b };
	return INFER_OK;
}

/* -- empty rules ---------------------------------------------------------------------------- */

static int may_be_empty(const struct lark *p, uint32_t pc)
{
	const struct code *c = p->code + pc;

	switch (c->op) {
	case OP_END:
		return 1;
	case OP_SPLIT:
		return (c->a != NOWHERE && p->nullable[c->a]) ||
		       (c->b != NOWHERE && p->nullable[c->b]);
	case OP_JUMP:
		return p->nullable[c->a];
	case OP_CALL:
		return p->instance[c->a].nullable && p->nullable[pc + 1];
	default:
		return 0;
	}
}

static int find_empty(struct lark *p)
{
	TRY(work_alloc(&p->tree, &p->nullable, p->n_code, 1));
	for (int more = 1; more;) {
		more = 0;
		TRY(work_steps(&p->tree, p->n_code));
		for (uint32_t pc = p->n_code; pc--;)
			if (!p->nullable[pc] && may_be_empty(p, pc))
				more = p->nullable[pc] = 1;
		for (uint32_t i = 0; i < p->n_instances; i++)
			p->instance[i].nullable = p->nullable[p->instance[i].start];
	}
	return INFER_OK;
}

/* -- components ----------------------------------------------------------------------------- */

static void visit(struct finish *f, uint32_t pc)
{
	if (pc == NOWHERE || f->seen[pc] == f->mark)
		return;
	f->seen[pc] = f->mark;
	f->work[f->n_work++] = pc;
}

/* Call each(f, called, user) for the instances that instance i calls before it has read a byte. */
static int list_left_calls(struct finish *f, uint32_t i, uint32_t *calls, uint32_t *n)
{
	struct lark *p = f->p;

	*n = 0;
	f->mark++;
	f->n_work = 0;
	visit(f, p->instance[i].start);
	while (f->n_work) {
		const uint32_t pc = f->work[--f->n_work];
		const struct code *c = p->code + pc;

		TRY(work_steps(&p->tree, 1));
		if (c->op == OP_SPLIT || c->op == OP_JUMP)
			visit(f, c->a);
		if (c->op == OP_SPLIT)
			visit(f, c->b);
		if (c->op != OP_CALL)
			continue;
		calls[(*n)++] = c->a;
		if (p->instance[c->a].nullable)
			visit(f, pc + 1);
	}
	return INFER_OK;
}

/* an instance whose left calls are being followed (Tarjan 1972) */
struct frame {
	uint32_t instance, at, n; /* its calls: calls[at .. at + n) */
};

struct tarjan {
	struct finish *f;
	uint32_t *number, *low, *stack, n_stack, count;
	struct frame *frame;
	uint32_t *calls, cap_calls, n_calls, cap_frames, n_frames, n_scc;
};

static int enter_instance(struct tarjan *t, uint32_t i)
{
	struct lark *p = t->f->p;
	struct frame *x;
	uint32_t n;

	TRY(work_grow(&p->tree, &t->frame, &t->cap_frames, (uint64_t)t->n_frames + 1,
	              sizeof *t->frame));
	TRY(work_grow(&p->tree, &t->calls, &t->cap_calls, (uint64_t)t->n_calls + p->instance[i].n,
	              sizeof *t->calls));
	x = t->frame + t->n_frames++;
	*x = (struct frame){ i, t->n_calls, 0 };
	TRY(list_left_calls(t->f, i, t->calls + t->n_calls, &n));
	x->n = n;
	t->n_calls += n;
	t->number[i] = t->low[i] = ++t->count;
	t->stack[t->n_stack++] = i;
	return INFER_OK;
}

/* All calls of the top frame are followed: leave it. */
static void leave_instance(struct tarjan *t)
{
	struct lark *p = t->f->p;
	const struct frame x = t->frame[--t->n_frames];
	const uint32_t i = x.instance;

	t->n_calls = x.at;
	if (t->low[i] == t->number[i]) {
		uint32_t k;

		t->n_scc++;
		do {
			k = t->stack[--t->n_stack];
			p->instance[k].scc = t->n_scc;
		} while (k != i);
	}
	if (t->n_frames) {
		const uint32_t up = t->frame[t->n_frames - 1].instance;

		t->low[up] = t->low[i] < t->low[up] ? t->low[i] : t->low[up];
	}
}

static int find_component(struct tarjan *t, uint32_t root)
{
	struct lark *p = t->f->p;

	TRY(enter_instance(t, root));
	while (t->n_frames) {
		struct frame *x = t->frame + t->n_frames - 1;

		TRY(work_steps(&p->tree, 1));
		if (!x->n) {
			leave_instance(t);
			continue;
		}
		const uint32_t to = t->calls[x->at + --x->n], i = x->instance;

		if (!t->number[to])
			TRY(enter_instance(t, to));
		else if (!p->instance[to].scc && t->number[to] < t->low[i])
			t->low[i] = t->number[to];
	}
	return INFER_OK;
}

/* Set `scc` of all instances. */
static int find_components(struct finish *f)
{
	struct lark *p = f->p;
	struct tarjan t = { .f = f };

	TRY(work_alloc(&p->tree, &t.number, p->n_instances, sizeof *t.number));
	TRY(work_alloc(&p->tree, &t.low, p->n_instances, sizeof *t.low));
	TRY(work_alloc(&p->tree, &t.stack, p->n_instances, sizeof *t.stack));
	for (uint32_t i = 0; i < p->n_instances; i++)
		if (!t.number[i])
			TRY(find_component(&t, i));
	return INFER_OK;
}

/* -- final code ----------------------------------------------------------------------------- */

/* Return the number of ops that an op becomes. */
static uint32_t final_size(const struct lark *p, uint32_t pc, int block)
{
	const struct code *c = p->code + pc;

	if (c->op == OP_SPLIT || c->op == OP_JUMP || c->op == OP_END)
		return 1;
	/* a split to skip an empty rule; the op; a jump to the block `read` */
	return 1 + (c->op == OP_CALL && p->instance[c->a].nullable) + (block == FRESH);
}

/* Set map for the two blocks of an instance, which begin at p->n_final. */
static void map_instance(struct finish *f, uint32_t i)
{
	const struct instance *x = f->p->instance + i;
	uint32_t at = f->p->n_final;

	for (int block = 0; block < 2; block++)
		for (uint32_t pc = x->start; pc < x->start + x->n; pc++) {
			f->map[block][pc] = at;
			at += final_size(f->p, pc, block);
		}
}

static uint32_t mapped(const struct finish *f, int block, uint32_t pc)
{
	return pc == NOWHERE ? NOWHERE : f->map[block][pc];
}

/* Emit an op that nothing can pass. */
static int emit_never(struct lark *p) { return emit_final(p, OP_JUMP, p->n_final, 0); }

/* Emit a split; one without targets cannot be passed. */
static int emit_split(struct finish *f, int block, const struct code *c)
{
	const uint32_t a = c->a == NOWHERE ? c->b : c->a, b = c->a == NOWHERE ? NOWHERE : c->b;

	if (a == NOWHERE)
		return emit_never(f->p);
	return emit_final(f->p, OP_SPLIT, mapped(f, block, a), mapped(f, block, b));
}

/* Emit an op of a block. ends: chain of jumps to the end of the rule; NULL: it ends there */
static int emit_block_op(struct finish *f, uint32_t pc, int block, uint32_t scc, uint32_t *ends)
{
	struct lark *p = f->p;
	const struct code c = p->code[pc];
	const int left = block == FRESH && c.op == OP_CALL && scc && p->instance[c.a].scc == scc;

	if (c.op == OP_SPLIT)
		return emit_split(f, block, &c);
	if (c.op == OP_JUMP)
		return emit_final(p, OP_JUMP, mapped(f, block, c.a), 0);
	if (c.op == OP_END && block == FRESH)
		return emit_never(p);
	if (c.op == OP_END && !ends)
		return emit_final(p, OP_END, 0, 0);
	if (c.op == OP_END) {
		TRY(emit_final(p, OP_JUMP, *ends, 0));
		*ends = p->n_final - 1;
		return INFER_OK;
	}
	if (c.op == OP_CALL && p->instance[c.a].nullable)
		TRY(emit_final(p, OP_SPLIT, p->n_final + 1, f->map[block][pc + 1]));
	TRY(left ? emit_never(p) : emit_final(p, c.op, c.a, c.b));
	return block == FRESH ? emit_final(p, OP_JUMP, f->map[READ][pc + 1], 0) : INFER_OK;
}

static int emit_blocks(struct finish *f, uint32_t i, uint32_t scc, uint32_t *ends)
{
	const struct instance x = f->p->instance[i];

	map_instance(f, i);
	for (int block = 0; block < 2; block++)
		for (uint32_t pc = x.start; pc < x.start + x.n; pc++)
			TRY(emit_block_op(f, pc, block, scc, ends));
	return INFER_OK;
}

/* Emit the continuations after left calls of m within rule n of the component. */
static int emit_after_calls(struct finish *f, uint32_t n, uint32_t m)
{
	struct lark *p = f->p;

	f->mark++;
	f->n_work = 0;
	visit(f, p->instance[n].start);
	while (f->n_work) {
		const uint32_t pc = f->work[--f->n_work];
		const struct code *c = p->code + pc;

		TRY(work_steps(&p->tree, 1));
		if (c->op == OP_SPLIT || c->op == OP_JUMP)
			visit(f, c->a);
		if (c->op == OP_SPLIT)
			visit(f, c->b);
		if (c->op != OP_CALL)
			continue;
		if (c->a == m)
			TRY(emit_final(p, OP_SPLIT, f->map[READ][pc + 1], p->n_final + 1));
		if (p->instance[c->a].nullable)
			visit(f, pc + 1);
	}
	return INFER_OK;
}

/* Emit rule i of a component of left recursion, whose instances are kin[0 .. n). */
static int emit_component(struct finish *f, uint32_t i, uint32_t n)
{
	struct lark *p = f->p;
	const uint32_t begin = p->n_final;

	for (uint32_t k = 0; k < n; k++)
		TRY(emit_final(p, OP_SPLIT, 0, p->n_final + 1));
	TRY(emit_never(p));
	for (uint32_t k = 0; k < n; k++) {
		f->ends[k] = NOWHERE;
		TRY(emit_blocks(f, f->kin[k], p->instance[i].scc, f->ends + k));
		p->final[begin + k].a = f->map[FRESH][p->instance[f->kin[k]].start];
	}
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t at = f->ends[k], before; at != NOWHERE; at = before) {
			before = p->final[at].a;
			p->final[at].a = p->n_final;
		}
		if (f->kin[k] == i) {
			TRY(emit_final(p, OP_SPLIT, p->n_final + 1, p->n_final + 2));
			TRY(emit_final(p, OP_END, 0, 0));
		}
		for (uint32_t m = 0; m < n; m++)
			TRY(emit_after_calls(f, f->kin[m], f->kin[k]));
		TRY(emit_never(p));
	}
	return INFER_OK;
}

/* List the component of i in kin.  *recursive: 1 if a rule of it begins with itself */
static int list_component(struct finish *f, uint32_t i, uint32_t *n, int *recursive)
{
	struct lark *p = f->p;
	uint32_t n_calls;

	*n = 0;
	*recursive = 0;
	for (uint32_t k = f->next[i]; k != NOWHERE; k = k == i ? NOWHERE : f->next[k])
		f->kin[(*n)++] = k;
	*recursive = *n > 1;
	if (*n > MOST_SCC)
		return err_set(p->w.err, INFER_EUNSUP, "the grammar is too large");
	if (*n > 1)
		return INFER_OK;
	TRY(list_left_calls(f, i, f->ends, &n_calls));
	for (uint32_t k = 0; k < n_calls; k++)
		*recursive |= f->ends[k] == i;
	return INFER_OK;
}

static int emit_instance(struct finish *f, uint32_t i)
{
	struct lark *p = f->p;
	uint32_t n;
	int recursive;

	p->instance[i].call = p->n_final;
	TRY(list_component(f, i, &n, &recursive));
	return recursive ? emit_component(f, i, n) : emit_blocks(f, i, 0, NULL);
}

/* Link the instances of each component to rings. */
static int link_components(struct finish *f)
{
	struct lark *p = f->p;
	uint32_t *first;

	TRY(work_alloc(&p->tree, &first, (uint64_t)p->n_instances + 1, sizeof *first));
	for (uint32_t i = 0; i < p->n_instances; i++) {
		const uint32_t head = first[p->instance[i].scc];

		f->next[i] = head ? f->next[head - 1] : i;
		if (head)
			f->next[head - 1] = i;
		first[p->instance[i].scc] = i + 1;
	}
	return INFER_OK;
}

int lark_finish_code(struct lark *p)
{
	struct finish f = { .p = p };
	const uint64_t most = (uint64_t)p->n_code + p->n_instances + 1;

	TRY(find_empty(p));
	for (int block = 0; block < 2; block++)
		TRY(work_alloc(&p->tree, &f.map[block], most, sizeof *f.map[block]));
	TRY(work_alloc(&p->tree, &f.work, most, sizeof *f.work));
	TRY(work_alloc(&p->tree, &f.seen, most, sizeof *f.seen));
	TRY(work_alloc(&p->tree, &f.next, most, sizeof *f.next));
	TRY(work_alloc(&p->tree, &f.kin, most, sizeof *f.kin));
	TRY(work_alloc(&p->tree, &f.ends, most, sizeof *f.ends));
	TRY(find_components(&f));
	TRY(link_components(&f));
	/* the root may be empty */
	if (p->instance[0].nullable)
		TRY(emit_final(p, OP_SPLIT, 2, 1));
	else
		TRY(emit_final(p, OP_JUMP, 2, 0));
	TRY(emit_final(p, OP_END, 0, 0));
	for (uint32_t i = 0; i < p->n_instances; i++)
		TRY(emit_instance(&f, i));
	for (uint32_t pc = 0; pc < p->n_final; pc++)
		if (p->final[pc].op == OP_CALL)
			p->final[pc].a = p->instance[p->final[pc].a].call;
	return INFER_OK;
}
