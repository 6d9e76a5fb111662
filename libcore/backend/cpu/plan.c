/* backend/cpu/plan.c - plans: group the nodes of a graph into steps, and decide which step converts
 * rows to the forms that products read. */
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "type/type.h"

#define AHEAD_LEAST ((uint64_t)16 << 20) /* least bytes of weights worth reading ahead */

/* The kind of step that runs an operation. A new product must be listed here. */
enum {
	STEP_mm = CPU_MM,
	STEP_head_mm = CPU_HEADS,
	STEP_moe = CPU_MOE,
};
static const uint8_t step_kinds[] = {
#define STEP_ELEMENT(member) CPU_ROWS
#define STEP_MOVE(member) CPU_ROWS
#define STEP_PRODUCT(member) STEP_##member
#define STEP_ATTENTION(member) CPU_ATTN
#define STEP_STATE(member) CPU_STATE
#define OP(name, member, kind, n_src, n_w, cols, over) [GRAPH_##name] = STEP_##kind(member),
#include "graph/op_list.h"
};

static struct cpu_step *push_step(struct backend_plan *p, enum cpu_step_kind kind, int rows,
                                  int32_t first)
{
	struct cpu_step *s = &p->steps[p->n_steps++];

	*s = (struct cpu_step){
		.kind = kind, .rows = (uint8_t)rows, .first = first, .act = p->n_acts
	};
	return s;
}

/* Make the chain before step `at` also write `node` in the form that weights of `type` read, unless
 * a chain does already. Returns 0 if that step cannot write it. */
static int plan_act(struct backend_plan *p, int32_t node, int type, int32_t at)
{
	enum kern_form form = cpu_mm(p->b, type)->form;
	struct cpu_act *a = cpu_act_of_form(p, node, form);
	struct cpu_step *before = at ? &p->steps[at - 1] : NULL;

	if (form == KERN_FORM_F32)
		return 1;
	if (!a) {
		if (!before || before->kind != CPU_ROWS ||
		    before->rows != cpu_node(p, node)->rows ||
		    before->act + before->n_acts != p->n_acts)
			return 0;
		a = &p->acts[p->n_acts++];
		*a = (struct cpu_act){ .node = node, .type = type, .form = form, .from = at - 1 };
		before->n_acts++;
		before->work += cpu_node(p, node)->cols;
	}
	if (cpu_mm(p->b, type)->transpose)
		a->type = type;
	a->types |= UINT64_C(1) << type;
	a->to = at;
	return 1;
}

static void add_mm(struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cpu_node(p, i);
	struct cpu_step *last = p->n_steps ? &p->steps[p->n_steps - 1] : NULL;
	int type = p->m.weights[n->w[0]].type;

	if (last && last->kind == CPU_MM && cpu_node(p, last->first)->src[0] == n->src[0] &&
	    plan_act(p, n->src[0], type, p->n_steps - 1)) {
		last->n++;
		return;
	}
	if (!plan_act(p, n->src[0], type, p->n_steps)) {
		push_step(p, CPU_ROWS, cpu_node(p, n->src[0])->rows, i);
		must(plan_act(p, n->src[0], type, p->n_steps));
	}
	push_step(p, CPU_MM, n->rows, i)->n = 1;
}

static void add_moe(struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cpu_node(p, i);

	for (int s = 0; s < 2; s++) {
		int type = p->m.weights[n->w[s]].type;
		if (!plan_act(p, n->src[0], type, p->n_steps)) {
			push_step(p, CPU_ROWS, n->rows, i);
			must(plan_act(p, n->src[0], type, p->n_steps));
		}
	}
	push_step(p, CPU_MOE, n->rows, i)->n = 1;
}

/* True if the last node so far is a SEND.  A RECV after it may depend on what was sent (experts.c),
 * so it begins a new step. */
static int ends_in_send(const struct backend_plan *p)
{
	const struct cpu_step *last = &p->steps[p->n_steps - 1];

	return last->n && cpu_node(p, last->first + last->n - 1)->op == GRAPH_SEND;
}

