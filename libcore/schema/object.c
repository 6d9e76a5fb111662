/* schema/object.c - the shape of objects of one branch: slots of names, and classes of other
 * names. */
#include "schema/compile.h"
#include "base/err.h"
#include "base/utf8.h"

#include <string.h>

enum { MOST_NEEDS = 6, MOST_WORDS = 64, MOST_CLASSES = 64 };

struct name_class {
	const struct dfa *names;
	uint8_t *in; /* [n_facts] 1: the fact matches these names */
};

struct build {
	struct object_shape *o;
	struct fact *fact; /* without FACT_REST */
	uint32_t n_facts, n_needs, n_classes;
	int closed;              /* 1: members that no fact names do not exist */
	const struct dfa *named; /* names that facts with an automaton name; NULL: none */
	struct name_class class[MOST_CLASSES]; /* disjoint: the names without a slot */
};

/* Return the names that are evaluated for an unevaluatedProperties; NULL: none. */
static int evaluated_names(struct schema *c, const struct branch *b, const struct fact *rest,
                           const struct dfa **out)
{
	struct dfa_word word;
	const struct dfa *d;
	struct dfa *all;

	*out = NULL;
	for (const struct fact *f = b->facts; f; f = f->next) {
		if (!f->evaluates || !(f->mask & rest->bit))
			continue;
		if (f->kind == FACT_REST) {
			TRY(dfa_all(&all, c->w.left, c->w.err));
			return schema_own(c, all, out);
		}
		d = f->keys;
		word = (struct dfa_word){ f->name, f->name_n };
		if (!d)
			TRY(schema_words(c, &word, 1, 0, &d));
		TRY(schema_unite(c, out, d));
	}
	return INFER_OK;
}

static int gather_facts(struct schema *c, const struct branch *b, struct build *u)
{
	uint32_t n = 0;

	for (const struct fact *f = b->facts; f; f = f->next)
		n++;
	TRY(work_alloc(&c->w, &u->fact, n + 1, sizeof *u->fact));
	for (const struct fact *f = b->facts; f; f = f->next) {
		struct fact *to = u->fact + u->n_facts++;

		*to = *f;
		if (f->kind == FACT_REST) {
			to->kind = f->neg ? FACT_HAS : FACT_VALUE;
			TRY(evaluated_names(c, b, f, &to->keys));
			TRY(schema_complement(c, &to->keys));
		}
		if (to->kind != FACT_HAS)
			continue;
		if (u->n_needs == MOST_NEEDS)
			return schema_fail(c, INFER_EUNSUP, f->v,
			                   "too many conditions ask for some member");
		to->need = u->n_needs++;
	}
	u->o->needs = (UINT32_C(1) << u->n_needs) - 1;
	return INFER_OK;
}

static int fact_names(const struct fact *f) { return f->evaluates && f->mask & MASK_NAMES; }

/* Set u->closed and u->named. */
static int find_named(struct schema *c, const struct branch *b, struct build *u)
{
	u->closed = b->lists;
	for (uint32_t i = 0; u->closed && i < u->n_facts; i++)
		if (u->fact[i].keys && fact_names(u->fact + i))
			TRY(schema_unite(c, &u->named, u->fact[i].keys));
	c->g->goal[c->goal].closed |= u->closed;
	return INFER_OK;
}

static int name_order(const char *a, uint32_t an, const char *b, uint32_t bn)
{
	const int cmp = memcmp(a, b, an < bn ? an : bn);

	return cmp ? cmp : (an > bn) - (an < bn);
}

