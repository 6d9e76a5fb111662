/* jinja/exec.c - execute statements; scopes and macros. */
#include "jinja/run.h"
#include "base/err.h"

#include <string.h>

/* ---- scopes ---- */

struct jscope *jinja_scope(struct pyrun *r, struct jscope *up)
{
	struct jscope *s = py_alloc(r, 1, sizeof *s);

	if (s)
		s->up = up;
	return s;
}

static int set_variable(struct pyrun *r, struct jscope *s, uint32_t id, struct pyval v)
{
	TRY(py_spend(r, 1 + s->n / PY_STEP_ITEMS));
	for (uint32_t i = 0; i < s->n; i++)
		if (s->at[i].id == id) {
			s->at[i].v = v;
			return INFER_OK;
		}
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 4;
		struct jvar *at = py_alloc(r, cap, sizeof *at);
		if (!at)
			return r->rc;
		if (s->n)
			memcpy(at, s->at, s->n * sizeof *at);
		s->at = at;
		s->cap = cap;
	}
	s->at[s->n++] = (struct jvar){ id, v };
	return INFER_OK;
}

int jinja_let_name(struct pyrun *r, struct jscope *s, const char *name, struct pyval v)
{
	const uint32_t *id = map_get(&r->in->t->names, name, strlen(name));

	return id ? set_variable(r, s, *id, v) : INFER_OK; /* no id: the name is unused */
}

static int unpack_values(struct pyrun *r, const struct jnode *target, struct pyval v)
{
	struct pyval list;

	TRY(py_to_list(r, &list, v));
	if (list.l->n != target->n)
		return py_fail(r, "%s values to unpack (expected %u, got %zu)",
		               list.l->n < target->n ? "not enough" : "too many", target->n,
		               list.l->n);
	for (uint32_t i = 0; i < target->n; i++)
		TRY(jinja_assign(r, target->list[i], list.l->at[i]));
	return INFER_OK;
}

int jinja_assign(struct pyrun *r, const struct jnode *target, struct pyval v)
{
	if (target->kind == JN_TUPLE)
		return unpack_values(r, target, v);
	if (target->kind == JN_NAME)
		return set_variable(r, r->in->scope, target->id, v);
	const struct pyval *ns = jinja_var(r, target->id);
	if (!ns || ns->type != PY_NS)
		return py_fail(r, "cannot assign attribute on non-namespace object");
	return pydict_put(r, ns->d, (struct pyval){ .type = PY_STR, .s = target->str }, v);
}

/* ---- output ---- */

static int exec_out(struct pyrun *r, const struct jnode *n)
{
	struct pyval v;

	TRY(jinja_eval(r, n->a, &v));
	py_text(r->in->out, v);
	return r->rc;
}

/* Execute a body and return its output in *out. */
static int capture_body(struct pyrun *r, const struct jnode *body, struct pyval *out)
{
	struct pysb b = { .r = r }, *was = r->in->out;

	r->in->out = &b;
	int rc = jinja_exec(r, body);
	r->in->out = was;
	return rc ? rc : pysb_done(&b, out);
}

/* Do capture_body in a new scope. */
static int capture_scoped(struct pyrun *r, const struct jnode *body, struct pyval *out)
{
	struct jscope *was = r->in->scope, *s = jinja_scope(r, was);

	if (!s)
		return r->rc;
	r->in->scope = s;
	int rc = capture_body(r, body, out);
	r->in->scope = was;
	return rc;
}

/* Apply the filters of a block to its output. */
static int apply_block_filters(struct pyrun *r, const struct jnode *filters, struct pyval *v)
{
	struct pyval was = r->in->input;

	if (!filters)
		return INFER_OK;
	r->in->input = *v;
	int rc = jinja_eval(r, filters, v);
	r->in->input = was;
	return rc;
}

static int exec_setblock(struct pyrun *r, const struct jnode *n)
{
	struct pyval v;

	TRY(capture_scoped(r, n->b, &v));
	if (r->in->flow)
		return INFER_OK;
	TRY(apply_block_filters(r, n->c, &v));
	return jinja_assign(r, n->a, v);
}

static int exec_filterblock(struct pyrun *r, const struct jnode *n)
{
	struct pyval v;

	TRY(capture_scoped(r, n->b, &v));
	if (r->in->flow)
		return INFER_OK;
	TRY(apply_block_filters(r, n->c, &v));
	py_text(r->in->out, v);
	return r->rc;
}

