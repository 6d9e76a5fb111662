/* ir/match_differ.c - check that an element can still be completed to differ from all earlier ones.
 *
 * It can if infinitely many values are left.  A string, number or constant also can if more values
 * are left than earlier elements have used.  For the rest, objects and arrays with few values,
 * completions are searched until one differs. */
#include "ir/match_differ.h"
#include "base/err.h"
#include "base/utf8.h"
#include "automata/work.h"

#include <string.h>

enum { MOST_DEEP = 1024 };

static const char *seen_bytes(const struct stack_item *x) { return (const char *)(x->data + 1); }

static uint32_t count_seen(const struct stack_item *seen)
{
	uint32_t n = 0;

	for (; seen; seen = seen->up)
		n++;
	return n;
}

/* -- infinitely many ------------------------------------------------------------------------ */

/* Return the number of words from a state; UINT64_MAX: infinitely many. */
static uint64_t count_words_from(const struct alt *a, uint32_t state)
{
	return a->count ? a->count[state] : UINT64_MAX;
}

static int has_infinite_option(const struct grammar *g, const struct options *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (g->goal[o->at[i].goal].values == UINT64_MAX)
			return 1;
	return 0;
}

static int has_infinite_elements(const struct grammar *g, const struct stack_item *n)
{
	const struct array_shape *a = g->array[n->data[SHAPE]];

	/* leave counters to the search */
	if (a->n_counters)
		return 0;
	for (uint32_t i = n->data[COUNT]; i < a->n_prefix && i < a->most; i++)
		if (has_infinite_option(g, a->item + i))
			return 1;
	if (a->most <= a->n_prefix || n->data[COUNT] >= a->max)
		return 0;
	return (a->max == DFA_FOREVER && n->kind == ITEM_ARRAY) ||
	       has_infinite_option(g, a->item + a->n_prefix);
}

static int has_infinite_members(struct step *s, const struct stack_item *n)
{
	const struct object_shape *o = s->g->object[n->data[SHAPE]];

	for (uint32_t i = 0; i < o->n_slots; i++)
		if (!has_slot(n->data + SEEN, i) && has_infinite_option(s->g, &o->slot[i].value) &&
		    step_can_take(s, n, i, &o->slot[i].value))
			return 1;
	for (uint32_t i = 0; i < o->n_classes; i++)
		if ((!dfa_is_finite(o->class[i].names) ||
		     has_infinite_option(s->g, &o->class[i].value)) &&
		    step_can_take(s, n, NOWHERE, &o->class[i].value))
			return 1;
	return 0;
}

static int has_infinite_key(struct step *s, const struct stack_item *n)
{
	const struct object_shape *o = s->g->object[n->up->data[SHAPE]];

	if (n->kind == ITEM_CLASS_KEY) {
		const struct key_class *k = o->class + n->data[0];

		return k->count ? k->count[n->data[1]] == UINT64_MAX && !n->data[2] : 1;
	}
	for (uint32_t i = n->data[0]; i < n->data[1]; i++)
		if (!n->data[3] && has_infinite_option(s->g, &o->slot[i].value) &&
		    step_slot_free(s, n->up, i))
			return 1;
	return 0;
}

int has_many_values_left(struct step *s, const struct stack_item *n)
{
	for (; n->kind != ITEM_HOLE; n = n->up) {
		int many = 0;

		switch (n->kind) {
		case ITEM_VALUE:
		case ITEM_COLON:
			many = s->g->goal[n->data[0]].values == UINT64_MAX;
			break;
		case ITEM_NUMBER:
		case ITEM_STRING: {
			const struct alt *a = s->g->goal[n->data[0]].alt + n->data[1];

			many = !a->count ||
			       (n->kind == ITEM_NUMBER
			                ? count_words_from(a, n->data[3]) == UINT64_MAX
			                : count_words_from(a, n->data[2]) == UINT64_MAX &&
			                          !n->data[3]);
			break;
		}
		case ITEM_ARRAY:
		case ITEM_UNIQUE_ARRAY:
			many = has_infinite_elements(s->g, n);
			break;
		case ITEM_OBJECT:
			many = has_infinite_members(s, n);
			break;
		case ITEM_SLOT_KEY:
		case ITEM_CLASS_KEY:
			many = has_infinite_key(s, n);
			/* skip the object: it does not include this member yet */
			n = n->up;
			break;
		case ITEM_ELEMENT:
			many = has_many_values_left(s, n->side);
			break;
		default:
			break;
		}
		if (many)
			return 1;
	}
	return 0;
}

/* -- counted -------------------------------------------------------------------------------- */

