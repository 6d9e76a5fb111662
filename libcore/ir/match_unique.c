/* ir/match_unique.c - advance arrays with uniqueItems.
 *
 * An element is parsed by a stack of its own, and its bytes are kept.  Once the element is
 * complete, its canonical form is compared with earlier elements; until then, each byte must leave
 * a value that differs from them (match_differ.c). */
#include "ir/match_differ.h"
#include "base/err.h"
#include "automata/work.h"

#include <string.h>

enum { BLOCK = 12 }; /* words of bytes in an ITEM_BYTES */

/* Make the ITEM_BYTES of text and one more byte. */
static int append_byte(struct step *s, struct stack_item **out, struct stack_item *text, uint8_t b)
{
	uint32_t data[BLOCK + 1] = { 0 }, n = text ? text->data[0] % (4 * BLOCK) : 0;
	struct stack_item *up = !text ? NULL : n ? text->up : text;

	if (text && n)
		memcpy(data, text->data, text->n * sizeof *data);
	data[0] = (text ? text->data[0] : 0) + 1;
	memcpy((char *)(data + 1) + n, &b, 1);
	return step_intern(s, out, ITEM_BYTES, up, NULL, data, 2 + n / 4);
}

char *element_bytes(struct slab *slab, const struct stack_item *text, uint32_t *n)
{
	uint32_t left = *n = text ? text->data[0] : 0;
	char *at = slab_alloc(slab, (size_t)left + 1, 1);

	for (; at && text; text = text->up) {
		const uint32_t here = (left - 1) % (4 * BLOCK) + 1;

		left -= here;
		memcpy(at + left, text->data + 1, here);
	}
	return at;
}

/* -- an element ends ------------------------------------------------------------------------ */

/* Make the ITEM_SEEN of an element; *out NULL: an earlier element is equal. */
static int add_seen(struct step *s, struct stack_item **out, struct stack_item *seen,
                    const struct slab_buf *b)
{
	const size_t words = 1 + (b->len + 3) / 4;
	uint32_t *data;
	int rc;

	*out = NULL;
	if (words > UINT16_MAX)
		return err_set(s->err, INFER_EUNSUP, "an element of uniqueItems is too long");
	for (const struct stack_item *x = seen; x; x = x->up) {
		TRY(step_charge(s, 1));
		if (x->data[0] == b->len && !memcmp(x->data + 1, b->at, b->len))
			return INFER_OK;
	}
	data = slab_zalloc(s->m->slab, words, sizeof *data);
	if (!data)
		return err_nomem(s->err);
	data[0] = (uint32_t)b->len;
	memcpy(data + 1, b->at, b->len);
	rc = step_intern(s, out, ITEM_SEEN, seen, NULL, data, (uint32_t)words);
	slab_free(s->m->slab, data);
	return rc;
}

/* Make the array after an element of these bytes; *out NULL: the element is not unique. */
static int end_element(struct step *s, struct stack_item **out, const struct stack_item *array,
                       const struct stack_item *text)
{
	struct stack_item *seen = NULL;
	struct slab_buf b = { .slab = s->m->slab };
	uint32_t n;
	char *at = element_bytes(b.slab, text, &n);
	int rc;

	*out = NULL;
	rc = step_charge(s, n);
	if (!rc)
		rc = at ? canonical_json(&b, at, n) : INFER_ENOMEM;
	if (rc == INFER_ENOMEM || b.bad)
		rc = err_nomem(s->err);
	else if (rc)
		rc = err_set(s->err, rc, "an element of uniqueItems is nested too deeply");
	if (!rc)
		rc = add_seen(s, &seen, array->side, &b);
	slab_free(b.slab, at);
	slab_buf_fini(&b);
	if (!rc && seen)
		rc = step_intern(s, out, ITEM_UNIQUE_ARRAY, array->up, seen, array->data, array->n);
	if (seen)
		stack_drop(&s->m->stacks, seen);
	return rc;
}

/* -- bytes ---------------------------------------------------------------------------------- */

/* Add the stack of an element after a byte: the array if it has ended, else the element if it can
 * still differ. */
static int push_element(struct step *s, struct stack_item *wrote, struct stack_item *stack)
{
	struct stack_item *after;
	int can;

	if (stack->kind == ITEM_HOLE) {
		TRY(end_element(s, &after, wrote->up, wrote->side));
		return after ? step_add(s, after) : INFER_OK;
	}
	TRY(element_can_differ(s, stack, wrote, &can));
	return can ? step_push(s, ITEM_ELEMENT, wrote, stack, NULL, 0) : INFER_OK;
}

/* End an element that is a number, at the byte after it. */
static int end_number_element(struct step *s, const struct stack_item *wrote, uint8_t b)
{
	struct stack_item *after;
	int rc;

	TRY(end_element(s, &after, wrote->up, wrote->side));
	if (!after)
		return INFER_OK;
	rc = step_stack(s, after, b);
	stack_drop(&s->m->stacks, after);
	return rc;
}

int step_element(struct step *s, struct stack_item *top, uint8_t b)
{
	struct step in = { s->m, s->g, s->left, { 0 }, s->err };
	struct stack_item *stack = top->side, *text = NULL, *wrote = NULL;
	int rc;

	if (stack->kind == ITEM_NUMBER && stack->up->kind == ITEM_HOLE &&
	    (b == ',' || b == ']' || b == ' ' || b == '\n' || b == '\t' || b == '\r') &&
	    dfa_accepts(item_dfa(s->g, stack), stack->data[2]))
		return end_number_element(s, top->up, b);
	rc = step_stack(&in, stack, b);
	s->left = in.left;
	if (!rc && in.out.n)
		rc = append_byte(s, &text, top->up->side, b);
	if (!rc && in.out.n)
		rc = step_intern(s, &wrote, ITEM_ELEMENT_TEXT, top->up->up, text, NULL, 0);
	for (uint32_t i = 0; i < in.out.n && !rc; i++)
		rc = push_element(s, wrote, in.out.top[i]);
	if (wrote)
		stack_drop(&s->m->stacks, wrote);
	if (text)
		stack_drop(&s->m->stacks, text);
	match_drop(s->m, &in.out);
	return rc;
}

int step_begin_element(struct step *s, struct stack_item *after, uint32_t goal, int b)
{
	struct stack_item *hole, *stack = NULL, *wrote = NULL, *item = NULL;
	int rc, can = 1;

	TRY(step_intern(s, &hole, ITEM_HOLE, NULL, NULL, NULL, 0));
	rc = step_intern(s, &stack, ITEM_VALUE, hole, NULL, (const uint32_t[]){ goal, SPACE_ANY },
	                 2);
	stack_drop(&s->m->stacks, hole);
	if (!rc)
		rc = step_intern(s, &wrote, ITEM_ELEMENT_TEXT, after, NULL, NULL, 0);
	if (!rc)
		rc = element_can_differ(s, stack, wrote, &can);
	if (!rc && can)
		rc = step_intern(s, &item, ITEM_ELEMENT, wrote, stack, NULL, 0);
	if (item && b < 0)
		rc = step_add(s, stack_ref(item));
	else if (item)
		rc = step_element(s, item, (uint8_t)b);
	if (item)
		stack_drop(&s->m->stacks, item);
	if (wrote)
		stack_drop(&s->m->stacks, wrote);
	if (stack)
		stack_drop(&s->m->stacks, stack);
	return rc;
}
