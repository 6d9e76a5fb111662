/* lora/peft_tensors.c - pair the tensors of an adapter_model.safetensors:
 *
 *   base_model.model.MODULE.lora_A.weight  [rank][in]       .lora_B.weight  [out][rank]
 *   base_model.model.MODULE.lora_embedding_A  [rank][tokens] .lora_embedding_B  [width][rank]
 *   base_model.model.MODULE.weight            a whole tensor (modules_to_save)
 *   base_model.model.MODULE.base_layer.weight the tensor of the model that a pair was trained with
 *
 * Parameters of experts (target_parameters), e of E:
 *   MODULE.lora_A.weight  [E * rank][in], e-th block of rows    .lora_B.weight  [out][rank * E], every E-th column
 * The second and third parameter of a module have ".base_layer" once and twice after MODULE. */
#include "lora/peft.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>

static const char prefix[] = "base_model.model.", base_layer[] = ".base_layer";

/* --- names */

/* The suffixes of names.  b: the suffix of the other half of a pair; NULL: the tensor is refused, and
 * `what` is the reason */
static const struct suffix {
	const char *a, *b, *what;
} suffixes[] = {
	{ ".lora_A.weight", ".lora_B.weight", NULL },
	{ ".lora_embedding_A", ".lora_embedding_B", NULL },
	{ ".lora_magnitude_vector", NULL, "DoRA is not supported" },
	{ ".lora_magnitude_vector.weight", NULL, "DoRA is not supported" },
	{ ".lora_A.bias", NULL, "a bias is not supported" },
	{ ".lora_B.bias", NULL, "a bias is not supported" },
	{ ".lora_diag", NULL, "KaSA is not supported" },
	{ ".token_adapter.trainable_tokens_delta", NULL, "trained tokens are not supported" },
	{ ".trainable_tokens_delta", NULL, "trained tokens are not supported" },
};
enum { EMBEDDING = 1 };

static struct infer_str strip_prefix(struct infer_str s)
{
	size_t n = lora_str_begins(s, prefix) ? sizeof prefix - 1 : 0;

	return (struct infer_str){ s.at + n, s.len - n };
}

static struct infer_str strip_end(struct infer_str s, const char *end)
{
	s.len -= strlen(end);
	return s;
}

/* Concatenate into l->arena; .at NULL: out of memory. */
static struct infer_str join(infer_lora *l, struct infer_str a, const char *b)
{
	char *to = arena_raw(&l->arena, a.len + strlen(b) + 1);

	if (to) {
		memcpy(to, a.at, a.len);
		memcpy(to + a.len, b, strlen(b) + 1);
	}
	return (struct infer_str){ to, a.len + strlen(b) };
}

static int check_dtype(const infer_lora *l, const struct safetensors_tensor *t, infer_error *err)
{
	if (t->dtype == ST_F32 || t->dtype == ST_F16 || t->dtype == ST_BF16)
		return INFER_OK;
	return lora_fail(l, t->name, INFER_EUNSUP, err,
	                 "dtype %s is not supported, only F32, F16 and BF16",
	                 safetensors_dtype_name(t->dtype));
}

static int type_of(const struct safetensors_tensor *t)
{
	return t->dtype == ST_F32 ? INFER_F32 : t->dtype == ST_F16 ? INFER_F16 : INFER_BF16;
}

/* Check that the values are finite. */
static int check_values(const infer_lora *l, const struct safetensors_tensor *t, infer_error *err)
{
	int type = type_of(t);
	size_t size = lora_element(type);
	unsigned mask = type == INFER_F16 ? 0x7c00 : 0x7f80;

	for (uint64_t i = 0; i < t->bytes; i += size) {
		unsigned top = (unsigned)t->data[i + size - 1] << 8 | t->data[i + size - 2];
		if ((top & mask) == mask)
			return lora_fail(l, t->name, INFER_ENAN, err,
			                 "the weight at byte %llu is not finite",
			                 (unsigned long long)(t->offset + i));
	}
	return INFER_OK;
}

/* --- pairs */

/* The shape of what a pair changes, last dimension first as in GGUF. */
static void set_shape(struct safetensors_tensor *t, int64_t mats, int64_t rows, int64_t cols)
{
	int n = 0;

	if (mats > 1)
		t->shape[n++] = mats;
	t->shape[n++] = rows;
	t->shape[n++] = cols;
	t->n_dims = n;
}

static void set_linear(struct peft_pair *q, struct safetensors_tensor *t)
{
	int64_t in = q->a->shape[1];

	q->left = (struct peft_grid){ type_of(q->b), q->b->data, 0, q->rank, 1 };
	q->right = (struct peft_grid){ type_of(q->a), q->a->data, 0, in, 1 };
	set_shape(t, 1, q->b->shape[0], in);
}

