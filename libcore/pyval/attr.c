/* pyval/attr.c - v.name, v[key] and v[a:b:c]. */
#include "pyval/method.h"
#include "base/err.h"

#include <string.h>

/* ---- attributes and items ---- */

static int method(struct pyrun *r, struct pyval self, const struct pyfn *fn, struct pyval *out)
{
	struct pymethod *m = py_alloc(r, 1, sizeof *m);

	if (!m)
		return r->rc;
	m->self = self;
	m->fn = fn;
	*out = (struct pyval){ .type = PY_METHOD, .method = m };
	return INFER_OK;
}

/* Fail and return 1 if `name` is an attribute of Python's range; return 0 for other names. */
static int refuse_range_attr(struct pyrun *r, const struct pystr *name)
{
	static const char *const names[] = { "start", "stop", "step", "count", "index" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (name->len == strlen(names[i]) && !memcmp(name->at, names[i], name->len)) {
			py_fail(r, "the attribute '%s' of a range is not supported", names[i]);
			return 1;
		}
	return 0;
}

/* getattr(v, name): returns 1 and *out, or 0 if there is none. */
static int find_attr(struct pyrun *r, struct pyval v, const struct pystr *name, struct pyval *out)
{
	const struct pyfn *table = v.type == PY_STR                          ? py_str_methods
	                           : v.type == PY_LIST || v.type == PY_TUPLE ? py_list_methods
	                           : v.type == PY_DICT                       ? py_dict_methods
	                                                                     : NULL;
	const struct pyfn *fn = table ? pyfn_find(table, name->at, name->len) : NULL;
	size_t at;

	if (v.type == PY_NS &&
	    !pydict_find(r, v.d, (struct pyval){ .type = PY_STR, .s = name }, &at) && at < v.d->n) {
		*out = v.d->at[at].v;
		return 1;
	}
	if (v.type == PY_LOOP || v.type == PY_MACRO)
		return r->host->attr(r, v, name, out);
	if (py_is_seq(v) && v.l->group && name->len == 7 && !memcmp(name->at, "grouper", 7)) {
		*out = v.l->at[0];
		return 1;
	}
	if (py_is_seq(v) && v.l->group && name->len == 4 && !memcmp(name->at, "list", 4)) {
		*out = v.l->at[1];
		return 1;
	}
	if (v.type == PY_RANGE)
		return refuse_range_attr(r, name);
	if (!fn || (v.type == PY_TUPLE && strcmp(fn->name, "index") && strcmp(fn->name, "count")))
		return 0;
	if (fn->mutates && !r->mutable)
		py_undef_why(r, out,
		             "access to an attribute that changes a list or dict is unsafe");
	else
		method(r, v, fn, out);
	return 1;
}

static const char *owner_name(struct pyval v)
{
	static const char *const name[] = {
		[PY_NONE] = "None",          [PY_BOOL] = "bool object", [PY_INT] = "int object",
		[PY_FLOAT] = "float object", [PY_STR] = "str object",   [PY_LIST] = "list object",
		[PY_TUPLE] = "tuple object", [PY_DICT] = "dict object", [PY_NS] = "Namespace object"
	};

	return v.type < sizeof name / sizeof *name && name[v.type] ? name[v.type] : "object";
}

/* v[key]: returns 1 and *out, or 0 if there is no such item. */
static int find_item(struct pyrun *r, struct pyval v, struct pyval key, struct pyval *out)
{
	size_t n, at;

	if (v.type == PY_DICT) {
		if (key.type == PY_LIST || key.type == PY_DICT || pydict_find(r, v.d, key, &at) ||
		    at >= v.d->n)
			return 0;
		*out = v.d->at[at].v;
		return 1;
	}
	if (!py_is_int(key) || (v.type != PY_STR && !py_is_seq(v) && v.type != PY_RANGE) ||
	    py_len(r, v, &n))
		return 0;
	int64_t i = key.i < 0 ? key.i + (int64_t)n : key.i;
	if (i < 0 || i >= (int64_t)n)
		return 0;
	if (v.type == PY_STR) {
		struct pyval to[3] = { py_int(i), py_int(i + 1), { 0 } };
		return !py_slice(r, v, to, out);
	}
	*out = v.type == PY_RANGE ? py_int(v.range->start + i * v.range->step) : v.l->at[i];
	return 1;
}

int py_attr(struct pyrun *r, struct pyval v, const struct pystr *name, struct pyval *out)
{
	if (v.type == PY_UNDEF)
		return py_undef_fail(r, v);
	if (find_attr(r, v, name, out) ||
	    find_item(r, v, (struct pyval){ .type = PY_STR, .s = name }, out))
		return r->rc;
	return r->rc ? r->rc : py_undef(r, out, owner_name(v), name);
}

int py_item(struct pyrun *r, struct pyval v, struct pyval key, struct pyval *out)
{
	const struct pystr *name = key.type == PY_STR ? key.s : NULL;

	if (v.type == PY_UNDEF)
		return py_undef_fail(r, v);
	if (find_item(r, v, key, out) || (name && !r->rc && find_attr(r, v, name, out)))
		return r->rc;
	if (!name)
		TRY(py_to_str(r, key, &name));
	return r->rc ? r->rc : py_undef(r, out, owner_name(v), name);
}

/* ---- slices ---- */

/* Adjust start and stop to a length as PySlice_AdjustIndices does; returns the number of items. */
static int slice_range(struct pyrun *r, const struct pyval at[3], int64_t n, int64_t *start,
                       int64_t *stop, int64_t *step, int64_t *count)
{
	for (int i = 0; i < 3; i++)
		if (at[i].type > PY_NONE && !py_is_int(at[i]))
			return py_fail(r, "slice indices must be integers or None");
	TRY(py_int_arg(r, at[2], 1, step));
	if (!*step)
		return py_fail(r, "slice step cannot be zero");
	if (*step < -INT64_MAX)
		*step = -INT64_MAX;
	int64_t low = *step < 0 ? -1 : 0, high = *step < 0 ? n - 1 : n;
	TRY(py_int_arg(r, at[0], *step < 0 ? INT64_MAX : 0, start));
	TRY(py_int_arg(r, at[1], *step < 0 ? INT64_MIN : INT64_MAX, stop));
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

/* Return the byte offset of character i. */
static size_t char_at(const struct pystr *s, size_t from, int64_t i)
{
	/* as in py_chars; `from` is at the start of a character, or within one that was counted */
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

static int slice_str(struct pyrun *r, const struct pystr *s, int64_t start, int64_t step, int64_t n,
                     struct pyval *out)
{
	struct pysb b = { .r = r };

	if (step == 1 || n <= 1) {
		TRY(py_spend(r, s->len / PY_STEP_COPY));
		size_t from = char_at(s, 0, start), to = n ? char_at(s, from, n) : from;
		return py_sub(r, out, s, from, to - from);
	}
	size_t *at = py_alloc(r, s->len + 1, sizeof *at), k = 0; /* the offset of each
	                                                            * character */
	if (!at || py_spend(r, s->len / PY_STEP_LOOK))
		return r->rc;
	for (size_t i = 0; i <= s->len; i++)
		if (i == s->len || (s->at[i] & 0xc0) != 0x80)
			at[k++] = i;
	for (; n > 0 && !py_spend(r, 1); n--, start += n ? step : 0)
		pysb_sub(&b, s, at[start], at[start + 1] - at[start]);
	TRY(pysb_done(&b, out));
	((struct pystr *)(uintptr_t)out->s)->safe = s->safe;
	return INFER_OK;
}

/* Make the slice of a range, which is a range. Its bounds are items of the original or one item
 * after the last, as in CPython. */
static int slice_of_range(struct pyrun *r, const struct pyrange *a, int64_t start, int64_t stop,
                          int64_t step, int64_t n, struct pyval *out)
{
	struct pyrange *g = py_alloc(r, 1, sizeof *g);

	if (!g)
		return r->rc;
	*g = (struct pyrange){ a->start + start * a->step, a->start + stop * a->step, 0,
		               (size_t)n };
	if (__builtin_mul_overflow(step, a->step, &g->step))
		return py_fail(r, "an integer beyond 64 bits is not supported");
	*out = (struct pyval){ .type = PY_RANGE, .range = g };
	return INFER_OK;
}

int py_slice(struct pyrun *r, struct pyval v, const struct pyval at[3], struct pyval *out)
{
	int64_t start = 0, stop = 0, step = 1, n = 0;
	size_t len;

	if (v.type == PY_UNDEF)
		return py_undef_fail(r, v);
	if (v.type != PY_STR && !py_is_seq(v) && v.type != PY_RANGE)
		return py_fail(r, "'%s' object cannot be sliced", py_type_name(v));
	TRY(py_len(r, v, &len));
	TRY(slice_range(r, at, (int64_t)len, &start, &stop, &step, &n));
	if (v.type == PY_STR)
		return slice_str(r, v.s, start, step, n, out);
	if (v.type == PY_RANGE)
		return slice_of_range(r, v.range, start, stop, step, n, out);
	TRY(py_spend(r, (uint64_t)n / PY_STEP_ITEMS));
	TRY(py_list(r, out, v.type, (size_t)n));
	for (; n > 0; n--, start += n ? step : 0)
		out->l->at[out->l->n++] = v.l->at[start];
	return r->rc;
}