/* True if the rest of an earlier element is accepted from the state. */
static int accepts_rest(const struct dfa *d, uint32_t state, const char *at, uint32_t n, int string)
{
	while (n && !(string && *at == '"')) {
		uint32_t cp = (uint8_t)*at;
		int len = 1;

		if (string && *at == '\\' && n > 1) {
			at++;
			n--;
		}
		if (string)
			len = utf8_get(at, n, &cp);
		if (len < 1)
			return 0;
		state = dfa_step(d, state, cp);
		at += len;
		n -= (uint32_t)len;
	}
	return dfa_accepts(d, state);
}

/* Return the number of earlier elements that begin with so_far and whose rest is accepted. */
static uint32_t count_reachable(const struct stack_item *seen, const struct dfa *d, uint32_t state,
                                const struct slab_buf *so_far, int string)
{
	uint32_t n = 0;

	for (; seen; seen = seen->up) {
		const char *at = seen_bytes(seen);
		const uint32_t len = seen->data[0];

		if (len < so_far->len || !len || (at[0] == '"') != string ||
		    memchr("{[ntf", at[0], 5) || memcmp(at, so_far->at, so_far->len))
			continue;
		n += accepts_rest(d, state, at + so_far->len, len - (uint32_t)so_far->len,
		                  string) != 0;
	}
	return n;
}

static int has_seen(const struct stack_item *seen, const char *text, size_t n)
{
	while (seen && (seen->data[0] != n || memcmp(seen_bytes(seen), text, n)))
		seen = seen->up;
	return seen != NULL;
}

/* True if the number read so far, with a 0 appended if it is incomplete, is a new element.  With
 * redundant zeros it may not be among the shortest notations that are counted. */
static int number_is_new(struct step *s, const struct stack_item *stack,
                         const struct stack_item *seen, struct slab_buf *text)
{
	const struct dfa *d = item_dfa(s->g, stack);
	struct slab_buf b = { .slab = text->slab };
	int new = 0;

	if (!dfa_accepts(d, stack->data[2])) {
		if (!dfa_accepts(d, dfa_step(d, stack->data[2], '0')))
			return 0;
		slab_buf_putc(text, '0');
	}
	if (!text->bad)
		canonical_json(&b, text->at, (uint32_t)text->len);
	text->bad |= b.bad;
	if (!b.bad)
		new = !has_seen(seen, b.at, b.len);
	slab_buf_fini(&b);
	return new;
}

/* Append the number as written, without leading white space. */
static void put_trimmed(struct slab_buf *out, const char *text, uint32_t n)
{
	while (n && memchr(" \t\r\n", *text, 4)) {
		text++;
		n--;
	}
	slab_buf_put(out, text, n);
}

static int text_differs(struct step *s, const struct stack_item *stack,
                        const struct stack_item *wrote, int *can)
{
	const struct alt *a = s->g->goal[stack->data[0]].alt + stack->data[1];
	const struct stack_item *seen = wrote->up->side;
	const int string = stack->kind == ITEM_STRING;
	const struct dfa *d = string ? a->text : a->plain;
	const uint32_t state = stack->data[string ? 2 : 3];
	const uint64_t left = count_words_from(a, state);
	struct slab_buf b = { .slab = s->m->slab };
	uint32_t n;
	char *at;

	*can = 1;
	if (left > count_seen(seen))
		return INFER_OK;
	at = element_bytes(b.slab, wrote->side, &n);
	if (!at)
		return err_nomem(s->err);
	if (string)
		canonical_string_prefix(&b, at, n);
	else
		put_trimmed(&b, at, n);
	slab_free(b.slab, at);
	*can = !b.bad && left > count_reachable(seen, d, state, &b, string);
	if (!*can && !string)
		*can = number_is_new(s, stack, seen, &b);
	n = b.bad != 0;
	slab_buf_fini(&b);
	return n ? err_nomem(s->err) : INFER_OK;
}

static int has_literal(const struct stack_item *seen, uint32_t type)
{
	static const char *const literal[] = { "null", "false", "true" };

	return has_seen(seen, literal[type], strlen(literal[type]));
}

/* True if a value of a goal with few values, none of them an object or array, can be new. */
static int value_differs(const struct step *s, uint32_t goal, const struct stack_item *seen)
{
	const struct goal *x = s->g->goal + goal;
	uint64_t n = 0;

	if (x->values > count_seen(seen))
		return 1;
	for (uint32_t k = 0; k < x->n; k++) {
		const struct alt *a = x->alt + k;
		const struct slab_buf quote = { .at = (char *)"\"", .len = 1 },
				      none = { .at = (char *)"" };

		if (a->text)
			n += a->type == ALT_STRING
			             ? count_reachable(seen, a->text, a->text->start, &quote, 1)
			             : count_reachable(seen, a->plain, a->plain->start, &none, 0);
		else
			n += (uint64_t)has_literal(seen, a->type);
	}
	return x->values > n;
}

/* -- search --------------------------------------------------------------------------------- */

