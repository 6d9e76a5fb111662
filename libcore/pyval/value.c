/* pyval/value.c - make values, convert JSON, compare, dicts. */
#include "pyval/str.h"
#include "base/err.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <stdio.h>
#include <string.h>

int py_sub(struct pyrun *r, struct pyval *out, const struct pystr *s, size_t at, size_t n)
{
	struct pystr *p = py_alloc(r, 1, sizeof *p);

	if (!p)
		return r->rc;
	*p = *s;
	p->at += at;
	p->len = n;
	p->mask = s->mask ? s->mask + at : NULL;
	*out = (struct pyval){ .type = PY_STR, .s = p };
	return INFER_OK;
}

int py_str(struct pyrun *r, struct pyval *out, const char *s, size_t n, enum py_origin from)
{
	char *p = py_alloc(r, n + 1, 1);

	if (!p)
		return r->rc;
	memcpy(p, s, n);
	return py_sub(r, out, &(struct pystr){ .at = p, .from = (uint8_t)from }, 0, n);
}

int py_lit(struct pyrun *r, struct pyval *out, const char *s)
{
	return py_str(r, out, s, strlen(s), PY_FROM_TEMPLATE);
}

int py_list(struct pyrun *r, struct pyval *out, enum py_type type, size_t cap)
{
	struct pylist *l = py_alloc(r, 1, sizeof *l);

	if (!l || (cap && !(l->at = py_alloc(r, cap, sizeof *l->at))))
		return r->rc;
	l->cap = cap;
	*out = (struct pyval){ .type = (uint8_t)type, .l = l };
	return INFER_OK;
}

int py_push(struct pyrun *r, struct pyval list, struct pyval item)
{
	struct pylist *l = list.l;

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 4;
		struct pyval *at = py_alloc(r, cap, sizeof *at);
		if (!at)
			return r->rc;
		if (l->n)
			memcpy(at, l->at, l->n * sizeof *at);
		l->at = at;
		l->cap = cap;
	}
	l->at[l->n++] = item;
	return py_spend(r, 1);
}

int py_dict(struct pyrun *r, struct pyval *out, enum py_type type, size_t cap)
{
	struct pydict *d = py_alloc(r, 1, sizeof *d);

	if (!d || (cap && !(d->at = py_alloc(r, cap, sizeof *d->at))))
		return r->rc;
	d->cap = cap;
	*out = (struct pyval){ .type = (uint8_t)type, .d = d };
	return INFER_OK;
}

int py_undef(struct pyrun *r, struct pyval *out, const char *owner, const struct pystr *name)
{
	struct pyundef *u = py_alloc(r, 1, sizeof *u);

	if (!u)
		return r->rc;
	u->owner = owner;
	u->name = name;
	*out = (struct pyval){ .type = PY_UNDEF, .undef = u };
	return INFER_OK;
}

int py_undef_why(struct pyrun *r, struct pyval *out, const char *why)
{
	struct pyundef *u = py_alloc(r, 1, sizeof *u);

	if (!u)
		return r->rc;
	u->why = why;
	*out = (struct pyval){ .type = PY_UNDEF, .undef = u };
	return INFER_OK;
}

int py_undef_fail(struct pyrun *r, struct pyval v)
{
	const struct pyundef *u = v.undef;
	int n = u->name ? u->name->len < 80 ? (int)u->name->len : 80 : 0;

	if (u->why)
		return py_fail(r, "%s", u->why);
	if (u->owner)
		return py_fail(r, "'%s' has no attribute '%.*s'", u->owner, n,
		               n ? u->name->at : "");
	return py_fail(r, "'%.*s' is undefined", n, n ? u->name->at : "");
}

/* ---- from JSON ---- */

/* True for a word such as a role. By itself it is not a special token, but with characters of the
 * template it may form one. */
static int is_lower_word(const char *s, size_t n)
{
	if (n > 32)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && s[i] != '_')
			return 0;
	return 1;
}

static int is_trusted(const struct pyrun *r, const struct json *j, int top)
{
	for (const char *const *t = r->trusted; j->key && t && *t; t++)
		if (strlen(*t) == j->key_n && !memcmp(*t, j->key, j->key_n))
			return top || is_lower_word(j->s, j->n);
	return 0;
}

