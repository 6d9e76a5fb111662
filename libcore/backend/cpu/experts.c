/* backend/cpu/experts.c - run MOE nodes on the CPU for a graph that a GPU runs.
 *
 * One plan of the CPU backend has four nodes for each MOE node of the GPU's graph. All use the same
 * three edges and share the workspace:
 *
 *   edge 0 -> RECV x ---------.
 *   edge 1 -> RECV choice --- MOE -- SEND -> edge 2
 *
 * No step contains nodes for two MOE nodes, so each MOE node is a range of steps. */
#include "backend/cpu/experts.h"
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/mem.h"

enum { EDGE_X, EDGE_CHOICE, EDGE_Y, EDGES, NODES = 4 };

struct cpu_experts {
	struct backend *b;
	struct backend_weights *w;
	struct backend_plan *plan;
	struct graph graph;
	/* for the MOE node that runs */
	struct backend_step step;
	float *edges[EDGES];
};

static int32_t add_recv(struct graph *g, int edge, int rows, int32_t cols)
{
	struct graph_node n = graph_node_of(GRAPH_RECV);

	n.rows = (uint8_t)rows;
	n.cols = cols;
	n.recv.edge = edge;
	return graph_add(g, n);
}

static void add_moe(struct graph *g, const struct graph_node *of)
{
	struct graph_node n = *of, send = graph_node_of(GRAPH_SEND);

	n.src[0] = add_recv(g, EDGE_X, of->rows, of->cols);
	n.src[1] = add_recv(g, EDGE_CHOICE, of->rows, 2 * of->moe.used);
	send.src[0] = graph_add(g, n);
	send.send.edge = EDGE_Y;
	graph_add(g, send);
}

/* Build the graph and open the backend.  Call close_experts even if this fails. */
static int open_experts(struct cpu_experts *e, struct backend_model *to, const struct host *host,
                        const struct backend_model *m, infer_error *err)
{
	*e = (struct cpu_experts){ 0 };
	graph_init(&e->graph);
	for (int32_t i = 0; i < m->graph->n; i++)
		if (cpu_expert_is(m, &m->graph->nodes[i]))
			add_moe(&e->graph, &m->graph->nodes[i]);
	if (e->graph.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for experts on the CPU");
	*to = (struct backend_model){ .graph = &e->graph,
		                      .weights = m->weights,
		                      .n_weights = m->n_weights };
	return backend_find("cpu")->open(&e->b, host, &(struct backend_opts){ 0 }, err);
}

static void close_experts(struct cpu_experts *e)
{
	const struct backend_kind *cpu = backend_find("cpu");

	cpu->plan_free(e->plan);
	cpu->unload(e->w);
	cpu->close(e->b);
	graph_fini(&e->graph);
}

int cpu_experts_need(struct backend_need *need, const struct host *host,
                     const struct backend_model *m, const struct backend_size *size,
                     infer_error *err)
{
	struct backend_model own;
	struct cpu_experts e;
	int rc;

	*need = (struct backend_need){ 0 };
	TRY(backend_check_rank(size, "experts on the CPU", err));
	rc = open_experts(&e, &own, host, m, err);
	if (!rc)
		rc = cpu_need(need, e.b, &own, size, err);
	close_experts(&e);
	return rc;
}

int cpu_experts_new(struct cpu_experts **out, const struct host *host,
                    const struct backend_model *m, const struct backend_size *size,
                    infer_error *err)
{
	struct cpu_experts *e = mem_alloc(MEM_BACKEND, 1, sizeof *e);
	struct backend_model own;
	int rc;

	*out = NULL;
	if (!e)
		return err_set(err, INFER_ENOMEM, "out of memory for experts on the CPU");
	rc = backend_check_rank(size, "experts on the CPU", err);
	if (rc) {
		mem_free(e);
		return rc;
	}
	rc = open_experts(e, &own, host, m, err);
	if (!rc)
		rc = backend_find("cpu")->load(&e->w, e->b, own.weights, own.n_weights, err);
	if (!rc)
		rc = cpu_plan(&e->plan, e->b, e->w, &own, size, err);
	if (rc) {
		cpu_experts_free(e);
		return rc;
	}
	for (int32_t i = NODES; i < e->graph.n; i += NODES)
		must(e->plan->stage[i] > e->plan->stage[i - 1]);
	*out = e;
	return INFER_OK;
}

void cpu_experts_free(struct cpu_experts *e)
{
	if (!e)
		return;
	close_experts(e);
	mem_free(e);
}

int cpu_experts_run(struct cpu_experts *e, int number, const struct backend_step *s,
                    const struct cpu_expert_rows *r, infer_error *err)
{
	struct backend_plan *p = e->plan;
	int32_t first = number * NODES;

	must(number >= 0 && first < e->graph.n);
	e->edges[EDGE_X] = r->x;
	e->edges[EDGE_CHOICE] = r->choice;
	e->edges[EDGE_Y] = r->y;
	e->step = *s;
	e->step.edges = e->edges;
	e->step.observer = NULL;
	p->s = &e->step;
	for (int i = p->stage[first]; i <= p->stage[first + NODES - 1]; i++) {
		if (s->stop && atomic_load_explicit(s->stop, memory_order_relaxed))
			return err_set(err, INFER_ECANCEL, "the step was stopped");
		if (cpu_rows(p, p->steps[i].rows))
			cpu_step_run(p, &p->steps[i]);
	}
	return INFER_OK;
}
