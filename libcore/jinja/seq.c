/* jinja/seq.c - filters of sequences, and the generators that some of them return. */
#include "jinja/run.h"
#include "pyval/case.h"
#include "base/err.h"

#include <string.h>

/* ---- attribute= ---- */

static struct pyval parse_key(struct pyrun *r, const struct pystr *s, size_t from, size_t n)
{
	struct pystr part = { .at = s->at + from, .len = n };
	struct pyval v = { 0 };
	size_t digits = 0;
	int64_t i;

	while (digits < n && part.at[digits] >= '0' && part.at[digits] <= '9')
		digits++;
	if (n && digits == n && !pystr_int(r, &part, 10, &i))
		return py_int(i);
	py_sub(r, &v, s, from, n);
	return v;
}

/* Return the attribute `key` ("a.b.0") of v, or `absent`. key missing or None: v itself. */
static int get_attribute(struct pyrun *r, struct pyval v, struct pyval key, struct pyval absent,
                         struct pyval *out)
{
	*out = v;
	if (key.type <= PY_NONE && key.type != PY_UNDEF)
		return r->rc;
	if (key.type != PY_STR)
		return py_item(r, v, key, out);
	for (size_t from = 0; from <= key.s->len;) {
		const char *dot = memchr(key.s->at + from, '.', key.s->len - from);
		size_t n = dot ? (size_t)(dot - key.s->at) - from : key.s->len - from;
		TRY(py_spend(r, 1 + n / PY_STEP_READ));
		struct pyval part = parse_key(r, key.s, from, n);
		TRY(r->rc);
		TRY(py_item(r, *out, part, &v));
		*out = v.type == PY_UNDEF && absent.type > PY_NONE ? absent : v;
		from += n + 1;
	}
	return r->rc;
}

static int fold_case(struct pyrun *r, struct pyval *v, struct pyval keep_case)
{
	return v->type == PY_STR && !py_true(keep_case) ? pystr_to_case(r, v->s, PY_LOWER, v)
	                                                : r->rc;
}

/* ---- generators ---- */

static int new_generator(struct pyrun *r, struct pyval *out, enum jgen_kind kind, struct pyval src,
                         struct jgen **g)
{
	*g = py_alloc(r, 1, sizeof **g);
	if (!*g)
		return r->rc;
	(*g)->kind = kind;
	(*g)->src = src;
	*out = (struct pyval){ .type = PY_GEN, .gen = *g };
	return INFER_OK;
}

/* Make an iterator over a list. */
static int iterate_list(struct pyrun *r, struct pyval *out, struct pyval list)
{
	struct jgen *g;

	return new_generator(r, out, JG_LIST, list, &g);
}

/* Find the filter or test that the first remaining argument names. */
static int find_function(struct pyrun *r, struct jgen *g,
                         const struct pyfn *(*find)(const char *, size_t), const char *what)
{
	const struct pyval *v = g->args.pos;

	if (v[0].type != PY_STR)
		return py_fail(r, "the name of a %s must be a string", what);
	g->fn = find(v[0].s->at, v[0].s->len);
	if (!g->fn)
		return py_fail(r, "no %s named '%.*s'", what, (int)(v[0].s->len & 63), v[0].s->at);
	g->args.pos++;
	g->args.n--;
	return r->rc;
}

static int start_map(struct pyrun *r, struct jgen *g)
{
	struct pycall *c = &g->args;

	if (c->n)
		return find_function(r, g, jinja_find_filter, "filter");
	for (uint32_t i = 0; i < c->nkw; i++) {
		int attr = c->name[i]->len == 9 && !memcmp(c->name[i]->at, "attribute", 9);
		if (!attr && (c->name[i]->len != 7 || memcmp(c->name[i]->at, "default", 7)))
			return py_fail(r, "map got an unexpected keyword argument");
		*(attr ? &g->key : &g->absent) = c->kw[i];
	}
	return g->key.type ? r->rc : py_fail(r, "map requires a filter argument");
}

static int start_generator(struct pyrun *r, struct jgen *g)
{
	g->started = 1;
	if ((g->kind == JG_MAP || g->kind == JG_SELECT) && !py_true(g->src)) {
		g->done = 1;
		return r->rc;
	}
	if (g->kind == JG_ITEMS && g->src.type != PY_DICT && g->src.type != PY_UNDEF)
		return py_fail(r, "can only get item pairs from a mapping");
	if (g->kind == JG_MAP)
		TRY(start_map(r, g));
	if (g->kind == JG_SELECT && g->attr) {
		if (!g->args.n)
			return py_fail(r, "missing parameter for attribute name");
		g->key = *g->args.pos++;
		g->args.n--;
	}
	if (g->kind == JG_SELECT && g->args.n)
		TRY(find_function(r, g, jinja_find_test, "test"));
	if (g->kind == JG_UNIQUE)
		TRY(py_dict(r, &g->seen, PY_DICT, 0));
	return pyiter_init(r, &g->it, g->src);
}