/* Convert one value. A list or dict is created empty, with room for its items. */
static int from_json_value(struct pyrun *r, struct pyval *out, const struct json *j, int top)
{
	switch ((enum json_kind)j->kind) {
	case JSON_OBJECT:
		return py_dict(r, out, PY_DICT, j->n);
	case JSON_ARRAY:
		return py_list(r, out, PY_LIST, j->n);
	case JSON_STRING:
		return py_sub(r, out,
		              &(struct pystr){ .at = j->s,
		                               .from = is_trusted(r, j, top) ? PY_FROM_TEMPLATE
		                                                             : PY_FROM_DATA },
		              0, j->n);
	case JSON_INT:
		*out = py_int(j->i);
		return INFER_OK;
	case JSON_UINT:
		return py_fail(r, "%llu is beyond 64 bits with a sign", (unsigned long long)j->u);
	case JSON_REAL:
		*out = py_float(j->d);
		return INFER_OK;
	case JSON_TRUE:
	case JSON_FALSE:
		*out = py_bool(j->kind == JSON_TRUE);
		return INFER_OK;
	case JSON_NULL:
		break;
	}
	*out = py_none();
	return INFER_OK;
}

/* Append an item to a list or dict, with its key; *at is where its value is stored. */
static int append_slot(struct pyrun *r, struct pyval in, const struct json *j, struct pyval **at)
{
	if (in.type == PY_LIST) {
		*at = &in.l->at[in.l->n++];
		return INFER_OK;
	}
	struct pypair *p = &in.d->at[in.d->n];
	TRY(py_sub(r, &p->k, &(struct pystr){ .at = j->key, .from = PY_FROM_DATA }, 0, j->key_n));
	in.d->n++;
	*at = &p->v;
	return INFER_OK;
}

/* One level of nesting. down: the inner level, if an earlier value needed one. */
struct level {
	struct level *up, *down;
	const struct json *next;
	struct pyval to;
};

int py_from_json(struct pyrun *r, struct pyval *out, const struct json *j)
{
	struct level top = { 0 }, *l = &top;

	for (;;) {
		r->steps_max += r->steps_more;
		TRY(py_spend(r, 1));
		TRY(from_json_value(r, out, j, l == &top));
		if (json_first(j)) {
			if (!l->down && !(l->down = py_alloc(r, 1, sizeof *l)))
				return r->rc;
			l->down->up = l;
			l = l->down;
			l->next = json_first(j);
			l->to = *out;
		}
		while (l->up && !l->next)
			l = l->up;
		if (!l->up)
			return INFER_OK;
		j = l->next;
		l->next = j->next;
		TRY(append_slot(r, l->to, j, &out));
	}
}

/* ---- looking into values ---- */

const char *py_type_name(struct pyval v)
{
	static const char *const name[] = { "missing",    "Undefined", "NoneType",
		                            "bool",       "int",       "float",
		                            "str",        "list",      "tuple",
		                            "dict",       "range",     "Namespace",
		                            "generator",  "dict view", "TemplateReference",
		                            "Macro",      "function",  "builtin_function_or_method",
		                            "LoopContext" };

	return name[v.type];
}

int py_true(struct pyval v)
{
	switch (v.type) {
	case PY_BOOL:
	case PY_INT:
		return v.i != 0;
	case PY_FLOAT:
		return v.f != 0;
	case PY_STR:
		return v.s->len != 0;
	case PY_LIST:
	case PY_TUPLE:
		return v.l->n != 0;
	case PY_DICT:
		return v.d->n != 0;
	case PY_RANGE:
		return v.range->n != 0;
	case PY_VIEW:
		return v.view->d->n != 0;
	default:
		return v.type > PY_NONE;
	}
}

int py_same(struct pyval a, struct pyval b)
{
	if (a.type != b.type)
		return 0;
	if (a.type <= PY_NONE)
		return 1;
	if (a.type == PY_FLOAT)
		return a.f == b.f;
	/* CPython interns short strings; `is` of other strings is unspecified */
	if (a.type == PY_STR)
		return a.s->len == b.s->len && !memcmp(a.s->at, b.s->at, a.s->len);
	return a.type <= PY_INT ? a.i == b.i : (const void *)a.s == (const void *)b.s;
}

