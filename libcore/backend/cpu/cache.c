/* backend/cpu/cache.c - pages of the KV cache in host memory.  A group reserves address space; a
 * page takes memory when it is first written.
 *
 *   page p  at base + p * page_bytes; whole OS pages, so that its memory can be freed
 *   | K of layer 0 | V of layer 0 | K of layer 1 | V of layer 1 | ...
 *     '-- [kv head] in the layout of kern/kv.h; each part begins at a multiple of 64
 *   MLA stores no V.
 *
 * Recurrent layers:
 *   | state of layer 0 | state of layer 1 | ...
 *     '-- f32: | last rows of CONV1D | GATED_DELTA: [head][block of 16 columns][dk][16] | */
#include "backend/cpu/cpu.h"
#include <infer/kvtype.h>
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "base/pool.h"
#include "kern/kv.h"

#include <string.h>

#define FIRST(type, name) #type
#define NEXT(type, name) ", " #type
#define LAST(type, name) " and " #type

static int check_kv_type(int type, int dim, infer_error *err)
{
	const struct infer_type_info *t = infer_type_info(type);
	int block = kern_kv_block(type);

	if (!block)
		return err_set(
			err, INFER_EUNSUP,
			"cache type %s is not supported: " INFER_KV_TYPES(FIRST, NEXT, LAST) " are",
			t ? t->name : "?");
	if (dim % block)
		return err_set(
			err, INFER_EUNSUP,
			"a cache of type %s needs heads of a multiple of %d; this model's have %d",
			t->name, block, dim);
	return INFER_OK;
}

static void lay_state(struct backend_cache *c, const struct backend_group *g)
{
	*c = (struct backend_cache){ .state = g->state };
	c->layer_bytes = num_round_up((size_t)g->state * sizeof(float), 64);
	c->page_bytes = num_round_up((size_t)g->n_layers * c->layer_bytes, os_page());
}

int cpu_kv_lay(struct backend_cache *c, const struct backend_group *g, infer_error *err)
{
	if (g->state) {
		lay_state(c, g);
		return INFER_OK;
	}
	TRY(check_kv_type(g->k_type, g->dk, err));
	TRY(check_kv_type(g->v_type, g->dv, err));
	if (g->mla && g->v_type != g->k_type)
		return err_set(err, INFER_EUNSUP,
		               "this model stores no V (MLA), so the cache must have one type, not "
		               "%s and %s",
		               infer_type_info(g->k_type)->name, infer_type_info(g->v_type)->name);
	*c = (struct backend_cache){
		.mla = g->mla,
		.k_type = g->k_type,
		.v_type = g->v_type,
		.k_head = kern_kv_bytes(g->k_type, g->dk),
		.v_head = g->mla ? 0 : kern_kv_bytes(g->v_type, g->dv),
	};
	c->v_at = num_round_up((size_t)g->kv_heads * c->k_head, 64);
	c->layer_bytes = c->v_at + num_round_up((size_t)g->kv_heads * c->v_head, 64);
	c->page_bytes = num_round_up((size_t)g->n_layers * c->layer_bytes, os_page());
	return INFER_OK;
}

int cpu_kv_new(struct backend_cache **out, struct backend *b, const struct backend_group *g,
               uint32_t n_pages, infer_error *err)
{
	struct backend_cache lay, *c;
	void *at;
	int rc;

	*out = NULL;
	TRY(cpu_kv_lay(&lay, g, err));
	if (num_mul(&lay.reserved, n_pages, lay.page_bytes))
		return err_set(err, INFER_ENOMEM,
		               "a cache of %u pages of %zu bytes does not fit the address space",
		               n_pages, lay.page_bytes);
	c = mem_alloc(MEM_BACKEND, 1, sizeof *c);
	if (!c)
		return err_set(err, INFER_ENOMEM, "out of memory");
	*c = lay;
	rc = os_reserve(&at, c->reserved, err);
	if (rc) {
		mem_free(c);
		return rc;
	}
	/* interleave over NUMA nodes: any thread may read any page */
	numa_interleave(pool_nodes(b->pool), at, c->reserved);
	c->base = at;
	*out = c;
	return INFER_OK;
}

/* Copy the whole page: K is stored by dimension, so n positions are spread over all of the page. */
void cpu_kv_copy(struct backend_cache *c, uint32_t to, uint32_t from, int n)
{
	(void)n;
	memcpy(c->base + to * c->page_bytes, c->base + from * c->page_bytes, c->page_bytes);
}

void cpu_kv_drop(struct backend_cache *c, uint32_t page)
{
	os_forget(c->base + page * c->page_bytes, c->page_bytes);
}

void cpu_kv_save(const struct backend_cache *c, void *to, uint32_t page)
{
	memcpy(to, c->base + page * c->page_bytes, c->page_bytes);
}

void cpu_kv_load(struct backend_cache *c, uint32_t page, const void *from)
{
	memcpy(c->base + page * c->page_bytes, from, c->page_bytes);
}

void cpu_kv_free(struct backend_cache *c)
{
	if (!c)
		return;
	os_release(c->base, c->reserved);
	mem_free(c);
}
