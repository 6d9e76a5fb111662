/* hf/tensors.c - convert tensors of a checkpoint to GGUF's, by the rows of arch/tensor_list.h. */
#include "hf/packed.h"
#include "hf/tensors.h"
#include "base/err.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

/* Return the size of a dimension from config.json; -1: not given. */
static int64_t config_dim(const struct hf_making *k, int layer, int dim)
{
	switch ((enum arch_dim)dim) {
	case D_VOCAB:
	case D_SEGMENTS:
	case D_RANKS:
	case D_DENSE_2:
	case D_DENSE_3:
	case D_LAUREL:
		return -1;
	default:
		return arch_dim_of(&k->m->h, layer < 0 ? 0 : layer, dim);
	}
}

static int is_every_other(enum arch_transform how) { return how == T_EVEN || how == T_ODD; }

/* True if the rows of the result are columns of the source.  False for quantised weights, whose
 * rows are always the outputs. */
static int is_turned(const struct arch_tensor *row, enum arch_transform how,
                     const struct safetensors_tensor *t)
{
	return !hf_packed_of(t) && (how == T_TURN || (is_every_other(how) && row->shape[2]));
}

/* Return the dimension along which a tensor is split into parts. */
static int parts_at(const struct arch_tensor *row, enum arch_transform how)
{
	return row->shape[1] && !(is_every_other(how) && !row->shape[2]) ? 1 : 0;
}

/* --- shapes */

/* True if the shape of t equals shape[n] (ne[0] first), ignoring dimensions of 1.  An element of -1
 * matches any size and is set to it. */
static int match_shape(const struct safetensors_tensor *t, int64_t shape[3], int n)
{
	int i = 0, dim = t->n_dims - 1;

	while (i < n || dim >= 0) {
		int64_t have = dim >= 0 ? t->shape[dim] : 1;

		if (i < n && (shape[i] == have || shape[i] < 0)) {
			shape[i++] = have;
			dim--;
		} else if (dim >= 0 && have == 1) {
			dim--;
		} else if (i < n && shape[i] == 1) {
			i++;
		} else {
			return 0;
		}
	}
	return 1;
}

static int wrong_shape(const struct hf_making *k, const struct safetensors_tensor *t,
                       const int64_t want[3], int n, infer_error *err)
{
	char have[80] = "", need[80] = "";
	size_t a = 0, b = 0;

	for (int i = 0; i < t->n_dims && a < sizeof have; i++)
		a += (size_t)snprintf(have + a, sizeof have - a, "%s%lld", i ? ", " : "",
		                      (long long)t->shape[i]);
	for (int i = n - 1; i >= 0 && b < sizeof need; i--)
		b += (size_t)snprintf(need + b, sizeof need - b, "%s%lld", b ? ", " : "",
		                      (long long)want[i]);
	return hf_bad_tensor(k->d, t, INFER_EFORMAT, err, "its shape is [%s], by %s [%s]", have,
	                     k->adapts ? "the model" : "config.json", need);
}

/* Fail if a quantised weight cannot be copied into h. */
static int check_packed(const struct hf_making *k, const struct hf_rows *h,
                        const struct safetensors_tensor *t, infer_error *err)
{
	const struct hf_packed *p = hf_packed_of(t);

	if (!p)
		return INFER_OK;
	if (h->src_cols != p->cols || p->rows % h->src_rows)
		return hf_bad_tensor(k->d, t, INFER_EFORMAT, err,
		                     "%lld rows of %lld columns, by config.json %lld of %lld",
		                     (long long)p->rows, (long long)p->cols, (long long)h->src_rows,
		                     (long long)h->src_cols);
	if (h->how == T_PLUS1 || h->how == T_NEG_EXP || h->how == T_TILED_NEG_EXP)
		return hf_bad_tensor(k->d, t, INFER_EUNSUP, err,
		                     "it must not be quantised in architecture %s",
		                     k->m->arch->gguf);
	if (p->order && (h->turned || h->how == T_STACK || h->how == T_TILED_COLS || p->mats > 1 ||
	                 h->slot == W_TOKEN_EMBD))
		return hf_bad_tensor(k->d, t, INFER_EUNSUP, err,
		                     "act-order (desc_act) is supported for plain matrices only");
	return INFER_OK;
}