static int eq_seq(struct pyrun *r, const struct pylist *a, const struct pylist *b)
{
	if (a->n != b->n || py_enter(r))
		return 0;
	int yes = 1;
	for (size_t i = 0; i < a->n && yes; i++)
		yes = py_eq(r, a->at[i], b->at[i]);
	r->depth--;
	return yes;
}

static int eq_dict(struct pyrun *r, const struct pydict *a, const struct pydict *b)
{
	size_t at;

	if (a->n != b->n || py_enter(r))
		return 0;
	int yes = 1;
	for (size_t i = 0; i < a->n && yes; i++)
		yes = !pydict_find(r, b, a->at[i].k, &at) && at < b->n &&
		      py_eq(r, a->at[i].v, b->at[at].v);
	r->depth--;
	return yes;
}

int py_eq(struct pyrun *r, struct pyval a, struct pyval b)
{
	if (py_spend(r, 1))
		return 0;
	if (py_is_num(a) && py_is_num(b))
		return a.type != PY_FLOAT && b.type != PY_FLOAT ? a.i == b.i
		                                                : py_num(a) == py_num(b);
	if (a.type != b.type)
		return 0;
	switch (a.type) {
	case PY_UNDEF:
	case PY_NONE:
		return 1;
	case PY_STR:
		return a.s->len == b.s->len && !py_spend(r, a.s->len / PY_STEP_COPY) &&
		       !memcmp(a.s->at, b.s->at, a.s->len);
	case PY_LIST:
	case PY_TUPLE:
		return eq_seq(r, a.l, b.l);
	case PY_DICT:
		return eq_dict(r, a.d, b.d);
	case PY_RANGE:
		return a.range->n == b.range->n &&
		       (!a.range->n || (a.range->start == b.range->start &&
		                        (a.range->n == 1 || a.range->step == b.range->step)));
	default:
		return (const void *)a.s == (const void *)b.s;
	}
}

static int cmp_seq(struct pyrun *r, struct pyval a, struct pyval b, const char *op, int *sign)
{
	TRY(py_enter(r));
	size_t i = 0, n = a.l->n < b.l->n ? a.l->n : b.l->n;
	while (i < n && py_eq(r, a.l->at[i], b.l->at[i]))
		i++;
	if (!r->rc && i < n)
		py_cmp(r, a.l->at[i], b.l->at[i], op, sign);
	else
		*sign = a.l->n < b.l->n ? -1 : a.l->n > b.l->n;
	r->depth--;
	return r->rc;
}

int py_cmp(struct pyrun *r, struct pyval a, struct pyval b, const char *op, int *sign)
{
	*sign = 2;
	TRY(py_spend(r, 1));
	if (py_is_int(a) && py_is_int(b)) {
		*sign = a.i < b.i ? -1 : a.i > b.i;
	} else if (py_is_num(a) && py_is_num(b)) {
		double x = py_num(a), y = py_num(b);
		*sign = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
	} else if (a.type == PY_STR && b.type == PY_STR) {
		size_t n = a.s->len < b.s->len ? a.s->len : b.s->len;
		TRY(py_spend(r, n / PY_STEP_COPY));
		int c = memcmp(a.s->at, b.s->at, n); /* UTF-8 sorts as code points do */
		*sign = c ? (c > 0) - (c < 0) : a.s->len < b.s->len ? -1 : a.s->len > b.s->len;
	} else if (py_is_seq(a) && a.type == b.type) {
		return cmp_seq(r, a, b, op, sign);
	} else if (a.type == PY_UNDEF || b.type == PY_UNDEF) {
		return py_undef_fail(r, a.type == PY_UNDEF ? a : b);
	} else {
		return py_fail(r, "'%s' not supported between instances of '%s' and '%s'", op,
		               py_type_name(a), py_type_name(b));
	}
	return r->rc;
}

static int in_str(struct pyrun *r, struct pyval item, const struct pystr *s, int *yes)
{
	if (item.type != PY_STR)
		return py_fail(r, "'in <string>' requires string as left operand, not %s",
		               py_type_name(item));
	*yes = pystr_find(r, s, 0, s->len, item.s) != SIZE_MAX;
	return r->rc;
}

