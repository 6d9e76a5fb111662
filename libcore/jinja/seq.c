/* jinja/seq.c - filters on sequences, and the generators that some of them return. */
#include "jinja/run.h"
#include "pyval/case.h"
#include "base/err.h"

#include <string.h>

/* ---- attribute= ---- */

static struct jv int_or_text(struct jrun *r, const struct jstr *s, size_t from, size_t n)
{
	struct jstr part = { .at = s->at + from, .len = n };
	struct jv v = { 0 };
	size_t digits = 0;
	int64_t i;

	while (digits < n && part.at[digits] >= '0' && part.at[digits] <= '9')
		digits++;
	if (n && digits == n && !jstr_int(r, &part, 10, &i))
		return jv_int(i);
	jv_sub(r, &v, s, from, n);
	return v;
}

/* The attribute "a.b.0" of v, part by part; missing or none: v itself. */
int jattr_get(struct jrun *r, struct jv v, struct jv key, struct jv absent, struct jv *out)
{
	*out = v;
	if (key.type <= J_NONE && key.type != J_UNDEF)
		return r->rc;
	if (key.type != J_STR)
		return jinja_item(r, v, key, out);
	for (size_t from = 0; from <= key.s->len;) {
		const char *dot = memchr(key.s->at + from, '.', key.s->len - from);
		size_t n = dot ? (size_t)(dot - key.s->at) - from : key.s->len - from;
		TRY(jinja_spend(r, 1 + n / JSTEP_READ));
		struct jv part = int_or_text(r, key.s, from, n);
		TRY(r->rc);
		TRY(jinja_item(r, *out, part, &v));
		*out = v.type == J_UNDEF && absent.type > J_NONE ? absent : v;
		from += n + 1;
	}
	return r->rc;
}

static int fold(struct jrun *r, struct jv *v, struct jv keep_case)
{
	return v->type == J_STR && !jv_true(keep_case) ? jcase_str(r, v->s, JCASE_LOWER, v) : r->rc;
}

/* ---- generators ---- */

int jgen_new(struct jrun *r, struct jv *out, enum jgen_kind kind, struct jv src, struct jgen **g)
{
	*g = jinja_take(r, 1, sizeof **g);
	if (!*g)
		return r->rc;
	(*g)->kind = kind;
	(*g)->src = src;
	*out = (struct jv){ .type = J_GEN, .gen = *g };
	return INFER_OK;
}

int jgen_of(struct jrun *r, struct jv *out, struct jv list)
{
	struct jgen *g;

	return jgen_new(r, out, JG_LIST, list, &g);
}

/* The function that is named by the first of the remaining arguments. */
static int named(struct jrun *r, struct jgen *g, const struct jfn *(*find)(const char *, size_t),
                 const char *what)
{
	const struct jv *v = g->args.pos;

	if (v[0].type != J_STR)
		return jinja_fail(r, "the name of a %s must be a string", what);
	g->fn = find(v[0].s->at, v[0].s->len);
	if (!g->fn)
		return jinja_fail(r, "no %s named '%.*s'", what, (int)(v[0].s->len & 63),
		                  v[0].s->at);
	g->args.pos++;
	g->args.n--;
	return r->rc;
}

static int start_map(struct jrun *r, struct jgen *g)
{
	struct jcall *c = &g->args;

	if (c->n)
		return named(r, g, jfn_filter, "filter");
	for (uint32_t i = 0; i < c->nkw; i++) {
		int attr = c->name[i]->len == 9 && !memcmp(c->name[i]->at, "attribute", 9);
		if (!attr && (c->name[i]->len != 7 || memcmp(c->name[i]->at, "default", 7)))
			return jinja_fail(r, "map got an unexpected keyword argument");
		*(attr ? &g->key : &g->absent) = c->kw[i];
	}
	return g->key.type ? r->rc : jinja_fail(r, "map requires a filter argument");
}

static int start(struct jrun *r, struct jgen *g)
{
	g->started = 1;
	if ((g->kind == JG_MAP || g->kind == JG_SELECT) && !jv_true(g->src)) {
		g->done = 1;
		return r->rc;
	}
	if (g->kind == JG_ITEMS && g->src.type != J_DICT && g->src.type != J_UNDEF)
		return jinja_fail(r, "can only get item pairs from a mapping");
	if (g->kind == JG_MAP)
		TRY(start_map(r, g));
	if (g->kind == JG_SELECT && g->attr) {
		if (!g->args.n)
			return jinja_fail(r, "missing parameter for attribute name");
		g->key = *g->args.pos++;
		g->args.n--;
	}
	if (g->kind == JG_SELECT && g->args.n)
		TRY(named(r, g, jfn_test, "test"));
	if (g->kind == JG_UNIQUE)
		TRY(jv_dict(r, &g->seen, J_DICT, 0));
	return jiter_init(r, &g->it, g->src);
}

