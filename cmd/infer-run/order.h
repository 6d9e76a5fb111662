/* infer-run/order.h - a reorder buffer: results that arrive in any order are returned in the order of
 * their tickets. Confined to one thread. */
#ifndef INFER_RUN_ORDER_H
#define INFER_RUN_ORDER_H
#include <stddef.h>
#include <stdint.h>

struct order_slot {
	void *what; /* the result; NULL: it has not arrived */
	size_t bytes;
};
struct order {
	struct order_slot *slot; /* [cap], a ring; index: ticket % cap */
	size_t cap;
	uint64_t first, next;    /* first: ticket to return next; next: ticket to issue next */
	size_t waiting, bytes;   /* number and bytes of the stored results */
	size_t most, most_bytes; /* order_full() is true at one of these */
};

void order_init(struct order *o, size_t most, size_t most_bytes);
void order_fini(struct order *o); /* The caller frees results not returned. */
/* Take the next ticket. INFER_ENOMEM */
int order_take(struct order *o, uint64_t *ticket);
/* Store the result of a ticket, of about `bytes` bytes. */
void order_put(struct order *o, uint64_t ticket, void *what, size_t bytes);
/* Return the next result in order, or NULL if it has not arrived. */
void *order_next(struct order *o);
int order_full(const struct order *o); /* True at a limit; results are still accepted. */
#endif