static void add_row_op(struct backend_plan *p, int32_t i)
{
	const struct graph_node *n = cpu_node(p, i);
	struct cpu_step *last = p->n_steps ? &p->steps[p->n_steps - 1] : NULL;

	if (!last || last->kind != CPU_ROWS || last->rows != n->rows || last->n_acts ||
	    n->op == GRAPH_GET_ROWS || (n->op == GRAPH_RECV && ends_in_send(p)))
		last = push_step(p, CPU_ROWS, n->rows, i);
	if (!last->n)
		last->first = i;
	last->n++;
	last->work += n->cols ? n->cols : cpu_node(p, n->src[0])->cols;
}

/* Group the nodes into steps and find the most jobs of a step. */
static void make_steps(struct backend_plan *p)
{
	for (int32_t i = 0; i < p->m.graph->n; i++) {
		const struct graph_node *n = cpu_node(p, i);
		enum cpu_step_kind kind = step_kinds[n->op];
		switch (kind) {
		case CPU_ROWS:
			add_row_op(p, i);
			break;
		case CPU_MM:
			add_mm(p, i);
			break;
		case CPU_MOE:
			add_moe(p, i);
			break;
		case CPU_ATTN:
		case CPU_STATE:
		case CPU_HEADS:
			push_step(p, kind, n->rows, i)->n = 1;
			break;
		}
		p->stage[i] = p->n_steps - 1;
		if (p->steps[p->n_steps - 1].kind == CPU_MM)
			p->max_jobs = p->max_jobs > p->steps[p->n_steps - 1].n
			                      ? p->max_jobs
			                      : p->steps[p->n_steps - 1].n;
		if (n->op == GRAPH_MOE) /* jobs: gate and up of every expert */
			p->max_jobs = (int)num_max(p->max_jobs, 2 * p->m.weights[n->w[0]].n);
		if (n->op == GRAPH_HEAD_MM)
			p->max_jobs = (int)num_max(p->max_jobs, n->head_mm.heads);
	}
}

/* Check the graph, allocate the arrays of the plan and make its steps. */
static int prepare_plan(struct backend_plan *p, infer_error *err)
{
	size_t n = (size_t)p->m.graph->n;

	TRY(backend_check(&p->checked, &p->m, &p->size, err));
	p->steps = mem_alloc(MEM_BACKEND, n, 3 * sizeof *p->steps);
	p->acts = mem_alloc(MEM_BACKEND, n, 2 * sizeof *p->acts);
	p->stage = mem_alloc(MEM_BACKEND, n, sizeof *p->stage);
	p->offset = mem_alloc(MEM_BACKEND, n, sizeof *p->offset);
	if (!p->steps || !p->acts || !p->stage || !p->offset)
		return err_set(err, INFER_ENOMEM, "out of memory for a plan of %zu nodes", n);
	make_steps(p);
	p->jobs = mem_alloc(MEM_BACKEND, (size_t)p->max_jobs, sizeof *p->jobs);
	if (!p->jobs)
		return err_set(err, INFER_ENOMEM, "out of memory for a plan of %zu nodes", n);
	return INFER_OK;
}

/* Make the steps and compute the size of the workspace. */
static int measure_plan(struct backend_plan *p, infer_error *err)
{
	struct cpu_space s = { 0 };

	TRY(prepare_plan(p, err));
	TRY(cpu_place(p, err));
	cpu_layout(p, &s);
	p->bytes = s.used;
	return s.bad ? err_set(err, INFER_ENOMEM, "the workspace does not fit the address space")
	             : INFER_OK;
}

