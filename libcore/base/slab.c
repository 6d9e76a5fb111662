/* base/slab.c */
#include "base/slab.h"
#include "base/err.h"

#include <string.h>

/* A slot that is taken is its own successor, so that giving one back twice is seen. */

int slab_init(struct slab *s, enum mem_module who, uint32_t count, size_t size)
{
	must(count < SLAB_NONE);
	*s = (struct slab){ .size = size, .head = SLAB_NONE };
	s->at = mem_alloc(who, count, size);
	s->next = mem_alloc(who, count, sizeof *s->next);
	if (!s->at || !s->next) {
		slab_fini(s);
		return INFER_ENOMEM;
	}
	s->count = count;
	for (uint32_t i = count; i-- > 0; s->head = i)
		s->next[i] = s->head;
	return INFER_OK;
}

void slab_fini(struct slab *s)
{
	mem_free(s->at);
	mem_free(s->next);
	*s = (struct slab){ .head = SLAB_NONE };
}

uint32_t slab_get(struct slab *s)
{
	uint32_t i = s->head;

	if (i == SLAB_NONE)
		return i;
	s->head = s->next[i];
	s->next[i] = i;
	s->used++;
	if (s->size)
		memset(slab_at(s, i), 0, s->size);
	return i;
}

void slab_put(struct slab *s, uint32_t i)
{
	must(i < s->count && s->next[i] == i);
	s->next[i] = s->head;
	s->head = i;
	s->used--;
}