static int apply_function(struct pyrun *r, struct jgen *g, struct pyval item, struct pyval *out)
{
	struct pycall c = g->args;

	c.self = item;
	return pyfn_call(r, g->fn, &c, out);
}

/* Set *yes to 1 if the item passes; for map, *v becomes its result. */
static int passes(struct pyrun *r, struct jgen *g, struct pyval *v, int *yes)
{
	struct pyval key, got;
	size_t at;

	*yes = 1;
	switch (g->kind) {
	case JG_MAP:
		if (g->fn)
			TRY(apply_function(r, g, *v, &got));
		else
			TRY(get_attribute(r, *v, g->key, g->absent, &got));
		*v = got;
		return r->rc;
	case JG_SELECT:
		TRY(get_attribute(r, *v, g->key, g->absent, &key));
		got = key;
		if (g->fn)
			TRY(apply_function(r, g, key, &got));
		*yes = py_true(got) != g->negate;
		return r->rc;
	case JG_UNIQUE:
		TRY(get_attribute(r, *v, g->key, g->absent, &key));
		TRY(fold_case(r, &key, py_bool(g->negate)));
		TRY(pydict_find(r, g->seen.d, key, &at));
		*yes = at == g->seen.d->n;
		return *yes ? pydict_put(r, g->seen.d, key, py_none()) : r->rc;
	case JG_ITEMS:
		TRY(py_list(r, &got, PY_TUPLE, 2));
		got.l->at[0] = *v;
		TRY(pydict_find(r, g->src.d, *v, &at));
		got.l->at[1] = at < g->src.d->n ? g->src.d->at[at].v : py_none();
		got.l->n = 2;
		*v = got;
		return r->rc;
	default:
		return r->rc;
	}
}

int jgen_next(struct pyrun *r, struct jgen *g, struct pyval *out)
{
	int yes = 0;

	if (py_enter(r))
		return 0;
	if (!g->started)
		start_generator(r, g);
	while (!r->rc && !g->done && !yes) {
		if (!pyiter_next(r, &g->it, out))
			g->done = 1;
		else if (passes(r, g, out, &yes))
			yes = 0;
	}
	r->depth--;
	return yes && !r->rc;
}

static int make_generator(struct pyrun *r, struct pycall *c, struct pyval *out, enum jgen_kind kind,
                          int negate, int attr)
{
	struct jgen *g;

	TRY(new_generator(r, out, kind, c->self, &g));
	g->args = *c;
	g->negate = negate;
	g->attr = attr;
	if (c->n) { /* copy the arguments: they may be on the caller's stack */
		g->args.pos = py_alloc(r, c->n, sizeof *c->pos);
		if (!g->args.pos)
			return r->rc;
		memcpy(g->args.pos, c->pos, c->n * sizeof *c->pos);
	}
	return r->rc;
}

static int s_map(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_generator(r, c, out, JG_MAP, 0, 0);
}
static int s_select(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_generator(r, c, out, JG_SELECT, 0, 0);
}
static int s_reject(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_generator(r, c, out, JG_SELECT, 1, 0);
}
static int s_selectattr(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_generator(r, c, out, JG_SELECT, 0, 1);
}
static int s_rejectattr(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_generator(r, c, out, JG_SELECT, 1, 1);
}

static int s_items(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct jgen *g;

	return new_generator(r, out, JG_ITEMS, c->self, &g);
}

static int s_unique(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct jgen *g;

	TRY(new_generator(r, out, JG_UNIQUE, c->self, &g));
	g->negate = py_true(c->a[0]); /* JG_UNIQUE: case matters */
	g->key = c->a[1];
	return r->rc;
}

/* ---- selecting one item ---- */

static int s_first(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyiter it;

	TRY(pyiter_init(r, &it, c->self));
	if (c->self.type == PY_GEN || c->self.type == PY_LOOP)
		it.src = c->self;
	if (!pyiter_next(r, &it, out) && !r->rc)
		return py_undef_why(r, out, "no first item, sequence was empty");
	return r->rc;
}

static int s_last(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyval list;

	if (c->self.type == PY_GEN)
		return py_fail(r, "'generator' object is not reversible");
	TRY(py_to_list(r, &list, c->self));
	if (!list.l->n)
		return py_undef_why(r, out, "no last item, sequence was empty");
	*out = list.l->at[list.l->n - 1];
	return r->rc;
}

