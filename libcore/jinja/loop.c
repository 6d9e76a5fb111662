/* jinja/loop.c - {% for %} and the variable `loop`. */
#include "jinja/run.h"
#include "base/err.h"

#include <string.h>

/* Return 1 and the next item that satisfies the loop's condition, or 0 at the end. */
static int loop_pull(struct pyrun *r, struct jloop *l, struct pyval *out)
{
	const struct jnode *n = l->node;
	struct jscope *was = r->in->scope, *s;
	struct pyval yes;
	int got = 0;

	if (!n->d)
		return pyiter_next(r, &l->it, out);
	s = jinja_scope(r, l->scope);
	while (s && !got && pyiter_next(r, &l->it, out)) {
		s->n = 0;
		r->in->scope = s;
		if (jinja_assign(r, n->list[0], *out) || jinja_eval(r, n->d, &yes))
			break;
		got = py_true(yes);
	}
	r->in->scope = was;
	return got && !r->rc;
}

static int loop_take(struct pyrun *r, struct jloop *l, struct pyval *out)
{
	if (l->rest.type && l->rest_at < l->rest.l->n) {
		*out = l->rest.l->at[l->rest_at++];
		return 1;
	}
	return l->rest.type ? 0 : loop_pull(r, l, out);
}

/* Return 1 if there is a next item, which is stored in l->next. */
static int loop_peek(struct pyrun *r, struct jloop *l)
{
	if (l->has_next < 0)
		l->has_next = loop_take(r, l, &l->next);
	return l->has_next;
}

/* Advance to the next item; returns 0 at the end. */
int jloop_next(struct pyrun *r, struct jloop *l, struct pyval *out)
{
	struct pyval v;

	if (l->has_next >= 0) {
		v = l->next;
		if (!l->has_next)
			return 0;
		l->has_next = -1;
	} else if (!loop_take(r, l, &v)) {
		return 0;
	}
	l->prev = l->cur;
	l->cur = v;
	l->i++;
	*out = v;
	return 1;
}

/* Return the number of items. To count a loop with a condition, or over an iterator, read it to its
 * end. */
static int loop_length(struct pyrun *r, struct jloop *l, int64_t *n)
{
	struct pyval rest, v;
	size_t len;

	if (l->length < 0 && !l->node->d && l->it.src.type != PY_GEN && l->it.src.type != PY_LOOP) {
		TRY(py_len(r, l->it.src, &len));
		l->length = (int64_t)len;
	} else if (l->length < 0) {
		TRY(py_list(r, &rest, PY_LIST, 0));
		while (loop_pull(r, l, &v))
			TRY(py_push(r, rest, v));
		l->rest = rest;
		l->rest_at = 0;
		l->length = (int64_t)l->i + (l->has_next > 0) + (int64_t)rest.l->n;
	}
	*n = l->length;
	return r->rc;
}

static int loop_item(struct pyrun *r, struct pyval v, int there, const char *why, struct pyval *out)
{
	if (there) {
		*out = v;
		return r->rc;
	}
	return py_undef_why(r, out, why);
}

static int loop_fn(struct pyrun *r, struct jloop *l, const char *name, struct pyval *out);

int jloop_attr(struct pyrun *r, struct jloop *l, const struct pystr *name, struct pyval *out)
{
	static const char *const names[] = { "index",    "index0",   "first",     "last",
		                             "length",   "revindex", "revindex0", "previtem",
		                             "nextitem", "depth",    "depth0",    "cycle",
		                             "changed" };
	int64_t n = 0, i = (int64_t)l->i;
	size_t k = 0, count = sizeof names / sizeof *names;

	while (k < count &&
	       (name->len != strlen(names[k]) || memcmp(name->at, names[k], name->len)))
		k++;
	if (k >= 4 && k <= 6)
		TRY(loop_length(r, l, &n));
	switch (k) {
	case 0:
	case 1:
		*out = py_int(i - (k == 1));
		return INFER_OK;
	case 2:
		*out = py_bool(i == 1);
		return INFER_OK;
	case 3:
		*out = py_bool(!loop_peek(r, l));
		return r->rc;
	case 4:
		*out = py_int(n);
		return INFER_OK;
	case 5:
	case 6:
		*out = py_int(n - i + (k == 5));
		return INFER_OK;
	case 7:
		return loop_item(r, l->prev, i > 1, "there is no previous item", out);
	case 8:
		return loop_item(r, l->next, loop_peek(r, l), "there is no next item", out);
	case 9:
	case 10:
		*out = py_int(l->depth0 + (k == 9));
		return INFER_OK;
	case 11:
	case 12:
		return loop_fn(r, l, names[k], out);
	default:
		return py_undef(r, out, "LoopContext object", name);
	}
}