struct search {
	struct step *s;
	const struct stack_item *seen;
	struct slab_buf text; /* the completion being tried */
	uint32_t depth;
	int found;
};

/* Set q->found if the complete text is a new element. */
static int check_new(struct search *q)
{
	struct slab_buf b = { .slab = q->text.slab };
	int rc;

	TRY(step_charge(q->s, q->text.len));
	rc = canonical_json(&b, q->text.at, (uint32_t)q->text.len);
	q->found |= !rc && !b.bad && !has_seen(q->seen, b.at, b.len);
	rc = rc || b.bad ? err_set(q->s->err, rc ? rc : INFER_ENOMEM, "%s",
	                           rc ? "an element of uniqueItems is nested too deeply"
	                              : "out of memory")
	                 : INFER_OK;
	slab_buf_fini(&b);
	return rc;
}

static int search_stack(struct search *q, struct stack_item *stack);

static int search_byte(struct search *q, struct stack_item *stack, uint8_t b)
{
	struct step in = { q->s->m, q->s->g, q->s->left, { 0 }, q->s->err };
	int rc = step_stack(&in, stack, b);

	q->s->left = in.left;
	slab_buf_putc(&q->text, (char)b);
	if (!rc && q->text.bad)
		rc = err_nomem(q->s->err);
	for (uint32_t i = 0; i < in.out.n && !rc && !q->found; i++)
		rc = in.out.top[i]->kind == ITEM_HOLE ? check_new(q)
		                                      : search_stack(q, in.out.top[i]);
	q->text.len--;
	match_drop(q->s->m, &in.out);
	return rc;
}

/* True for a number that only redundant zeros can follow. */
static int is_number_complete(const struct search *q, const struct stack_item *n)
{
	while (n->kind == ITEM_ELEMENT)
		n = n->side;
	return n->kind == ITEM_NUMBER && n->n > 3 && !dfa_live(n->data[3]) &&
	       dfa_accepts(item_dfa(q->s->g, n), n->data[2]);
}

/* Search for a completion that is new, depth first, ends first, without white space. */
static int search_stack(struct search *q, struct stack_item *stack)
{
	static const uint8_t ends[] = "\"}]";
	int rc = INFER_OK;

	if (has_many_values_left(q->s, stack)) {
		q->found = 1;
		return INFER_OK;
	}
	if (++q->depth > MOST_DEEP)
		return err_set(q->s->err, INFER_EUNSUP,
		               "uniqueItems: no different element was found");
	if (stack->kind == ITEM_NUMBER && stack->up->kind == ITEM_HOLE &&
	    dfa_accepts(item_dfa(q->s->g, stack), stack->data[2]))
		rc = check_new(q);
	for (int i = 0; i < 3 && !rc && !q->found; i++)
		rc = search_byte(q, stack, ends[i]);
	for (int b = item_is_in_string(stack) ? ' ' : ' ' + 1; b < 256 && !rc && !q->found; b++)
		if (!memchr(ends, b, 3) &&
		    !(is_number_complete(q, stack) && (b == '0' || b == '.')))
			rc = search_byte(q, stack, (uint8_t)b);
	q->depth--;
	return rc;
}

/* -- all ------------------------------------------------------------------------------------ */

static int search_completion(struct step *s, struct stack_item *stack,
                             const struct stack_item *wrote, int *can)
{
	struct search q = { .s = s, .seen = wrote->up->side, .text = { .slab = s->m->slab } };
	uint32_t n;
	char *at = element_bytes(s->m->slab, wrote->side, &n);
	int rc = at ? INFER_OK : err_nomem(s->err);

	if (!rc)
		slab_buf_put(&q.text, at, n);
	slab_free(s->m->slab, at);
	if (!rc)
		rc = search_stack(&q, stack);
	slab_buf_fini(&q.text);
	*can = q.found;
	return rc;
}

int element_can_differ(struct step *s, struct stack_item *stack, struct stack_item *wrote, int *can)
{
	const struct stack_item *seen = wrote->up->side;
	const struct goal *goal;

	*can = 1;
	if (!seen)
		return INFER_OK;
	TRY(step_charge(s, 4));
	if (stack->up->kind == ITEM_HOLE)
		switch (stack->kind) {
		case ITEM_LITERAL:
			*can = !has_literal(seen, stack->data[0]);
			return INFER_OK;
		case ITEM_STRING:
			if (stack->data[3])
				break;
			return text_differs(s, stack, wrote, can);
		case ITEM_NUMBER:
			return text_differs(s, stack, wrote, can);
		case ITEM_VALUE:
			goal = s->g->goal + stack->data[0];
			if (!goal->values)
				break;
			*can = value_differs(s, stack->data[0], seen);
			return INFER_OK;
		default:
			break;
		}
	if (has_many_values_left(s, stack))
		return INFER_OK;
	return search_completion(s, stack, wrote, can);
}
