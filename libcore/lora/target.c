/* lora/target.c - find the weights of a model that a tensor name stands for, by the rules of
 * arch/bind.c, and what the graph does with them. */
#include "lora/inner.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* Return the role of weight `slot` of a node. */
static int role_of(const struct graph_node *n, int slot)
{
	switch (n->op) {
	case GRAPH_MM:
		return slot ? ROLE_BIAS : ROLE_PRODUCT;
	case GRAPH_HEAD_MM:
		return ROLE_PRODUCT;
	case GRAPH_MOE:
		return slot < 3 ? ROLE_PRODUCT : ROLE_BIAS;
	case GRAPH_EMBED:
		return ROLE_TABLE;
	case GRAPH_NORM:
		return ROLE_GAIN;
	default:
		return ROLE_OTHER;
	}
}

void lora_find_roles(infer_lora *l)
{
	const struct graph *g = &l->m->graph;

	for (int32_t i = 0; i < g->n; i++)
		for (int slot = 0; slot < GRAPH_W; slot++)
			if (g->nodes[i].w[slot] >= 0)
				l->roles[g->nodes[i].w[slot]] |=
					(uint8_t)role_of(&g->nodes[i], slot);
}

static int no_tensor(const infer_lora *l, struct infer_str name, infer_error *err)
{
	return lora_fail(l, name, INFER_EUNSUP, err, "the model has no such tensor");
}

/* Return the rows of a name that the layer has, as arch_bind selects them. */
static struct arch_parts find_rows(const infer_model *m, struct infer_str name, int *layer)
{
	struct infer_str rest;
	struct arch_parts p;
	int n = 0;

	*layer = arch_layer_of(m->arch, m->naming, name, &rest);
	p = arch_find_rows(m->arch, m->naming, rest, *layer >= 0);
	if (*layer >= m->h.n_layers)
		p.n = 0;
	for (int i = 0; i < p.n; i++)
		if (arch_tensor_need(m, p.row[i], *layer) >= 0)
			p.row[n++] = p.row[i];
	p.n = n;
	return p;
}

/* Add W_K_B and W_V_B of a layer that were made of attn_kv_b. */
static void add_split_kv_b(const infer_model *m, struct lora_target *t, int layer)
{
	const int32_t *w = m->layer[layer];
	int64_t nope = m->h.k_head - m->h.n_rot;

	t->part[0] = (struct lora_part){ w[W_K_B], 0, nope, PART_K_B };
	t->part[1] = (struct lora_part){ w[W_V_B], nope, m->h.v_head, PART_V_B };
	t->n = 2;
}

static void add_parts(const infer_model *m, struct lora_target *t, const struct arch_parts *p,
                      int layer)
{
	const int32_t *weights = layer >= 0 ? m->layer[layer] : m->global;
	int64_t from = p->row[0]->how == T_ROWS ? m->h.first_position : 0;

	for (int i = 0; i < p->n; i++) {
		int32_t w = weights[p->row[i]->slot];
		int64_t rows;
		if (p->row[i]->slot == W_KV_B && w < 0) {
			add_split_kv_b(m, t, layer);
			return;
		}
		if (w < 0)
			continue;
		rows = t->vector ? m->weights[w].ne[0] : m->weights[w].ne[1];
		t->part[t->n++] = (struct lora_part){ w, from, rows, PART_ROWS };
		from += rows;
	}
}

int lora_find(const infer_lora *l, struct infer_str name, struct lora_target *t, infer_error *err)
{
	const infer_model *m = l->m;
	char text[128];
	struct arch_parts p;
	int layer;

	*t = (struct lora_target){ .expert = -1 };
	if (name.len >= sizeof text || memchr(name.at, 0, name.len))
		return no_tensor(l, name, err);
	memcpy(text, name.at, name.len);
	text[name.len] = 0;
	t->tensor = infer_file_tensor(m->file, text);
	p = find_rows(m, name, &layer);
	if (!t->tensor && lora_str_is(name, "output.weight") && p.n && m->global[W_OUTPUT] < 0 &&
	    m->graph.output >= 0 && !m->h.n_ranks) { /* tied: the output is the embedding table */
		int32_t w = m->global[W_TOKEN_EMBD];
		t->tensor = m->tensors[w];
		t->name = name;
		t->part[t->n++] = (struct lora_part){ w, 0, m->weights[w].ne[1], PART_ROWS };
		return INFER_OK;
	}
	if (!t->tensor || !p.n)
		return no_tensor(l, name, err);
	t->name = t->tensor->name;
	t->expert = p.expert;
	t->vector = !p.row[0]->shape[1] || p.row[0]->shape[0] == D_ONE;
	add_parts(m, t, &p, layer);
	t->table = t->n && (l->roles[t->part[0].weight] & ROLE_TABLE);
	return INFER_OK;
}
