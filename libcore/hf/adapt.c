/* hf/adapt.c - find the GGUF tensors that an adapter changes, by the rules of tensors.c. */
#include "hf/adapt.h"
#include "hf/tensors.h"
#include "base/err.h"

/* True if t is the output matrix, and the model uses its embedding table for that. */
static int is_tied_output(struct hf_making *k, const struct safetensors_tensor *t)
{
	struct infer_str plain = hf_plain_name(k, t->name), rest;
	struct arch_parts p = { .n = 0 };

	if (plain.at && arch_layer_of(k->m->arch, ARCH_HF, plain, &rest) < 0)
		p = arch_find_rows(k->m->arch, ARCH_HF, rest, 0);
	return p.n == 1 && p.row[0]->slot == W_OUTPUT && k->m->global[W_OUTPUT] < 0;
}

/* Add "output.weight", whose values are those of the embedding table. */
static int add_tied_output(struct hf_making *k, const struct safetensors_tensor *t,
                           infer_error *err)
{
	static const char name[] = "output.weight";
	const int64_t *ne = k->m->weights[k->m->global[W_TOKEN_EMBD]].ne;
	struct hf_rows *h = arena_alloc(&k->d->brief, 1, sizeof *h);

	if (t->n_dims != 2 || t->shape[0] != ne[1] || t->shape[1] != ne[0])
		return hf_bad_tensor(k->d, t, INFER_EFORMAT, err,
		                     "its shape must be that of the embedding table, [%lld, %lld]",
		                     (long long)ne[1], (long long)ne[0]);
	if (h)
		h->from = arena_alloc(&k->d->brief, 1, sizeof(void *));
	if (!h || !h->from)
		return hf_nomem(k->d, err);
	h->name = (struct infer_str){ name, sizeof name - 1 };
	h->slot = W_OUTPUT;
	h->layer = -1;
	h->type = hf_type_of(t->dtype);
	h->n_dims = 2;
	h->ne[0] = h->cols = h->src_cols = ne[0];
	h->ne[1] = h->rows = h->src_rows = ne[1];
	h->ne[2] = h->ne[3] = h->mats = h->n_from = h->step = 1;
	h->from[0] = t;
	if (hf_find_target(k, name, -1) || map_put(&k->map, name, sizeof name - 1, (uint32_t)k->n))
		return hf_bad_tensor(k->d, t, INFER_EFORMAT, err, "there is another tensor for it");
	k->at[k->n++] = h;
	return INFER_OK;
}

static int find_all(struct hf_making *k, const struct safetensors_tensor *t, int64_t n,
                    infer_error *err)
{
	for (int64_t i = 0; i < n; i++)
		TRY(is_tied_output(k, &t[i]) ? add_tied_output(k, &t[i], err)
		                             : hf_add_tensor(k, &t[i], err));
	return INFER_OK;
}

int hf_adapt(struct hf_adapt *out, struct arena *a, const infer_model *m, infer_file *f,
             const char *path, const struct safetensors_tensor *t, int64_t n, infer_error *err)
{
	struct hf_dir d = { .f = f, .path = path, .arch = m->arch };
	struct hf_making k = { .d = &d,
		               .m = m,
		               .adapts = 1,
		               .first_position = m->h.first_position,
		               .n_tokens = m->h.n_vocab,
		               .layers_next = m->h.n_next,
		               .ranks = m->h.n_ranks > 0 };
	int rc = INFER_OK;

	*out = (struct hf_adapt){ .at = NULL };
	arena_init(&d.arena, a->who);
	arena_init(&d.brief, a->who);
	k.at = arena_alloc(&d.brief, (size_t)n, ARCH_MAX_PARTS * sizeof(void *));
	if (!k.at || map_init(&k.map, a->who, (uint32_t)n + 16))
		rc = hf_nomem(&d, err);
	if (!rc)
		rc = find_all(&k, t, n, err);
	map_fini(&k.map);
	arena_adopt(a, &d.arena);
	arena_adopt(a, &d.brief);
	out->at = k.at;
	out->n = k.n;
	for (int why = LEAVE_NOT + 1; why < LEAVES; why++)
		out->left += k.left[why];
	return rc;
}
