/* hub/similar.h (private) - suggest names similar to one that was not found. */
#ifndef HUB_SIMILAR_H
#define HUB_SIMILAR_H
#include <stddef.h>
#include <infer/hub.h>
#include "base/arena.h"

/* Names of the models in a store. */
struct hub_names {
	struct arena *mem;
	const char **at; /* [n] NUL-terminated names */
	size_t n, cap;
};
enum { HUB_NAMES_MOST = 4096 }; /* further names are ignored */

/* Add a copy of a name.  Sets mem->bad if out of memory. */
void hub_names_add(struct hub_names *l, const char *name, size_t bytes);
/* Write "; did you mean PREFIXnearest?" or "; there are PREFIXa, PREFIXb ..." into out, or "" if there are no names. */
void hub_names_say(char *out, size_t room, struct hub_names *l, const char *typed,
                   const char *prefix);
/* Write "; did you mean hf:A/B?" for the repositories of the cache, or "". */
void hub_similar(char *out, size_t room, const char *repo, const struct infer_hub_opts *o);
#endif
