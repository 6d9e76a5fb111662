/* pyval/coll.c - the methods of lists, tuples and dicts. */
#include "pyval/method.h"
#include "base/err.h"

#include <string.h>

static int l_append(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	(void)out;
	return py_push(r, c->self, c->a[0]);
}

static int l_insert(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pylist *l = c->self.l;
	int64_t i;

	(void)out;
	TRY(py_int_arg(r, c->a[0], 0, &i));
	TRY(py_push(r, c->self, c->a[1]));
	int64_t n = (int64_t)l->n - 1;
	i = i < 0 ? i + n : i;
	i = i < 0 ? 0 : i > n ? n : i;
	memmove(l->at + i + 1, l->at + i, (size_t)(n - i) * sizeof *l->at);
	l->at[i] = c->a[1];
	return py_spend(r, (uint64_t)n / PY_STEP_ITEMS);
}

static int l_extend(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyval list;

	(void)out;
	TRY(py_to_list(r, &list, c->a[0]));
	for (size_t i = 0; i < list.l->n; i++)
		TRY(py_push(r, c->self, list.l->at[i]));
	return r->rc;
}

static int l_pop(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pylist *l = c->self.l;
	int64_t i;

	TRY(py_int_arg(r, c->a[0], -1, &i));
	if (i < 0)
		i += (int64_t)l->n;
	if (i < 0 || i >= (int64_t)l->n)
		return py_fail(r, "pop index out of range");
	*out = l->at[i];
	l->n--;
	memmove(l->at + i, l->at + i + 1, (l->n - (size_t)i) * sizeof *l->at);
	return py_spend(r, l->n / PY_STEP_ITEMS);
}

static int l_clear(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	(void)out;
	c->self.l->n = 0;
	return r->rc;
}

static int l_reverse(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pylist *l = c->self.l;

	(void)out;
	for (size_t i = 0; i < l->n / 2; i++) {
		struct pyval v = l->at[i];
		l->at[i] = l->at[l->n - 1 - i];
		l->at[l->n - 1 - i] = v;
	}
	return py_spend(r, l->n / PY_STEP_ITEMS);
}

static int l_index(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	for (size_t i = 0; i < c->self.l->n && !r->rc; i++)
		if (py_eq(r, c->self.l->at[i], c->a[0])) {
			*out = py_int((int64_t)i);
			return r->rc;
		}
	return py_fail(r, "the value is not in the list");
}

static int l_remove(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyval at = { 0 };

	TRY(l_index(r, c, &at));
	c->a[0] = at;
	TRY(l_pop(r, c, out));
	*out = py_none();
	return r->rc;
}

static int l_count(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	int64_t n = 0;

	for (size_t i = 0; i < c->self.l->n && !r->rc; i++)
		n += py_eq(r, c->self.l->at[i], c->a[0]);
	*out = py_int(n);
	return r->rc;
}

static int l_copy(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return py_to_list(r, out, c->self);
}

const struct pyfn py_list_methods[] = { { "append", l_append, "object", 1, 1 },
	                                { "insert", l_insert, "index object", 2, 1 },
	                                { "extend", l_extend, "iterable", 1, 1 },
	                                { "pop", l_pop, "index", 0, 1 },
	                                { "clear", l_clear, "", 0, 1 },
	                                { "reverse", l_reverse, "", 0, 1 },
	                                { "remove", l_remove, "value", 1, 1 },
	                                { "sort", NULL, NULL, 0, 1 },
	                                { "index", l_index, "value", 1, 0 },
	                                { "count", l_count, "value", 1, 0 },
	                                { "copy", l_copy, "", 0, 0 },
	                                { NULL } };

static int make_view(struct pyrun *r, struct pycall *c, enum py_view what, struct pyval *out)
{
	struct pyview *v = py_alloc(r, 1, sizeof *v);

	if (!v)
		return r->rc;
	v->d = c->self.d;
	v->what = what;
	*out = (struct pyval){ .type = PY_VIEW, .view = v };
	return INFER_OK;
}

static int d_keys(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_view(r, c, PY_KEYS, out);
}
static int d_values(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_view(r, c, PY_VALUES, out);
}
static int d_items(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_view(r, c, PY_ITEMS, out);
}

static int d_get(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	size_t at;

	TRY(pydict_find(r, c->self.d, c->a[0], &at));
	*out = at < c->self.d->n ? c->self.d->at[at].v : c->a[1].type ? c->a[1] : py_none();
	return r->rc;
}

static int d_copy(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	TRY(py_dict(r, out, PY_DICT, c->self.d->n));
	for (size_t i = 0; i < c->self.d->n; i++)
		out->d->at[out->d->n++] = c->self.d->at[i];
	return py_spend(r, c->self.d->n / PY_STEP_ITEMS);
}

static int d_pop(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pydict *d = c->self.d;
	size_t at;

	TRY(pydict_find(r, d, c->a[0], &at));
	if (at >= d->n) {
		*out = c->a[1];
		return c->a[1].type ? r->rc : py_fail(r, "pop of a key that is not there");
	}
	*out = d->at[at].v;
	d->n--;
	memmove(d->at + at, d->at + at + 1, (d->n - at) * sizeof *d->at);
	return py_spend(r, d->n / PY_STEP_ITEMS);
}

static int d_setdefault(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	size_t at;

	TRY(pydict_find(r, c->self.d, c->a[0], &at));
	*out = at < c->self.d->n ? c->self.d->at[at].v : c->a[1].type ? c->a[1] : py_none();
	return at < c->self.d->n ? r->rc : pydict_put(r, c->self.d, c->a[0], *out);
}

static int d_update(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	(void)out;
	if (c->n > 1 || (c->n && c->pos[0].type != PY_DICT))
		return py_fail(r, "update needs a dict and keywords");
	for (size_t i = 0; c->n && i < c->pos[0].d->n; i++)
		TRY(pydict_put(r, c->self.d, c->pos[0].d->at[i].k, c->pos[0].d->at[i].v));
	for (uint32_t i = 0; i < c->nkw; i++)
		TRY(pydict_put(r, c->self.d, (struct pyval){ .type = PY_STR, .s = c->name[i] },
		               c->kw[i]));
	return r->rc;
}

static int d_clear(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	(void)out;
	c->self.d->n = 0;
	return r->rc;
}

const struct pyfn py_dict_methods[] = {
	{ "get", d_get, "key default", 1, 0 }, { "items", d_items, "", 0, 0 },
	{ "keys", d_keys, "", 0, 0 },          { "values", d_values, "", 0, 0 },
	{ "copy", d_copy, "", 0, 0 },          { "fromkeys", NULL, NULL, 0, 0 },
	{ "pop", d_pop, "key default", 1, 1 }, { "setdefault", d_setdefault, "key default", 1, 1 },
	{ "update", d_update, NULL, 0, 1 },    { "clear", d_clear, "", 0, 1 },
	{ "popitem", NULL, NULL, 0, 1 },       { NULL }
};
