/* pyval/value.c - making values and looking into them. */
#include "pyval/str.h"
#include "base/err.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <stdio.h>
#include <string.h>

int jv_sub(struct jrun *r, struct jv *out, const struct jstr *s, size_t at, size_t n)
{
	struct jstr *p = jinja_take(r, 1, sizeof *p);

	if (!p)
		return r->rc;
	*p = *s;
	p->at += at;
	p->len = n;
	p->mask = s->mask ? s->mask + at : NULL;
	*out = (struct jv){ .type = J_STR, .s = p };
	return INFER_OK;
}

int jv_str(struct jrun *r, struct jv *out, const char *s, size_t n, enum jfrom from)
{
	char *p = jinja_take(r, n + 1, 1);

	if (!p)
		return r->rc;
	memcpy(p, s, n);
	return jv_sub(r, out, &(struct jstr){ .at = p, .from = (uint8_t)from }, 0, n);
}

int jv_lit(struct jrun *r, struct jv *out, const char *s)
{
	return jv_str(r, out, s, strlen(s), JFROM_TEMPLATE);
}

int jv_list(struct jrun *r, struct jv *out, enum jv_type type, size_t cap)
{
	struct jlist *l = jinja_take(r, 1, sizeof *l);

	if (!l || (cap && !(l->at = jinja_take(r, cap, sizeof *l->at))))
		return r->rc;
	l->cap = cap;
	*out = (struct jv){ .type = (uint8_t)type, .l = l };
	return INFER_OK;
}

int jv_push(struct jrun *r, struct jv list, struct jv item)
{
	struct jlist *l = list.l;

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 4;
		struct jv *at = jinja_take(r, cap, sizeof *at);
		if (!at)
			return r->rc;
		if (l->n)
			memcpy(at, l->at, l->n * sizeof *at);
		l->at = at;
		l->cap = cap;
	}
	l->at[l->n++] = item;
	return jinja_spend(r, 1);
}

int jv_dict(struct jrun *r, struct jv *out, enum jv_type type, size_t cap)
{
	struct jdict *d = jinja_take(r, 1, sizeof *d);

	if (!d || (cap && !(d->at = jinja_take(r, cap, sizeof *d->at))))
		return r->rc;
	d->cap = cap;
	*out = (struct jv){ .type = (uint8_t)type, .d = d };
	return INFER_OK;
}

int jv_undef(struct jrun *r, struct jv *out, const char *owner, const struct jstr *name)
{
	struct jundef *u = jinja_take(r, 1, sizeof *u);

	if (!u)
		return r->rc;
	u->owner = owner;
	u->name = name;
	*out = (struct jv){ .type = J_UNDEF, .undef = u };
	return INFER_OK;
}

int jv_undef_why(struct jrun *r, struct jv *out, const char *why)
{
	struct jundef *u = jinja_take(r, 1, sizeof *u);

	if (!u)
		return r->rc;
	u->why = why;
	*out = (struct jv){ .type = J_UNDEF, .undef = u };
	return INFER_OK;
}

int jv_undef_fail(struct jrun *r, struct jv v)
{
	const struct jundef *u = v.undef;
	int n = u->name ? u->name->len < 80 ? (int)u->name->len : 80 : 0;

	if (u->why)
		return jinja_fail(r, "%s", u->why);
	if (u->owner)
		return jinja_fail(r, "'%s' has no attribute '%.*s'", u->owner, n,
		                  n ? u->name->at : "");
	return jinja_fail(r, "'%.*s' is undefined", n, n ? u->name->at : "");
}

/* ---- from JSON ---- */

/* A word such as a role: it cannot be a whole special token, but may complete one that the template
 * spells around it. */
static int is_word(const char *s, size_t n)
{
	if (n > 32)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && s[i] != '_')
			return 0;
	return 1;
}

static int trusted(const struct jrun *r, const struct json *j, int top)
{
	for (const char *const *t = r->trusted; j->key && t && *t; t++)
		if (strlen(*t) == j->key_n && !memcmp(*t, j->key, j->key_n))
			return top || is_word(j->s, j->n);
	return 0;
}

