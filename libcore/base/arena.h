/* base/arena.h - many small allocations that are freed together.  Confined. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include <stddef.h>
#include "base/mem.h"

struct arena {
	enum mem_module who;
	struct arena_block *first; /* newest block */
	size_t used, size;         /* bytes of the newest block */
	int bad;                   /* an allocation failed; sticky */
};

void arena_init(struct arena *a, enum mem_module who);
void *arena_alloc(struct arena *a, size_t n, size_t size); /* 16-aligned, zeroed; NULL sets bad */
void *arena_raw(struct arena *a, size_t bytes);            /* the same, not zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n); /* NUL added; NULL sets bad */
/* Give the memory of `from` to `to`; pointers into it stay valid.  from: empty afterwards */
void arena_adopt(struct arena *to, struct arena *from);
/* Free everything except the newest block, which is reused. */
void arena_reset(struct arena *a);
void arena_fini(struct arena *a);
#endif
