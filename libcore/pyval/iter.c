/* pyval/iter.c - Python's iter() and next() on all iterable values. */
#include "pyval/str.h"
#include "base/err.h"

int jiter_init(struct jrun *r, struct jiter *it, struct jv v)
{
	*it = (struct jiter){ .src = v };
	if (v.type == J_UNDEF || jv_is_seq(v) || v.type == J_STR || v.type == J_DICT ||
	    v.type == J_RANGE || v.type == J_GEN || v.type == J_VIEW || v.type == J_LOOP)
		return r->rc;
	return jinja_fail(r, "'%s' object is not iterable", jv_type_name(v));
}

static int pair_tuple(struct jrun *r, struct jv *out, const struct jpair *p)
{
	TRY(jv_list(r, out, J_TUPLE, 2));
	out->l->at[0] = p->k;
	out->l->at[1] = p->v;
	out->l->n = 2;
	return INFER_OK;
}

static int next_of_dict(struct jrun *r, const struct jdict *d, char what, size_t i, struct jv *out)
{
	if (i >= d->n)
		return 0;
	if (what == 'i')
		return !pair_tuple(r, out, &d->at[i]);
	*out = what == 'k' ? d->at[i].k : d->at[i].v;
	return 1;
}

static int next_char(struct jrun *r, const struct jstr *s, size_t *i, struct jv *out)
{
	size_t at = *i, n = 1;

	if (at >= s->len)
		return 0;
	while (at + n < s->len && (s->at[at + n] & 0xc0) == 0x80)
		n++;
	*i += n;
	struct jstr plain = *s;
	plain.safe = 0;
	return !jv_sub(r, out, &plain, at, n);
}

int jiter_next(struct jrun *r, struct jiter *it, struct jv *out)
{
	size_t i = it->i;

	if (jinja_spend(r, 1))
		return 0;
	switch (it->src.type) {
	case J_LIST:
	case J_TUPLE:
		if (i >= it->src.l->n)
			return 0;
		*out = it->src.l->at[it->i++];
		return 1;
	case J_STR:
		return next_char(r, it->src.s, &it->i, out);
	case J_DICT:
		return next_of_dict(r, it->src.d, 'k', it->i++, out);
	case J_VIEW:
		return next_of_dict(r, it->src.view->d, it->src.view->what, it->i++, out);
	case J_RANGE:
		if (i >= it->src.range->n)
			return 0;
		*out = jv_int(it->src.range->start + it->src.range->step * (int64_t)it->i++);
		return 1;
	case J_GEN:
	case J_LOOP:
		return r->host->next(r, it->src, out);
	default:
		return 0;
	}
}

int jv_to_list(struct jrun *r, struct jv *out, struct jv v)
{
	struct jiter it;
	struct jv item;

	TRY(jiter_init(r, &it, v));
	TRY(jv_list(r, out, J_LIST, 0));
	while (jiter_next(r, &it, &item))
		TRY(jv_push(r, *out, item));
	return r->rc;
}