static int loop_cycle(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	if (!c->n)
		return py_fail(r, "no items for cycling given");
	*out = c->pos[(c->self.loop->i - 1) % c->n];
	return r->rc;
}

static int loop_changed(struct pyrun *r, struct pycall *c, struct pyval *out)
{
	struct pyval now;

	TRY(py_list(r, &now, PY_TUPLE, 0));
	for (uint32_t i = 0; i < c->n; i++)
		TRY(py_push(r, now, c->pos[i]));
	*out = py_bool(!c->self.loop->changed.type || !py_eq(r, c->self.loop->changed, now));
	c->self.loop->changed = now;
	return r->rc;
}

static int loop_fn(struct pyrun *r, struct jloop *l, const char *name, struct pyval *out)
{
	static const struct pyfn fns[] = { { "cycle", loop_cycle, NULL, 0, 0 },
		                           { "changed", loop_changed, NULL, 0, 0 } };
	struct pymethod *m = py_alloc(r, 1, sizeof *m);

	if (!m)
		return r->rc;
	m->self = (struct pyval){ .type = PY_LOOP, .loop = l };
	m->fn = &fns[name[1] == 'h'];
	*out = (struct pyval){ .type = PY_METHOD, .method = m };
	return INFER_OK;
}

int jloop_call(struct pyrun *r, struct jloop *l, struct pycall *c, struct pyval *out)
{
	struct pysb b = { .r = r }, *was = r->in->out;
	struct jscope *scope = r->in->scope;

	if (!l->node->recursive || c->n != 1)
		return py_fail(r, "the loop is not recursive");
	TRY(py_enter(r));
	r->in->out = &b;
	r->in->scope = l->scope;
	int rc = jinja_exec_for(r, l->node, c->pos[0], l->depth0 + 1);
	r->in->out = was;
	r->in->scope = scope;
	r->depth--;
	return rc ? rc : pysb_done(&b, out);
}

int jinja_exec_for(struct pyrun *r, const struct jnode *n, struct pyval over, int depth0)
{
	struct jloop *l = py_alloc(r, 1, sizeof *l);
	struct jscope *was = r->in->scope, *s = NULL;
	struct pyval v;
	/* finished: an iteration was completed; if none was, `else` is executed, as in Jinja */
	int rc, finished = 0;

	if (!l)
		return r->rc;
	*l = (struct jloop){
		.node = n, .scope = was, .length = -1, .has_next = -1, .depth0 = depth0
	};
	TRY(pyiter_init(r, &l->it, over));
	while (!r->in->flow && jloop_next(r, l, &v)) {
		if (!s || s->kept)
			s = jinja_scope(r, was);
		if (!s)
			break;
		s->n = 0;
		r->in->scope = s;
		rc = jinja_let_name(r, s, "loop", (struct pyval){ .type = PY_LOOP, .loop = l });
		if (!rc)
			rc = jinja_assign(r, n->list[0], v);
		if (!rc)
			rc = jinja_exec(r, n->b);
		r->in->scope = was;
		if (rc)
			return rc;
		finished |= !r->in->flow;
		if (r->in->flow == JFLOW_CONTINUE)
			r->in->flow = JFLOW_NONE;
	}
	r->in->flow = JFLOW_NONE;
	if (r->rc || finished || !n->c)
		return r->rc;
	r->in->scope = jinja_scope(r, was);
	rc = r->in->scope ? jinja_exec(r, n->c) : r->rc;
	r->in->scope = was;
	return rc;
}
