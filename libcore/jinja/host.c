/* jinja/host.c - the types of the renderer, seen from values: loops, macros and generators. */
#include "jinja/run.h"

#include <string.h>

static int next(struct jrun *r, struct jv v, struct jv *out)
{
	return v.type == J_GEN ? jgen_next(r, v.gen, out) : jloop_next(r, v.loop, out);
}

/* The attributes of a macro, as in jinja2. */
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

static int attr(struct jrun *r, struct jv v, const struct jstr *name, struct jv *out)
{
	return v.type == J_LOOP ? !jloop_attr(r, v.loop, name, out)
	                        : macro_attr(r, v.macro->node, name, out);
}

static const struct jstr *macro_name(struct jv macro) { return macro.macro->node->str; }

const struct jhost jinja_host = { next, attr, macro_name };