static int find_extreme(struct pyrun *r, struct pycall *c, const char *op, struct pyval *out)
{
	struct pyiter it;
	struct pyval v, key, best = { 0 };
	int sign, n = 0;

	TRY(pyiter_init(r, &it, c->self));
	while (pyiter_next(r, &it, &v)) {
		TRY(get_attribute(r, v, c->a[1], (struct pyval){ 0 }, &key));
		TRY(fold_case(r, &key, c->a[0]));
		if (n)
			TRY(py_cmp(r, key, best, op, &sign));
		if (!n++ || sign == (*op == '<' ? -1 : 1)) {
			best = key;
			*out = v;
		}
	}
	return n || r->rc ? r->rc : py_undef_why(r, out, "no aggregated item, sequence was empty");
}

static int s_min(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return find_extreme(r, c, "<", out);
}
static int s_max(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return find_extreme(r, c, ">", out);
}

static int s_sum(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyiter it;
	struct pyval v, item;

	*out = c->a[1].type ? c->a[1] : py_int(0);
	if (out->type == PY_STR)
		return py_fail(r, "sum() can't sum strings");
	TRY(pyiter_init(r, &it, c->self));
	while (pyiter_next(r, &it, &v)) {
		TRY(get_attribute(r, v, c->a[0], (struct pyval){ 0 }, &item));
		TRY(jinja_binary(r, JT_ADD, *out, item, &v));
		*out = v;
	}
	return r->rc;
}

static int s_join(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	static const struct pystr none = { .at = "" };
	const struct pystr *sep = &none;
	struct pysb b = { .r = r };
	struct pyiter it;
	struct pyval v, item;
	int n = 0;

	if (c->a[0].type)
		TRY(py_to_str(r, c->a[0], &sep));
	TRY(pyiter_init(r, &it, c->self));
	while (pyiter_next(r, &it, &v)) {
		TRY(get_attribute(r, v, c->a[1], (struct pyval){ 0 }, &item));
		if (n++)
			pysb_str(&b, sep);
		py_text(&b, item);
	}
	return pysb_done(&b, out);
}

/* ---- order ---- */

/* Make the list of an item's attributes named "a,b.c". */
static int sort_key(struct pyrun *r, struct pyval item, struct pyval attr, struct pyval keep_case,
                    struct pyval *key)
{
	struct pyval part, v;
	size_t from = 0, n = 0, end = attr.type == PY_STR ? attr.s->len : 0;

	TRY(py_list(r, key, PY_LIST, 1));
	for (; from <= end; from += n + 1) {
		part = attr;
		if (attr.type == PY_STR) {
			TRY(py_spend(r, 1));
			const char *comma = memchr(attr.s->at + from, ',', end - from);
			n = comma ? (size_t)(comma - attr.s->at) - from : end - from;
			TRY(py_sub(r, &part, attr.s, from, n));
		}
		TRY(get_attribute(r, item, part, (struct pyval){ 0 }, &v));
		TRY(fold_case(r, &v, keep_case));
		TRY(py_push(r, *key, v));
	}
	return r->rc;
}

static int s_sort(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pydict d = { 0 };
	struct pyiter it;
	struct pyval v, key;

	TRY(pyiter_init(r, &it, c->self));
	while (pyiter_next(r, &it, &v)) {
		TRY(sort_key(r, v, c->a[2], c->a[1], &key));
		TRY(pydict_add(r, &d, key, v));
	}
	TRY(r->rc);
	TRY(pydict_sort(r, &d, py_true(c->a[0])));
	TRY(py_list(r, out, PY_LIST, d.n));
	for (size_t i = 0; i < d.n; i++)
		out->l->at[out->l->n++] = d.at[i].v;
	return r->rc;
}

static int is_string_attr(struct pyval v, const char *s)
{
	return v.type == PY_STR && v.s->len == strlen(s) && !memcmp(v.s->at, s, v.s->len);
}

static int s_dictsort(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	int by_value = is_string_attr(c->a[1], "value");

	if (c->self.type != PY_DICT)
		return c->self.type == PY_UNDEF ? py_undef_fail(r, c->self)
		                                : py_fail(r, "dictsort needs a mapping");
	if (c->a[1].type && !by_value && !is_string_attr(c->a[1], "key"))
		return py_fail(r, "you can only sort by either \"key\" or \"value\"");
	return pydict_sorted(r, c->self.d,
	                     (by_value ? PY_SORT_BY_VALUE : 0) |
	                             (py_true(c->a[0]) ? PY_SORT_KEEP_CASE : 0) |
	                             (py_true(c->a[2]) ? PY_SORT_DOWN : 0),
	                     out);
}

