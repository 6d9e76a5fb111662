/* pyval/sort.c - sort pairs by key. */
#include "pyval/call.h"
#include "pyval/case.h"
#include "base/err.h"

#include <string.h>

/* Pairs: k is compared, v is the item. */
struct sort {
	struct pyrun *r;
	struct pypair *at, *tmp;
	int down;
};

/* Sort at[lo .. hi), stably in both directions as Python does. */
static int merge_sort(struct sort *s, size_t lo, size_t hi)
{
	size_t mid = lo + (hi - lo) / 2, i = lo, j = mid, k = lo;
	int sign;

	if (hi - lo < 2)
		return s->r->rc;
	TRY(merge_sort(s, lo, mid));
	TRY(merge_sort(s, mid, hi));
	while (i < mid && j < hi) {
		TRY(py_cmp(s->r, s->at[j].k, s->at[i].k, "<", &sign));
		s->tmp[k++] = sign == (s->down ? 1 : -1) ? s->at[j++] : s->at[i++];
	}
	while (i < mid)
		s->tmp[k++] = s->at[i++];
	while (j < hi)
		s->tmp[k++] = s->at[j++];
	memcpy(s->at + lo, s->tmp + lo, (hi - lo) * sizeof *s->at);
	return s->r->rc;
}

int pydict_sort(struct pyrun *r, struct pydict *d, int down)
{
	struct sort s = { r, d->at, py_alloc(r, d->n, sizeof *s.tmp), down };

	return r->rc ? r->rc : merge_sort(&s, 0, d->n);
}

int pydict_add(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v)
{
	TRY(pydict_push(r, d, key, v));
	return py_spend(r, 1);
}

int pydict_sorted(struct pyrun *r, const struct pydict *from, int how, struct pyval *out)
{
	struct pydict d = { 0 };
	struct pyval pair, key;

	for (size_t i = 0; i < from->n; i++) {
		const struct pypair *p = &from->at[i];
		TRY(py_list(r, &pair, PY_TUPLE, 2));
		TRY(py_push(r, pair, p->k));
		TRY(py_push(r, pair, p->v));
		key = how & PY_SORT_BY_VALUE ? p->v : p->k;
		if (key.type == PY_STR && !(how & PY_SORT_KEEP_CASE))
			TRY(pystr_to_case(r, key.s, PY_LOWER, &key));
		TRY(pydict_add(r, &d, key, pair));
	}
	TRY(pydict_sort(r, &d, how & PY_SORT_DOWN));
	TRY(py_list(r, out, PY_LIST, d.n));
	for (size_t i = 0; i < d.n; i++)
		out->l->at[out->l->n++] = d.at[i].v;
	return r->rc;
}
