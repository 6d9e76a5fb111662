/* ir/match_object.c - advance objects: names, and which members may come next. */
#include "ir/match_step.h"
#include "base/err.h"
#include "base/utf8.h"
#include "automata/work.h"

#include <string.h>

static const struct object_shape *object_of(const struct step *s, const struct stack_item *n)
{
	return s->g->object[n->data[SHAPE]];
}

/* Mark the slots before this one (NOWHERE: all) as read, in an ordered object. */
static void skip_slots(const struct object_shape *o, uint32_t *seen, uint32_t slot)
{
	for (uint32_t i = 0; i < o->n_slots; i++)
		if (slot == NOWHERE || o->slot[i].rank < o->slot[slot].rank)
			seen[i / 32] |= UINT32_C(1) << i % 32;
}

/* True if no required slot before this one is missing. */
static int in_order(const struct object_shape *o, const uint32_t *seen, uint32_t slot)
{
	for (uint32_t i = 0; i < o->n_slots; i++)
		if (o->slot[i].required && !has_slot(seen, i) &&
		    (slot == NOWHERE || o->slot[i].rank < o->slot[slot].rank))
			return 0;
	return 1;
}

/* Set scratch to the data of the object after one more member (slot NOWHERE: of a class).  Returns 0
 * if the object cannot be completed then. */
static int after_member(struct step *s, const struct stack_item *top, uint32_t slot, uint32_t adds)
{
	const struct object_shape *o = object_of(s, top);
	uint32_t *d = s->m->scratch;

	memcpy(d, top->data, top->n * sizeof *d);
	d[WHERE] = AT_AFTER;
	d[SPACES] = SPACE_NONE;
	if (o->max != DFA_FOREVER || d[COUNT] < o->min)
		d[COUNT]++;
	d[EXTRA] &= ~adds;
	if (slot != NOWHERE)
		d[SEEN + slot / 32] |= UINT32_C(1) << slot % 32;
	if (o->ordered)
		skip_slots(o, d + SEEN, slot);
	return object_can_complete(s->g, o, &(struct object_state){ d[COUNT], d[EXTRA], d + SEEN });
}

int step_can_take(struct step *s, const struct stack_item *top, uint32_t slot,
                  const struct options *value)
{
	if (slot != NOWHERE && has_slot(top->data + SEEN, slot))
		return 0;
	if (object_of(s, top)->ordered && !in_order(object_of(s, top), top->data + SEEN, slot))
		return 0;
	if (object_of(s, top)->easy)
		return value->n > 0;
	for (uint32_t i = 0; i < value->n; i++)
		if (after_member(s, top, slot, value->at[i].adds))
			return 1;
	return 0;
}

/* True if one of the slots lo ... hi - 1 may come next; with dec, one whose name has at `depth` a
 * character that the incomplete one of dec can become. */
static int has_free_slot(struct step *s, const struct stack_item *top, uint32_t lo, uint32_t hi,
                         uint32_t depth, const struct decoder *dec)
{
	const struct object_shape *o = object_of(s, top);
	struct dfa_range r[DECODE_RANGES];
	const int n = dec ? decode_ranges(dec, r) : 0;

	for (; lo < hi; lo++) {
		const struct slot *slot = o->slot + lo;
		uint32_t cp;
		int fits = !dec;

		if (dec && slot->n > depth && utf8_get(slot->name + depth, slot->n - depth, &cp))
			for (int i = 0; i < n; i++)
				fits |= cp >= r[i].lo && cp <= r[i].hi;
		if (fits && step_can_take(s, top, lo, &slot->value))
			return 1;
	}
	return 0;
}

static int begin_key(struct step *s, struct stack_item *top)
{
	const struct object_shape *o = object_of(s, top);
	struct stack_item *base;
	int rc = INFER_OK;

	TRY(step_charge(s, o->n_slots / 8 + 1));
	memcpy(s->m->scratch, top->data, top->n * sizeof *top->data);
	s->m->scratch[WHERE] = AT_NEXT;
	s->m->scratch[SPACES] = SPACE_NONE;
	TRY(step_intern(s, &base, ITEM_OBJECT, top->up, top->side, s->m->scratch, top->n));
	if (has_free_slot(s, top, 0, o->n_slots, 0, NULL))
		rc = STEP_PUSH(s, ITEM_SLOT_KEY, base, NULL, 0, o->n_slots, 0, 0, 0);
	for (uint32_t k = 0; k < o->n_classes && !rc; k++)
		if (step_can_take(s, top, NOWHERE, &o->class[k].value))
			rc = STEP_PUSH(s, ITEM_CLASS_KEY, base, NULL, k, o->class[k].names->start,
			               0, 0);
	stack_drop(&s->m->stacks, base);
	return rc;
}

