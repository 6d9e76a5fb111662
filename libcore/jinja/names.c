/* jinja/names.c - find the block that owns each name. As in Jinja, a block owns the names that it
 * sets, from its beginning. Such a name is undefined until it is set, even if the context has it,
 * unless an outer block owns it or it is read earlier. */
#include "jinja/node.h"
#include "base/err.h"

#include <string.h>

struct known {
	struct known *next;
	uint32_t id, before; /* before: scan.level of the id outside this block */
};

struct block {
	struct known *known;  /* names that the block owns, removed at its end */
	uint32_t *unset, cap; /* becomes jnode.unset */
};

struct scan {
	struct jinja *t;
	struct arena a;
	uint32_t *level; /* [names] depth of the innermost block that owns the name; 0: none */
	uint32_t depth;
	int branches; /* nesting of {% if %} in this block */
	struct block *b;
};

static int add_known(struct scan *s, uint32_t id)
{
	struct known *k = arena_alloc(&s->a, 1, sizeof *k);

	if (!k)
		return INFER_ENOMEM;
	*k = (struct known){ s->b->known, id, s->level[id] };
	s->b->known = k;
	s->level[id] = s->depth;
	return INFER_OK;
}

static int add_unset(struct scan *s, uint32_t id)
{
	struct block *b = s->b;
	uint32_t n = b->unset ? b->unset[0] : 0;

	if (n + 1 >= b->cap) {
		uint32_t cap = b->cap ? 2 * b->cap : 4,
			 *more = arena_alloc(&s->t->arena, cap, sizeof *more);

		if (!more)
			return INFER_ENOMEM;
		if (n)
			memcpy(more, b->unset, (n + 1) * sizeof *more);
		b->unset = more;
		b->cap = cap;
	}
	b->unset[0] = n + 1;
	b->unset[n + 1] = id;
	return INFER_OK;
}

/* Make the block own a name that it sets. A name first set in a branch of an `if` is not unset: if
 * the branch is not taken, it has the context's value. */
static int store_target(struct scan *s, uint32_t id)
{
	int is_new = !s->level[id];

	if (s->level[id] == s->depth)
		return INFER_OK;
	TRY(add_known(s, id));
	return is_new && !s->branches ? add_unset(s, id) : INFER_OK;
}

/* Collect the names that an expression reads. A chain of operators is nested in child a, so a loop
 * follows that child. */
static int read_names(struct scan *s, const struct jnode *n)
{
	for (; n; n = n->a) {
		if ((n->kind == JN_NAME || n->kind == JN_NSREF) && !s->level[n->id])
			TRY(add_known(s, n->id));
		TRY(read_names(s, n->b));
		TRY(read_names(s, n->c));
		TRY(read_names(s, n->d));
		for (uint32_t i = 0; i < n->n; i++)
			TRY(read_names(s, n->list[i]));
		for (uint32_t i = 0; n->args && i < n->args->n; i++)
			TRY(read_names(s, n->args->pos[i]));
		for (uint32_t i = 0; n->args && i < n->args->nkw; i++)
			TRY(read_names(s, n->args->kw[i]));
		if (n->args) {
			TRY(read_names(s, n->args->star));
			TRY(read_names(s, n->args->star2));
		}
	}
	return INFER_OK;
}

static int set_names(struct scan *s, const struct jnode *target)
{
	if (target->kind != JN_TUPLE)
		return target->kind == JN_NAME ? store_target(s, target->id)
		                               : read_names(s, target);
	for (uint32_t i = 0; i < target->n; i++)
		TRY(set_names(s, target->list[i]));
	return INFER_OK;
}

/* Add the names that a block has from its beginning: targets and parameters. */
static int add_given(struct scan *s, const struct jnode *target)
{
	if (target->kind == JN_NAME && s->level[target->id] != s->depth)
		return add_known(s, target->id);
	for (uint32_t i = 0; target->kind == JN_TUPLE && i < target->n; i++)
		TRY(add_given(s, target->list[i]));
	return INFER_OK;
}