/* Return the index of the slot of a name, or where to insert it. */
static uint32_t find_name_slot(const struct object_shape *o, const char *name, uint32_t n)
{
	uint32_t lo = 0, hi = o->n_slots;

	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;

		if (name_order(name, n, o->slot[mid].name, o->slot[mid].n) > 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Insert a slot for the name, unless there is one. */
static int add_slot(struct schema *c, struct object_shape *o, uint32_t *cap, const char *name,
                    uint32_t n)
{
	const uint32_t lo = find_name_slot(o, name, n);
	char *own;

	if (lo < o->n_slots && !name_order(name, n, o->slot[lo].name, o->slot[lo].n))
		return INFER_OK;
	TRY(work_steps(&c->w, o->n_slots - lo + 1));
	TRY(work_alloc(&c->w, &own, (uint64_t)n + 1, 1));
	if (n) /* an empty name may be NULL */
		memcpy(own, name, n);
	TRY(work_grow(&c->w, &o->slot, cap, o->n_slots + 1, sizeof *o->slot));
	memmove(o->slot + lo + 1, o->slot + lo, (o->n_slots - lo) * sizeof *o->slot);
	o->slot[lo] = (struct slot){ .name = own, .n = n };
	o->n_slots++;
	return INFER_OK;
}

/* Make the options of names that the facts of[0 .. n) match: one goal per set of FACT_HAS. */
static int make_options(struct schema *c, struct build *u, const uint32_t *of, uint32_t n,
                        struct options *o)
{
	uint32_t *lits, needs = 0;

	for (uint32_t i = 0; i < n; i++)
		if (u->fact[of[i]].kind == FACT_HAS)
			needs |= UINT32_C(1) << u->fact[of[i]].need;
	TRY(work_alloc(&c->w, &lits, (uint64_t)n + 1, sizeof *lits));
	TRY(work_alloc(&c->w, &o->at, UINT64_C(1) << __builtin_popcount(needs), sizeof *o->at));
	for (uint32_t s = 0; s < UINT32_C(1) << u->n_needs; s++) {
		uint32_t k = 0, goal;

		if (s & ~needs)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			const struct fact *f = u->fact + of[i];

			if (f->kind == FACT_VALUE || (f->kind == FACT_HAS && (s >> f->need & 1)))
				lits[k++] = f->lit;
		}
		TRY(schema_goal(c, lits, k, &goal));
		if (goal != NOWHERE)
			o->at[o->n++] = (struct option){ goal, s };
	}
	return INFER_OK;
}

/* List the facts that name slot s, ascending: list[first[s] .. first[s + 1]). */
static int facts_by_slot(struct schema *c, const struct build *u, uint32_t **first, uint32_t **list)
{
	uint32_t *slot, *at;

	TRY(work_steps(&c->w, (uint64_t)u->n_facts * 8));
	TRY(work_alloc(&c->w, first, (uint64_t)u->o->n_slots + 2, sizeof **first));
	TRY(work_alloc(&c->w, list, (uint64_t)u->n_facts + 1, sizeof **list));
	TRY(work_alloc(&c->w, &slot, (uint64_t)u->n_facts + 1, sizeof *slot));
	for (uint32_t i = 0; i < u->n_facts; i++)
		if (!u->fact[i].keys) {
			slot[i] = find_name_slot(u->o, u->fact[i].name, u->fact[i].name_n);
			(*first)[slot[i] + 2]++;
		}
	at = *first + 1;
	for (uint32_t s = 1; s <= u->o->n_slots; s++)
		at[s] += at[s - 1];
	for (uint32_t i = 0; i < u->n_facts; i++)
		if (!u->fact[i].keys)
			(*list)[at[slot[i]]++] = i;
	return INFER_OK;
}

static int fill_slot(struct schema *c, struct build *u, struct slot *slot, uint32_t *of, uint32_t n)
{
	int exists = !u->closed;

	for (uint32_t i = 0; i < n; i++) {
		const struct fact *f = u->fact + of[i];

		exists |= fact_names(f);
		slot->required |= f->kind == FACT_REQUIRED;
		/* facts are listed newest first */
		if (f->kind == FACT_VALUE && !f->keys)
			slot->rank = u->n_facts - of[i];
	}
	if (!slot->rank)
		slot->rank = UINT32_MAX - u->o->n_slots + (uint32_t)(slot - u->o->slot);
	u->o->required += slot->required != 0;
	if (!exists || (c->opts.strings && !dfa_match(c->opts.strings, slot->name, slot->n)))
		return INFER_OK;
	return make_options(c, u, of, n, &slot->value);
}

static int fill_slots(struct schema *c, struct build *u)
{
	uint32_t *first, *list, *of, *keyed, n_keyed = 0;

	TRY(facts_by_slot(c, u, &first, &list));
	TRY(work_alloc(&c->w, &of, (uint64_t)u->n_facts + 1, sizeof *of));
	TRY(work_alloc(&c->w, &keyed, (uint64_t)u->n_facts + 1, sizeof *keyed));
	for (uint32_t i = 0; i < u->n_facts; i++)
		if (u->fact[i].keys)
			keyed[n_keyed++] = i;
	for (uint32_t s = 0; s < u->o->n_slots; s++) {
		struct slot *slot = u->o->slot + s;
		uint32_t n = 0;

		TRY(work_steps(&c->w, first[s + 1] - first[s] +
		                              (uint64_t)n_keyed * ((uint64_t)slot->n + 1)));
		for (uint32_t i = first[s]; i < first[s + 1]; i++)
			of[n++] = list[i];
		for (uint32_t i = 0; i < n_keyed; i++)
			if (dfa_match(u->fact[keyed[i]].keys, slot->name, slot->n))
				of[n++] = keyed[i];
		TRY(fill_slot(c, u, slot, of, n));
	}
	return INFER_OK;
}

/* Split name class k into the names that fact i matches and the others. */
static int split_class(struct schema *c, struct build *u, uint32_t k, uint32_t i)
{
	const struct dfa *in, *out;
	uint8_t *more;

	if (u->class[k].names == u->fact[i].keys) {
		u->class[k].in[i] = 1;
		return INFER_OK;
	}
	TRY(schema_intersect(c, u->class[k].names, u->fact[i].keys, &in));
	if (dfa_is_none(in))
		return INFER_OK;
	u->class[k].in[i] = 1;
	TRY(schema_memo(c, MEMO_MINUS, u->class[k].names, u->fact[i].keys, &out));
	if (dfa_is_none(out))
		return INFER_OK;
	if (u->n_classes == MOST_CLASSES)
		return err_set(c->w.err, INFER_EUNSUP,
		               "the schema divides the names of properties into too many classes");
	TRY(work_alloc(&c->w, &more, u->n_facts + 1, 1));
	memcpy(more, u->class[k].in, u->n_facts);
	more[i] = 0;
	u->class[k].names = in;
	u->class[u->n_classes++] = (struct name_class){ out, more };
	return INFER_OK;
}

/* Set *rest to the names without a slot that members may have. */
static int names_without_slot(struct schema *c, struct build *u, const struct dfa **rest)
{
	struct dfa_word *word;

	*rest = NULL;
	TRY(work_alloc(&c->w, &word, u->o->n_slots + 1, sizeof *word));
	for (uint32_t s = 0; s < u->o->n_slots; s++)
		word[s] = (struct dfa_word){ u->o->slot[s].name, u->o->slot[s].n };
	if (u->o->n_slots)
		TRY(schema_words(c, word, u->o->n_slots, 1, rest));
	else
		TRY(schema_complement(c, rest));
	TRY(schema_intersect(c, *rest, c->opts.strings, rest));
	return schema_intersect(c, *rest, u->named, rest);
}

static int split_names(struct schema *c, struct build *u)
{
	u->n_classes = 0;
	if (u->closed && !u->named)
		return INFER_OK;
	TRY(names_without_slot(c, u, &u->class[0].names));
	u->n_classes = 1;
	TRY(work_alloc(&c->w, &u->class[0].in, u->n_facts + 1, 1));
	for (uint32_t i = 0; i < u->n_facts; i++) {
		uint32_t same = 0;

		if (!u->fact[i].keys)
			continue;
		while (same < i && u->fact[same].keys != u->fact[i].keys)
			same++;
		for (uint32_t k = 0, n = u->n_classes; k < n; k++)
			if (same < i)
				u->class[k].in[i] = u->class[k].in[same];
			else
				TRY(split_class(c, u, k, i));
	}
	return INFER_OK;
}

/* State of add_listed_name. */
struct listing {
	struct schema *c;
	struct object_shape *o;
	uint32_t cap;
	int rc;
};

static int add_listed_name(void *user, const uint32_t *cp, uint32_t n)
{
	struct listing *l = user;
	char *name, *at;

	l->rc = work_alloc(&l->c->w, &name, (uint64_t)n * 4 + 1, 1);
	if (l->rc)
		return l->rc;
	at = name;
	for (uint32_t i = 0; i < n; i++)
		at += utf8_put(at, cp[i]);
	l->rc = add_slot(l->c, l->o, &l->cap, name, (uint32_t)(at - name));
	return l->rc;
}

/* Add a slot for each name of classes with at most MOST_WORDS names. *more: 1 if one was added. */
static int list_small_classes(struct schema *c, struct build *u, uint32_t cap, int *more)
{
	struct listing l = { c, u->o, cap, INFER_OK };
	uint64_t n;

	*more = 0;
	for (uint32_t k = 0; k < u->n_classes; k++) {
		TRY(dfa_count(&n, u->class[k].names, c->w.err));
		if (n > MOST_WORDS)
			continue;
		*more |= n > 0;
		TRY(dfa_list(u->class[k].names, n, add_listed_name, &l, c->w.err));
		TRY(l.rc);
	}
	return INFER_OK;
}

/* Count the characters of range i. It contains all surrogates (not characters) or none. */
static uint32_t range_size(const struct dfa *d, uint32_t i)
{
	const uint32_t end = i + 1 < d->n_ranges ? d->from[i + 1] : DFA_MOST_CP + 1;

	return end - d->from[i] - (d->from[i] < 0xd800 && end >= 0xe000 ? 0x800 : 0);
}

/* more than any object has members or any array has elements */
#define MANY (UINT64_C(1) << 40)

int schema_followers(struct schema *c, const struct dfa *d, const uint64_t **out)
{
	uint64_t *size, *count;
	uint32_t far = 0, any = 0;

	for (uint32_t s = 1; s < d->n_states; s++)
		if (d->greatest[s] != DFA_FOREVER) {
			any = 1;
			far = d->greatest[s] > far ? d->greatest[s] : far;
		}
	if (!any)
		return INFER_OK;
	TRY(work_steps(&c->w, (uint64_t)d->n_states * ((uint64_t)far + d->n_classes + 2)));
	TRY(work_alloc(&c->w, &size, d->n_classes, sizeof *size));
	TRY(work_alloc(&c->w, &count, d->n_states, sizeof *count));
	for (uint32_t i = 0; i < d->n_ranges; i++)
		size[d->range_class[i]] += range_size(d, i);
	for (uint32_t g = 0; g <= far; g++)
		for (uint32_t s = 1; s < d->n_states; s++) {
			uint64_t n = dfa_accepts(d, s) != 0, p;

			if (d->greatest[s] != g)
				continue;
			for (uint32_t i = 0; i < d->n_classes; i++) {
				const uint64_t to = count[d->next[(size_t)s * d->n_classes + i]];

				if (__builtin_mul_overflow(size[i], to, &p) ||
				    __builtin_add_overflow(n, p, &n))
					n = UINT64_MAX;
			}
			count[s] = n < MANY ? n : UINT64_MAX;
		}
	for (uint32_t s = 1; s < d->n_states; s++)
		if (d->greatest[s] == DFA_FOREVER)
			count[s] = UINT64_MAX;
	*out = count;
	return INFER_OK;
}

static int is_mentioned(const struct build *u, const uint8_t *in)
{
	return u->n_facts && memchr(in, 1, u->n_facts) != NULL;
}

static int fill_classes(struct schema *c, struct build *u)
{
	struct object_shape *o = u->o;
	uint32_t *of, n;

	TRY(work_alloc(&c->w, &of, (uint64_t)u->n_facts + 1, sizeof *of));
	TRY(work_alloc(&c->w, &o->class, u->n_classes + 1, sizeof *o->class));
	for (uint32_t k = 0; k < u->n_classes; k++) {
		struct key_class *to = o->class + o->n_classes;

		if (dfa_is_none(u->class[k].names) ||
		    (o->ordered && o->n_slots && !is_mentioned(u, u->class[k].in)))
			continue;
		*to = (struct key_class){ .names = u->class[k].names };
		for (uint32_t i = n = 0; i < u->n_facts; i++)
			if (u->class[k].in[i])
				of[n++] = i;
		TRY(make_options(c, u, of, n, &to->value));
		if (!to->value.n)
			continue;
		TRY(schema_followers(c, to->names, &to->count));
		o->n_classes++;
	}
	return INFER_OK;
}

int schema_object(struct schema *c, const struct branch *b, struct alt *out)
{
	struct grammar *g = c->g;
	struct build *u;
	uint32_t cap = 0;
	int more = 0;

	if (b->min > b->max)
		return INFER_OK;
	TRY(work_alloc(&c->w, &u, 1, sizeof *u));
	TRY(work_alloc(&c->w, &u->o, 1, sizeof *u->o));
	u->o->min = b->min;
	u->o->max = b->max;
	u->o->ordered = c->opts.ordered;
	TRY(gather_facts(c, b, u));
	TRY(find_named(c, b, u));
	for (uint32_t i = 0; i < u->n_facts; i++)
		if (!u->fact[i].keys)
			TRY(add_slot(c, u->o, &cap, u->fact[i].name, u->fact[i].name_n));
	TRY(split_names(c, u));
	TRY(list_small_classes(c, u, cap, &more));
	if (more)
		TRY(split_names(c, u));
	TRY(fill_slots(c, u));
	TRY(fill_classes(c, u));
	u->o->easy = !u->o->needs && !u->o->min && u->o->max == DFA_FOREVER;
	TRY(work_grow(&c->w, &g->object, &g->cap_objects, g->n_objects + 1, sizeof *g->object));
	out->shape = g->n_objects;
	g->object[g->n_objects++] = out->object = u->o;
	return INFER_OK;
}
