/* hf/pack_sizes.c - collect and look up the bits and group sizes in a quantisation config. */
#include "base/err.h"
#include "hf/pack_int.h"
#include "hf/tensors.h"

int pack_sizes_add(struct hf_dir *d, struct pack_sizes *s, int bits, int64_t group,
                   infer_error *err)
{
	for (int i = 0; i < s->n; i++)
		if (s->at[i].bits == bits && s->at[i].group == group)
			return INFER_OK;
	if (s->n == PACK_SIZES)
		return hf_bad_quant(d, INFER_EUNSUP, err,
		                    "more than %d pairs of \"bits\" and \"group_size\"",
		                    PACK_SIZES);
	s->at[s->n].bits = bits;
	s->at[s->n++].group = group;
	return INFER_OK;
}

int pack_sizes_find(const struct hf_dir *d, const struct pack_sizes *s, const struct hf_packed *p,
                    const struct safetensors_tensor *t, struct pack_int *g, infer_error *err)
{
	for (int i = 0; i < s->n; i++) {
		int64_t group = s->at[i].group < 0 ? p->cols : s->at[i].group;

		if (s->at[i].bits == g->bits && (p->cols - 1) / group + 1 == g->groups) {
			g->group = group < p->cols ? group : p->cols;
			return INFER_OK;
		}
	}
	return hf_bad_tensor(d, t, INFER_EFORMAT, err,
	                     "%d bits, and %lld groups of %lld inputs: the quantisation config "
	                     "says \"bits\" %d, \"group_size\" %lld",
	                     g->bits, (long long)g->groups, (long long)p->cols, s->at[0].bits,
	                     (long long)s->at[0].group);
}
