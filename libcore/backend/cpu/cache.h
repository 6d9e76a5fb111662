/* backend/cpu/cache.h (private) - pages of the KV cache in host memory. */
#ifndef BACKEND_CPU_CACHE_H
#define BACKEND_CPU_CACHE_H
#include "backend/backend.h"

/* The pages of a group.  cache.c shows the layout of a page. */
struct backend_cache {
	unsigned char *base;
	size_t page_bytes, layer_bytes, k_head, v_head; /* k_head, v_head: of one KV head */
	size_t v_at;                                    /* bytes from a layer's K to its V */
	int k_type, v_type, mla;                        /* mla: no V is stored */
	int64_t state;                                  /* floats of a layer's state; 0: K and V */
	size_t reserved;
};
/* Compute the layout of a page of group g.  INFER_EUNSUP names an unsupported cache type. */
int cpu_kv_lay(struct backend_cache *c, const struct backend_group *g, infer_error *err);
int cpu_kv_new(struct backend_cache **out, struct backend *b, const struct backend_group *g,
               uint32_t n_pages, infer_error *err);
void cpu_kv_copy(struct backend_cache *c, uint32_t to, uint32_t from, int n);
void cpu_kv_drop(struct backend_cache *c, uint32_t page);
void cpu_kv_save(const struct backend_cache *c, void *to, uint32_t page);
void cpu_kv_load(struct backend_cache *c, uint32_t page, const void *from);
void cpu_kv_free(struct backend_cache *c);
/* Return the address of a layer in a page: K of its first head (V is v_at bytes later), or its
 * state. */
static inline unsigned char *cpu_kv_page(const struct backend_cache *c,
                                         const struct backend_kv_layer *l, uint32_t page)
{
	return c->base + (size_t)page * c->page_bytes + (size_t)l->index * c->layer_bytes;
}
#endif
