/* arch/bind.c - bind tensors to slots by name. Each tensor of the file must have a slot and the
 * right shape; then each required slot must be bound. */
#include "arch/order.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "file/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Check the shape of t. before: leading rows of t that are skipped */
static int check_shape(const infer_model *m, const struct arch_parts *p, int layer, int64_t before,
                       const struct infer_tensor *t, infer_error *err)
{
	int rows_at = p->row[0]->shape[1] ? 1 : 0; /* the dimension that parts divide */

	for (int i = 0; i < 4; i++) {
		int stacked = p->expert >= 0 && i == 2; /* this tensor is one expert */
		int64_t want =
			arch_dim_of(&m->h, layer, i < 3 && !stacked ? p->row[0]->shape[i] : D_END) +
			(i == rows_at ? before : 0);
		for (int part = 1; part < p->n && i == rows_at; part++)
			want += arch_dim_of(&m->h, layer, p->row[part]->shape[i]);
		if (t->ne[i] != want)
			return err_set(err, INFER_EFORMAT,
			               "tensor %.*s: dimension %d must be %lld, not %lld",
			               (int)t->name.len, t->name.at, i, (long long)want,
			               (long long)t->ne[i]);
	}
	return INFER_OK;
}

static void log_copied(const infer_model *m, const struct infer_tensor *t)
{
	char line[256];

	snprintf(line, sizeof line, "tensor %.*s: %s copied to F32, %llu bytes",
	         (int)(t->name.len < 128 ? t->name.len : 128), t->name.at,
	         infer_type_info(t->type)->name, (unsigned long long)t->ne[0] * 4);
	if (m->log)
		m->log(m->log_user, INFER_LOG_INFO, line);
}

/* Make the values of a vector aligned floats, plus 1 for T_PLUS1. A copy, if needed, is counted in
 * private_bytes and logged. */
static int bind_vector(infer_model *m, const struct infer_tensor *t, enum arch_transform how,
                       struct weight *w, const void **at, infer_error *err)
{
	float *copy;

	if (w->type == INFER_F32 && (uintptr_t)at[0] % sizeof(float) == 0 && how == T_NONE)
		return INFER_OK;
	copy = arena_alloc(&m->arena, (size_t)w->ne[0], sizeof *copy);
	if (!copy)
		return err_set(err, INFER_ENOMEM, "out of memory while copying tensor %.*s",
		               (int)t->name.len, t->name.at);
	TRY(infer_type_decode(t->type, copy, at[0], (size_t)w->ne[0], err));
	for (int64_t i = 0; how == T_PLUS1 && i < w->ne[0]; i++)
		copy[i] += 1;
	m->private_bytes += (uint64_t)w->ne[0] * sizeof *copy;
	log_copied(m, t);
	w->type = INFER_F32;
	w->row_bytes = (size_t)w->ne[0] * sizeof *copy;
	at[0] = copy;
	return INFER_OK;
}

/* Allocate a weight of n matrices without data. */
static int new_weight(infer_model *m, const struct infer_tensor *t, int64_t rows, int64_t n,
                      int32_t *slot, infer_error *err)
{
	const struct infer_type_info *type = infer_type_info(t->type);
	const void **at = arena_alloc(&m->arena, (size_t)n, sizeof *at);

	if (!at)
		return err_set(err, INFER_ENOMEM, "out of memory while binding tensor %.*s",
		               (int)t->name.len, t->name.at);
	for (int64_t i = 0; i < n; i++)
		at[i] = NULL;
	m->weights[m->n_weights] = (struct weight){ .type = t->type,
		                                    .n = (int)n,
		                                    .ne = { t->ne[0], rows },
		                                    .scale = 1,
		                                    .at = at,
		                                    .row_bytes = (size_t)(t->ne[0] / type->block) *
		                                                 (size_t)type->block_bytes };
	m->tensors[m->n_weights] = t;
	*slot = m->n_weights++;
	return INFER_OK;
}

static int refuse_duplicate(const struct infer_tensor *t, infer_error *err)
{
	return err_set(err, INFER_EFORMAT, "tensor %.*s: it is in the file twice", (int)t->name.len,
	               t->name.at);
}

/* True if the architecture has a tensor of this name, so it is not the scale of another tensor. */
static int has_row(const infer_model *m, struct infer_str name)
{
	int layer = arch_layer_of(m->arch, m->naming, name, &name);

	return arch_find_rows(m->arch, m->naming, name, layer >= 0).n > 0;
}

/* Read the scale of t into *scale, if it has one. whole: t is bound as one matrix. INFER_EUNSUP:
 * several scales, or a zero point, which no kernel supports. */