static int apply(struct jrun *r, struct jgen *g, struct jv item, struct jv *out)
{
	struct jcall c = g->args;

	c.self = item;
	return jfn_call(r, g->fn, &c, out);
}

/* Whether the item passes; for map, the result. */
static int pass(struct jrun *r, struct jgen *g, struct jv *v, int *yes)
{
	struct jv key, got;
	size_t at;

	*yes = 1;
	switch (g->kind) {
	case JG_MAP:
		if (g->fn)
			TRY(apply(r, g, *v, &got));
		else
			TRY(jattr_get(r, *v, g->key, g->absent, &got));
		*v = got;
		return r->rc;
	case JG_SELECT:
		TRY(jattr_get(r, *v, g->key, g->absent, &key));
		got = key;
		if (g->fn)
			TRY(apply(r, g, key, &got));
		*yes = jv_true(got) != g->negate;
		return r->rc;
	case JG_UNIQUE:
		TRY(jattr_get(r, *v, g->key, g->absent, &key));
		TRY(fold(r, &key, jv_bool(g->negate)));
		TRY(jdict_find(r, g->seen.d, key, &at));
		*yes = at == g->seen.d->n;
		return *yes ? jdict_put(r, g->seen.d, key, jv_none()) : r->rc;
	case JG_ITEMS:
		TRY(jv_list(r, &got, J_TUPLE, 2));
		got.l->at[0] = *v;
		TRY(jdict_find(r, g->src.d, *v, &at));
		got.l->at[1] = at < g->src.d->n ? g->src.d->at[at].v : jv_none();
		got.l->n = 2;
		*v = got;
		return r->rc;
	default:
		return r->rc;
	}
}

int jgen_next(struct jrun *r, struct jgen *g, struct jv *out)
{
	int yes = 0;

	if (jinja_enter(r))
		return 0;
	if (!g->started)
		start(r, g);
	while (!r->rc && !g->done && !yes) {
		if (!jiter_next(r, &g->it, out))
			g->done = 1;
		else if (pass(r, g, out, &yes))
			yes = 0;
	}
	r->depth--;
	return yes && !r->rc;
}

static int lazy(struct jrun *r, struct jcall *c, struct jv *out, enum jgen_kind kind, int negate,
                int attr)
{
	struct jgen *g;

	TRY(jgen_new(r, out, kind, c->self, &g));
	g->args = *c;
	g->negate = negate;
	g->attr = attr;
	if (c->n) { /* a copy, because the original may be on the stack of the caller */
		g->args.pos = jinja_take(r, c->n, sizeof *c->pos);
		if (!g->args.pos)
			return r->rc;
		memcpy(g->args.pos, c->pos, c->n * sizeof *c->pos);
	}
	return r->rc;
}

static int s_map(struct jrun *r, struct jcall *c, struct jv *out)
{
	return lazy(r, c, out, JG_MAP, 0, 0);
}
static int s_select(struct jrun *r, struct jcall *c, struct jv *out)
{
	return lazy(r, c, out, JG_SELECT, 0, 0);
}
static int s_reject(struct jrun *r, struct jcall *c, struct jv *out)
{
	return lazy(r, c, out, JG_SELECT, 1, 0);
}
static int s_selectattr(struct jrun *r, struct jcall *c, struct jv *out)
{
	return lazy(r, c, out, JG_SELECT, 0, 1);
}
static int s_rejectattr(struct jrun *r, struct jcall *c, struct jv *out)
{
	return lazy(r, c, out, JG_SELECT, 1, 1);
}

static int s_items(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jgen *g;

	return jgen_new(r, out, JG_ITEMS, c->self, &g);
}

static int s_unique(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jgen *g;

	TRY(jgen_new(r, out, JG_UNIQUE, c->self, &g));
	g->negate = jv_true(c->a[0]); /* keeps case */
	g->key = c->a[1];
	return r->rc;
}

/* ---- selecting one item ---- */

static int s_first(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jiter it;

	TRY(jiter_init(r, &it, c->self));
	if (c->self.type == J_GEN || c->self.type == J_LOOP)
		it.src = c->self;
	if (!jiter_next(r, &it, out) && !r->rc)
		return jv_undef_why(r, out, "no first item, sequence was empty");
	return r->rc;
}