/* Make one value; a list or dictionary gets room for its items. */
static int from_one(struct jrun *r, struct jv *out, const struct json *j, int top)
{
	switch ((enum json_kind)j->kind) {
	case JSON_OBJECT:
		return jv_dict(r, out, J_DICT, j->n);
	case JSON_ARRAY:
		return jv_list(r, out, J_LIST, j->n);
	case JSON_STRING:
		return jv_sub(
			r, out,
			&(struct jstr){ .at = j->s,
		                        .from = trusted(r, j, top) ? JFROM_TEMPLATE : JFROM_DATA },
			0, j->n);
	case JSON_INT:
		*out = jv_int(j->i);
		return INFER_OK;
	case JSON_UINT:
		return jinja_fail(r, "%llu is beyond 64 bits with a sign",
		                  (unsigned long long)j->u);
	case JSON_REAL:
		*out = jv_float(j->d);
		return INFER_OK;
	case JSON_TRUE:
	case JSON_FALSE:
		*out = jv_bool(j->kind == JSON_TRUE);
		return INFER_OK;
	case JSON_NULL:
		break;
	}
	*out = jv_none();
	return INFER_OK;
}

/* Where the next item of a list or dictionary goes, its key put. */
static int place(struct jrun *r, struct jv in, const struct json *j, struct jv **at)
{
	if (in.type == J_LIST) {
		*at = &in.l->at[in.l->n++];
		return INFER_OK;
	}
	struct jpair *p = &in.d->at[in.d->n];
	TRY(jv_sub(r, &p->k, &(struct jstr){ .at = j->key, .from = JFROM_DATA }, 0, j->key_n));
	in.d->n++;
	*at = &p->v;
	return INFER_OK;
}

/* down: was used before */
struct level {
	struct level *up, *down;
	const struct json *next;
	struct jv to;
};

