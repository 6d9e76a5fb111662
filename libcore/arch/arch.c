#include "arch/arch.h"

#include <string.h>

#define ARCH(x) extern const struct arch arch_##x;
#include "arch/arch_list.h"
#undef ARCH

static const struct arch *const rows[] = {
#define ARCH(x) &arch_##x,
#include "arch/arch_list.h"
#undef ARCH
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

const struct arch *arch_at(int i) { return i >= 0 && i < ROWS ? rows[i] : NULL; }

const struct arch *arch_find(struct infer_str name)
{
	for (int i = 0; i < ROWS; i++)
		if (strlen(rows[i]->gguf) == name.len && !memcmp(rows[i]->gguf, name.at, name.len))
			return rows[i];
	return NULL;
}

enum arch_rope_mode arch_rope_mode(const struct arch *a)
{
	while (!a->rope && a->like)
		a = a->like;
	return a->rope;
}

struct backend_model arch_parts(const infer_model *m)
{
	return (struct backend_model){ .graph = &m->graph,
		                       .weights = m->weights,
		                       .n_weights = m->n_weights,
		                       .ropes = m->ropes,
		                       .n_ropes = m->n_ropes };
}

int arch_graph_build(infer_model *m, infer_error *err)
{
	const struct arch *a = m->arch;
	struct graph *g = &m->graph;
	struct graph_node n = graph_node_of(GRAPH_EMBED);
	int32_t x;

	while (!a->block)
		a = a->like;
	n.cols = m->h.n_embd;
	n.w[0] = m->global[W_TOKEN_EMBD];
	n.f[0] = m->h.embd_scale;
	x = graph_add(g, n);
	for (int layer = 0; layer < m->h.n_layers; layer++)
		x = a->block(g, m, layer, x);
	x = arch_norm(g, m, m->global[W_OUTPUT_NORM], x);
	n = graph_node_of(GRAPH_MM);
	n.cols = m->h.n_vocab;
	n.src[0] = x;
	n.w[0] = m->global[W_OUTPUT] >= 0 ? m->global[W_OUTPUT] : m->global[W_TOKEN_EMBD];
	n.w[1] = m->global[W_OUTPUT_BIAS];
	n.f[0] = m->h.logit_scale;
	n.f[1] = m->h.logit_cap;
	g->output = graph_add(g, n);
	return graph_check(g, m->n_weights, err);
}
