/* engine/mask_worker.h (private) - a thread that computes token masks while the model runs a step.
 *
 * The thread processes items in order until the step ends; the owner processes the items not begun by then.
 * So the owner waits for one item at most, and must not depend on the thread.
 * Threads: one thread calls all functions, and has one list of items at a time. */
#ifndef ENGINE_MASK_WORKER_H
#define ENGINE_MASK_WORKER_H
#include <stdint.h>

struct mask_worker;

/* Start the thread.  NULL if there is no memory or no thread; the functions below accept NULL and then do
 * nothing. */
struct mask_worker *mask_worker_new(void);
void mask_worker_free(struct mask_worker *b);
/* Call fn(user, i) on the thread for i = 0, 1 ... n - 1, until mask_worker_end.  Allocates nothing. */
void mask_worker_begin(struct mask_worker *b, int32_t n, void (*fn)(void *user, int32_t i),
                       void *user);
/* Begin no more items, and wait for the current one. */
void mask_worker_end(struct mask_worker *b);
#endif