static int read_scale(const infer_model *m, const struct infer_tensor *t, int whole, float *scale,
                      infer_error *err)
{
	static const char *const names[] = {
		[INFER_AUX_SCALE] = "scale", [INFER_AUX_ZERO] = "zero", [INFER_AUX_ORDER] = "order"
	};

	for (int role = 0; role < INFER_AUX_ROLES; role++) {
		const struct infer_tensor *a = t->aux[role];
		if (!a || has_row(m, a->name) || (role == INFER_AUX_ORDER && whole))
			continue;
		if (role != INFER_AUX_SCALE || !whole || a->type != INFER_F32 ||
		    a->bytes != sizeof *scale)
			return err_set(err, INFER_EUNSUP,
			               "tensor %.*s: its %s is the tensor %.*s, which no kernel "
			               "supports",
			               (int)t->name.len, t->name.at, names[role], (int)a->name.len,
			               a->name.at);
		memcpy(scale, a->data, sizeof *scale);
		if (!isfinite(*scale))
			return err_set(err, INFER_ENAN, "tensor %.*s: %g", (int)a->name.len,
			               a->name.at, (double)*scale);
	}
	return INFER_OK;
}

/* Bind the matrix of one of n experts or streams, which is a tensor of its own. */
static int bind_expert(infer_model *m, const struct infer_tensor *t, int expert, int64_t n,
                       int32_t *slot, infer_error *err)
{
	if (expert >= n)
		return err_set(err, INFER_EUNSUP, "tensor %.*s: its number must be below %lld",
		               (int)t->name.len, t->name.at, (long long)n);
	if (*slot < 0)
		TRY(new_weight(m, t, t->ne[1], n, slot, err));
	struct weight *w = &m->weights[*slot];
	TRY(read_scale(m, t, 0, &w->scale, err));
	if (w->type != t->type)
		return err_set(err, INFER_EUNSUP,
		               "tensor %.*s: its type is %s, but that of other experts %s",
		               (int)t->name.len, t->name.at, infer_type_info(t->type)->name,
		               infer_type_info(w->type)->name);
	if (w->at[expert])
		return refuse_duplicate(t, err);
	((const void **)w->at)[expert] = t->data;
	return INFER_OK;
}

/* Bind rows [first, first + rows) of every matrix of t, or elements of a vector. */
static int bind_rows(infer_model *m, const struct infer_tensor *t, int vector,
                     enum arch_transform how, int64_t first, int64_t rows, int32_t *slot,
                     infer_error *err)
{
	const struct infer_type_info *type = infer_type_info(t->type);
	const void *const *parts = file_parts(m->file, t);

	if (*slot >= 0)
		return refuse_duplicate(t, err);
	TRY(new_weight(m, t, rows, t->ne[2], slot, err));
	struct weight *w = &m->weights[*slot];
	TRY(read_scale(m, t, !vector, &w->scale, err));
	const void **at = (const void **)w->at;
	for (int64_t i = 0; i < t->ne[2]; i++)
		at[i] = parts ? (const unsigned char *)parts[i] + (size_t)first * w->row_bytes
		              : (const unsigned char *)t->data +
		                        (size_t)(i * t->ne[1] + first) * w->row_bytes;
	if (vector) {
		must(type->block == 1);
		w->ne[0] = rows;
		w->ne[1] = 1;
		w->row_bytes = (size_t)rows * (size_t)type->block_bytes;
		at[0] = (const unsigned char *)t->data + (size_t)first * (size_t)type->block_bytes;
		TRY(bind_vector(m, t, how, w, at, err));
		return INFER_OK;
	}
	return arch_bind_order(m, t, *slot, err);
}

static int check_type(const struct infer_tensor *t, int vector, infer_error *err)
{
	const struct infer_type_info *type = infer_type_info(t->type);
	int integer = t->type == INFER_I8 || t->type == INFER_I16 || t->type == INFER_I32 ||
	              t->type == INFER_I64;

	if (type->file_only || integer || (vector && type->block > 1))
		return err_set(err, INFER_EUNSUP, "tensor %.*s: type %s is not supported for %s",
		               (int)t->name.len, t->name.at, type->name,
		               vector ? "a vector" : "weights");
	return INFER_OK;
}

/* Find the transformation that the values of a tensor need. Files in GGUF naming need none. T_PAIRS
 * is handled by arch_rope_mode, and T_STACK by a pointer for each expert. */
