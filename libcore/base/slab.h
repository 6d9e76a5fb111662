/* base/slab.h - slots of one size, all allocated when it is opened.  Confined.  Slots are named by
 * index. */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"

struct slab {
	unsigned char *at; /* [count][size] */
	uint32_t *next;    /* free list */
	uint32_t count, used, head;
	size_t size;
};

/* 0 or INFER_ENOMEM; count < 2^32 - 1. */
int slab_init(struct slab *s, enum mem_module who, uint32_t count, size_t size);
void slab_fini(struct slab *s);
uint32_t slab_get(struct slab *s); /* index of a zeroed slot, or SLAB_NONE when all are taken */
void slab_put(struct slab *s, uint32_t i);
static inline void *slab_at(const struct slab *s, uint32_t i)
{
	return s->at + (size_t)i * s->size;
}
#define SLAB_NONE UINT32_MAX
#endif
