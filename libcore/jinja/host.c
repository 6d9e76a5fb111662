/* jinja/host.c - struct pyhost for the values that the renderer creates: loops, macros,
 * generators. */
#include "jinja/run.h"

#include <string.h>

static int host_next(struct pyrun *r, struct pyval v, struct pyval *out)
{
	return v.type == PY_GEN ? jgen_next(r, v.gen, out) : jloop_next(r, v.loop, out);
}

/* Set *out to an attribute of a macro, as in jinja2. */
static int macro_attr(struct pyrun *r, const struct jnode *n, const struct pystr *name,
                      struct pyval *out)
{
	static const char *const names[] = { "name", "arguments", "catch_varargs", "catch_kwargs",
		                             "caller" };
	static const int bits[] = { 0, 0, JM_VARARGS, JM_KWARGS, JM_CALLER };
	size_t k = 0;

	while (k < 5 && (name->len != strlen(names[k]) || memcmp(name->at, names[k], name->len)))
		k++;
	if (k == 5)
		return 0;
	*out = k                         ? py_bool(n->uses & bits[k])
	       : n->kind == JN_CALLBLOCK ? py_none()
	                                 : (struct pyval){ .type = PY_STR, .s = n->str };
	if (k == 1 && !py_list(r, out, PY_TUPLE, n->n))
		for (uint32_t i = 0; i < n->n; i++)
			out->l->at[out->l->n++] =
				(struct pyval){ .type = PY_STR, .s = n->list[i]->str };
	return 1;
}

static int host_attr(struct pyrun *r, struct pyval v, const struct pystr *name, struct pyval *out)
{
	return v.type == PY_LOOP ? !jloop_attr(r, v.loop, name, out)
	                         : macro_attr(r, v.macro->node, name, out);
}

static const struct pystr *macro_name(struct pyval macro) { return macro.macro->node->str; }

const struct pyhost jinja_host = { host_next, host_attr, macro_name };
