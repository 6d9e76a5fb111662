/* grammar/schema_object.c - keywords of objects, and the shapes of objects. */
#include "grammar/schema.h"
#include "base/err.h"

#include <string.h>

enum { MOST_NEEDS = 6, MOST_WORDS = 64, MOST_CLASSES = 64 };

static int child(struct schema *c, const struct item *it, const struct json *v, uint32_t *lit)
{
	TRY(schema_place(c, v, c->place[it->place].resource, 0, lit));
	*lit = *lit * 2 + (uint32_t)it->neg;
	return INFER_OK;
}

static int named(struct schema *c, struct branch *x, enum fact_kind kind, const char *name,
                 uint32_t n, uint32_t lit)
{
	return schema_fact(c, x,
	                   &(struct fact){ .kind = kind, .name = name, .name_n = n, .lit = lit });
}

static int properties(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x = NULL;

	if (!it->neg)
		TRY(schema_fork(c, b, &x));
	json_each(m, it->v) {
		struct fact f = { .kind = FACT_VALUE,
			          .name = m->key,
			          .name_n = m->key_n,
			          .mask = it->mask,
			          .marks = 1 };

		TRY(child(c, it, m, &f.lit));
		if (it->neg) {
			TRY(schema_fork(c, b, &x));
			TRY(named(c, x, FACT_REQUIRED, m->key, m->key_n, LIT_TRUE));
		}
		TRY(schema_fact(c, x, &f));
	}
	return INFER_OK;
}

static int patterns(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x = NULL;

	if (!it->neg)
		TRY(schema_fork(c, b, &x));
	json_each(m, it->v) {
		struct fact f = { .kind = it->neg ? FACT_HAS : FACT_VALUE,
			          .mask = it->mask,
			          .marks = !it->neg,
			          .v = it->v };

		TRY(child(c, it, m, &f.lit));
		TRY(schema_regex(c, m, m->key, m->key_n, &f.keys));
		if (it->neg)
			TRY(schema_fork(c, b, &x));
		TRY(schema_fact(c, x, &f));
	}
	return INFER_OK;
}

/* Set *d to the union of *d and more. */
static int unite(struct schema *c, const struct dfa **d, const struct dfa *more)
{
	struct dfa *both;

	if (!*d) {
		*d = more;
		return INFER_OK;
	}
	TRY(dfa_or(&both, *d, more, c->w.left, c->w.err));
	return schema_keep(c, both, d);
}

static int complement(struct schema *c, const struct dfa **d)
{
	struct dfa * not ;

	TRY(*d ? dfa_not(&not, *d, c->w.left, c->w.err) : dfa_all(&not, c->w.left, c->w.err));
	return schema_keep(c, not, d);
}

/* The names that neither properties nor patternProperties of the schema speak of. */
static int additional(struct schema *c, const struct json *s, const struct dfa **out)
{
	const struct json *p = json_get(s, "properties");
	struct dfa_word *word;
	size_t n = 0;

	*out = NULL;
	TRY(work_alloc(&c->w, &word, json_count(p) + 1, sizeof *word));
	json_each(m, p)
		word[n++] = (struct dfa_word){ m->key, m->key_n };
	if (n)
		TRY(schema_words(c, word, n, 0, out));
	json_each(m, json_get(s, "patternProperties")) {
		const struct dfa *d;

		TRY(schema_regex(c, m, m->key, m->key_n, &d));
		TRY(unite(c, out, d));
	}
	return complement(c, out);
}

/* A schema for the values of names that something does not speak of; or for names themselves. */
static int others(struct schema *c, const struct branch *b, const struct item *it)
{
	struct fact f = { .kind = it->neg ? FACT_HAS : FACT_VALUE,
		          .mask = it->mask,
		          .marks = !it->neg,
		          .v = it->v };
	struct branch *x;

	TRY(child(c, it, it->v, &f.lit));
	if (it->row->kw == KW_PROPERTY_NAMES) {
		f.marks = 0;
		TRY(schema_names(c, f.lit & ~UINT32_C(1), &f.keys));
		TRY(complement(c, &f.keys));
		f.lit = it->neg ? LIT_TRUE : LIT_FALSE;
	} else {
		TRY(additional(c, c->place[it->place].v, &f.keys));
	}
	TRY(schema_fork(c, b, &x));
	return schema_fact(c, x, &f);
}

static int bound(struct schema *c, const struct branch *b, const struct item *it)
{
	const uint32_t n = schema_count(it->v), neg = (uint32_t)it->neg;
	struct branch *x;

	TRY(schema_fork(c, b, &x));
	if ((it->row->kw == KW_MIN_PROPERTIES) != it->neg) {
		x->min = x->min > n + neg ? x->min : n + neg;
	} else {
		x->dead |= neg && !n;
		x->max = x->max < n - (neg && n) ? x->max : n - (neg && n);
	}
	return INFER_OK;
}

