/* ir/stack.h - persistent stacks of interned items: equal stacks are the same pointer.  Confined. */
#ifndef IR_STACK_H
#define IR_STACK_H
#include <stdint.h>
#include <infer/status.h>
#include "base/slab.h"

struct stack_item {
	struct stack_item *chain; /* the next in its hash bucket or free list */
	struct stack_item *up;    /* the item below it in the stack */
	struct stack_item *side;  /* a second stack that belongs to it, or NULL */
	uint32_t hash, refs;
	uint16_t kind, n; /* enum item_kind; words of data */
	uint32_t data[];  /* [n] */
};

/* Dropped items are kept for others of their size, so a long text allocates nothing. */
enum { STACK_SPARES = 17 };
struct stacks {
	struct slab *slab; /* borrowed */
	struct stack_item **bucket;
	struct stack_item *spare[STACK_SPARES]; /* by n, chained */
	uint32_t mask, n;
	uint64_t bytes; /* that items may still use */
};

/* bytes: limit for all items; slab: borrowed.  INFER_ENOMEM */
int stacks_init(struct stacks *t, uint64_t bytes, struct slab *slab, infer_error *err);
void stacks_fini(struct stacks *t);
/* Find or make the item with this content; *out: a reference to it.  The item holds references to up
 * and side.  like: kind, n, up, side; data: [n]
 * INFER_EUNSUP  the bytes are used up; INFER_ENOMEM */
int stack_intern(struct stack_item **out, struct stacks *t, const struct stack_item *like,
                 const uint32_t *data, infer_error *err);
static inline struct stack_item *stack_ref(struct stack_item *n)
{
	n->refs++;
	return n;
}
void stack_drop(struct stacks *t, struct stack_item *n); /* release a reference */
#endif
