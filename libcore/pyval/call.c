/* pyval/call.c - find functions by name, and call them with Python's arguments. */
#include "pyval/call.h"
#include "base/err.h"

#include <string.h>

const struct pyfn *pyfn_find(const struct pyfn *table, const char *name, size_t n)
{
	for (; n && table->name; table++)
		if (*table->name == *name && strlen(table->name) == n &&
		    !memcmp(table->name, name, n))
			return table;
	return NULL;
}

/* Find word i of `words`; returns its length, 0 if there are fewer words. */
static size_t find_word(const char *words, unsigned i, const char **at)
{
	for (; i && *words; i--) {
		words += strcspn(words, " ");
		words += *words == ' ';
	}
	*at = words;
	return strcspn(words, " ");
}

static int bind_arguments(struct pyrun *r, const struct pyfn *fn, struct pycall *c)
{
	const char *at;
	size_t n;
	unsigned k;

	for (k = 0; k < c->n; k++) {
		if (!find_word(fn->args, k, &at))
			return py_fail(r, "%s takes at most %u arguments (%u given)", fn->name, k,
			               c->n);
		c->a[k] = c->pos[k];
	}
	for (uint32_t i = 0; i < c->nkw; i++) {
		for (k = 0; (n = find_word(fn->args, k, &at)); k++)
			if (n == c->name[i]->len && !memcmp(at, c->name[i]->at, n))
				break;
		if (!n)
			return py_fail(r, "%s got an unexpected keyword argument '%.*s'", fn->name,
			               (int)(c->name[i]->len & 63), c->name[i]->at);
		if (c->a[k].type)
			return py_fail(r, "%s got multiple values for argument '%.*s'", fn->name,
			               (int)n, at);
		c->a[k] = c->kw[i];
	}
	for (k = 0; k < fn->need; k++)
		if (!c->a[k].type) {
			n = find_word(fn->args, k, &at);
			return py_fail(r, "%s missing required argument '%.*s'", fn->name, (int)n,
			               at);
		}
	return INFER_OK;
}

int pyfn_call(struct pyrun *r, const struct pyfn *fn, struct pycall *c, struct pyval *out)
{
	TRY(py_spend(r, 1));
	if (fn->args)
		TRY(bind_arguments(r, fn, c));
	*out = py_none();
	if (!fn->call)
		return py_fail(r, "'%s' is not supported", fn->name);
	TRY(fn->call(r, c, out));
	return r->rc;
}

int py_int_arg(struct pyrun *r, struct pyval v, int64_t absent, int64_t *i)
{
	*i = absent;
	if (v.type == PY_MISSING || v.type == PY_NONE)
		return r->rc;
	if (!py_is_int(v))
		return v.type == PY_UNDEF
		               ? py_undef_fail(r, v)
		               : py_fail(r, "'%s' object cannot be interpreted as an integer",
		                         py_type_name(v));
	*i = v.i;
	return r->rc;
}