static int required(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x = NULL;

	if (!it->neg)
		TRY(schema_fork(c, b, &x));
	json_each(e, it->v) {
		if (it->neg)
			TRY(schema_fork(c, b, &x));
		TRY(named(c, x, it->neg ? FACT_VALUE : FACT_REQUIRED, e->s, e->n, LIT_FALSE));
	}
	return INFER_OK;
}

/* One entry of dependencies: the name is absent, or what depends on it holds. */
static int depends(struct schema *c, const struct branch *b, const struct item *it)
{
	const struct json *e = it->entry;
	struct branch *x;
	uint32_t lit;

	if (!it->neg) {
		TRY(schema_fork(c, b, &x));
		TRY(named(c, x, FACT_VALUE, e->key, e->key_n, LIT_FALSE));
	}
	if (json_is_array(e) && it->neg) {
		json_each(name, e) {
			TRY(schema_fork(c, b, &x));
			TRY(named(c, x, FACT_REQUIRED, e->key, e->key_n, LIT_TRUE));
			TRY(named(c, x, FACT_VALUE, name->s, name->n, LIT_FALSE));
		}
		return INFER_OK;
	}
	TRY(schema_fork(c, b, &x));
	TRY(named(c, x, FACT_REQUIRED, e->key, e->key_n, LIT_TRUE));
	if (!json_is_array(e)) {
		TRY(child(c, it, e, &lit));
		return schema_want(c, x, lit, it->neg ? 0 : it->mask);
	}
	json_each(name, e)
		TRY(named(c, x, FACT_REQUIRED, name->s, name->n, LIT_TRUE));
	return INFER_OK;
}

static int dependencies(struct schema *c, const struct branch *b, const struct item *it)
{
	struct branch *x = NULL;

	if (it->entry)
		return depends(c, b, it);
	if (!it->neg)
		TRY(schema_fork(c, b, &x));
	json_each(e, it->v) {
		struct item one = *it;

		one.entry = e;
		if (it->neg)
			TRY(schema_fork(c, b, &x));
		TRY(schema_item(c, x, &one, 1));
	}
	return INFER_OK;
}

int schema_apply_object(struct schema *c, const struct branch *b, const struct item *it)
{
	switch (it->row->kw) {
	case KW_PROPERTIES:
		return properties(c, b, it);
	case KW_PATTERN_PROPERTIES:
		return patterns(c, b, it);
	case KW_ADDITIONAL_PROPERTIES:
	case KW_PROPERTY_NAMES:
		return others(c, b, it);
	case KW_REQUIRED:
		return required(c, b, it);
	case KW_MIN_PROPERTIES:
	case KW_MAX_PROPERTIES:
		return bound(c, b, it);
	case KW_DEPENDENCIES:
	case KW_DEPENDENT_REQUIRED:
	case KW_DEPENDENT_SCHEMAS:
		return dependencies(c, b, it);
	default:
		return schema_fail(c, INFER_EUNSUP, it->v, "is not supported");
	}
}

/* -- shapes --------------------------------------------------------------------------------- */

struct part {
	const struct dfa *names;
	uint8_t *in; /* [n_facts] whose keys these names are */
};

struct build {
	struct object_shape *o;
	struct fact *fact; /* values and needs */
	uint32_t n_facts, n_needs, n_parts;
	struct part part[MOST_CLASSES];
};

/* The names that a marked fact of this bit evaluates; NULL: none. */
static int evaluated(struct schema *c, const struct branch *b, const struct fact *rest,
                     const struct dfa **out)
{
	struct dfa_word word;
	const struct dfa *d;
	struct dfa *all;

	*out = NULL;
	for (const struct fact *f = b->facts; f; f = f->next) {
		if (!f->marks || !(f->mask & rest->bit))
			continue;
		if (f->kind == FACT_REST) {
			TRY(dfa_all(&all, c->w.left, c->w.err));
			return schema_keep(c, all, out);
		}
		d = f->keys;
		word = (struct dfa_word){ f->name, f->name_n };
		if (!d)
			TRY(schema_words(c, &word, 1, 0, &d));
		TRY(unite(c, out, d));
	}
	return INFER_OK;
}

static int gather(struct schema *c, const struct branch *b, struct build *u)
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
			TRY(evaluated(c, b, f, &to->keys));
			TRY(complement(c, &to->keys));
		}
		if (to->kind != FACT_HAS)
			continue;
		if (u->n_needs == MOST_NEEDS)
			return schema_fail(c, INFER_EUNSUP, f->v,
			                   "too many conditions ask for some member");
		to->from = u->n_needs++;
	}
	u->o->needs = (UINT32_C(1) << u->n_needs) - 1;
	return INFER_OK;
}

