/* infer/watch.h - progress of a long operation.   floor: base */
#ifndef INFER_WATCH_H
#define INFER_WATCH_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Receives progress: `done` of `all` units.  Called often, on the thread that does the work, so it
 * should be quick.  It cannot change results. */
typedef void infer_watch_fn(void *user, uint64_t done, uint64_t all);
struct infer_watch {
	infer_watch_fn *fn; /* NULL: no progress is reported */
	void *user;
};

#ifdef __cplusplus
}
#endif
#endif
