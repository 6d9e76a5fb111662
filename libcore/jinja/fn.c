/* jinja/fn.c - calling functions of the engine, attributes, items and slices, globals, methods of
 * lists and dicts. */
#include "jinja/run.h"
#include "base/err.h"

#include <string.h>
#include <time.h>

/* ---- calling ---- */

const struct jfn *jfn_find(const struct jfn *table, const char *name, size_t n)
{
	for (; n && table->name; table++)
		if (*table->name == *name && strlen(table->name) == n &&
		    !memcmp(table->name, name, n))
			return table;
	return NULL;
}

const struct jfn *jfn_filter(const char *name, size_t n)
{
	const struct jfn *f = jfn_find(jinja_filters, name, n);

	return f ? f : jfn_find(jinja_seq_filters, name, n);
}

const struct jfn *jfn_test(const char *name, size_t n) { return jfn_find(jinja_tests, name, n); }
const struct jfn *jfn_global(const char *name, size_t n)
{
	return jfn_find(jinja_globals, name, n);
}

/* The i-th word of `words`; its length, 0 where there are fewer. */
static size_t word(const char *words, unsigned i, const char **at)
{
	for (; i && *words; i--) {
		words += strcspn(words, " ");
		words += *words == ' ';
	}
	*at = words;
	return strcspn(words, " ");
}

static int bind(struct jrun *r, const struct jfn *fn, struct jcall *c)
{
	const char *at;
	size_t n;
	unsigned k;

	for (k = 0; k < c->n; k++) {
		if (!word(fn->args, k, &at))
			return jinja_fail(r, "%s takes at most %u arguments (%u given)", fn->name,
			                  k, c->n);
		c->a[k] = c->pos[k];
	}
	for (uint32_t i = 0; i < c->nkw; i++) {
		for (k = 0; (n = word(fn->args, k, &at)); k++)
			if (n == c->name[i]->len && !memcmp(at, c->name[i]->at, n))
				break;
		if (!n)
			return jinja_fail(r, "%s got an unexpected keyword argument '%.*s'",
			                  fn->name, (int)(c->name[i]->len & 63), c->name[i]->at);
		if (c->a[k].type)
			return jinja_fail(r, "%s got multiple values for argument '%.*s'", fn->name,
			                  (int)n, at);
		c->a[k] = c->kw[i];
	}
	for (k = 0; k < fn->need; k++)
		if (!c->a[k].type) {
			n = word(fn->args, k, &at);
			return jinja_fail(r, "%s missing required argument '%.*s'", fn->name,
			                  (int)n, at);
		}
	return INFER_OK;
}

int jfn_call(struct jrun *r, const struct jfn *fn, struct jcall *c, struct jv *out)
{
	TRY(jinja_spend(r, 1));
	if (fn->args)
		TRY(bind(r, fn, c));
	*out = jv_none();
	if (!fn->call)
		return jinja_fail(r, "'%s' is not supported", fn->name);
	TRY(fn->call(r, c, out));
	return r->rc;
}

int jint_arg(struct jrun *r, struct jv v, int64_t absent, int64_t *i)
{
	*i = absent;
	if (v.type == J_MISSING || v.type == J_NONE)
		return r->rc;
	if (!jv_is_int(v))
		return v.type == J_UNDEF
		               ? jv_undef_fail(r, v)
		               : jinja_fail(r, "'%s' object cannot be interpreted as an integer",
		                            jv_type_name(v));
	*i = v.i;
	return r->rc;
}

/* ---- attributes and items ---- */

static int method(struct jrun *r, struct jv self, const struct jfn *fn, struct jv *out)
{
	struct jmethod *m = jinja_take(r, 1, sizeof *m);

	if (!m)
		return r->rc;
	m->self = self;
	m->fn = fn;
	*out = (struct jv){ .type = J_METHOD, .method = m };
	return INFER_OK;
}