static int find_how(const infer_model *m, const struct arch_parts *p, const struct infer_tensor *t,
                    int vector, enum arch_transform *how, infer_error *err)
{
	*how = m->naming == ARCH_GGUF ? T_NONE : arch_transform_of(m->arch, p->row[0]);
	if (*how == T_PAIRS || *how == T_STACK || *how == T_ROWS)
		*how = T_NONE;
	if (*how == T_NONE || (*how == T_PLUS1 && vector))
		return INFER_OK;
	return err_set(err, INFER_EUNSUP,
	               "tensor %.*s: a change of its values that is not supported",
	               (int)t->name.len, t->name.at);
}

/* True if a known tensor is not used: nothing reads it, or the layer reads K and V of another
 * layer. */
static int is_unused(const infer_model *m, const struct arch_tensor *t, int layer)
{
	return t->slot == W_UNUSED || t->slot == W_UNUSED_IDS ||
	       ((t->need == ARCH_OWN_KV || t->need == ARCH_OWN_V) &&
	        arch_kv_layer(&m->h, layer) != layer);
}

/* Drop the slots that the layer has no use for. A name may stand for different slots in different
 * layers. */
static void drop_unused(const infer_model *m, struct arch_parts *p, int layer)
{
	int n = 0;

	for (int i = 0; i < p->n; i++)
		if (arch_tensor_need(m, p->row[i], layer) >= 0)
			p->row[n++] = p->row[i];
	p->n = n;
}

static int bind_tensor(infer_model *m, const struct infer_tensor *t, infer_error *err)
{
	struct infer_str rest;
	int layer = arch_layer_of(m->arch, m->naming, t->name, &rest);
	struct arch_parts p = arch_find_rows(m->arch, m->naming, rest, layer >= 0);
	int flat = p.n && !p.row[0]->shape[1],
	    vector = flat || (p.n && p.row[0]->shape[0] == D_ONE); /* or a single column */
	enum arch_transform how;
	int64_t first;

	if (t->of && !p.n) /* an auxiliary tensor, bound with t->of */
		return INFER_OK;
	if (layer >= m->h.n_layers && layer < m->h.n_layers + m->h.n_next)
		return INFER_OK; /* multi-token prediction */
	if (layer < m->h.n_layers)
		drop_unused(m, &p, layer);
	if (!p.n || layer >= m->h.n_layers)
		return err_set(err, INFER_EUNSUP, "tensor %.*s: has no use in architecture %s%s",
		               (int)t->name.len, t->name.at, m->arch->gguf,
		               layer >= m->h.n_layers ? " (layer beyond block_count)" : "");
	if (is_unused(m, p.row[0], layer))
		return INFER_OK;
	TRY(find_how(m, &p, t, vector, &how, err));
	first = p.row[0]->how == T_ROWS ? m->h.first_position : 0;
	TRY(check_shape(m, &p, layer < 0 ? 0 : layer, first, t, err));
	TRY(check_type(t, vector, err));
	for (int i = 0; i < p.n; i++) {
		int32_t *slot =
			layer >= 0 ? &m->layer[layer][p.row[i]->slot] : &m->global[p.row[i]->slot];
		int64_t rows =
			arch_dim_of(&m->h, layer < 0 ? 0 : layer, p.row[i]->shape[flat ? 0 : 1]);
		if (p.expert >= 0)
			TRY(bind_expert(m, t, p.expert, arch_dim_of(&m->h, 0, p.row[i]->shape[2]),
			                slot, err));
		else
			TRY(bind_rows(m, t, vector, how, first, rows, slot, err));
		first += rows;
	}
	return INFER_OK;
}

/* Check that all matrices of a weight are bound. layer -1: a global weight. */
static int check_experts(const infer_model *m, const struct arch_tensor *row, int layer,
                         infer_error *err)
{
	const struct weight *w =
		&m->weights[layer < 0 ? m->global[row->slot] : m->layer[layer][row->slot]];
	char prefix[32] = "";

	if (layer >= 0)
		snprintf(prefix, sizeof prefix, "%s%d.", arch_layer_prefix(m->arch, m->naming),
		         layer);
	for (int i = 0; i < w->n; i++)
		if (!w->at[i])
			return err_set(err, INFER_EFORMAT, "tensor %s%s: missing for number %d",
			               prefix, row->hf[0], i);
	return INFER_OK;
}