static void set_embedding(struct peft_pair *q, struct safetensors_tensor *t)
{
	int64_t tokens = q->a->shape[1];

	q->left = (struct peft_grid){ type_of(q->a), q->a->data, 0, 1, tokens };
	q->right = (struct peft_grid){ type_of(q->b), q->b->data, 0, 1, q->rank };
	set_shape(t, 1, tokens, q->b->shape[0]);
}

/* A parameter of n experts; turned: it is stored as [n][in][out]. */
static void set_parameter(struct peft_pair *q, struct safetensors_tensor *t, int64_t n, int turned)
{
	int64_t in = q->a->shape[1], out = q->b->shape[0];
	const struct peft_grid a = { type_of(q->a), q->a->data, q->rank * in, 1, in },
			       b = { type_of(q->b), q->b->data, 1, q->rank * n, n };

	q->left = turned ? a : b;
	q->right = turned ? b : a;
	int64_t swap = q->right.row;
	q->right.row = q->right.col;
	q->right.col = swap;
	set_shape(t, n, turned ? in : out, turned ? out : in);
}

/* Return the row of the architecture for a tensor of a checkpoint, or NULL. */
static const struct arch_tensor *row_of(const infer_lora *l, struct infer_str name)
{
	const struct arch *a = l->m->arch;
	struct infer_str rest;
	struct arch_parts p;
	int layer;

	if (lora_str_begins(name, "model.language_model."))
		name = (struct infer_str){ name.at + 21, name.len - 21 };
	layer = arch_layer_of(a, ARCH_HF, name, &rest);
	p = arch_find_rows(a, ARCH_HF, rest, layer >= 0);
	if (!p.n && lora_str_ends(rest, ".experts.gate_up_proj"))
		return arch_row(a, W_GATE_EXPS); /* checkpoints have a tensor for each expert */
	if (!p.n && lora_str_ends(rest, ".experts.down_proj"))
		return arch_row(a, W_DOWN_EXPS);
	return p.n ? p.row[0] : NULL;
}

/* True if the pair has the sizes of a parameter with these rows of the architecture. */
static int fits_parameter(const infer_lora *l, const struct peft_pair *q,
                          const struct arch_tensor *row, int64_t rank)
{
	const struct arch_hparam *h = &l->m->h;
	int gate = row->slot == W_GATE_EXPS;
	int64_t n = h->n_expert, in = arch_dim_of(h, 0, row->shape[0]),
		out = arch_dim_of(h, 0, row->shape[1]) * (gate ? 2 : 1);

	return n > 0 && q->a->shape[0] == n * rank && q->b->shape[1] == n * rank &&
	       q->a->shape[1] == in && q->b->shape[0] == out;
}

/* Find the parameter of target_parameters that a pair of `module` changes, by its sizes. */
static int find_parameter(struct peft *p, struct peft_pair *q, struct safetensors_tensor *t,
                          infer_error *err)
{
	struct infer_str module = q->module;

	while (lora_str_ends(module, base_layer))
		module = strip_end(module, base_layer);
	json_each(v, p->config.target_parameters) {
		const char *name = json_str(v), *dot = memrchr(name, '.', json_bytes(v));
		size_t head = dot ? (size_t)(dot - name) : 0;
		char tail[64];
		struct infer_str whole;
		const struct arch_tensor *row;
		if (!dot || module.len < head ||
		    memcmp(module.at + module.len - head, name, head) ||
		    (module.len > head && module.at[module.len - head - 1] != '.') ||
		    json_bytes(v) - head >= sizeof tail)
			continue;
		snprintf(tail, sizeof tail, "%.*s", (int)(json_bytes(v) - head), dot);
		whole = join(p->l, module, tail);
		if (!whole.at)
			return lora_nomem(p->l, err);
		row = row_of(p->l, whole);
		if (!row || (row->slot != W_GATE_EXPS && row->slot != W_DOWN_EXPS) ||
		    !fits_parameter(p->l, q, row, peft_rank(&p->config, whole)))
			continue;
		q->rank = peft_rank(&p->config, whole);
		q->scale = peft_alpha(&p->config, whole);
		set_parameter(q, t, p->l->m->h.n_expert,
		              row->how == T_TURN || row->how == T_EVEN || row->how == T_ODD);
		t->name = whole;
		return INFER_OK;
	}
	return lora_fail(p->l, q->a->name, INFER_EUNSUP, err,
	                 "no parameter of experts in target_parameters has its sizes");
}