static int exec_with(struct pyrun *r, const struct jnode *n)
{
	struct jscope *was = r->in->scope, *s = jinja_scope(r, was);
	struct pyval v;
	int rc = r->rc;

	for (uint32_t i = 0; !rc && i < n->n; i += 2) {
		r->in->scope = was;
		rc = jinja_eval(r, n->list[i + 1], &v);
		r->in->scope = s;
		if (!rc)
			rc = jinja_assign(r, n->list[i], v);
	}
	if (!rc) {
		r->in->scope = s;
		rc = jinja_exec(r, n->b);
	}
	r->in->scope = was;
	return rc;
}

static int exec_if(struct pyrun *r, const struct jnode *n)
{
	struct pyval v;

	for (; n && n->kind == JN_IF; n = n->c) {
		TRY(jinja_eval(r, n->a, &v));
		if (py_true(v))
			return jinja_exec(r, n->b);
	}
	return n ? jinja_exec(r, n) : INFER_OK;
}

/* ---- macros ---- */

static int make_macro(struct pyrun *r, const struct jnode *n, struct pyval *out)
{
	struct jmacro *m = py_alloc(r, 1, sizeof *m);

	if (!m)
		return r->rc;
	m->node = n;
	m->scope = r->in->scope;
	for (struct jscope *s = r->in->scope; s; s = s->up)
		s->kept = 1;
	*out = (struct pyval){ .type = PY_MACRO, .macro = m };
	return INFER_OK;
}

/* Remove and return the keyword argument `name` of c; NULL: there is none. */
static struct pyval *take_keyword(struct pyrun *r, struct pycall *c, const struct pystr *name,
                                  struct pyval *v)
{
	py_spend(r, c->nkw / PY_STEP_ITEMS);
	for (uint32_t i = 0; i < c->nkw; i++) {
		if (c->name[i]->len != name->len || memcmp(c->name[i]->at, name->at, name->len))
			continue;
		*v = c->kw[i];
		for (c->nkw--; i < c->nkw; i++) {
			c->name[i] = c->name[i + 1];
			c->kw[i] = c->kw[i + 1];
		}
		return v;
	}
	return NULL;
}

/* Set varargs, kwargs and caller if the body of the macro uses them; refuse other surplus
 * arguments. */
static int set_special_arguments(struct pyrun *r, const struct jmacro *m, struct pycall *c,
                                 struct jscope *s)
{
	const struct jnode *n = m->node;
	static const struct pystr caller = { .at = "caller", .len = 6 };
	struct pyval v;
	int own = 0;

	for (uint32_t i = 0; i < n->n; i++)
		own |= n->list[i]->str->len == 6 && !memcmp(n->list[i]->str->at, "caller", 6);
	if ((n->uses & JM_CALLER) && !own) {
		if (!take_keyword(r, c, &caller, &v) || v.type == PY_NONE)
			TRY(py_undef_why(r, &v, "No caller defined"));
		TRY(jinja_let_name(r, s, "caller", v));
	}
	if (n->uses & JM_KWARGS) {
		TRY(py_dict(r, &v, PY_DICT, c->nkw));
		for (uint32_t i = 0; i < c->nkw; i++)
			TRY(pydict_put(r, v.d, (struct pyval){ .type = PY_STR, .s = c->name[i] },
			               c->kw[i]));
		TRY(jinja_let_name(r, s, "kwargs", v));
	} else if (c->nkw) {
		return py_fail(r, "macro '%.*s' takes no keyword argument '%.*s'",
		               (int)(n->str->len & 63), n->str->at, (int)(c->name[0]->len & 63),
		               c->name[0]->at);
	}
	if (n->uses & JM_VARARGS) {
		TRY(py_list(r, &v, PY_TUPLE, 0));
		for (uint32_t i = n->n; i < c->n; i++)
			TRY(py_push(r, v, c->pos[i]));
		return jinja_let_name(r, s, "varargs", v);
	}
	if (c->n > n->n)
		return py_fail(r, "macro '%.*s' takes not more than %u argument(s)",
		               (int)(n->str->len & 63), n->str->at, n->n);
	return INFER_OK;
}

/* Set the parameters in the scope of the macro: first the given arguments, then the defaults in
 * order. A default may use the parameters before it. */