static int s_groupby(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pydict d = { 0 };
	struct pyiter it;
	struct pyval v, key, group = { 0 };

	TRY(pyiter_init(r, &it, c->self));
	while (pyiter_next(r, &it, &v)) {
		TRY(get_attribute(r, v, c->a[0], c->a[1], &key));
		TRY(fold_case(r, &key, c->a[2]));
		TRY(pydict_add(r, &d, key, v));
	}
	TRY(r->rc);
	TRY(pydict_sort(r, &d, 0));
	TRY(py_list(r, out, PY_LIST, 0));
	for (size_t i = 0; i < d.n && !r->rc; i++) {
		if (!i || !py_eq(r, d.at[i].k, d.at[i - 1].k)) {
			/* the group's key is that of its first item, with case */
			TRY(get_attribute(r, d.at[i].v, c->a[0], c->a[1], &key));
			TRY(py_list(r, &group, PY_TUPLE, 2));
			group.l->group = 1;
			TRY(py_push(r, group, py_true(c->a[2]) ? d.at[i].k : key));
			TRY(py_list(r, &v, PY_LIST, 0));
			TRY(py_push(r, group, v));
			TRY(py_push(r, *out, group));
		}
		TRY(py_push(r, group.l->at[1], d.at[i].v));
	}
	return r->rc;
}

static int s_reverse(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pyval back[3] = { { 0 }, { 0 }, { .type = PY_INT, .i = -1 } };
	struct pyval list;

	if (c->self.type == PY_STR)
		return py_slice(r, c->self, back, out);
	TRY(py_to_list(r, &list, c->self));
	for (size_t i = 0, n = list.l->n; i < n / 2; i++) {
		struct pyval v = list.l->at[i];
		list.l->at[i] = list.l->at[n - 1 - i];
		list.l->at[n - 1 - i] = v;
	}
	if (c->self.type == PY_GEN) { /* the list of its items is the result */
		*out = list;
		return r->rc;
	}
	return iterate_list(r, out, list);
}

static int s_list(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return py_to_list(r, out, c->self);
}

/* ---- pieces ---- */

static int s_batch(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyval all, part = { 0 }, v;
	struct pyiter it;
	int64_t n;

	TRY(py_int_arg(r, c->a[0], 0, &n));
	TRY(py_list(r, &all, PY_LIST, 0));
	TRY(pyiter_init(r, &it, c->self));
	while (pyiter_next(r, &it, &v)) {
		if (!part.type || (int64_t)part.l->n == n) {
			TRY(py_list(r, &part, PY_LIST, 0));
			TRY(py_push(r, all, part));
		}
		TRY(py_push(r, part, v));
	}
	while (part.type && c->a[1].type > PY_NONE && (int64_t)part.l->n < n)
		TRY(py_push(r, part, c->a[1]));
	return r->rc ? r->rc : iterate_list(r, out, all);
}

static int s_slice(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyval list, all, part;
	int64_t slices;
	size_t at = 0;

	TRY(py_int_arg(r, c->a[0], 0, &slices));
	TRY(py_to_list(r, &list, c->self));
	TRY(py_list(r, &all, PY_LIST, 0));
	if (!slices)
		return py_fail(r, "integer division or modulo by zero");
	for (int64_t i = 0; i < slices; i++) {
		size_t n = list.l->n / (size_t)slices,
		       extra = i < (int64_t)(list.l->n % (size_t)slices);
		TRY(py_list(r, &part, PY_LIST, n + 1));
		for (size_t k = 0; k < n + extra; k++)
			TRY(py_push(r, part, list.l->at[at++]));
		if (c->a[1].type > PY_NONE && !extra)
			TRY(py_push(r, part, c->a[1]));
		TRY(py_push(r, all, part));
	}
	return iterate_list(r, out, all);
}

const struct pyfn jinja_seq_filters[] = {
	{ "batch", s_batch, "linecount fill_with", 1, 0 },
	{ "dictsort", s_dictsort, "case_sensitive by reverse", 0, 0 },
	{ "first", s_first, "", 0, 0 },
	{ "groupby", s_groupby, "attribute default case_sensitive", 1, 0 },
	{ "items", s_items, "", 0, 0 },
	{ "join", s_join, "d attribute", 0, 0 },
	{ "last", s_last, "", 0, 0 },
	{ "list", s_list, "", 0, 0 },
	{ "map", s_map, NULL, 0, 0 },
	{ "max", s_max, "case_sensitive attribute", 0, 0 },
	{ "min", s_min, "case_sensitive attribute", 0, 0 },
	{ "reject", s_reject, NULL, 0, 0 },
	{ "rejectattr", s_rejectattr, NULL, 0, 0 },
	{ "reverse", s_reverse, "", 0, 0 },
	{ "select", s_select, NULL, 0, 0 },
	{ "selectattr", s_selectattr, NULL, 0, 0 },
	{ "slice", s_slice, "slices fill_with", 1, 0 },
	{ "sort", s_sort, "reverse case_sensitive attribute", 0, 0 },
	{ "sum", s_sum, "attribute start", 0, 0 },
	{ "unique", s_unique, "case_sensitive attribute", 0, 0 },
	{ NULL }
};