int jv_from_json(struct jrun *r, struct jv *out, const struct json *j)
{
	struct level top = { 0 }, *l = &top;

	for (;;) {
		r->steps_max += r->steps_more;
		TRY(jinja_spend(r, 1));
		TRY(from_one(r, out, j, l == &top));
		if (json_first(j)) {
			if (!l->down && !(l->down = jinja_take(r, 1, sizeof *l)))
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
		TRY(place(r, l->to, j, &out));
	}
}

/* ---- looking into values ---- */

const char *jv_type_name(struct jv v)
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

int jv_true(struct jv v)
{
	switch (v.type) {
	case J_BOOL:
	case J_INT:
		return v.i != 0;
	case J_FLOAT:
		return v.f != 0;
	case J_STR:
		return v.s->len != 0;
	case J_LIST:
	case J_TUPLE:
		return v.l->n != 0;
	case J_DICT:
		return v.d->n != 0;
	case J_RANGE:
		return v.range->n != 0;
	case J_VIEW:
		return v.view->d->n != 0;
	default:
		return v.type > J_NONE;
	}
}

int jv_same(struct jv a, struct jv b)
{
	if (a.type != b.type)
		return 0;
	if (a.type <= J_NONE)
		return 1;
	if (a.type == J_FLOAT)
		return a.f == b.f;
	/* Python keeps one copy of short strings; of others nobody should ask */
	if (a.type == J_STR)
		return a.s->len == b.s->len && !memcmp(a.s->at, b.s->at, a.s->len);
	return a.type <= J_INT ? a.i == b.i : (const void *)a.s == (const void *)b.s;
}

static int eq_seq(struct jrun *r, const struct jlist *a, const struct jlist *b)
{
	if (a->n != b->n || jinja_enter(r))
		return 0;
	int yes = 1;
	for (size_t i = 0; i < a->n && yes; i++)
		yes = jv_eq(r, a->at[i], b->at[i]);
	r->depth--;
	return yes;
}

static int eq_dict(struct jrun *r, const struct jdict *a, const struct jdict *b)
{
	size_t at;

	if (a->n != b->n || jinja_enter(r))
		return 0;
	int yes = 1;
	for (size_t i = 0; i < a->n && yes; i++)
		yes = !jdict_find(r, b, a->at[i].k, &at) && at < b->n &&
		      jv_eq(r, a->at[i].v, b->at[at].v);
	r->depth--;
	return yes;
}

int jv_eq(struct jrun *r, struct jv a, struct jv b)
{
	if (jinja_spend(r, 1))
		return 0;
	if (jv_is_num(a) && jv_is_num(b))
		return a.type != J_FLOAT && b.type != J_FLOAT ? a.i == b.i : jv_num(a) == jv_num(b);
	if (a.type != b.type)
		return 0;
	switch (a.type) {
	case J_UNDEF:
	case J_NONE:
		return 1;
	case J_STR:
		return a.s->len == b.s->len && !jinja_spend(r, a.s->len / JSTEP_COPY) &&
		       !memcmp(a.s->at, b.s->at, a.s->len);
	case J_LIST:
	case J_TUPLE:
		return eq_seq(r, a.l, b.l);
	case J_DICT:
		return eq_dict(r, a.d, b.d);
	case J_RANGE:
		return a.range->n == b.range->n &&
		       (!a.range->n || (a.range->start == b.range->start &&
		                        (a.range->n == 1 || a.range->step == b.range->step)));
	default:
		return (const void *)a.s == (const void *)b.s;
	}
}

static int cmp_seq(struct jrun *r, struct jv a, struct jv b, const char *op, int *sign)
{
	TRY(jinja_enter(r));
	size_t i = 0, n = a.l->n < b.l->n ? a.l->n : b.l->n;
	while (i < n && jv_eq(r, a.l->at[i], b.l->at[i]))
		i++;
	if (!r->rc && i < n)
		jv_cmp(r, a.l->at[i], b.l->at[i], op, sign);
	else
		*sign = a.l->n < b.l->n ? -1 : a.l->n > b.l->n;
	r->depth--;
	return r->rc;
}

/* *sign: -1, 0, 1; 2 where a NaN makes every comparison false. */
int jv_cmp(struct jrun *r, struct jv a, struct jv b, const char *op, int *sign)
{
	*sign = 2;
	TRY(jinja_spend(r, 1));
	if (jv_is_int(a) && jv_is_int(b)) {
		*sign = a.i < b.i ? -1 : a.i > b.i;
	} else if (jv_is_num(a) && jv_is_num(b)) {
		double x = jv_num(a), y = jv_num(b);
		*sign = x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
	} else if (a.type == J_STR && b.type == J_STR) {
		size_t n = a.s->len < b.s->len ? a.s->len : b.s->len;
		TRY(jinja_spend(r, n / JSTEP_COPY));
		int c = memcmp(a.s->at, b.s->at, n); /* UTF-8 sorts as code points do */
		*sign = c ? (c > 0) - (c < 0) : a.s->len < b.s->len ? -1 : a.s->len > b.s->len;
	} else if (jv_is_seq(a) && a.type == b.type) {
		return cmp_seq(r, a, b, op, sign);
	} else if (a.type == J_UNDEF || b.type == J_UNDEF) {
		return jv_undef_fail(r, a.type == J_UNDEF ? a : b);
	} else {
		return jinja_fail(r, "'%s' not supported between instances of '%s' and '%s'", op,
		                  jv_type_name(a), jv_type_name(b));
	}
	return r->rc;
}

static int in_str(struct jrun *r, struct jv item, const struct jstr *s, int *yes)
{
	if (item.type != J_STR)
		return jinja_fail(r, "'in <string>' requires string as left operand, not %s",
		                  jv_type_name(item));
	*yes = jstr_find(r, s, 0, s->len, item.s) != SIZE_MAX;
	return r->rc;
}

int jv_in(struct jrun *r, struct jv item, struct jv where, int *yes)
{
	struct jiter it;
	struct jv v;
	size_t at;

	*yes = 0;
	if (where.type == J_STR)
		return in_str(r, item, where.s, yes);
	if (where.type == J_DICT || (where.type == J_VIEW && where.view->what == 'k')) {
		const struct jdict *d = where.type == J_DICT ? where.d : where.view->d;
		TRY(jdict_find(r, d, item, &at));
		*yes = at < d->n;
		return INFER_OK;
	}
	TRY(jiter_init(r, &it, where));
	while (!*yes && jiter_next(r, &it, &v))
		*yes = jv_eq(r, v, item);
	return r->rc;
}

size_t jv_chars(struct jrun *r, const struct jstr *s)
{
	size_t n = s->len, i = 0;

	jinja_spend(r, s->len / JSTEP_COPY);
	/* bytes of the form 10xxxxxx continue a character and are not counted */
	for (uint64_t w; i + 8 <= s->len; i += 8) {
		memcpy(&w, s->at + i, 8);
		n -= (w >> 7 & ~w >> 6 & 0x0101010101010101) * 0x0101010101010101 >> 56;
	}
	for (; i < s->len; i++)
		n -= (s->at[i] & 0xc0) == 0x80;
	return n;
}

int jv_len(struct jrun *r, struct jv v, size_t *n)
{
	*n = 0;
	switch (v.type) {
	case J_UNDEF:
		return r->rc;
	case J_STR:
		*n = jv_chars(r, v.s);
		return r->rc;
	case J_LIST:
	case J_TUPLE:
		*n = v.l->n;
		return r->rc;
	case J_DICT:
	case J_VIEW:
		*n = v.type == J_DICT ? v.d->n : v.view->d->n;
		return r->rc;
	case J_RANGE:
		*n = v.range->n;
		return r->rc;
	default:
		return jinja_fail(r, "object of type '%s' has no len()", jv_type_name(v));
	}
}

/* ---- dicts ---- */

static int hashable(struct jrun *r, struct jv k)
{
	if (k.type == J_LIST || k.type == J_DICT)
		return jinja_fail(r, "unhashable type: '%s'", jv_type_name(k));
	if (k.type == J_TUPLE) {
		TRY(jinja_enter(r));
		for (size_t i = 0; i < k.l->n && !jinja_spend(r, 1); i++)
			hashable(r, k.l->at[i]);
		r->depth--;
	}
	return r->rc;
}

int jdict_find(struct jrun *r, const struct jdict *d, struct jv key, size_t *at)
{
	*at = d->n;
	if (key.type == J_STR) {
		size_t compared = 0, i = 0;
		for (; i < d->n; i++) {
			const struct jv *k = &d->at[i].k;
			if (k->type != J_STR || k->s->len != key.s->len)
				continue;
			compared += key.s->len;
			if (!memcmp(k->s->at, key.s->at, key.s->len))
				break;
		}
		*at = i;
		return jinja_spend(r, i / JSTEP_ITEMS + compared / JSTEP_COPY);
	}
	TRY(hashable(r, key));
	for (*at = 0; *at < d->n && !r->rc && !jv_eq(r, d->at[*at].k, key); ++*at)
		;
	return r->rc;
}

int jdict_push(struct jrun *r, struct jdict *d, struct jv key, struct jv v)
{
	if (d->n == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 4;
		struct jpair *p = jinja_take(r, cap, sizeof *p);
		if (!p)
			return r->rc;
		if (d->n)
			memcpy(p, d->at, d->n * sizeof *p);
		d->at = p;
		d->cap = cap;
	}
	d->at[d->n++] = (struct jpair){ key, v };
	return INFER_OK;
}

int jdict_put(struct jrun *r, struct jdict *d, struct jv key, struct jv v)
{
	size_t at;

	TRY(jdict_find(r, d, key, &at));
	if (at == d->n)
		return jdict_push(r, d, key, v);
	d->at[at].v = v;
	return INFER_OK;
}