/* Set the sizes of result and source.  all: size of the split dimension of t (-1: unknown); part:
 * size of this slice of it. */
static int set_sizes(struct hf_making *k, struct hf_rows *h, const struct arch_tensor *row,
                     const struct safetensors_tensor *t, int64_t all, int64_t part,
                     infer_error *err)
{
	int at = parts_at(row, h->how),
	    n = row->shape[2]   ? 3
	        : row->shape[1] ? 2
	                        : 1,
	    vectors = n == 1 || (n == 2 && !at);
	int64_t ne[3] = { 1, 1, 1 }, want[3], before = h->how == T_ROWS ? k->first_position : 0;

	for (int i = 0; i < n; i++)
		want[i] = ne[i] = config_dim(k, h->layer, row->shape[i]);
	want[at] = all < 0 ? -1 : all + before;
	if (h->turned) {
		want[0] = want[1];
		want[1] = ne[0];
	}
	int dims = h->how == T_STACK ? 2 : n;
	if (row->slot == W_STATE_NORM && t->n_dims == 1 && n == 2) { /* one vector for all groups */
		want[0] *= want[1];
		dims = 1;
	}
	if (!match_shape(t, want, dims))
		return wrong_shape(k, t, want, dims, err);
	for (int i = 0; i < n; i++) /* unknown sizes are those of the tensor */
		ne[i] = ne[i] < 0 ? want[i] : ne[i];
	ne[at] = part < 0 ? want[at] - before : part;
	h->n_dims = n;
	memcpy(h->ne, (int64_t[4]){ ne[0], ne[1], ne[2], 1 }, sizeof h->ne);
	h->cols = vectors ? 1 : ne[0];
	h->rows = vectors ? ne[0] : ne[1];
	h->mats = vectors ? ne[1] : ne[2];
	h->src_cols = h->turned ? want[0] : h->cols;
	h->src_rows = h->turned ? want[1] : want[at];
	h->first += before;
	return check_packed(k, h, t, err);
}

static int wrong_dtype(const struct hf_making *k, const struct safetensors_tensor *t,
                       infer_error *err)
{
	return hf_bad_tensor(k->d, t, INFER_EUNSUP, err,
	                     "weights of dtype %s are not supported, only of F32, F16, BF16, "
	                     "F8_E4M3 and F8_E5M2",
	                     safetensors_dtype_name(t->dtype));
}

/* --- targets */

/* Return the type that the public converter chooses: F32 for vectors, norms and small matrices. */
static int gguf_type(const struct hf_rows *h, const struct safetensors_tensor *t)
{
	static const int small[] = {
		W_ROUTER,     W_SHARED_ROUTER, W_POSITION,      W_SEGMENT,
		W_STATE_CONV, W_SHORT_CONV,    W_ALTUP_CORRECT, W_ALTUP_PREDICT
	};
	static const char norm[] = "_norm.weight", weight[] = ".weight";
	size_t n = h->name.len;

	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		if (h->slot == small[i])
			return INFER_F32;
	if (h->n_dims == 1 || n < sizeof weight ||
	    memcmp(h->name.at + n - (sizeof weight - 1), weight, sizeof weight - 1) ||
	    (n >= sizeof norm &&
	     !memcmp(h->name.at + n - (sizeof norm - 1), norm, sizeof norm - 1)))
		return INFER_F32;
	return hf_source_type(t);
}