int cpu_need(struct backend_need *need, struct backend *b, const struct backend_model *m,
             const struct backend_size *size, infer_error *err)
{
	struct backend_plan p = { .b = b, .m = *m, .size = *size };
	struct backend_cache c;
	int rc;

	*need = (struct backend_need){ 0 };
	must(m->n_groups <= BACKEND_GROUPS);
	for (int g = 0; g < m->n_groups; g++) {
		TRY(cpu_kv_lay(&c, &m->groups[g], err));
		need->kv_page[g] = c.page_bytes;
	}
	rc = measure_plan(&p, err);
	need->workspace = rc ? 0 : p.bytes;
	need->thread = rc ? 0 : p.scratch_bytes;
	mem_free(p.steps);
	mem_free(p.acts);
	mem_free(p.stage);
	mem_free(p.offset);
	mem_free(p.jobs);
	return rc;
}

/* Start threads that read the weights of products into memory before the first step reaches them.
 * NULL: too few bytes to be worth it, or out of memory. */
static struct ahead *start_ahead(const struct backend_plan *p)
{
	struct ahead_part *parts = mem_alloc(MEM_BACKEND, (size_t)p->m.graph->n + 1, sizeof *parts);
	struct ahead *a;
	int n = 0;
	uint64_t bytes = 0;

	for (int i = 0; parts && i < p->n_steps; i++) {
		const struct cpu_step *step = &p->steps[i];
		for (int32_t k = step->first; step->kind == CPU_MM && k < step->first + step->n;
		     k++) {
			const struct weight *w = &p->m.weights[cpu_node(p, k)->w[0]];
			parts[n] =
				(struct ahead_part){ w->at[0], w->row_bytes * (size_t)w->ne[1], i };
			bytes += parts[n++].bytes;
		}
	}
	a = bytes < AHEAD_LEAST ? NULL
	                        : ahead_new(parts, n, AHEAD_MOST, pool_nodes(p->b->pool),
	                                    pool_threads(p->b->pool));
	mem_free(parts);
	return a;
}

/* Advise the system that tables are read sparsely if EMBED alone reads them. */
static void advise_lookups(const struct backend_plan *p)
{
	const struct graph *g = p->m.graph;

	for (int32_t i = 0; i < g->n; i++) {
		const struct graph_node *table = &g->nodes[i];
		int looked_up = table->op == GRAPH_EMBED;

		for (int32_t k = 0; k < g->n && looked_up; k++)
			looked_up = g->nodes[k].op != GRAPH_MM || g->nodes[k].w[0] != table->w[0];
		if (looked_up) {
			const struct weight *w = &p->m.weights[table->w[0]];

			os_sparse(w->at[0], w->row_bytes * (size_t)w->ne[1]);
		}
	}
}

int cpu_plan(struct backend_plan **out, struct backend *b, const struct backend_weights *w,
             const struct backend_model *m, const struct backend_size *size, infer_error *err)
{
	struct backend_plan *p = mem_zalloc(MEM_BACKEND, 1, sizeof *p);
	int rc;

	*out = NULL;
	if (!p)
		return err_set(err, INFER_ENOMEM, "out of memory for a plan");
	p->b = b;
	p->m = *m;
	p->m.weights = w->at;
	p->m.n_weights = w->n;
	p->size = *size;
	rc = measure_plan(p, err);
	if (rc)
		goto out;
	p->mem = mem_aligned(MEM_BACKEND, 4096, p->bytes);
	if (!p->mem) {
		rc = err_set(err, INFER_ENOMEM,
		             "out of memory for a workspace of %zu bytes for %d rows", p->bytes,
		             size->rows);
		goto out;
	}
	cpu_layout(p, &(struct cpu_space){ .base = p->mem });
	p->ahead = start_ahead(p);
	advise_lookups(p);
	*out = p;
	p = NULL;
out:
	cpu_plan_free(p);
	return rc;
}

void cpu_plan_free(struct backend_plan *p)
{
	if (!p)
		return;
	ahead_free(p->ahead);
	mem_free(p->mem);
	mem_free(p->jobs);
	mem_free(p->offset);
	mem_free(p->stage);
	mem_free(p->acts);
	mem_free(p->steps);
	mem_free(p);
}