static int s_last(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jv list;

	if (c->self.type == J_GEN)
		return jinja_fail(r, "'generator' object is not reversible");
	TRY(jv_to_list(r, &list, c->self));
	if (!list.l->n)
		return jv_undef_why(r, out, "no last item, sequence was empty");
	*out = list.l->at[list.l->n - 1];
	return r->rc;
}

static int extreme(struct jrun *r, struct jcall *c, const char *op, struct jv *out)
{
	struct jiter it;
	struct jv v, key, best = { 0 };
	int sign, n = 0;

	TRY(jiter_init(r, &it, c->self));
	while (jiter_next(r, &it, &v)) {
		TRY(jattr_get(r, v, c->a[1], (struct jv){ 0 }, &key));
		TRY(fold(r, &key, c->a[0]));
		if (n)
			TRY(jv_cmp(r, key, best, op, &sign));
		if (!n++ || sign == (*op == '<' ? -1 : 1)) {
			best = key;
			*out = v;
		}
	}
	return n || r->rc ? r->rc : jv_undef_why(r, out, "no aggregated item, sequence was empty");
}

static int s_min(struct jrun *r, struct jcall *c, struct jv *out)
{
	return extreme(r, c, "<", out);
}
static int s_max(struct jrun *r, struct jcall *c, struct jv *out)
{
	return extreme(r, c, ">", out);
}

static int s_sum(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jiter it;
	struct jv v, item;

	*out = c->a[1].type ? c->a[1] : jv_int(0);
	if (out->type == J_STR)
		return jinja_fail(r, "sum() can't sum strings");
	TRY(jiter_init(r, &it, c->self));
	while (jiter_next(r, &it, &v)) {
		TRY(jattr_get(r, v, c->a[0], (struct jv){ 0 }, &item));
		TRY(jinja_binary(r, JT_ADD, *out, item, &v));
		*out = v;
	}
	return r->rc;
}

static int s_join(struct jrun *r, struct jcall *c, struct jv *out)
{
	static const struct jstr none = { .at = "" };
	const struct jstr *sep = &none;
	struct jsb b = { .r = r };
	struct jiter it;
	struct jv v, item;
	int n = 0;

	if (c->a[0].type)
		TRY(jv_to_str(r, c->a[0], &sep));
	TRY(jiter_init(r, &it, c->self));
	while (jiter_next(r, &it, &v)) {
		TRY(jattr_get(r, v, c->a[1], (struct jv){ 0 }, &item));
		if (n++)
			jsb_str(&b, sep);
		jv_text(&b, item);
	}
	return jsb_done(&b, out);
}

/* ---- order ---- */

/* The list of an item's attributes named "a,b.c". */
static int sort_key(struct jrun *r, struct jv item, struct jv attr, struct jv keep_case,
                    struct jv *key)
{
	struct jv part, v;
	size_t from = 0, n = 0, end = attr.type == J_STR ? attr.s->len : 0;

	TRY(jv_list(r, key, J_LIST, 1));
	for (; from <= end; from += n + 1) {
		part = attr;
		if (attr.type == J_STR) {
			TRY(jinja_spend(r, 1));
			const char *comma = memchr(attr.s->at + from, ',', end - from);
			n = comma ? (size_t)(comma - attr.s->at) - from : end - from;
			TRY(jv_sub(r, &part, attr.s, from, n));
		}
		TRY(jattr_get(r, item, part, (struct jv){ 0 }, &v));
		TRY(fold(r, &v, keep_case));
		TRY(jv_push(r, *key, v));
	}
	return r->rc;
}

static int s_sort(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jdict d = { 0 };
	struct jiter it;
	struct jv v, key;

	TRY(jiter_init(r, &it, c->self));
	while (jiter_next(r, &it, &v)) {
		TRY(sort_key(r, v, c->a[2], c->a[1], &key));
		TRY(jdict_add(r, &d, key, v));
	}
	TRY(r->rc);
	TRY(jdict_sort(r, &d, jv_true(c->a[0])));
	TRY(jv_list(r, out, J_LIST, d.n));
	for (size_t i = 0; i < d.n; i++)
		out->l->at[out->l->n++] = d.at[i].v;
	return r->rc;
}

static int is_text(struct jv v, const char *s)
{
	return v.type == J_STR && v.s->len == strlen(s) && !memcmp(v.s->at, s, v.s->len);
}