static int set_heads(struct hf_making *k, struct hf_rows *h, infer_error *err)
{
	const struct arch_hparam *p = &k->m->h;

	h->heads.rows = h->layer >= 0 ? arch_heads_of(p, h->layer).dk : 1;
	if (h->how == T_PAIRS && (h->heads.rows % 2 || h->rows % h->heads.rows))
		return hf_bad_tensor(k->d, h->from[0], INFER_EUNSUP, err,
		                     "%lld rows in heads of %lld", (long long)h->rows,
		                     (long long)h->heads.rows);
	if (h->how < T_BY_HEAD)
		return INFER_OK;
	h->heads.dk = p->state_dk;
	h->heads.dv = p->state_dv;
	h->heads.k_heads = p->state_k_heads;
	h->heads.each = p->state_k_heads ? p->state_heads / p->state_k_heads : 0;
	if (!h->heads.each || p->state_heads % p->state_k_heads)
		return hf_bad_tensor(k->d, h->from[0], INFER_EUNSUP, err,
		                     "%d heads of v for %d of k", p->state_heads, p->state_k_heads);
	if (h->heads.each == 1 && h->how >= T_TILED) /* one v head per k head: same order */
		h->how = h->how == T_TILED_NEG_EXP ? T_NEG_EXP : T_NONE;
	if (h->packed && h->how == T_TILED_COLS &&
	    h->heads.dv % infer_type_info(hf_source_type(h->from[0]))->block)
		return hf_bad_tensor(k->d, h->from[0], INFER_EUNSUP, err,
		                     "heads of %lld columns are not whole blocks of %s",
		                     (long long)h->heads.dv,
		                     infer_type_info(hf_source_type(h->from[0]))->name);
	return INFER_OK;
}

/* Append a GGUF tensor.  n_from: see struct hf_rows. */
static int new_target(struct hf_making *k, struct hf_rows **out, const char *name, int layer,
                      int64_t n_from, infer_error *err)
{
	struct hf_rows *h = arena_alloc(&k->d->brief, 1, sizeof *h);
	char whole[96];
	int len = layer < 0 ? snprintf(whole, sizeof whole, "%s", name)
	                    : snprintf(whole, sizeof whole, "blk.%d.%s", layer, name);

	*out = h;
	if (h) {
		h->name.at = arena_strndup(&k->d->arena, whole, (size_t)len);
		h->from = arena_alloc(&k->d->brief, (size_t)n_from, sizeof(void *));
	}
	if (!h || !h->name.at || !h->from)
		return hf_nomem(k->d, err);
	h->name.len = (size_t)len;
	h->layer = layer;
	h->n_from = n_from;
	h->step = 1;
	if (map_put(&k->map, h->name.at, h->name.len, (uint32_t)k->n))
		return hf_nomem(k->d, err);
	k->at[k->n++] = h;
	return INFER_OK;
}

struct hf_rows *hf_find_target(const struct hf_making *k, const char *name, int layer)
{
	char whole[96];
	int len = layer < 0 ? snprintf(whole, sizeof whole, "%s", name)
	                    : snprintf(whole, sizeof whole, "blk.%d.%s", layer, name);
	const uint32_t *i = map_get(&k->map, whole, (size_t)len);

	return i ? k->at[*i] : NULL;
}

/* For Gemma 3, make the embedding table n_tokens rows long: drop rows, or append rows of zeros. */
static void fit_vocabulary(const struct hf_making *k, struct hf_rows *h)
{
	const char *arch = k->m->arch->gguf;
	int pads = !strcmp(arch, "gemma3n"),
	    cuts = h->slot == W_TOKEN_EMBD &&
	           (pads || !strcmp(arch, "gemma3") || !strcmp(arch, "gemma4") ||
	            !strcmp(arch, "gemma-embedding"));

	if ((h->slot != W_TOKEN_EMBD && h->slot != W_LAYER_EMBD) || !k->n_tokens)
		return;
	if (h->rows < k->n_tokens && pads) {
		h->zeros = k->n_tokens - h->rows;
		h->rows = h->ne[1] = k->n_tokens;
	} else if (h->rows > k->n_tokens && cuts) {
		h->rows = h->ne[1] = k->n_tokens;
	}
}

/* Add the GGUF tensor of a row, a slice of t.  sizes: size of the split dimension of t, start of
 * this slice, size of this slice; -1: unknown. */
