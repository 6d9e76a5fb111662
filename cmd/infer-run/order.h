/* infer-run/order.h - things that come as they like, given out in the order in which they were
 * begun.  Confined. */
#ifndef INFER_RUN_ORDER_H
#define INFER_RUN_ORDER_H
#include <stddef.h>
#include <stdint.h>

struct order_slot {
	void *what; /* NULL: it has not come */
	size_t bytes;
};
struct order {
	struct order_slot *slot; /* [cap], a ring: a ticket's place is its number modulo cap */
	size_t cap;
	uint64_t first, next; /* tickets: the next to be given out, the next to be taken */
	/* what has come and was not given out, and when that is too much: then nothing more should
	 * be begun.  What was begun before may still come */
	size_t waiting, bytes, most, most_bytes;
};

void order_init(struct order *o, size_t most, size_t most_bytes);
void order_fini(struct order *o); /* what still waits is its owner's to free */
/* The place of the next thing.  INFER_ENOMEM */
int order_take(struct order *o, uint64_t *ticket);
/* The thing of a ticket has come, which takes about so many bytes. */
void order_put(struct order *o, uint64_t ticket, void *what, size_t bytes);
/* The next in order, or NULL: it has not come. */
void *order_next(struct order *o);
int order_full(const struct order *o);
#endif
