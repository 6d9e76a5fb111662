/* pyval/iter.c - iter() and next() of all iterable values. */
#include "pyval/str.h"
#include "base/err.h"

int pyiter_init(struct pyrun *r, struct pyiter *it, struct pyval v)
{
	*it = (struct pyiter){ .src = v };
	if (v.type == PY_UNDEF || py_is_seq(v) || v.type == PY_STR || v.type == PY_DICT ||
	    v.type == PY_RANGE || v.type == PY_GEN || v.type == PY_VIEW || v.type == PY_LOOP)
		return r->rc;
	return py_fail(r, "'%s' object is not iterable", py_type_name(v));
}

static int pair_tuple(struct pyrun *r, struct pyval *out, const struct pypair *p)
{
	TRY(py_list(r, out, PY_TUPLE, 2));
	out->l->at[0] = p->k;
	out->l->at[1] = p->v;
	out->l->n = 2;
	return INFER_OK;
}

static int next_of_dict(struct pyrun *r, const struct pydict *d, enum py_view what, size_t i,
                        struct pyval *out)
{
	if (i >= d->n)
		return 0;
	if (what == PY_ITEMS)
		return !pair_tuple(r, out, &d->at[i]);
	*out = what == PY_KEYS ? d->at[i].k : d->at[i].v;
	return 1;
}

static int next_char(struct pyrun *r, const struct pystr *s, size_t *i, struct pyval *out)
{
	size_t at = *i, n = 1;

	if (at >= s->len)
		return 0;
	while (at + n < s->len && (s->at[at + n] & 0xc0) == 0x80)
		n++;
	*i += n;
	struct pystr plain = *s;
	plain.safe = 0;
	return !py_sub(r, out, &plain, at, n);
}

int pyiter_next(struct pyrun *r, struct pyiter *it, struct pyval *out)
{
	size_t i = it->i;

	if (py_spend(r, 1))
		return 0;
	switch (it->src.type) {
	case PY_LIST:
	case PY_TUPLE:
		if (i >= it->src.l->n)
			return 0;
		*out = it->src.l->at[it->i++];
		return 1;
	case PY_STR:
		return next_char(r, it->src.s, &it->i, out);
	case PY_DICT:
		return next_of_dict(r, it->src.d, PY_KEYS, it->i++, out);
	case PY_VIEW:
		return next_of_dict(r, it->src.view->d, it->src.view->what, it->i++, out);
	case PY_RANGE:
		if (i >= it->src.range->n)
			return 0;
		*out = py_int(it->src.range->start + it->src.range->step * (int64_t)it->i++);
		return 1;
	case PY_GEN:
	case PY_LOOP:
		return r->host->next(r, it->src, out);
	default:
		return 0;
	}
}

int py_to_list(struct pyrun *r, struct pyval *out, struct pyval v)
{
	struct pyiter it;
	struct pyval item;

	TRY(pyiter_init(r, &it, v));
	TRY(py_list(r, out, PY_LIST, 0));
	while (pyiter_next(r, &it, &item))
		TRY(py_push(r, *out, item));
	return r->rc;
}