static int name_order(const char *a, uint32_t an, const char *b, uint32_t bn)
{
	const int cmp = memcmp(a, b, an < bn ? an : bn);

	return cmp ? cmp : (an > bn) - (an < bn);
}

/* A slot for the name, which keeps the order. */
static int add_slot(struct schema *c, struct object_shape *o, uint32_t *cap, const char *name,
                    uint32_t n)
{
	uint32_t lo = 0, hi = o->n_slots;
	char *own;

	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;
		const int cmp = name_order(name, n, o->slot[mid].name, o->slot[mid].n);

		if (!cmp)
			return INFER_OK;
		if (cmp < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	TRY(work_steps(&c->w, o->n_slots - lo + 1));
	TRY(work_alloc(&c->w, &own, (uint64_t)n + 1, 1));
	if (n) /* an empty name may have no bytes to point to */
		memcpy(own, name, n);
	TRY(work_grow(&c->w, &o->slot, cap, o->n_slots + 1, sizeof *o->slot));
	memmove(o->slot + lo + 1, o->slot + lo, (o->n_slots - lo) * sizeof *o->slot);
	o->slot[lo] = (struct slot){ .name = own, .n = n };
	o->n_slots++;
	return INFER_OK;
}

/* The options of names for which in[] says which facts speak of them. */
static int options_of(struct schema *c, struct build *u, const uint8_t *in, struct options *o)
{
	uint32_t *lits, needs = 0;

	for (uint32_t i = 0; i < u->n_facts; i++)
		if (in[i] && u->fact[i].kind == FACT_HAS)
			needs |= UINT32_C(1) << u->fact[i].from;
	TRY(work_alloc(&c->w, &lits, u->n_facts + 1, sizeof *lits));
	TRY(work_alloc(&c->w, &o->at, UINT64_C(1) << u->n_needs, sizeof *o->at));
	for (uint32_t s = 0; s < UINT32_C(1) << u->n_needs; s++) {
		uint32_t k = 0, goal;

		if (s & ~needs)
			continue;
		for (uint32_t i = 0; i < u->n_facts; i++) {
			const struct fact *f = u->fact + i;

			if (in[i] &&
			    (f->kind == FACT_VALUE || (f->kind == FACT_HAS && (s >> f->from & 1))))
				lits[k++] = f->lit;
		}
		TRY(schema_goal(c, lits, k, &goal));
		if (goal != NOWHERE)
			o->at[o->n++] = (struct option){ goal, s };
	}
	return INFER_OK;
}

static int fill_slots(struct schema *c, struct build *u)
{
	uint8_t *in;

	TRY(work_alloc(&c->w, &in, u->n_facts + 1, 1));
	for (uint32_t s = 0; s < u->o->n_slots; s++) {
		struct slot *slot = u->o->slot + s;

		TRY(work_steps(&c->w, (uint64_t)u->n_facts * (slot->n + 1)));
		for (uint32_t i = 0; i < u->n_facts; i++) {
			const struct fact *f = u->fact + i;

			in[i] = f->keys ? (uint8_t)dfa_match(f->keys, slot->name, slot->n)
			                : !name_order(f->name, f->name_n, slot->name, slot->n);
			slot->required |= in[i] && f->kind == FACT_REQUIRED;
		}
		u->o->required += slot->required != 0;
		TRY(options_of(c, u, in, &slot->value));
	}
	return INFER_OK;
}

/* Part k, divided by the keys of fact i. */
static int divide(struct schema *c, struct build *u, uint32_t k, uint32_t i)
{
	const struct dfa *in, *out;
	struct dfa *d;
	uint8_t *more;

	TRY(schema_both(c, u->part[k].names, u->fact[i].keys, &in));
	if (dfa_is_none(in))
		return INFER_OK;
	u->part[k].in[i] = 1;
	TRY(dfa_minus(&d, u->part[k].names, u->fact[i].keys, c->w.left, c->w.err));
	TRY(schema_keep(c, d, &out));
	if (dfa_is_none(out))
		return INFER_OK;
	if (u->n_parts == MOST_CLASSES)
		return err_set(c->w.err, INFER_EUNSUP,
		               "the schema divides the names of properties into too many classes");
	TRY(work_alloc(&c->w, &more, u->n_facts + 1, 1));
	memcpy(more, u->part[k].in, u->n_facts);
	more[i] = 0;
	u->part[k].names = in;
	u->part[u->n_parts++] = (struct part){ out, more };
	return INFER_OK;
}

static int divide_all(struct schema *c, struct build *u)
{
	struct dfa_word *word;
	const struct dfa *rest = NULL;

	TRY(work_alloc(&c->w, &word, u->o->n_slots + 1, sizeof *word));
	for (uint32_t s = 0; s < u->o->n_slots; s++)
		word[s] = (struct dfa_word){ u->o->slot[s].name, u->o->slot[s].n };
	if (u->o->n_slots)
		TRY(schema_words(c, word, u->o->n_slots, 1, &rest));
	else
		TRY(complement(c, &rest));
	u->n_parts = 1;
	u->part[0].names = rest;
	TRY(work_alloc(&c->w, &u->part[0].in, u->n_facts + 1, 1));
	for (uint32_t i = 0; i < u->n_facts; i++) {
		uint32_t same = 0;

		if (!u->fact[i].keys)
			continue;
		while (same < i && u->fact[same].keys != u->fact[i].keys)
			same++;
		for (uint32_t k = 0, n = u->n_parts; k < n; k++)
			if (same < i)
				u->part[k].in[i] = u->part[k].in[same];
			else
				TRY(divide(c, u, k, i));
	}
	return INFER_OK;
}

/* Names of a part that are few get slots of their own. */
struct listing {
	struct schema *c;
	struct object_shape *o;
	uint32_t cap;
	int rc;
};

static int list_one(void *user, const uint32_t *cp, uint32_t n)
{
	struct listing *l = user;
	char *name, *at;

	l->rc = work_alloc(&l->c->w, &name, (uint64_t)n * 4 + 1, 1);
	if (l->rc)
		return l->rc;
	at = name;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t v = cp[i];

		if (v < 0x80) {
			*at++ = (char)v;
			continue;
		}
		if (v >= 0x10000)
			*at++ = (char)(0xf0 | v >> 18);
		if (v >= 0x800)
			*at++ = (char)(v >= 0x10000 ? 0x80 | (v >> 12 & 63) : 0xe0 | v >> 12);
		*at++ = (char)(v >= 0x800 ? 0x80 | (v >> 6 & 63) : 0xc0 | v >> 6);
		*at++ = (char)(0x80 | (v & 63));
	}
	l->rc = add_slot(l->c, l->o, &l->cap, name, (uint32_t)(at - name));
	return l->rc;
}