static int add_given_name(struct scan *s, const char *name)
{
	const uint32_t *id = map_get(&s->t->names, name, strlen(name));

	return id && s->level[*id] != s->depth ? add_known(s, *id) : INFER_OK;
}

/* Collect the names that a statement reads and sets in its own block. */
static int collect_own_names(struct scan *s, const struct jnode *n)
{
	switch (n->kind) {
	case JN_BODY:
		for (uint32_t i = 0; i < n->n; i++)
			TRY(collect_own_names(s, n->list[i]));
		return INFER_OK;
	case JN_IF:
		TRY(read_names(s, n->a));
		s->branches++;
		for (; n && n->kind == JN_IF; n = n->c) {
			TRY(read_names(s, n->a));
			TRY(collect_own_names(s, n->b));
		}
		if (n)
			TRY(collect_own_names(s, n));
		s->branches--;
		return INFER_OK;
	case JN_SET:
		TRY(read_names(s, n->b));
		return set_names(s, n->a);
	case JN_SETBLOCK:
		return set_names(s, n->a);
	case JN_MACRO:
		return store_target(s, n->a->id);
	case JN_CALLBLOCK:
	case JN_FILTERBLOCK:
		return read_names(s, n->c);
	case JN_WITH:
		for (uint32_t i = 1; i < n->n; i += 2)
			TRY(read_names(s, n->list[i]));
		return INFER_OK;
	case JN_OUT:
	case JN_FOR:
		return read_names(s, n->a);
	default:
		return INFER_OK;
	}
}

static int visit_inner(struct scan *s, const struct jnode *n);

/* Process one block: `of` defines its names, `body` is its code. */
static int visit_block(struct scan *s, const struct jnode *of, struct jnode *body)
{
	struct block b = { 0 }, *was = s->b;
	int branches = s->branches,
	    is_macro = of && (of->kind == JN_MACRO || of->kind == JN_CALLBLOCK);
	uint32_t step = of && of->kind == JN_WITH ? 2 : 1;

	s->b = &b;
	s->branches = 0;
	s->depth++;
	if (s->depth == 1 && s->t->has_self)
		TRY(add_given_name(s, "self"));
	for (uint32_t i = 0; of && i < of->n; i += step)
		TRY(add_given(s, of->list[i]));
	if (of && of->kind == JN_FOR)
		TRY(add_given_name(s, "loop"));
	if (is_macro && of->uses & JM_CALLER)
		TRY(add_given_name(s, "caller"));
	if (is_macro && of->uses & JM_KWARGS)
		TRY(add_given_name(s, "kwargs"));
	if (is_macro && of->uses & JM_VARARGS)
		TRY(add_given_name(s, "varargs"));
	for (uint32_t i = 0; is_macro && i < of->id; i++)
		TRY(read_names(s, of->list[of->n + i]));
	TRY(collect_own_names(s, body));
	TRY(visit_inner(s, body));
	body->unset = b.unset;
	for (const struct known *k = b.known; k; k = k->next)
		s->level[k->id] = k->before;
	s->depth--;
	s->branches = branches;
	s->b = was;
	return INFER_OK;
}

/* Visit the blocks inside a statement, once all names around them are known. */
static int visit_inner(struct scan *s, const struct jnode *n)
{
	switch (n->kind) {
	case JN_BODY:
		for (uint32_t i = 0; i < n->n; i++)
			TRY(visit_inner(s, n->list[i]));
		return INFER_OK;
	case JN_IF:
		for (; n && n->kind == JN_IF; n = n->c)
			TRY(visit_inner(s, n->b));
		return n ? visit_inner(s, n) : INFER_OK;
	case JN_FOR:
		TRY(visit_block(s, n, n->b));
		return n->c ? visit_block(s, NULL, n->c) : INFER_OK;
	case JN_MACRO:
	case JN_CALLBLOCK:
	case JN_WITH:
		return visit_block(s, n, n->b);
	case JN_SETBLOCK:
	case JN_FILTERBLOCK:
	case JN_SCOPE:
		return visit_block(s, NULL, n->b);
	default:
		return INFER_OK;
	}
}

