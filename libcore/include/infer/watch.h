/* infer/watch.h - how far something long is.   floor: base */
#ifndef INFER_WATCH_H
#define INFER_WATCH_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Called often, on the thread that does the work: done of `all` parts are.  It should be quick, and
 * what it does changes no result. */
typedef void infer_watch_fn(void *user, uint64_t done, uint64_t all);
struct infer_watch {
	infer_watch_fn *fn; /* NULL: nobody watches */
	void *user;
};

#ifdef __cplusplus
}
#endif
#endif