static int add_part(struct hf_making *k, const struct safetensors_tensor *t,
                    const struct arch_tensor *row, int layer, const int64_t sizes[3],
                    infer_error *err)
{
	struct hf_rows *h = hf_find_target(k, row->gguf, layer);

	if (h)
		return hf_bad_tensor(k->d, t, INFER_EFORMAT, err,
		                     "there is another tensor for %.*s", (int)h->name.len,
		                     h->name.at);
	TRY(new_target(k, &h, row->gguf, layer, 1, err));
	h->from[0] = t;
	h->slot = row->slot;
	h->how = arch_transform_of(k->m->arch, row);
	if (h->how == T_PLUS1 && k->added_one)
		h->how = T_NONE;
	h->first = h->how == T_ODD ? 1 : h->how == T_NONE || h->how == T_TURN ? sizes[1] : 0;
	h->step = is_every_other(h->how) ? 2 : 1;
	h->turned = is_turned(row, h->how, t);
	TRY(set_sizes(k, h, row, t, sizes[0], sizes[2], err));
	h->packed = hf_packed_of(t) != NULL;
	h->type = gguf_type(h, t);
	fit_vocabulary(k, h);
	return set_heads(k, h, err);
}

/* Add a tensor of one expert or one AltUp stream. */
static int add_expert(struct hf_making *k, const struct safetensors_tensor *t,
                      const struct arch_tensor *row, int layer, int expert, infer_error *err)
{
	struct hf_rows *h = hf_find_target(k, row->gguf, layer);
	int64_t n = config_dim(k, layer, row->shape[2]);

	if (expert >= n)
		return hf_bad_tensor(k->d, t, INFER_EUNSUP, err,
		                     "a number beyond the %lld there are", (long long)n);
	if (!h) {
		TRY(new_target(k, &h, row->gguf, layer, n, err));
		h->slot = row->slot;
		h->how = T_STACK;
	} else if (h->from[expert]) {
		return hf_bad_tensor(k->d, t, INFER_EFORMAT, err,
		                     "there is another tensor for this part of %.*s",
		                     (int)h->name.len, h->name.at);
	} else if (!hf_packed_of(t) != !h->packed ||
	           (!h->packed && hf_type_of(t->dtype) != h->type)) {
		return hf_bad_tensor(k->d, t, INFER_EUNSUP, err, "dtype %s, others have another",
		                     safetensors_dtype_name(t->dtype));
	}
	TRY(set_sizes(k, h, row, t, config_dim(k, layer, row->shape[1]),
	              config_dim(k, layer, row->shape[1]), err));
	h->from[expert] = t;
	h->packed = hf_packed_of(t) != NULL;
	h->type = hf_source_type(t);
	return INFER_OK;
}

/* Split kv_b of MLA, which GGUF stores as two tensors: k_b, transposed per head, and v_b. */
static int add_latent(struct hf_making *k, const struct safetensors_tensor *t, int layer,
                      infer_error *err)
{
	const struct arch *a = k->m->arch;
	const struct arch_tensor *both = arch_row(a, W_KV_B),
				 *rows[] = { arch_row(a, W_K_B), arch_row(a, W_V_B) };
	int64_t want[3] = { config_dim(k, layer, both->shape[0]),
		            config_dim(k, layer, both->shape[1]) },
		nope = config_dim(k, layer, D_NOPE), values = config_dim(k, layer, D_V_HEAD);

	if (!match_shape(t, want, 2))
		return wrong_shape(k, t, want, 2, err);
	for (int i = 0; i < 2; i++) {
		struct hf_rows *h = hf_find_target(k, rows[i]->gguf, layer);
		if (h)
			return hf_bad_tensor(k->d, t, INFER_EFORMAT, err,
			                     "there is another tensor for %.*s", (int)h->name.len,
			                     h->name.at);
		TRY(new_target(k, &h, rows[i]->gguf, layer, 1, err));
		h->from[0] = t;
		h->slot = rows[i]->slot;
		h->how = i ? T_NONE : T_TURN;
		h->turned = !i;
		h->first = i ? nope : 0;
		h->n_dims = 3;
		for (int dim = 0; dim < 4; dim++)
			h->ne[dim] = dim < 3 ? config_dim(k, layer, rows[i]->shape[dim]) : 1;
		h->cols = h->ne[0];
		h->rows = h->ne[1];
		h->mats = h->ne[2];
		h->src_cols = want[0];
		h->src_rows = nope + values;
		h->packed = hf_packed_of(t) != NULL;
		h->type = h->packed && h->turned ? INFER_F32 : hf_source_type(t);
		TRY(check_packed(k, h, t, err));
	}
	return INFER_OK;
}

