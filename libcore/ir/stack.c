/* ir/stack.c - interned, reference-counted stack items. */
#include "ir/stack.h"
#include "base/err.h"
#include "base/mem.h"
#include "automata/work.h"

#include <string.h>

int stacks_init(struct stacks *t, uint64_t bytes, struct slab *slab, infer_error *err)
{
	*t = (struct stacks){ .slab = slab, .mask = 63, .bytes = bytes };
	t->bucket = slab_zalloc(t->slab, (size_t)t->mask + 1, sizeof(struct stack_item *));
	if (!t->bucket)
		return err_nomem(err);
	return INFER_OK;
}

void stacks_fini(struct stacks *t)
{
	must(!t->bucket || !t->n);
	for (int i = 0; i < STACK_SPARES; i++)
		while (t->spare[i]) {
			struct stack_item *n = t->spare[i];

			t->spare[i] = n->chain;
			slab_free(t->slab, n);
		}
	slab_free(t->slab, t->bucket);
	*t = (struct stacks){ 0 };
}

/* Double the number of buckets.  If out of memory, keep it: the chains get longer. */
static void grow_buckets(struct stacks *t)
{
	const uint32_t mask = t->mask * 2 + 1;
	struct stack_item **more =
		slab_zalloc(t->slab, (size_t)mask + 1, sizeof(struct stack_item *));

	if (!more)
		return;
	for (uint32_t i = 0; i <= t->mask; i++)
		while (t->bucket[i]) {
			struct stack_item *n = t->bucket[i];

			t->bucket[i] = n->chain;
			n->chain = more[n->hash & mask];
			more[n->hash & mask] = n;
		}
	slab_free(t->slab, t->bucket);
	t->bucket = more;
	t->mask = mask;
}

static uint32_t hash_item(const struct stack_item *like, const uint32_t *data)
{
	/* hashes of items, not pointers: the same in every run */
	uint32_t h = htab_mix(like->kind, like->n);

	h = htab_mix(h, like->up ? like->up->hash : 1);
	h = htab_mix(h, like->side ? like->side->hash : 2);
	for (uint32_t i = 0; i < like->n; i++)
		h = htab_mix(h, data[i]);
	return h;
}

int stack_intern(struct stack_item **out, struct stacks *t, const struct stack_item *like,
                 const uint32_t *data, infer_error *err)
{
	const uint32_t hash = hash_item(like, data);
	const size_t size = sizeof *like + like->n * sizeof *data;
	struct stack_item *n;

	*out = NULL;
	for (n = t->bucket[hash & t->mask]; n; n = n->chain)
		if (n->hash == hash && n->kind == like->kind && n->n == like->n &&
		    n->up == like->up && n->side == like->side &&
		    (!n->n || !memcmp(n->data, data, n->n * sizeof *data))) {
			*out = stack_ref(n);
			return INFER_OK;
		}
	if (size > t->bytes)
		return err_set(err, INFER_EUNSUP, "the constraint needs too much memory here");
	n = like->n < STACK_SPARES ? t->spare[like->n] : NULL;
	if (n)
		t->spare[like->n] = n->chain;
	else
		n = slab_alloc(t->slab, 1, size);
	if (!n)
		return err_nomem(err);
	if (t->n > t->mask)
		grow_buckets(t);
	t->bytes -= size;
	*n = *like;
	n->hash = hash;
	n->refs = 1;
	n->chain = t->bucket[hash & t->mask];
	if (like->n)
		memcpy(n->data, data, like->n * sizeof *data);
	if (n->up)
		n->up->refs++;
	if (n->side)
		n->side->refs++;
	t->bucket[hash & t->mask] = n;
	t->n++;
	*out = n;
	return INFER_OK;
}

static void free_item(struct stacks *t, struct stack_item *n)
{
	if (n->n >= STACK_SPARES) {
		slab_free(t->slab, n);
		return;
	}
	n->chain = t->spare[n->n];
	t->spare[n->n] = n;
}

void stack_drop(struct stacks *t, struct stack_item *n)
{
	struct stack_item *dead = NULL;

	for (;;) {
		if (n && !--n->refs) {
			struct stack_item **at = t->bucket + (n->hash & t->mask);

			while (*at != n)
				at = &(*at)->chain;
			*at = n->chain;
			n->chain = dead;
			dead = n;
		}
		/* release side, then up, then free the item */
		if (!dead)
			return;
		n = dead;
		if (n->side) {
			struct stack_item *side = n->side;

			n->side = NULL;
			n = side;
		} else if (n->up) {
			struct stack_item *up = n->up;

			n->up = NULL;
			n = up;
		} else {
			dead = n->chain;
			t->bytes += sizeof *n + n->n * sizeof *n->data;
			t->n--;
			free_item(t, n);
			n = NULL;
		}
	}
}