int py_in(struct pyrun *r, struct pyval item, struct pyval where, int *yes)
{
	struct pyiter it;
	struct pyval v;
	size_t at;

	*yes = 0;
	if (where.type == PY_STR)
		return in_str(r, item, where.s, yes);
	if (where.type == PY_DICT || (where.type == PY_VIEW && where.view->what == PY_KEYS)) {
		const struct pydict *d = where.type == PY_DICT ? where.d : where.view->d;
		TRY(pydict_find(r, d, item, &at));
		*yes = at < d->n;
		return INFER_OK;
	}
	TRY(pyiter_init(r, &it, where));
	while (!*yes && pyiter_next(r, &it, &v))
		*yes = py_eq(r, v, item);
	return r->rc;
}

size_t py_chars(struct pyrun *r, const struct pystr *s)
{
	size_t n = s->len, i = 0;

	py_spend(r, s->len / PY_STEP_COPY);
	/* bytes 10xxxxxx continue a character and are not counted */
	for (uint64_t w; i + 8 <= s->len; i += 8) {
		memcpy(&w, s->at + i, 8);
		n -= (w >> 7 & ~w >> 6 & 0x0101010101010101) * 0x0101010101010101 >> 56;
	}
	for (; i < s->len; i++)
		n -= (s->at[i] & 0xc0) == 0x80;
	return n;
}

int py_len(struct pyrun *r, struct pyval v, size_t *n)
{
	*n = 0;
	switch (v.type) {
	case PY_UNDEF:
		return r->rc;
	case PY_STR:
		*n = py_chars(r, v.s);
		return r->rc;
	case PY_LIST:
	case PY_TUPLE:
		*n = v.l->n;
		return r->rc;
	case PY_DICT:
	case PY_VIEW:
		*n = v.type == PY_DICT ? v.d->n : v.view->d->n;
		return r->rc;
	case PY_RANGE:
		*n = v.range->n;
		return r->rc;
	default:
		return py_fail(r, "object of type '%s' has no len()", py_type_name(v));
	}
}

/* ---- dicts ---- */

static int check_hashable(struct pyrun *r, struct pyval k)
{
	if (k.type == PY_LIST || k.type == PY_DICT)
		return py_fail(r, "unhashable type: '%s'", py_type_name(k));
	if (k.type == PY_TUPLE) {
		TRY(py_enter(r));
		for (size_t i = 0; i < k.l->n && !py_spend(r, 1); i++)
			check_hashable(r, k.l->at[i]);
		r->depth--;
	}
	return r->rc;
}

int pydict_find(struct pyrun *r, const struct pydict *d, struct pyval key, size_t *at)
{
	*at = d->n;
	if (key.type == PY_STR) {
		size_t compared = 0, i = 0;
		for (; i < d->n; i++) {
			const struct pyval *k = &d->at[i].k;
			if (k->type != PY_STR || k->s->len != key.s->len)
				continue;
			compared += key.s->len;
			if (!memcmp(k->s->at, key.s->at, key.s->len))
				break;
		}
		*at = i;
		return py_spend(r, i / PY_STEP_ITEMS + compared / PY_STEP_COPY);
	}
	TRY(check_hashable(r, key));
	for (*at = 0; *at < d->n && !r->rc && !py_eq(r, d->at[*at].k, key); ++*at)
		;
	return r->rc;
}

int pydict_push(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v)
{
	if (d->n == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 4;
		struct pypair *p = py_alloc(r, cap, sizeof *p);
		if (!p)
			return r->rc;
		if (d->n)
			memcpy(p, d->at, d->n * sizeof *p);
		d->at = p;
		d->cap = cap;
	}
	d->at[d->n++] = (struct pypair){ key, v };
	return INFER_OK;
}

int pydict_put(struct pyrun *r, struct pydict *d, struct pyval key, struct pyval v)
{
	size_t at;

	TRY(pydict_find(r, d, key, &at));
	if (at == d->n)
		return pydict_push(r, d, key, v);
	d->at[at].v = v;
	return INFER_OK;
}
