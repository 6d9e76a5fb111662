/* pyval/sort.c - pairs in order. */
#include "pyval/call.h"
#include "pyval/case.h"
#include "base/err.h"

#include <string.h>

/* k: the key that is compared, v: the item */
struct sort {
	struct jrun *r;
	struct jpair *at, *tmp;
	int down;
};

/* Stable, as Python's: of two alike the first stays first, whichever way. */
static int merge(struct sort *s, size_t lo, size_t hi)
{
	size_t mid = lo + (hi - lo) / 2, i = lo, j = mid, k = lo;
	int sign;

	if (hi - lo < 2)
		return s->r->rc;
	TRY(merge(s, lo, mid));
	TRY(merge(s, mid, hi));
	while (i < mid && j < hi) {
		TRY(jv_cmp(s->r, s->at[j].k, s->at[i].k, "<", &sign));
		s->tmp[k++] = sign == (s->down ? 1 : -1) ? s->at[j++] : s->at[i++];
	}
	while (i < mid)
		s->tmp[k++] = s->at[i++];
	while (j < hi)
		s->tmp[k++] = s->at[j++];
	memcpy(s->at + lo, s->tmp + lo, (hi - lo) * sizeof *s->at);
	return s->r->rc;
}

int jdict_sort(struct jrun *r, struct jdict *d, int down)
{
	struct sort s = { r, d->at, jinja_take(r, d->n, sizeof *s.tmp), down };

	return r->rc ? r->rc : merge(&s, 0, d->n);
}

int jdict_add(struct jrun *r, struct jdict *d, struct jv key, struct jv v)
{
	TRY(jdict_push(r, d, key, v));
	return jinja_spend(r, 1);
}

int jdict_sorted(struct jrun *r, const struct jdict *from, int how, struct jv *out)
{
	struct jdict d = { 0 };
	struct jv pair, key;

	for (size_t i = 0; i < from->n; i++) {
		const struct jpair *p = &from->at[i];
		TRY(jv_list(r, &pair, J_TUPLE, 2));
		TRY(jv_push(r, pair, p->k));
		TRY(jv_push(r, pair, p->v));
		key = how & JSORT_BY_VALUE ? p->v : p->k;
		if (key.type == J_STR && !(how & JSORT_KEEP_CASE))
			TRY(jcase_str(r, key.s, JCASE_LOWER, &key));
		TRY(jdict_add(r, &d, key, pair));
	}
	TRY(jdict_sort(r, &d, how & JSORT_DOWN));
	TRY(jv_list(r, out, J_LIST, d.n));
	for (size_t i = 0; i < d.n; i++)
		out->l->at[out->l->n++] = d.at[i].v;
	return r->rc;
}