/* Add every GGUF tensor that is a slice of t. */
static int add_parts(struct hf_making *k, const struct safetensors_tensor *t,
                     const struct arch_parts *p, int layer, infer_error *err)
{
	int64_t size[ARCH_MAX_PARTS], all = 0, before = 0;

	for (int i = 0; i < p->n; i++) {
		const struct arch_tensor *row = p->row[i];
		size[i] = config_dim(k, layer,
		                     row->shape[parts_at(row, arch_transform_of(k->m->arch, row))]);
		all += size[i];
	}
	all = p->n == 1 ? size[0] : all;
	for (int i = 0, next; i < p->n; i = next) {
		int64_t part = 0;
		for (next = i; next < p->n && !strcmp(p->row[next]->gguf, p->row[i]->gguf); next++)
			part += size[next];
		const int64_t sizes[3] = { all, before, p->n == 1 ? size[0] : part };
		TRY(add_part(k, t, p->row[i], layer, sizes, err));
		before += part;
	}
	return INFER_OK;
}

/* Drop the rows of slots that this layer does not have: a name may mean different slots in
 * different layers. */
static void drop_unwanted(const struct hf_making *k, struct arch_parts *p, int layer)
{
	int n = 0;

	for (int i = 0; i < p->n; i++)
		if (arch_tensor_need(k->m, p->row[i], layer < 0 ? 0 : layer) >= 0)
			p->row[n++] = p->row[i];
	p->n = n;
}

/* True for a bias of zeros in a layer without bias, as quantisation libraries store it. */
static int is_no_bias(const struct hf_making *k, const struct safetensors_tensor *t)
{
	static const char bias[] = ".bias";
	size_t n = t->name.len, len = sizeof bias - 1;

	if (!k->d->quant.at || t->n_dims != 1 || n < len || memcmp(t->name.at + n - len, bias, len))
		return 0;
	for (uint64_t i = 0; i < t->bytes; i++)
		if (t->data[i])
			return 0;
	return 1;
}

int hf_add_tensor(struct hf_making *k, const struct safetensors_tensor *t, infer_error *err)
{
	struct infer_str plain = hf_plain_name(k, t->name), rest;
	const struct arch *a = k->m->arch;
	struct arch_tensor spare[2];

	if (!plain.at)
		return hf_nomem(k->d, err);
	int layer = arch_layer_of(a, ARCH_HF, plain, &rest);
	struct arch_parts p = arch_find_rows(a, ARCH_HF, rest, layer >= 0);
	if (!p.n && layer >= 0)
		p = hf_other_experts(a, rest, spare);
	enum hf_leave why = hf_leaves_out(k, plain, &p, layer);
	if (why) {
		k->left[why]++;
		return INFER_OK;
	}
	if (p.n && layer >= k->m->h.n_layers)
		return hf_bad_tensor(k->d, t, INFER_EUNSUP, err,
		                     "config.json has %d layers: num_hidden_layers",
		                     k->m->h.n_layers);
	drop_unwanted(k, &p, layer);
	if (!p.n && is_no_bias(k, t))
		return INFER_OK;
	if (!p.n)
		return hf_bad_tensor(k->d, t, INFER_EUNSUP, err, "has no use in architecture %s%s",
		                     a->gguf, layer >= 0 ? ", in this layer" : "");
	if (hf_source_type(t) < 0)
		return wrong_dtype(k, t, err);
	if (p.row[0]->slot == W_KV_B && arch_row(a, W_K_B))
		return add_latent(k, t, layer, err);
	if (p.expert >= 0)
		return add_expert(k, t, p.row[0], layer, p.expert, err);
	return add_parts(k, t, &p, layer, err);
}

