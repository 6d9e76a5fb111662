/* jinja/jinja.c - render a template. */
#include "jinja/jinja.h"
#include "jinja/run.h"
#include "base/clock.h"
#include "base/err.h"

#include <string.h>

enum {
	STEPS = 2000000,
	STEPS_MORE = 2000,
	STEPS_MOST = 20000000,
	BYTES = 64 << 20,
	CPU_MS = 10000,
	DEPTH = 1000,
	DEPTH_MOST = 4000,
	STACK = 16 << 10 /* bytes of stack that are assumed without asking the system */
};

/* Convert the members of the context that the template uses. */
static int set_context(struct pyrun *r, const struct json *context)
{
	json_each(v, context) {
		const uint32_t *id = map_get(&r->in->t->names, v->key, v->key_n);
		if (id)
			TRY(py_from_json(r, &r->in->ctx[*id], v));
	}
	return r->rc;
}

int jinja_asks(const struct jinja *t, const char *name)
{
	return map_get(&t->names, name, strlen(name)) != NULL;
}

static int append_output(struct pyrun *r, const struct pysb *b, struct buf *out, struct buf *from)
{
	if (buf_reserve(out, b->len) || (from && buf_reserve(from, b->len)))
		return err_set(r->err, INFER_ENOMEM, "%s: out of memory", r->name);
	buf_put(out, b->at, b->len);
	if (from && b->from == PY_FROM_MIXED) {
		buf_put(from, b->mask, b->len);
	} else if (from && b->len) {
		memset(from->at + from->len, b->from, b->len);
		from->len += b->len;
		from->at[from->len] = 0;
	}
	return INFER_OK;
}

int jinja_render(const struct jinja *t, const struct json *context, const struct jinja_options *o,
                 struct buf *out, struct buf *from, infer_error *err)
{
	static const struct jinja_options none;
	struct jrender in = { .t = t };
	struct pyrun r = { .name = t->name, .host = &jinja_host, .in = &in, .err = err };
	struct pysb b = { .r = &r };
	int rc;

	if (!o)
		o = &none;
	if (!json_is_object(context) || o->depth < 0 || o->depth > DEPTH_MOST)
		return err_set(err, INFER_EINVAL,
		               "a template's context is an object, and its depth at most %d",
		               DEPTH_MOST);
	arena_init(&r.arena, MEM_JINJA);
	r.steps_max = o->steps ? o->steps : STEPS;
	r.steps_more = o->steps ? 0 : STEPS_MORE;
	r.until_ns = clock_thread_ns() + (o->cpu_ms ? o->cpu_ms : CPU_MS) * 1000000;
	r.bytes_max = o->bytes ? o->bytes : BYTES;
	r.depth_max = o->depth ? o->depth : DEPTH;
	r.mutable = !!(o->flags & JINJA_MUTABLE);
	in.now = o->now;
	r.trusted = o->trusted;
	in.out = &b;
	r.stack = __builtin_frame_address(0);
	r.stack_most = STACK;
	in.ctx = py_alloc(&r, (size_t)t->names.count + 1, sizeof *in.ctx);
	rc = r.rc;
	for (int i = -1; !rc && i < 3; i++)
		rc = set_context(&r, i < 0 ? context : o->more[i]);
	if (!o->steps && r.steps_max > STEPS_MOST)
		r.steps_max = STEPS_MOST;
	if (!rc && !(in.scope = jinja_scope(&r, NULL)))
		rc = r.rc;
	if (!rc && t->has_self)
		rc = jinja_let_name(&r, in.scope, "self", (struct pyval){ .type = PY_SELF });
	if (!rc)
		rc = jinja_exec(&r, t->root);
	if (!rc)
		rc = append_output(&r, &b, out, from);
	if (o->used)
		*o->used = r.steps;
	if (o->spent && r.bytes_spent)
		*o->spent = 1;
	arena_fini(&r.arena);
	return rc;
}