static int bind_parameters(struct pyrun *r, const struct jmacro *m, struct pycall *c)
{
	const struct jnode *n = m->node;
	uint32_t first = n->n - n->id;
	struct pyval v;

	for (uint32_t i = 0; i < n->n; i++) {
		v = (struct pyval){ 0 };
		if (i < c->n)
			v = c->pos[i];
		else
			take_keyword(r, c, n->list[i]->str, &v);
		TRY(set_variable(r, r->in->scope, n->list[i]->id, v));
	}
	TRY(set_special_arguments(r, m, c, r->in->scope));
	for (uint32_t i = 0; i < n->n; i++) {
		if (r->in->scope->at[i].v.type != PY_MISSING)
			continue;
		if (i >= first)
			TRY(jinja_eval(r, n->list[n->n + i - first], &v));
		else
			TRY(py_undef(r, &v, NULL, n->list[i]->str));
		r->in->scope->at[i].v = v;
	}
	return INFER_OK;
}

int jinja_macro(struct pyrun *r, struct jmacro *m, struct pycall *c, struct pyval *out)
{
	struct jscope *was = r->in->scope, *s = jinja_scope(r, m->scope);

	if (!s)
		return r->rc;
	TRY(py_enter(r));
	r->in->scope = s;
	int rc = bind_parameters(r, m, c);
	if (!rc)
		rc = capture_body(r, m->node->b, out);
	r->in->scope = was;
	r->depth--;
	return rc;
}

static int exec_macro(struct pyrun *r, const struct jnode *n)
{
	struct pyval v;

	TRY(make_macro(r, n, &v));
	return set_variable(r, r->in->scope, n->a->id, v);
}

static int exec_call(struct pyrun *r, const struct jnode *n)
{
	static const struct pystr caller = { .at = "caller", .len = 6 };
	struct pycall c = { 0 };
	struct pyval f, v;

	TRY(jinja_eval(r, n->c->a, &f));
	TRY(jinja_args(r, n->c->args, &c));
	struct pyval *kw = py_alloc(r, c.nkw + 1, sizeof *kw);
	const struct pystr **name = py_alloc(r, c.nkw + 1, sizeof *name);
	if (r->rc)
		return r->rc;
	for (uint32_t i = 0; i < c.nkw; i++) {
		kw[i] = c.kw[i];
		name[i] = c.name[i];
	}
	name[c.nkw] = &caller;
	TRY(make_macro(r, n, &kw[c.nkw]));
	c.kw = kw;
	c.name = name;
	c.nkw++;
	r->line = n->line;
	TRY(jinja_call(r, f, &c, &v));
	py_text(r->in->out, v);
	return r->rc;
}

/* ---- all statements ---- */

static int exec_scope(struct pyrun *r, const struct jnode *n)
{
	struct pyval v;

	TRY(capture_scoped(r, n->b, &v));
	py_text(r->in->out, v);
	return r->rc;
}

static int exec_node(struct pyrun *r, const struct jnode *n)
{
	struct pyval v;

	switch (n->kind) {
	case JN_BODY:
		for (uint32_t i = 0; n->unset && i < n->unset[0]; i++)
			TRY(set_variable(r, r->in->scope, n->unset[1 + i],
			                 (struct pyval){ .type = PY_MISSING }));
		for (uint32_t i = 0; i < n->n && !r->in->flow; i++)
			TRY(jinja_exec(r, n->list[i]));
		return INFER_OK;
	case JN_TEXT:
		pysb_str(r->in->out, n->str);
		return r->rc;
	case JN_OUT:
		return exec_out(r, n);
	case JN_IF:
		return exec_if(r, n);
	case JN_FOR:
		TRY(jinja_eval(r, n->a, &v));
		return jinja_exec_for(r, n, v, 0);
	case JN_SET:
		TRY(jinja_eval(r, n->b, &v));
		return jinja_assign(r, n->a, v);
	case JN_SETBLOCK:
		return exec_setblock(r, n);
	case JN_MACRO:
		return exec_macro(r, n);
	case JN_CALLBLOCK:
		return exec_call(r, n);
	case JN_FILTERBLOCK:
		return exec_filterblock(r, n);
	case JN_WITH:
		return exec_with(r, n);
	case JN_SCOPE:
		return exec_scope(r, n);
	default:
		r->in->flow = n->kind == JN_BREAK ? JFLOW_BREAK : JFLOW_CONTINUE;
		return INFER_OK;
	}
}

int jinja_exec(struct pyrun *r, const struct jnode *n)
{
	TRY(py_spend(r, 1));
	TRY(py_enter(r));
	r->line = n->line;
	int rc = exec_node(r, n);
	r->depth--;
	return rc;
}