/* Find the module of a pair and its sizes. */
static int set_pair(struct peft *p, struct peft_pair *q, struct safetensors_tensor *t,
                    int embedding, infer_error *err)
{
	infer_lora *l = p->l;
	int64_t rank;

	if (q->a->n_dims != 2 || q->b->n_dims != 2)
		return lora_fail(l, q->a->n_dims != 2 ? q->a->name : q->b->name, INFER_EUNSUP, err,
		                 "must be a matrix");
	if (q->a->shape[0] != q->b->shape[1] || q->a->shape[0] < 1)
		return lora_fail(l, q->a->name, INFER_EFORMAT, err,
		                 "its rank is %lld, that of its other half %lld",
		                 (long long)q->a->shape[0], (long long)q->b->shape[1]);
	t->dtype = ST_F32;
	t->offset = q->a->offset;
	rank = peft_rank(&p->config, q->module);
	if (!embedding && p->config.target_parameters &&
	    (q->a->shape[0] != rank || lora_str_ends(q->module, ".experts") ||
	     lora_str_ends(q->module, base_layer))) {
		TRY(find_parameter(p, q, t, err));
	} else {
		q->rank = q->a->shape[0];
		q->scale = peft_alpha(&p->config, q->module);
		if (q->rank != rank)
			return lora_fail(l, q->a->name, INFER_EFORMAT, err,
			                 "its rank is %lld, by " PEFT_CONFIG " %lld",
			                 (long long)q->rank, (long long)rank);
		embedding ? set_embedding(q, t) : set_linear(q, t);
		t->name = join(l, q->module, ".weight");
	}
	q->scale /= p->config.rank_stabilised ? sqrt((double)q->rank) : (double)q->rank;
	return t->name.at ? INFER_OK : lora_nomem(l, err);
}

static int read_pair(struct peft *p, const struct safetensors_tensor *t, const struct suffix *s,
                     infer_error *err)
{
	struct infer_str stem = strip_end(t->name, s->a), other = join(p->l, stem, s->b);
	struct peft_pair *q = &p->pairs[p->n_pairs];

	if (!other.at)
		return lora_nomem(p->l, err);
	q->a = t;
	q->b = safetensors_find(&p->raw, other.at, other.len);
	if (!q->b)
		return lora_fail(p->l, t->name, INFER_EFORMAT, err, "its half %s is missing", s->b);
	q->module = strip_prefix(stem);
	TRY(set_pair(p, q, &p->pseudo[p->n_pairs], s == &suffixes[EMBEDDING], err));
	p->n_pairs++;
	return INFER_OK;
}

/* --- whole tensors */

static int read_whole(struct peft *p, const struct safetensors_tensor *t, infer_error *err)
{
	static const char weight[] = ".base_layer.weight", saved[] = ".modules_to_save.weight";
	struct safetensors_tensor *w = &p->whole[p->n_whole];
	struct infer_str name = strip_prefix(t->name), module = name;
	const char *dot = memrchr(name.at, '.', name.len);

	if (memmem(name.at, name.len, "lora_", 5))
		return lora_fail(p->l, t->name, INFER_EUNSUP, err, "not known in an adapter");
	*w = *t;
	w->name = name;
	module.len = dot ? (size_t)(dot - name.at) : 0;
	p->based[p->n_whole] = (uint8_t)!peft_lists(p->config.modules_to_save, module);
	if (lora_str_ends(name, weight)) {
		w->name = join(p->l, strip_end(name, weight), ".weight");
		p->based[p->n_whole] = 1;
	} else if (lora_str_ends(name, saved)) {
		w->name = join(p->l, strip_end(name, saved), ".weight");
		p->based[p->n_whole] = 0;
	}
	p->n_whole++;
	return w->name.at ? INFER_OK : lora_nomem(p->l, err);
}

static int read_named(struct peft *p, const struct safetensors_tensor *t, infer_error *err)
{
	TRY(check_dtype(p->l, t, err));
	TRY(check_values(p->l, t, err));
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const struct suffix *s = &suffixes[i];
		if (lora_str_ends(t->name, s->a))
			return s->b ? read_pair(p, t, s, err)
			            : lora_fail(p->l, t->name, INFER_EUNSUP, err, "%s", s->what);
		if (s->b && lora_str_ends(t->name, s->b)) {
			struct infer_str other = join(p->l, strip_end(t->name, s->b), s->a);
			if (!other.at)
				return lora_nomem(p->l, err);
			return safetensors_find(&p->raw, other.at, other.len)
			               ? INFER_OK
			               : lora_fail(p->l, t->name, INFER_EFORMAT, err,
			                           "its half %s is missing", s->a);
		}
	}
	return read_whole(p, t, err);
}

int peft_find_pairs(struct peft *p, infer_error *err)
{
	size_t n = p->raw.n;

	p->pairs = arena_alloc(&p->l->arena, n, sizeof *p->pairs);
	p->pseudo = arena_alloc(&p->l->arena, n, sizeof *p->pseudo);
	p->whole = arena_alloc(&p->l->arena, n, sizeof *p->whole);
	p->based = arena_alloc(&p->l->arena, n, 1);
	if (!p->pairs || !p->pseudo || !p->whole || !p->based)
		return lora_nomem(p->l, err);
	for (uint32_t i = 0; i < p->raw.n; i++)
		TRY(read_named(p, &p->raw.at[i], err));
	return INFER_OK;
}