/* ---- self ---- */

enum { UNUSED, IS_READ, IS_SET };

/* Find the first use of a name in an expression or a target. */
static int use_name(const struct jnode *n, uint32_t id, int as)
{
	int found = UNUSED;

	for (; n && !found; n = n->a) {
		if (n->kind == JN_NAME && n->id == id)
			return as;
		if ((found = use_name(n->b, id, as)) || (found = use_name(n->c, id, as)) ||
		    (found = use_name(n->d, id, as)))
			return found;
		for (uint32_t i = 0; !found && i < n->n; i++)
			found = use_name(n->list[i], id, as);
		for (uint32_t i = 0; !found && n->args && i < n->args->n; i++)
			found = use_name(n->args->pos[i], id, as);
		for (uint32_t i = 0; !found && n->args && i < n->args->nkw; i++)
			found = use_name(n->args->kw[i], id, as);
		if (!found && n->args && !(found = use_name(n->args->star, id, as)))
			found = use_name(n->args->star2, id, as);
	}
	return found;
}

static int use_names(struct jnode *const *list, uint32_t n, uint32_t step, uint32_t id, int as)
{
	int found = UNUSED;

	for (uint32_t i = 0; !found && i < n; i += step)
		found = use_name(list[i], id, as);
	return found;
}

/* Find the first use of a name in a statement and its contents, in the order of Jinja's visits. */
static int first_use(const struct jnode *n, uint32_t id)
{
	int found = UNUSED;

	switch (n->kind) {
	case JN_BODY:
		for (uint32_t i = 0; !found && i < n->n; i++)
			found = first_use(n->list[i], id);
		return found;
	case JN_IF:
		for (; !found && n && n->kind == JN_IF; n = n->c)
			if (!(found = use_name(n->a, id, IS_READ)))
				found = first_use(n->b, id);
		return found || !n ? found : first_use(n, id);
	case JN_SET:
		found = use_name(n->a, id, IS_SET);
		return found ? found : use_name(n->b, id, IS_READ);
	case JN_FOR:
		if ((found = use_name(n->list[0], id, IS_SET)) ||
		    (found = use_name(n->a, id, IS_READ)) || (found = first_use(n->b, id)))
			return found;
		if (n->c && (found = first_use(n->c, id)))
			return found;
		return use_name(n->d, id, IS_READ);
	case JN_SETBLOCK:
		if ((found = use_name(n->a, id, IS_SET)) || (found = use_name(n->c, id, IS_READ)))
			return found;
		return first_use(n->b, id);
	case JN_MACRO:
	case JN_CALLBLOCK:
		if ((found = use_name(n->c, id, IS_READ)) ||
		    (found = use_names(n->list, n->n, 1, id, IS_SET)) ||
		    (found = use_names(n->list + n->n, n->id, 1, id, IS_READ)))
			return found;
		return first_use(n->b, id);
	case JN_WITH:
		if ((found = use_names(n->list, n->n, 2, id, IS_SET)) ||
		    (n->n && (found = use_names(n->list + 1, n->n - 1, 2, id, IS_READ))))
			return found;
		return first_use(n->b, id);
	case JN_FILTERBLOCK:
		found = first_use(n->b, id);
		return found ? found : use_name(n->c, id, IS_READ);
	case JN_SCOPE:
		return first_use(n->b, id);
	default:
		return use_name(n->a, id, IS_READ);
	}
}

int jinja_names(struct jinja *t)
{
	struct scan s = { .t = t };
	const uint32_t *self = map_get(&t->names, "self", 4);

	arena_init(&s.a, MEM_JINJA);
	s.level = arena_alloc(&s.a, (size_t)t->names.count + 1, sizeof *s.level);
	t->has_self = self && first_use(t->root, *self) == IS_READ;
	int rc = s.level ? visit_block(&s, NULL, t->root) : INFER_ENOMEM;

	arena_fini(&s.a);
	return rc;
}