static int s_dictsort(struct jrun *r, struct jcall *c, struct jv *out)
{
	int by_value = is_text(c->a[1], "value");

	if (c->self.type != J_DICT)
		return c->self.type == J_UNDEF ? jv_undef_fail(r, c->self)
		                               : jinja_fail(r, "dictsort wants a mapping");
	if (c->a[1].type && !by_value && !is_text(c->a[1], "key"))
		return jinja_fail(r, "you can only sort by either \"key\" or \"value\"");
	return jdict_sorted(r, c->self.d,
	                    (by_value ? JSORT_BY_VALUE : 0) |
	                            (jv_true(c->a[0]) ? JSORT_KEEP_CASE : 0) |
	                            (jv_true(c->a[2]) ? JSORT_DOWN : 0),
	                    out);
}

static int s_groupby(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jdict d = { 0 };
	struct jiter it;
	struct jv v, key, group = { 0 };

	TRY(jiter_init(r, &it, c->self));
	while (jiter_next(r, &it, &v)) {
		TRY(jattr_get(r, v, c->a[0], c->a[1], &key));
		TRY(fold(r, &key, c->a[2]));
		TRY(jdict_add(r, &d, key, v));
	}
	TRY(r->rc);
	TRY(jdict_sort(r, &d, 0));
	TRY(jv_list(r, out, J_LIST, 0));
	for (size_t i = 0; i < d.n && !r->rc; i++) {
		if (!i || !jv_eq(r, d.at[i].k, d.at[i - 1].k)) {
			/* its first item's, in its case */
			TRY(jattr_get(r, d.at[i].v, c->a[0], c->a[1], &key));
			TRY(jv_list(r, &group, J_TUPLE, 2));
			group.l->group = 1;
			TRY(jv_push(r, group, jv_true(c->a[2]) ? d.at[i].k : key));
			TRY(jv_list(r, &v, J_LIST, 0));
			TRY(jv_push(r, group, v));
			TRY(jv_push(r, *out, group));
		}
		TRY(jv_push(r, group.l->at[1], d.at[i].v));
	}
	return r->rc;
}

static int s_reverse(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jv back[3] = { { 0 }, { 0 }, { .type = J_INT, .i = -1 } };
	struct jv list;

	if (c->self.type == J_STR)
		return jinja_slice(r, c->self, back, out);
	TRY(jv_to_list(r, &list, c->self));
	for (size_t i = 0, n = list.l->n; i < n / 2; i++) {
		struct jv v = list.l->at[i];
		list.l->at[i] = list.l->at[n - 1 - i];
		list.l->at[n - 1 - i] = v;
	}
	if (c->self.type == J_GEN) { /* was converted to a list, and remains one */
		*out = list;
		return r->rc;
	}
	return jgen_of(r, out, list);
}

static int s_list(struct jrun *r, struct jcall *c, struct jv *out)
{
	return jv_to_list(r, out, c->self);
}

/* ---- pieces ---- */

static int s_batch(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jv all, part = { 0 }, v;
	struct jiter it;
	int64_t n;

	TRY(jint_arg(r, c->a[0], 0, &n));
	TRY(jv_list(r, &all, J_LIST, 0));
	TRY(jiter_init(r, &it, c->self));
	while (jiter_next(r, &it, &v)) {
		if (!part.type || (int64_t)part.l->n == n) {
			TRY(jv_list(r, &part, J_LIST, 0));
			TRY(jv_push(r, all, part));
		}
		TRY(jv_push(r, part, v));
	}
	while (part.type && c->a[1].type > J_NONE && (int64_t)part.l->n < n)
		TRY(jv_push(r, part, c->a[1]));
	return r->rc ? r->rc : jgen_of(r, out, all);
}

static int s_slice(struct jrun *r, struct jcall *c, struct jv *out)
{
	struct jv list, all, part;
	int64_t slices;
	size_t at = 0;

	TRY(jint_arg(r, c->a[0], 0, &slices));
	TRY(jv_to_list(r, &list, c->self));
	TRY(jv_list(r, &all, J_LIST, 0));
	if (!slices)
		return jinja_fail(r, "integer division or modulo by zero");
	for (int64_t i = 0; i < slices; i++) {
		size_t n = list.l->n / (size_t)slices,
		       extra = i < (int64_t)(list.l->n % (size_t)slices);
		TRY(jv_list(r, &part, J_LIST, n + 1));
		for (size_t k = 0; k < n + extra; k++)
			TRY(jv_push(r, part, list.l->at[at++]));
		if (c->a[1].type > J_NONE && !extra)
			TRY(jv_push(r, part, c->a[1]));
		TRY(jv_push(r, all, part));
	}
	return jgen_of(r, out, all);
}

const struct jfn jinja_seq_filters[] = {
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