static int check_required(const infer_model *m, infer_error *err)
{
	for (int slot = 1; slot < W_SLOTS; slot++) {
		const struct arch_tensor *row = arch_row(m->arch, slot);
		if (!row)
			continue;
		const char *name = m->naming == ARCH_GGUF ? row->gguf : row->hf[0];
		if (slot < W_GLOBALS && arch_tensor_need(m, row, 0) > 0 && m->global[slot] < 0)
			return err_set(err, INFER_EFORMAT, "tensor %s: missing", name);
		if (slot < W_GLOBALS && m->global[slot] >= 0)
			TRY(check_experts(m, row, -1, err));
		for (int i = 0; i < m->h.n_layers && slot >= W_GLOBALS; i++) {
			if (arch_tensor_need(m, row, i) <= 0)
				continue;
			if (m->layer[i][slot] < 0)
				return err_set(err, INFER_EFORMAT, "tensor %s%d.%s: missing",
				               arch_layer_prefix(m->arch, m->naming), i, name);
			TRY(check_experts(m, row, i, err));
		}
	}
	return INFER_OK;
}

/* True if the weight holds frequency divisors for the scaling in use. The context selects one of
 * the two tensors of longrope. */
static int is_divisor(const infer_model *m, int32_t w)
{
	const int32_t *g = m->global;

	if (m->h.rope[0].scaling == SCALING_LONGROPE)
		return w == g[W_ROPE_LONG] || w == g[W_ROPE_SHORT];
	return w == g[W_ROPE_FREQS];
}

static void mark_used_weights(const struct graph *g, unsigned char *used)
{
	for (int32_t i = 0; i < g->n; i++)
		for (int k = 0; k < GRAPH_W; k++)
			if (g->nodes[i].w[k] >= 0)
				used[g->nodes[i].w[k]] = 1;
}

int arch_check_used(const infer_model *m, infer_error *err)
{
	unsigned char *used = mem_zalloc(MEM_ARCH, (size_t)m->n_weights, 1);
	int rc = INFER_OK;

	if (!used)
		return err_set(err, INFER_ENOMEM, "out of memory while checking %d weights",
		               m->n_weights);
	mark_used_weights(&m->graph, used);
	for (int i = 0; i < m->n_weights && !rc; i++)
		if (!used[i] && !is_divisor(m, i) &&
		    (m->h.n_ranks || (i != m->global[W_HEAD] && i != m->global[W_HEAD_BIAS])))
			rc = err_set(err, INFER_EUNSUP,
			             "tensor %.*s: has no use with the other tensors and keys of "
			             "this file",
			             (int)m->tensors[i]->name.len, m->tensors[i]->name.at);
	mem_free(used);
	return rc;
}

/* Return the tensor of a slot, in layer 0 if it is per layer, and set *name. NULL: none. */
static const struct infer_tensor *find_tensor(const infer_model *m, int slot, const char **name)
{
	const struct arch_tensor *row = arch_row(m->arch, slot);
	const struct infer_tensor *t;
	char whole[80];
	int none;

	*name = !row ? NULL : m->naming == ARCH_GGUF ? row->gguf : row->hf[0];
	if (!*name)
		return NULL;
	if (slot >= W_GLOBALS || m->naming == ARCH_GGUF) {
		snprintf(whole, sizeof whole, "%s%s%s",
		         slot < W_GLOBALS ? "" : arch_layer_prefix(m->arch, m->naming),
		         slot < W_GLOBALS ? "" : "0.", *name);
		return infer_file_tensor(m->file, whole);
	}
	for (uint64_t i = 0; (t = infer_file_tensor_at(m->file, i)); i++)
		for (int k = 0; k < 2; k++)
			if (row->hf[k] &&
			    arch_is_named(m->arch, m->naming, row->hf[k],
			                  arch_strip_prefix(m->arch, m->naming, t->name), &none))
				return t;
	return NULL;
}

/* Read sizes that have no key from the rows of tensors. */
static int read_rows(infer_model *m, infer_error *err)
{
	const struct {
		int slot;
		int32_t *n, most;
	} sizes[] = {
		{ W_SEGMENT, &m->h.n_parts, 2 },
		{ W_RANK, &m->h.n_ranks, 2 },
		{ W_DENSE_2, &m->h.n_dense_2, 1 << 20 },
		{ W_DENSE_3, &m->h.n_dense_3, 1 << 20 },
		{ W_LAUREL_IN, &m->h.laurel_rank, 1 << 20 },
	};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const char *name;
		const struct infer_tensor *t = find_tensor(m, sizes[i].slot, &name);
		if (t && (t->ne[1] < 1 || t->ne[1] > sizes[i].most))
			return err_set(err, INFER_EUNSUP,
			               "tensor %s: its rows must be 1 to %d, not %lld", name,
			               (int)sizes[i].most, (long long)t->ne[1]);
		*sizes[i].n = t ? (int32_t)t->ne[1] : 0;
	}
	return INFER_OK;
}

