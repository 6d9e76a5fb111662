/* jinja/fn.c - find filters, tests and globals by name; the globals. */
#include "jinja/run.h"
#include "base/err.h"

#include <string.h>
#include <time.h>

const struct pyfn *jinja_find_filter(const char *name, size_t n)
{
	const struct pyfn *f = pyfn_find(jinja_filters, name, n);

	return f ? f : pyfn_find(jinja_seq_filters, name, n);
}

const struct pyfn *jinja_find_test(const char *name, size_t n)
{
	return pyfn_find(jinja_tests, name, n);
}
const struct pyfn *jinja_find_global(const char *name, size_t n)
{
	return pyfn_find(jinja_globals, name, n);
}

/* ---- globals ---- */

static int g_range(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	/* the limit of Jinja's sandbox */
	enum { LONGEST = 100000 };
	int64_t a, b = 0, step, n;

	TRY(py_int_arg(r, c->a[0], 0, &a));
	TRY(py_int_arg(r, c->a[1], 0, &b));
	TRY(py_int_arg(r, c->a[2], 1, &step));
	for (int i = 0; i < 3; i++)
		if (c->a[i].type == PY_NONE)
			return py_fail(r, "'NoneType' object cannot be interpreted as an integer");
	if (!c->a[1].type) {
		b = a;
		a = 0;
	}
	if (!step)
		return py_fail(r, "range() arg 3 must not be zero");
	if (a < INT32_MIN * 1000LL || a > INT32_MAX * 1000LL || b < INT32_MIN * 1000LL ||
	    b > INT32_MAX * 1000LL || step < INT32_MIN || step > INT32_MAX)
		return py_fail(r, "a range this large is not supported");
	n = step > 0 ? (a < b ? (b - a - 1) / step + 1 : 0) : (b < a ? (a - b - 1) / -step + 1 : 0);
	if (n > LONGEST)
		return py_fail(r, "range too big: it may have at most %d items", LONGEST);
	struct pyrange *g = py_alloc(r, 1, sizeof *g);
	if (!g)
		return r->rc;
	*g = (struct pyrange){ a, b, step, (size_t)n };
	*out = (struct pyval){ .type = PY_RANGE, .range = g };
	return INFER_OK;
}

/* dict() and namespace(): arguments are a mapping or pairs, then keywords. */
static int make_dict(struct pyrun *r, struct pycall *c, enum py_type type, struct pyval *out)
{
	struct pyiter it;
	struct pyval v, pair;

	TRY(py_dict(r, out, type, 4));
	if (c->n > 1)
		return py_fail(r, "dict expected at most 1 argument, got %u", c->n);
	if (c->n && c->pos[0].type == PY_DICT) {
		for (size_t i = 0; i < c->pos[0].d->n; i++)
			TRY(pydict_put(r, out->d, c->pos[0].d->at[i].k, c->pos[0].d->at[i].v));
	} else if (c->n) {
		TRY(pyiter_init(r, &it, c->pos[0]));
		while (pyiter_next(r, &it, &v)) {
			TRY(py_to_list(r, &pair, v));
			if (pair.l->n != 2)
				return py_fail(r,
				               "dictionary update sequence element has length "
				               "%zu; 2 is required",
				               pair.l->n);
			TRY(pydict_put(r, out->d, pair.l->at[0], pair.l->at[1]));
		}
	}
	for (uint32_t i = 0; i < c->nkw; i++)
		TRY(pydict_put(r, out->d, (struct pyval){ .type = PY_STR, .s = c->name[i] },
		               c->kw[i]));
	return r->rc;
}

static int g_dict(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_dict(r, c, PY_DICT, out);
}
static int g_namespace(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	return make_dict(r, c, PY_NS, out);
}

static int g_raise(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	const struct pystr *s;

	(void)out;
	TRY(py_to_str(r, c->a[0], &s));
	return py_fail(r, "%.*s", s->len < 190 ? (int)s->len : 190, s->at);
}

static int g_strftime(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	char fmt[128], s[512];
	time_t now = (time_t)r->in->now;
	struct tm tm;
	size_t k = 0;

	if (c->a[0].type != PY_STR || c->a[0].s->len + 1 > sizeof fmt ||
	    memchr(c->a[0].s->at, 0, c->a[0].s->len))
		return py_fail(r, "strftime_now needs a short string");
	TRY(py_spend(r, PY_STEP_DIGITS + 2 * c->a[0].s->len));
	for (size_t i = 0; i < c->a[0].s->len; i++) {
		const char *p = c->a[0].s->at + i;
		/* the time has no zone: nothing is written */
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
		return py_lit(r, out, "");
	if (!gmtime_r(&now, &tm))
		return py_fail(r, "the clock is out of range");
	size_t n = strftime(s, sizeof s, fmt, &tm);
	return py_str(r, out, s, n, PY_FROM_TEMPLATE);
}

const struct pyfn jinja_globals[] = { { "range", g_range, "start stop step", 1, 0 },
	                              { "dict", g_dict, NULL, 0, 0 },
	                              { "namespace", g_namespace, NULL, 0, 0 },
	                              { "raise_exception", g_raise, "message", 1, 0 },
	                              { "strftime_now", g_strftime, "format", 1, 0 },
	                              { "lipsum", NULL, NULL, 0, 0 },
	                              { "cycler", NULL, NULL, 0, 0 },
	                              { "joiner", NULL, NULL, 0, 0 },
	                              { NULL } };
