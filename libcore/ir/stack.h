/* ir/stack.h - persistent stacks whose nodes are shared: equal stacks are one
 * pointer.  Confined. */
#ifndef IR_STACK_H
#define IR_STACK_H
#include <stdint.h>
#include <infer/status.h>
#include "base/slab.h"

struct stack_item {
	struct stack_item *chain; /* the next of its hash bucket, or of the free list */
	struct stack_item *up;    /* below it in the stack */
	struct stack_item *side;  /* another stack that belongs to it */
	uint32_t hash, refs;
	uint16_t kind, n;
	uint32_t data[]; /* [n] */
};

/* Nodes that are dropped are kept for others of their size: a text that goes on allocates
 * nothing once it is under way. */
enum { STACK_SPARES = 17 };
struct stacks {
	struct slab *slab; /* borrowed */
	struct stack_item **bucket;
	struct stack_item *spare[STACK_SPARES]; /* by n, chained */
	uint32_t mask, n;
	uint64_t bytes; /* that may still be taken */
};

int stacks_init(struct stacks *t, uint64_t bytes, struct slab *slab, infer_error *err);
void stacks_fini(struct stacks *t);
/* A reference to the node with this content, which holds references to up and side.
 * INFER_EUNSUP  the bytes are used up */
int stack_intern(struct stack_item **out, struct stacks *t, const struct stack_item *like,
                 const uint32_t *data, infer_error *err);
static inline struct stack_item *stack_ref(struct stack_item *n)
{
	n->refs++;
	return n;
}
void stack_drop(struct stacks *t, struct stack_item *n);
#endif