/* Add the dense layers of sentence-transformers before the other tensors, as the converter does. */
static int add_dense(struct hf_making *k, infer_error *err)
{
	static const int slots[HF_DENSE] = { W_DENSE_2, W_DENSE_3 };

	for (int i = 0; i < k->d->n_dense; i++) {
		const struct safetensors_tensor *t = &k->d->dense[i].at[0];
		const struct arch_tensor *row = arch_row(k->m->arch, slots[i]);
		const int64_t sizes[3] = { -1, 0, -1 };
		if (hf_source_type(t) < 0)
			return wrong_dtype(k, t, err);
		TRY(add_part(k, t, row, -1, sizes, err));
	}
	return INFER_OK;
}

/* True for convolution weights in MLX's layout, [channels, width, 1]. */
static int is_conv_of_mlx(const struct safetensors_tensor *t)
{
	static const char conv[] = ".conv1d.weight";
	size_t n = t->name.len, len = sizeof conv - 1;

	return n > len && !memcmp(t->name.at + n - len, conv, len) && t->n_dims == 3 &&
	       t->shape[2] == 1 && t->shape[1] > 1;
}

/* Read the parameters that tensor names and sizes depend on. */
static int read_sizes(struct hf_making *k, infer_model *m, infer_error *err)
{
	struct hf_dir *d = k->d;
	const struct arch_keys gguf = arch_keys_gguf(d->f, d->arch),
			       hf = arch_keys_hf(d->text_config, d->arch);
	const struct infer_meta *tokens = infer_file_meta(d->f, "tokenizer.ggml.tokens");
	const struct json *next = json_get(d->text_config, "num_nextn_predict_layers");

	m->arch = d->arch;
	m->file = d->f;
	TRY(arch_hparam_read(&m->h, &gguf, err));
	for (int i = 0; i < ARCH_MAX_READ && d->arch->read[i]; i++)
		if (d->arch->read[i] == arch_read_first_position &&
		    hf.kind->arr(&hf, K_FIRST_POSITION).kind != KEY_ABSENT)
			TRY(hf.kind->whole(&hf, K_FIRST_POSITION, KEY_SCALAR, &k->first_position,
			                   err));
	k->n_tokens = tokens ? (int64_t)tokens->count : 0;
	k->layers_next = m->h.n_next;
	if (json_is_whole(next) && next->i > k->layers_next && next->i < ARCH_MAX_LAYERS)
		k->layers_next = (int)next->i;
	for (uint32_t i = 0; i < d->raw.n; i++) {
		const struct infer_str *s = &d->raw.at[i].name;
		k->ranks |= s->len >= 10 && !memcmp(s->at, "classifier", 10);
		k->added_one |= is_conv_of_mlx(&d->raw.at[i]);
	}
	return INFER_OK;
}

int hf_tensors(struct hf_dir *d, infer_error *err)
{
	struct hf_making k = { .d = d };
	infer_model *m = arena_alloc(&d->brief, 1, sizeof *m);
	int rc;

	k.m = m;
	k.at = arena_alloc(&d->brief, (size_t)d->raw.n + HF_DENSE, ARCH_MAX_PARTS * sizeof(void *));
	if (!m || !k.at || map_init(&k.map, MEM_FILE, d->raw.n + 16))
		return hf_nomem(d, err);
	rc = read_sizes(&k, m, err);
	if (!rc)
		rc = add_dense(&k, err);
	for (uint32_t i = 0; i < d->raw.n && !rc; i++)
		rc = hf_add_tensor(&k, &d->raw.at[i], err);
	if (!rc)
		rc = hf_place_tensors(&k, err);
	map_fini(&k.map);
	return rc;
}
