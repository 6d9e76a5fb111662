/* arch/arch.c - the list of architectures, and the graph around the layers. */
#include "arch/arch.h"
#include "base/err.h"

#include <string.h>

#define ARCH(x) extern const struct arch arch_##x;
#include "arch/arch_list.h"
#undef ARCH

static const struct arch *const rows[] = {
#define ARCH(x) &arch_##x,
#include "arch/arch_list.h"
#undef ARCH
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const char *infer_model_family(int i) { return i >= 0 && i < ROWS ? rows[i]->gguf : NULL; }

static int str_equals(struct infer_str a, const char *b)
{
	return b && strlen(b) == a.len && !memcmp(b, a.at, a.len);
}

const struct arch *arch_find(struct infer_str name)
{
	for (int i = 0; i < ROWS; i++)
		if (str_equals(name, rows[i]->gguf))
			return rows[i];
	return NULL;
}

const struct arch *arch_find_hf(struct infer_str name)
{
	for (int i = 0; i < ROWS; i++)
		for (size_t k = 0; k < sizeof rows[i]->hf / sizeof rows[i]->hf[0]; k++)
			if (str_equals(name, rows[i]->hf[k]))
				return rows[i];
	return NULL;
}

/* Return the first row of a's `like` chain, starting at a, that defines the RoPE pairing. */
static const struct arch *rope_row(const struct arch *a)
{
	while (!a->rope.gguf && a->like)
		a = a->like;
	return a;
}

enum arch_rope_mode arch_rope_mode(const struct arch *a, enum arch_naming naming)
{
	a = rope_row(a);
	return naming == ARCH_HF ? a->rope.hf : a->rope.gguf;
}

const struct arch_tensor *arch_row(const struct arch *a, int slot)
{
	for (; a; a = a->like)
		for (int i = 0; i < ARCH_MAX_GROUPS && a->tensors[i]; i++)
			for (const struct arch_tensor *t = a->tensors[i]; t->slot; t++)
				if (t->slot == slot)
					return t->gguf ? t : NULL;
	return NULL;
}

enum arch_transform arch_transform_of(const struct arch *a, const struct arch_tensor *t)
{
	const struct arch *by = rope_row(a);

	if (t->how == T_PAIRS && by->rope.gguf == by->rope.hf)
		return T_NONE;
	if (t->how != T_GAIN)
		return t->how;
	while (!a->less_one && a->like)
		a = a->like;
	return a->less_one ? T_PLUS1 : T_NONE;
}

const char *arch_layer_prefix(const struct arch *a, enum arch_naming naming)
{
	while (!a->layers && a->like)
		a = a->like;
	return naming == ARCH_GGUF ? "blk." : a->layers;
}

struct infer_str arch_strip_prefix(const struct arch *a, enum arch_naming naming,
                                   struct infer_str name)
{
	while (!a->prefix[0] && a->like)
		a = a->like;
	for (int i = 0; i < 2 && a->prefix[i] && naming == ARCH_HF; i++) {
		size_t n = strlen(a->prefix[i]);
		if (name.len > n && !memcmp(name.at, a->prefix[i], n))
			return (struct infer_str){ name.at + n, name.len - n };
	}
	return name;
}

struct backend_model arch_parts(const infer_model *m)
{
	return (struct backend_model){ .graph = &m->graph,
		                       .weights = m->weights,
		                       .n_weights = m->n_weights,
		                       .ropes = m->ropes,
		                       .n_ropes = m->n_ropes };
}

/* Append the input of the first layer: the sum of the embeddings, normalised. */
static int32_t add_embedding(struct graph *g, const infer_model *m)
{
	static const int slots[] = { W_TOKEN_EMBD, W_POSITION, W_SEGMENT };
	struct graph_node n = graph_node_of(GRAPH_EMBED), sum = graph_node_of(GRAPH_ADD);
	int32_t x = -1;

	n.cols = m->h.n_embd;
	for (int i = 0; i < 3; i++) {
		n.embed.mul = i ? 0 : m->h.embd_scale;
		n.embed.index = i; /* enum graph_index has this order */
		n.w[0] = m->global[slots[i]];
		if (n.w[0] < 0)
			continue;
		sum.src[0] = x;
		sum.src[1] = graph_add(g, n);
		x = i ? graph_add(g, sum) : sum.src[1];
	}
	return arch_norm_bias(g, m, m->global[W_EMBD_NORM], m->global[W_EMBD_NORM_BIAS], x);
}

/* Append x * weight of a global slot, if the model has it. */
static int32_t add_global_linear(struct graph *g, const infer_model *m, int slot, int bias,
                                 float cap, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_MM);

	if (m->global[slot] < 0)
		return x;
	n.cols = (int32_t)m->weights[m->global[slot]].ne[1];
	n.src[0] = arch_permute(g, m, m->global[slot], x);
	n.w[0] = m->global[slot];
	n.w[1] = bias ? m->global[bias] : -1;
	n.mm.cap = cap;
	return graph_add(g, n);
}

/* Append the classification head, or the logits. An encoder may have neither. */
static void add_output(struct graph *g, const infer_model *m, int32_t x)
{
	struct graph_node n = graph_node_of(GRAPH_MM);

	if (m->h.n_ranks) { /* cap 1: tanh */
		x = add_global_linear(g, m, W_HEAD, W_HEAD_BIAS, m->h.head_gelu ? 0 : 1, x);
		if (m->h.head_gelu) {
			struct graph_node act = graph_node_of(GRAPH_GELU);
			act.src[0] = x;
			x = graph_add(g, act);
		}
		x = arch_norm(g, m, m->global[W_HEAD_NORM], x);
		g->output = add_global_linear(g, m, W_RANK, W_RANK_BIAS, 0, x);
		return;
	}
	if (m->h.bidirectional)
		return;
	n.cols = m->h.n_vocab;
	n.w[0] = m->global[W_OUTPUT] >= 0 ? m->global[W_OUTPUT] : m->global[W_TOKEN_EMBD];
	n.src[0] = arch_permute(g, m, n.w[0], x);
	n.w[1] = m->global[W_OUTPUT_BIAS];
	n.mm.mul = m->h.logit_scale;
	n.mm.cap = m->h.logit_cap;
	g->output = graph_add(g, n);
}

int arch_graph_build(infer_model *m, infer_error *err)
{
	const struct arch *a = m->arch;
	struct graph *g = &m->graph;
	int32_t x;

	while (!a->block)
		a = a->like;
	m->starts = arena_alloc(&m->arena, (size_t)m->h.n_layers + 1, sizeof *m->starts);
	if (!m->starts)
		return err_set(err, INFER_ENOMEM, "out of memory for a graph of %d layers",
		               m->h.n_layers);
	x = add_embedding(g, m);
	m->inputs = arch_layer_embds(g, m, x);
	x = arch_altup_split(g, m, x);
	for (int layer = 0; layer < m->h.n_layers; layer++) {
		m->starts[layer] = g->n;
		x = a->block(g, m, layer, x);
	}
	m->starts[m->h.n_layers] = g->n;
	x = arch_norm(g, m, m->global[W_OUTPUT_NORM], arch_altup_merge(g, m, x));
	g->hidden = add_global_linear(g, m, W_DENSE_3, 0, 0,
	                              add_global_linear(g, m, W_DENSE_2, 0, 0, x));
	add_output(g, m, x);
	return graph_check(g, m->n_weights, err);
}