/* What a range has in Python is refused: 1; else it has no such attribute. */
static int range_attr(struct jrun *r, const struct jstr *name)
{
	static const char *const names[] = { "start", "stop", "step", "count", "index" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (name->len == strlen(names[i]) && !memcmp(name->at, names[i], name->len)) {
			jinja_fail(r, "the attribute '%s' of a range is not supported", names[i]);
			return 1;
		}
	return 0;
}

/* What jinja2's Macro says of itself. */
static int macro_attr(struct jrun *r, const struct jnode *n, const struct jstr *name,
                      struct jv *out)
{
	static const char *const names[] = { "name", "arguments", "catch_varargs", "catch_kwargs",
		                             "caller" };
	static const int bits[] = { 0, 0, JM_VARARGS, JM_KWARGS, JM_CALLER };
	size_t k = 0;

	while (k < 5 && (name->len != strlen(names[k]) || memcmp(name->at, names[k], name->len)))
		k++;
	if (k == 5)
		return 0;
	*out = k                         ? jv_bool(n->op & bits[k])
	       : n->kind == JN_CALLBLOCK ? jv_none()
	                                 : (struct jv){ .type = J_STR, .s = n->str };
	if (k == 1 && !jv_list(r, out, J_TUPLE, n->n))
		for (uint32_t i = 0; i < n->n; i++)
			out->l->at[out->l->n++] =
				(struct jv){ .type = J_STR, .s = n->list[i]->str };
	return 1;
}

/* Python's getattr: 1 and *out, or 0. */
static int own_attr(struct jrun *r, struct jv v, const struct jstr *name, struct jv *out)
{
	const struct jfn *table = v.type == J_STR                         ? jinja_str_methods
	                          : v.type == J_LIST || v.type == J_TUPLE ? jinja_list_methods
	                          : v.type == J_DICT                      ? jinja_dict_methods
	                                                                  : NULL;
	const struct jfn *fn = table ? jfn_find(table, name->at, name->len) : NULL;
	size_t at;

	if (v.type == J_NS && !jdict_find(r, v.d, (struct jv){ .type = J_STR, .s = name }, &at) &&
	    at < v.d->n) {
		*out = v.d->at[at].v;
		return 1;
	}
	if (v.type == J_LOOP)
		return !jloop_attr(r, v.loop, name, out);
	if (v.type == J_MACRO)
		return macro_attr(r, v.macro->node, name, out);
	if (jv_is_seq(v) && v.l->group && name->len == 7 && !memcmp(name->at, "grouper", 7)) {
		*out = v.l->at[0];
		return 1;
	}
	if (jv_is_seq(v) && v.l->group && name->len == 4 && !memcmp(name->at, "list", 4)) {
		*out = v.l->at[1];
		return 1;
	}
	if (v.type == J_RANGE)
		return range_attr(r, name);
	if (!fn || (v.type == J_TUPLE && strcmp(fn->name, "index") && strcmp(fn->name, "count")))
		return 0;
	if (fn->mutates && !(r->flags & JINJA_MUTABLE))
		jv_undef_why(r, out,
		             "access to an attribute that changes a list or dict is unsafe");
	else
		method(r, v, fn, out);
	return 1;
}

static const char *owner_name(struct jv v)
{
	static const char *const name[] = {
		[J_NONE] = "None",          [J_BOOL] = "bool object", [J_INT] = "int object",
		[J_FLOAT] = "float object", [J_STR] = "str object",   [J_LIST] = "list object",
		[J_TUPLE] = "tuple object", [J_DICT] = "dict object", [J_NS] = "Namespace object"
	};

	return v.type < sizeof name / sizeof *name && name[v.type] ? name[v.type] : "object";
}

/* Python's v[key], where it has one: 1 and *out; 0: no such item. */
static int own_item(struct jrun *r, struct jv v, struct jv key, struct jv *out)
{
	size_t n, at;

	if (v.type == J_DICT) {
		if (key.type == J_LIST || key.type == J_DICT || jdict_find(r, v.d, key, &at) ||
		    at >= v.d->n)
			return 0;
		*out = v.d->at[at].v;
		return 1;
	}
	if (!jv_is_int(key) || (v.type != J_STR && !jv_is_seq(v) && v.type != J_RANGE) ||
	    jv_len(r, v, &n))
		return 0;
	int64_t i = key.i < 0 ? key.i + (int64_t)n : key.i;
	if (i < 0 || i >= (int64_t)n)
		return 0;
	if (v.type == J_STR) {
		struct jv to[3] = { jv_int(i), jv_int(i + 1), { 0 } };
		return !jinja_slice(r, v, to, out);
	}
	*out = v.type == J_RANGE ? jv_int(v.range->start + i * v.range->step) : v.l->at[i];
	return 1;
}

int jinja_attr(struct jrun *r, struct jv v, const struct jstr *name, struct jv *out)
{
	if (v.type == J_UNDEF)
		return jv_undef_fail(r, v);
	if (own_attr(r, v, name, out) ||
	    own_item(r, v, (struct jv){ .type = J_STR, .s = name }, out))
		return r->rc;
	return r->rc ? r->rc : jv_undef(r, out, owner_name(v), name);
}

int jinja_item(struct jrun *r, struct jv v, struct jv key, struct jv *out)
{
	const struct jstr *name = key.type == J_STR ? key.s : NULL;

	if (v.type == J_UNDEF)
		return jv_undef_fail(r, v);
	if (own_item(r, v, key, out) || (name && !r->rc && own_attr(r, v, name, out)))
		return r->rc;
	if (!name)
		TRY(jv_to_str(r, key, &name));
	return r->rc ? r->rc : jv_undef(r, out, owner_name(v), name);
}

/* ---- slices ---- */

/* As PySlice_AdjustIndices: where to begin and to stop, and how many. */
static int slice_range(struct jrun *r, const struct jv at[3], int64_t n, int64_t *start,
                       int64_t *stop, int64_t *step, int64_t *count)
{
	for (int i = 0; i < 3; i++)
		if (at[i].type > J_NONE && !jv_is_int(at[i]))
			return jinja_fail(r, "slice indices must be integers or None");
	TRY(jint_arg(r, at[2], 1, step));
	if (!*step)
		return jinja_fail(r, "slice step cannot be zero");
	if (*step < -INT64_MAX)
		*step = -INT64_MAX;
	int64_t low = *step < 0 ? -1 : 0, high = *step < 0 ? n - 1 : n;
	TRY(jint_arg(r, at[0], *step < 0 ? INT64_MAX : 0, start));
	TRY(jint_arg(r, at[1], *step < 0 ? INT64_MIN : INT64_MAX, stop));
	if (*start < 0)
		*start += n;
	*start = *start < low ? low : *start > high ? high : *start;
	if (*stop < 0 && *stop != INT64_MIN)
		*stop += n;
	*stop = *stop < low ? low : *stop > high ? high : *stop;
	*count = *step < 0 ? (*stop < *start ? (*start - *stop - 1) / -*step + 1 : 0)
	                   : (*start < *stop ? (*stop - *start - 1) / *step + 1 : 0);
	return INFER_OK;
}

/* The byte where the i-th character begins. */
static size_t char_at(const struct jstr *s, size_t from, int64_t i)
{
	/* as jv_chars; from: at a character, or within one that was counted */
	for (uint64_t w; i >= 8 && from + 8 <= s->len; from += 8) {
		memcpy(&w, s->at + from, 8);
		i -= 8 -
		     (int64_t)((w >> 7 & ~w >> 6 & 0x0101010101010101) * 0x0101010101010101 >> 56);
	}
	while (from < s->len && (s->at[from] & 0xc0) == 0x80)
		from++;
	while (i > 0 && from < s->len) {
		from++;
		while (from < s->len && (s->at[from] & 0xc0) == 0x80)
			from++;
		i--;
	}
	return from;
}

static int slice_str(struct jrun *r, const struct jstr *s, int64_t start, int64_t step, int64_t n,
                     struct jv *out)
{
	struct jsb b = { .r = r };

	if (step == 1 || n <= 1) {
		TRY(jinja_spend(r, s->len / JSTEP_COPY));
		size_t from = char_at(s, 0, start), to = n ? char_at(s, from, n) : from;
		return jv_sub(r, out, s, from, to - from);
	}
	size_t *at = jinja_take(r, s->len + 1, sizeof *at), k = 0; /* where each character begins */
	if (!at || jinja_spend(r, s->len / JSTEP_LOOK))
		return r->rc;
	for (size_t i = 0; i <= s->len; i++)
		if (i == s->len || (s->at[i] & 0xc0) != 0x80)
			at[k++] = i;
	for (; n > 0 && !jinja_spend(r, 1); n--, start += n ? step : 0)
		jsb_sub(&b, s, at[start], at[start + 1] - at[start]);
	TRY(jsb_done(&b, out));
	((struct jstr *)(uintptr_t)out->s)->safe = s->safe;
	return INFER_OK;
}

/* Another range, whose ends are items of the first, or the one that would come next: as CPython. */
static int slice_of_range(struct jrun *r, const struct jrange *a, int64_t start, int64_t stop,
                          int64_t step, int64_t n, struct jv *out)
{
	struct jrange *g = jinja_take(r, 1, sizeof *g);

	if (!g)
		return r->rc;
	*g = (struct jrange){ a->start + start * a->step, a->start + stop * a->step, 0, (size_t)n };
	if (__builtin_mul_overflow(step, a->step, &g->step))
		return jinja_fail(r, "an integer beyond 64 bits is not supported");
	*out = (struct jv){ .type = J_RANGE, .range = g };
	return INFER_OK;
}

int jinja_slice(struct jrun *r, struct jv v, const struct jv at[3], struct jv *out)
{
	int64_t start = 0, stop = 0, step = 1, n = 0;
	size_t len;

	if (v.type == J_UNDEF)
		return jv_undef_fail(r, v);
	if (v.type != J_STR && !jv_is_seq(v) && v.type != J_RANGE)
		return jinja_fail(r, "'%s' object cannot be sliced", jv_type_name(v));
	TRY(jv_len(r, v, &len));
	TRY(slice_range(r, at, (int64_t)len, &start, &stop, &step, &n));
	if (v.type == J_STR)
		return slice_str(r, v.s, start, step, n, out);
	if (v.type == J_RANGE)
		return slice_of_range(r, v.range, start, stop, step, n, out);
	TRY(jinja_spend(r, (uint64_t)n / JSTEP_ITEMS));
	TRY(jv_list(r, out, v.type, (size_t)n));
	for (; n > 0; n--, start += n ? step : 0)
		out->l->at[out->l->n++] = v.l->at[start];
	return r->rc;
}

/* ---- globals ---- */

static int g_range(struct jrun *r, struct jcall *c, struct jv *out)
{
	/* of Jinja's sandbox */
	enum { LONGEST = 100000 };
	int64_t a, b = 0, step, n;

	TRY(jint_arg(r, c->a[0], 0, &a));
	TRY(jint_arg(r, c->a[1], 0, &b));
	TRY(jint_arg(r, c->a[2], 1, &step));
	for (int i = 0; i < 3; i++)
		if (c->a[i].type == J_NONE)
			return jinja_fail(r,
			                  "'NoneType' object cannot be interpreted as an integer");
	if (!c->a[1].type) {
		b = a;
		a = 0;
	}
	if (!step)
		return jinja_fail(r, "range() arg 3 must not be zero");
	if (a < INT32_MIN * 1000LL || a > INT32_MAX * 1000LL || b < INT32_MIN * 1000LL ||
	    b > INT32_MAX * 1000LL || step < INT32_MIN || step > INT32_MAX)
		return jinja_fail(r, "a range this large is not supported");
	n = step > 0 ? (a < b ? (b - a - 1) / step + 1 : 0) : (b < a ? (a - b - 1) / -step + 1 : 0);
	if (n > LONGEST)
		return jinja_fail(r, "range too big: it may have at most %d items", LONGEST);
	struct jrange *g = jinja_take(r, 1, sizeof *g);
	if (!g)
		return r->rc;
	*g = (struct jrange){ a, b, step, (size_t)n };
	*out = (struct jv){ .type = J_RANGE, .range = g };
	return INFER_OK;
}

/* dict() and namespace(): a mapping or pairs, then keywords. */
static int make_dict(struct jrun *r, struct jcall *c, enum jv_type type, struct jv *out)
{
	struct jiter it;
	struct jv v, pair;

	TRY(jv_dict(r, out, type, 4));
	if (c->n > 1)
		return jinja_fail(r, "dict expected at most 1 argument, got %u", c->n);
	if (c->n && c->pos[0].type == J_DICT) {
		for (size_t i = 0; i < c->pos[0].d->n; i++)
			TRY(jdict_put(r, out->d, c->pos[0].d->at[i].k, c->pos[0].d->at[i].v));
	} else if (c->n) {
		TRY(jiter_init(r, &it, c->pos[0]));
		while (jiter_next(r, &it, &v)) {
			TRY(jv_to_list(r, &pair, v));
			if (pair.l->n != 2)
				return jinja_fail(r,
				                  "dictionary update sequence element has length "
				                  "%zu; 2 is required",
				                  pair.l->n);
			TRY(jdict_put(r, out->d, pair.l->at[0], pair.l->at[1]));
		}
	}
	for (uint32_t i = 0; i < c->nkw; i++)
		TRY(jdict_put(r, out->d, (struct jv){ .type = J_STR, .s = c->name[i] }, c->kw[i]));
	return r->rc;
}

static int g_dict(struct jrun *r, struct jcall *c, struct jv *out)
{
	return make_dict(r, c, J_DICT, out);
}
static int g_namespace(struct jrun *r, struct jcall *c, struct jv *out)
{
	return make_dict(r, c, J_NS, out);
}

static int g_raise(struct jrun *r, struct jcall *c, struct jv *out)
{
	const struct jstr *s;

	(void)out;
	TRY(jv_to_str(r, c->a[0], &s));
	return jinja_fail(r, "%.*s", s->len < 190 ? (int)s->len : 190, s->at);
}

static int g_strftime(struct jrun *r, struct jcall *c, struct jv *out)
{
	char fmt[128], s[512];
	time_t now = (time_t)r->now;
	struct tm tm;
	size_t k = 0;

	if (c->a[0].type != J_STR || c->a[0].s->len + 1 > sizeof fmt ||
	    memchr(c->a[0].s->at, 0, c->a[0].s->len))
		return jinja_fail(r, "strftime_now wants a short string");
	TRY(jinja_spend(r, JSTEP_DIGITS + 2 * c->a[0].s->len));
	for (size_t i = 0; i < c->a[0].s->len; i++) {
		const char *p = c->a[0].s->at + i;
		/* a time without a zone: empty */
		if (*p == '%' && i + 1 < c->a[0].s->len && (p[1] == 'z' || p[1] == 'Z')) {
			i++;
			continue;
		}
		fmt[k++] = *p;
		if (*p == '%' && i + 1 < c->a[0].s->len && p[1] == '%')
			fmt[k++] = c->a[0].s->at[++i];
	}
	fmt[k] = 0;
	if (!k)
		return jv_lit(r, out, "");
	if (!gmtime_r(&now, &tm))
		return jinja_fail(r, "the clock is out of range");
	size_t n = strftime(s, sizeof s, fmt, &tm);
	return jv_str(r, out, s, n, JFROM_TEMPLATE);
}

const struct jfn jinja_globals[] = { { "range", g_range, "start stop step", 1, 0 },
	                             { "dict", g_dict, NULL, 0, 0 },
	                             { "namespace", g_namespace, NULL, 0, 0 },
	                             { "raise_exception", g_raise, "message", 1, 0 },
	                             { "strftime_now", g_strftime, "format", 1, 0 },
	                             { "lipsum", NULL, NULL, 0, 0 },
	                             { "cycler", NULL, NULL, 0, 0 },
	                             { "joiner", NULL, NULL, 0, 0 },
	                             { NULL } };