static int list_small(struct schema *c, struct build *u, uint32_t cap, int *more)
{
	struct listing l = { c, u->o, cap, INFER_OK };
	uint64_t n;

	*more = 0;
	for (uint32_t k = 0; k < u->n_parts; k++) {
		TRY(dfa_count(&n, u->part[k].names, c->w.err));
		if (n > MOST_WORDS)
			continue;
		*more |= n > 0;
		TRY(dfa_list(u->part[k].names, n, list_one, &l, c->w.err));
		TRY(l.rc);
	}
	return INFER_OK;
}

/* A range may hold all surrogates, which are no characters, or none. */
static uint32_t range_size(const struct dfa *d, uint32_t i)
{
	const uint32_t end = i + 1 < d->n_ranges ? d->from[i + 1] : DFA_MOST_CP + 1;

	return end - d->from[i] - (d->from[i] < 0xd800 && end >= 0xe000 ? 0x800 : 0);
}

/* How many words follow each state; states of finite languages by their greatest distance. */
static int count_words(struct schema *c, struct key_class *k)
{
	const struct dfa *d = k->names;
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
					n = UINT64_MAX / 2;
			}
			count[s] = n;
		}
	for (uint32_t s = 1; s < d->n_states; s++)
		if (d->greatest[s] == DFA_FOREVER)
			count[s] = UINT64_MAX;
	k->count = count;
	return INFER_OK;
}

static int fill_classes(struct schema *c, struct build *u)
{
	struct object_shape *o = u->o;

	TRY(work_alloc(&c->w, &o->class, u->n_parts + 1, sizeof *o->class));
	for (uint32_t k = 0; k < u->n_parts; k++) {
		struct key_class *to = o->class + o->n_classes;

		if (dfa_is_none(u->part[k].names))
			continue;
		*to = (struct key_class){ .names = u->part[k].names };
		TRY(options_of(c, u, u->part[k].in, &to->value));
		if (!to->value.n)
			continue;
		TRY(count_words(c, to));
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
	TRY(gather(c, b, u));
	for (uint32_t i = 0; i < u->n_facts; i++)
		if (!u->fact[i].keys)
			TRY(add_slot(c, u->o, &cap, u->fact[i].name, u->fact[i].name_n));
	TRY(divide_all(c, u));
	TRY(list_small(c, u, cap, &more));
	if (more)
		TRY(divide_all(c, u));
	TRY(fill_slots(c, u));
	TRY(fill_classes(c, u));
	u->o->easy = !u->o->needs && !u->o->min && u->o->max == DFA_FOREVER;
	TRY(work_grow(&c->w, &g->object, &g->cap_objects, g->n_objects + 1, sizeof *g->object));
	out->shape = g->n_objects;
	g->object[g->n_objects++] = out->object = u->o;
	return INFER_OK;
}