/* Check that a classification head has a score for each label, if there are labels. */
static int check_labels(const infer_model *m, infer_error *err)
{
	const struct infer_meta *labels;
	char key[128];

	snprintf(key, sizeof key, "%s.classifier.output_labels", m->arch->gguf);
	labels = infer_file_meta(m->file, key);
	if (!m->h.n_ranks || !labels)
		return INFER_OK;
	if (labels->type != INFER_META_ARR || labels->elem_type != INFER_META_STR)
		return err_set(err, INFER_EFORMAT, "key %s: must be an array of strings", key);
	if (labels->count != (uint64_t)m->h.n_ranks)
		return err_set(err, INFER_EFORMAT, "key %s: %llu labels for the %d rows of %s", key,
		               (unsigned long long)labels->count, m->h.n_ranks,
		               arch_row(m->arch, W_RANK)->gguf);
	return INFER_OK;
}

/* Check that a classification head has all its tensors and scores the first row. */
static int check_head(const infer_model *m, infer_error *err)
{
	static const int slots[] = { W_HEAD, W_HEAD_NORM };

	for (int i = 0; i < 2 && m->h.n_ranks; i++) {
		const char *name, *rank = arch_row(m->arch, W_RANK)->gguf;
		if (m->global[slots[i]] < 0 && arch_row(m->arch, slots[i])) {
			find_tensor(m, slots[i], &name);
			return err_set(err, INFER_EFORMAT, "tensor %s: missing, with %s", name,
			               rank);
		}
	}
	return m->h.n_ranks && m->h.head_mean
	               ? err_set(err, INFER_EUNSUP,
	                         "key classifier.pooling_type: a head that ranks the mean of all "
	                         "rows is not supported, only one of the first")
	               : INFER_OK;
}

/* Read n_vocab, the rows of the embedding table, and compare it with the tokenizer. */
static int read_vocab(infer_model *m, infer_error *err)
{
	const char *name;
	const struct infer_tensor *t = find_tensor(m, W_TOKEN_EMBD, &name);

	if (!t)
		return err_set(err, INFER_EFORMAT, "tensor %s: missing", name);
	if (t->ne[1] < 1 || t->ne[1] > 1 << 24)
		return err_set(err, INFER_EFORMAT, "tensor %s: %lld rows", name,
		               (long long)t->ne[1]);
	m->h.n_vocab = (int32_t)t->ne[1];
	if (m->tok && infer_tokenizer_count(m->tok) != m->h.n_vocab)
		return err_set(err, INFER_EFORMAT,
		               "tensor %s: %d rows for a vocabulary of %d tokens", name,
		               m->h.n_vocab, infer_tokenizer_count(m->tok));
	return INFER_OK;
}

int arch_bind(infer_model *m, infer_error *err)
{
	struct infer_file_info info;
	const struct infer_tensor *t;

	infer_file_info(m->file, &info);
	TRY(read_vocab(m, err));
	TRY(read_rows(m, err));
	m->weights =
		arena_alloc(&m->arena, (size_t)info.n_tensors, ARCH_MAX_PARTS * sizeof *m->weights);
	m->tensors =
		arena_alloc(&m->arena, (size_t)info.n_tensors, ARCH_MAX_PARTS * sizeof *m->tensors);
	m->layer = arena_alloc(&m->arena, (size_t)m->h.n_layers, sizeof *m->layer);
	m->order =
		arena_alloc(&m->arena, (size_t)info.n_tensors, ARCH_MAX_PARTS * sizeof *m->order);
	if (!m->weights || !m->tensors || !m->layer || !m->order)
		return err_set(err, INFER_ENOMEM, "out of memory while binding %llu tensors",
		               (unsigned long long)info.n_tensors);
	memset(m->global, -1, sizeof m->global);
	memset(m->layer, -1, (size_t)m->h.n_layers * sizeof *m->layer);
	for (uint64_t i = 0; (t = infer_file_tensor_at(m->file, i)); i++) {
		TRY(bind_tensor(m, t, err));
		m->weight_bytes += t->bytes;
		if (file_is_copy(m->file, t))
			m->private_bytes += t->bytes;
		if (!t->of || t->of->aux[INFER_AUX_ORDER] != t)
			m->n_params += (uint64_t)t->ne[0] * (uint64_t)t->ne[1] * (uint64_t)t->ne[2];
	}
	TRY(check_required(m, err));
	TRY(check_head(m, err));
	TRY(check_labels(m, err));
	for (int i = 0; i < m->h.n_layers && m->h.kv_rank; i++)
		TRY(arch_split_kv_b(m, i, err));
	return INFER_OK;
}
