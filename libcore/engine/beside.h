/* engine/beside.h (private) - a thread that works beside the computation of a step.
 *
 * It takes items, one after the other, until the computation is done; what it has not begun by then
 * is left to its owner.  So it is never waited for longer than one item takes, and the owner must not
 * depend on it.
 * Shared: one list at a time, from one thread. */
#ifndef ENGINE_BESIDE_H
#define ENGINE_BESIDE_H
#include <stdint.h>

struct beside;

/* The thread is started here.  NULL: there is no memory or no thread to be had; the functions below take
 * that too, and then do nothing. */
struct beside *beside_new(void);
void beside_free(struct beside *b);
/* Call fn(user, i) for i = 0, 1 ... n - 1, until beside_end.  Allocates nothing. */
void beside_begin(struct beside *b, int32_t n, void (*fn)(void *user, int32_t i), void *user);
/* Begin no more items, and wait for the one that has been begun. */
void beside_end(struct beside *b);
#endif