/* After a complete name: add a colon for each option of the value. */
static int end_key(struct step *s, struct stack_item *top, uint32_t slot, struct stack_item *names,
                   const struct options *value)
{
	for (uint32_t i = 0; i < value->n; i++) {
		struct stack_item *after;
		int rc;

		TRY(step_charge(s, 1));
		if (!after_member(s, top, slot, value->at[i].adds))
			continue;
		TRY(step_intern(s, &after, ITEM_OBJECT, top->up, names, s->m->scratch, top->n));
		rc = STEP_PUSH(s, ITEM_COLON, after, NULL, value->at[i].goal, SPACE_NONE);
		stack_drop(&s->m->stacks, after);
		TRY(rc);
	}
	return INFER_OK;
}

/* Return the first slot of lo ... hi - 1 whose name is greater than the prefix and these bytes; with
 * `equal`, greater or equal. */
static uint32_t find_slot_by_name(const struct object_shape *o, const struct slot_at *at,
                                  const char *bytes, uint32_t n, int equal)
{
	uint32_t lo = at->lo, hi = at->hi;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const struct slot *slot = o->slot + mid;
		const uint32_t left = slot->n - at->depth;
		const int cmp = memcmp(slot->name + at->depth, bytes, left < n ? left : n);

		if (cmp > 0 || (!cmp && left >= n && equal))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* True if the incomplete character of at->dec can be the next one of some name. */
static int slots_can_continue(const struct object_shape *o, const struct slot_at *at)
{
	struct dfa_range r[DECODE_RANGES];
	char bytes[4];

	for (int i = decode_ranges(&at->dec, r); i--;) {
		const uint32_t n = (uint32_t)utf8_put(bytes, r[i].lo),
			       m = find_slot_by_name(o, at, bytes, n, 1);
		uint32_t cp;

		if (m < at->hi && o->slot[m].n > at->depth &&
		    utf8_get(o->slot[m].name + at->depth, o->slot[m].n - at->depth, &cp) &&
		    cp <= r[i].hi)
			return 1;
	}
	return 0;
}

enum decoded slot_step(const struct match *m, const struct object_shape *o, struct slot_at *at,
                       uint8_t b)
{
	uint32_t cp, lo, hi;
	enum decoded got = step_decode(m, &at->dec, b, &cp);
	char bytes[4];
	int n;

	if (got == DECODE_QUOTE)
		return at->lo < at->hi && o->slot[at->lo].n == at->depth ? got : DECODE_BAD;
	if (got == DECODE_MORE)
		return slots_can_continue(o, at) ? got : DECODE_BAD;
	if (got == DECODE_BAD)
		return got;
	n = utf8_put(bytes, cp);
	lo = find_slot_by_name(o, at, bytes, (uint32_t)n, 1);
	hi = find_slot_by_name(o, at, bytes, (uint32_t)n, 0);
	at->lo = lo;
	at->hi = hi;
	at->depth += (uint32_t)n;
	return lo < hi ? got : DECODE_BAD;
}

int step_slot_free(struct step *s, const struct stack_item *object, uint32_t slot)
{
	return step_can_take(s, object, slot, &object_of(s, object)->slot[slot].value);
}

int step_end_slot_name(struct step *s, struct stack_item *top, uint32_t slot)
{
	struct stack_item *object = top->up;

	if (!step_slot_free(s, object, slot))
		return INFER_OK;
	return end_key(s, object, slot, object->side, &object_of(s, object)->slot[slot].value);
}

int step_slot_key(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct object_shape *o = object_of(s, top->up);
	const uint32_t *d = top->data;
	struct slot_at at = { d[0], d[1], d[2], { d[3], d[4] } };

	TRY(step_charge(s, (at.hi - at.lo) / 8 + 1));
	switch (slot_step(s->m, o, &at, b)) {
	case DECODE_BAD:
		return INFER_OK;
	case DECODE_QUOTE:
		return step_end_slot_name(s, top, at.lo);
	case DECODE_MORE:
		if (!has_free_slot(s, top->up, at.lo, at.hi, at.depth, &at.dec))
			return INFER_OK;
		break;
	default:
		if (!has_free_slot(s, top->up, at.lo, at.hi, 0, NULL))
			return INFER_OK;
	}
	return STEP_PUSH(s, ITEM_SLOT_KEY, top->up, NULL, at.lo, at.hi, at.depth, at.dec.mode,
	                 at.dec.acc);
}

/* Return the number of names of a class read so far that begin with `prefix`. */
static uint64_t count_names_with(const struct stack_item *names, uint32_t class,
                                 const struct stack_item *prefix)
{
	uint64_t n = 0;

	for (; names; names = names->up) {
		const struct stack_item *x = names->side;

		while (x && prefix && x->data[1] > prefix->data[1])
			x = x->up;
		n += names->data[0] == class && (x == prefix || !prefix);
	}
	return n;
}

static int was_read(const struct stack_item *names, const struct stack_item *name)
{
	while (names && names->side != name)
		names = names->up;
	return names != NULL;
}

static int end_name(struct step *s, struct stack_item *top, struct stack_item *name)
{
	const struct key_class *k = object_of(s, top->up)->class + top->data[0];
	struct stack_item *names;
	int rc;

	TRY(step_intern(s, &names, ITEM_NAME, top->up->side, name, top->data, 1));
	rc = end_key(s, top->up, NOWHERE, names, &k->value);
	stack_drop(&s->m->stacks, names);
	return rc;
}

static int end_class_key(struct step *s, struct stack_item *top)
{
	const struct key_class *k = object_of(s, top->up)->class + top->data[0];

	if (!dfa_accepts(k->names, top->data[1]) || was_read(top->up->side, top->side))
		return INFER_OK;
	return end_name(s, top, top->side);
}

int step_end_class_name(struct step *s, struct stack_item *top)
{
	struct stack_item *name;
	int rc;

	TRY(step_intern(s, &name, ITEM_CHAR, NULL, NULL, (const uint32_t[]){ NOWHERE, 1 }, 2));
	rc = end_name(s, top, name);
	stack_drop(&s->m->stacks, name);
	return rc;
}

int step_class_key(struct step *s, struct stack_item *top, uint8_t b)
{
	const struct key_class *k = object_of(s, top->up)->class + top->data[0];
	struct decoder dec = { top->data[2], top->data[3] };
	uint32_t state = top->data[1], cp;
	struct stack_item *name;
	int rc = INFER_OK;

	switch (step_decode(s->m, &dec, b, &cp)) {
	case DECODE_BAD:
		return INFER_OK;
	case DECODE_QUOTE:
		return end_class_key(s, top);
	case DECODE_MORE:
		if (!step_can_continue(k->names, state, &dec, SPAN_ANY))
			return INFER_OK;
		return STEP_PUSH(s, ITEM_CLASS_KEY, top->up, top->side, top->data[0], state,
		                 dec.mode, dec.acc);
	default:
		break;
	}
	state = dfa_step(k->names, state, cp);
	if (!dfa_live(state))
		return INFER_OK;
	TRY(step_intern(s, &name, ITEM_CHAR, top->side, NULL,
	                (const uint32_t[]){ cp, top->side ? top->side->data[1] + 1 : 1 }, 2));
	if (!k->count || k->count[state] > count_names_with(top->up->side, top->data[0], name))
		rc = STEP_PUSH(s, ITEM_CLASS_KEY, top->up, name, top->data[0], state, 0, 0);
	stack_drop(&s->m->stacks, name);
	return rc;
}

int step_colon(struct step *s, struct stack_item *top, uint8_t b)
{
	uint32_t spaces = top->data[1];

	if (step_space(s->m, b, &spaces))
		return step_add(s, stack_ref(top));
	return b == ':' ? STEP_PUSH(s, ITEM_VALUE, top->up, NULL, top->data[0], SPACE_ANY)
	                : INFER_OK;
}

static int may_close(const struct object_shape *o, const struct stack_item *top)
{
	if (top->data[COUNT] < o->min || top->data[EXTRA])
		return 0;
	for (uint32_t i = 0; i < o->n_slots && o->required; i++)
		if (o->slot[i].required && !has_slot(top->data + SEEN, i))
			return 0;
	return 1;
}

int step_object(struct step *s, struct stack_item *top, uint8_t b)
{
	const uint32_t where = top->data[WHERE];
	uint32_t spaces = top->data[SPACES];
	uint32_t *d = s->m->scratch;
	const int space = step_space(s->m, b, &spaces);

	if (b == '}' && where != AT_NEXT)
		return may_close(object_of(s, top), top) ? step_end_value(s, top->up) : INFER_OK;
	if (b == '"' && where != AT_AFTER)
		return begin_key(s, top);
	if (!space && (b != ',' || where != AT_AFTER))
		return INFER_OK;
	if (b == ',' && !has_free_slot(s, top, 0, object_of(s, top)->n_slots, 0, NULL)) {
		const struct object_shape *o = object_of(s, top);
		uint32_t k = 0;

		while (k < o->n_classes && !step_can_take(s, top, NOWHERE, &o->class[k].value))
			k++;
		if (k == o->n_classes)
			return INFER_OK;
	}
	memcpy(d, top->data, top->n * sizeof *d);
	d[SPACES] = space ? spaces : SPACE_ANY;
	d[WHERE] = space ? where : AT_NEXT;
	return step_push(s, ITEM_OBJECT, top->up, top->side, d, top->n);
}
