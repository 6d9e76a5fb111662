/* base/slab.h - a size-class allocator over memory that is reserved at once: four classes per power
 * of two, so a block is at most a quarter larger than asked.
 *
 * A freed block is kept for the next request of its class; memory returns to the heap only with
 * slab_fini.  A full slab allocates a further piece of memory from the heap, twice as large as the
 * last piece. Confined. */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H
#include <stddef.h>
#include "base/mem.h"

enum { SLAB_CLASSES = 160 };
struct slab {
	enum mem_module who;
	int heap; /* 1: every block is a separate heap allocation */
	char *at; /* the unused end of the newest piece, `left` bytes */
	size_t left, piece_bytes;
	void *pieces; /* linked list of all pieces */
	void *spare[SLAB_CLASSES];
};

/* Reserve `bytes`; untouched pages cost nothing.  Returns 0; -1: no memory, *s is empty. */
int slab_init(struct slab *s, enum mem_module who, size_t bytes);
/* Initialise a slab that allocates each block on the heap, for data kept for long. */
void slab_init_heap(struct slab *s, enum mem_module who);
void slab_fini(struct slab *s); /* frees all blocks, except those of a heap slab */

/* As mem_alloc, mem_zalloc, mem_realloc and mem_free: 16-aligned; NULL without memory. */
void *slab_alloc(struct slab *s, size_t n, size_t size);
void *slab_zalloc(struct slab *s, size_t n, size_t size);
void *slab_realloc(struct slab *s, void *p, size_t n, size_t size);
void slab_free(struct slab *s, void *p);

/* A growing buffer of bytes in a slab; as base/buf.h, but no NUL follows the bytes.  All zero
 * except `slab`: empty. */
struct slab_buf {
	struct slab *slab;
	char *at;
	size_t len, cap;
	int bad; /* out of memory: later puts do nothing */
};
void slab_buf_fini(struct slab_buf *b);
void slab_buf_put(struct slab_buf *b, const void *bytes, size_t n);
void slab_buf_putc(struct slab_buf *b, char c);
#endif
