/* backend/cuda/kv.c - pages of the KV cache in device memory, one allocation for each group.
 *
 *   page p  at base + p * page_bytes
 *   | K of layer 0 | V of layer 0 | K of layer 1 | V of layer 1 | ...
 *     '-- [kv head] in the layout of kv.cuh; K and V of a layer begin at multiples of 64
 * MLA: V is the first dv columns of K, but it is stored too, because products with V read it in
 * another order.
 *
 * Pages of recurrent layers:
 *   | state of layer 0 | state of layer 1 | ...
 *     '-- f32: | the last rows of CONV1D | [head][column] of GATED_DELTA (state_delta.cuh) | */
#include "backend/cuda/cuda.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

#include <string.h>

enum { ALIGN = 64 };

static int check_type(int type, int dim, infer_error *err)
{
	const struct infer_type_info *t = infer_type_info(type);

	if (gpu_kv_bytes(type, dim))
		return INFER_OK;
	return err_set(err, INFER_EUNSUP, "a cache of type %s with heads of %d is not supported",
	               t ? t->name : "(unknown)", dim);
}

static void place_states(struct backend_cache *c, const struct backend_group *g)
{
	*c = (struct backend_cache){ 0 };
	c->layer_bytes = num_round_up((size_t)g->state * sizeof(float), ALIGN);
	c->page_bytes = (size_t)g->n_layers * c->layer_bytes;
}

int cuda_kv_place(struct backend_cache *c, const struct backend_group *g, infer_error *err)
{
	if (g->state) {
		place_states(c, g);
		return INFER_OK;
	}
	*c = (struct backend_cache){ .k_type = g->k_type, .v_type = g->v_type };
	if (g->mla && g->v_type != g->k_type)
		return err_set(err, INFER_EUNSUP,
		               "this model stores no V (MLA), so the cache must have one type");
	TRY(check_type(g->k_type, g->dk, err));
	TRY(check_type(g->v_type, g->dv, err));
	c->k_head = gpu_kv_bytes(g->k_type, g->dk);
	c->v_head = gpu_kv_bytes(g->v_type, g->dv);
	c->v_at = num_round_up((size_t)g->kv_heads * c->k_head, ALIGN);
	c->layer_bytes = c->v_at + num_round_up((size_t)g->kv_heads * c->v_head, ALIGN);
	c->page_bytes = (size_t)g->n_layers * c->layer_bytes;
	return INFER_OK;
}

int cuda_kv_new(struct backend_cache **out, struct backend *b, const struct backend_group *g,
                uint32_t n_pages, infer_error *err)
{
	struct backend_cache place, *c;
	size_t bytes;
	int rc;

	*out = NULL;
	TRY(rt_check(cudaSetDevice(b->device), "choose the device", err));
	TRY(cuda_kv_place(&place, g, err));
	if (num_mul(&bytes, n_pages, place.page_bytes))
		return err_set(err, INFER_ENOMEM, "out of memory: a cache of %u pages of %zu bytes",
		               n_pages, place.page_bytes);
	c = mem_alloc(MEM_BACKEND, 1, sizeof *c);
	if (!c)
		return err_nomem(err);
	*c = place;
	c->b = b;
	c->n_pages = n_pages;
	rc = rt_alloc(&c->base, bytes, "make the KV cache", err);
	if (rc) {
		mem_free(c);
		return rc;
	}
	*out = c;
	return INFER_OK;
}

static unsigned char *page_at(const struct backend_cache *c, uint32_t page)
{
	return c->base + page * c->page_bytes;
}

/* Copy a page.  If that fails, the next step reports the error. */
static void copy_page(const struct backend_cache *c, void *to, const void *from, int kind)
{
	int rc = cudaSetDevice(c->b->device);

	if (!rc)
		rc = cudaMemcpyAsync(to, from, c->page_bytes, (enum cudaMemcpyKind)kind,
		                     c->b->stream);
	if (!rc && kind != cudaMemcpyDeviceToDevice)
		rc = cudaStreamSynchronize(c->b->stream);
	if (rc && !c->b->copy_error)
		c->b->copy_error = rc;
}

void cuda_kv_copy(struct backend_cache *c, uint32_t to, uint32_t from, int n)
{
	(void)n; /* the bytes of a position are spread over the page, so copy the whole page */
	copy_page(c, page_at(c, to), page_at(c, from), cudaMemcpyDeviceToDevice);
}

void cuda_kv_drop(struct backend_cache *c, uint32_t page)
{
	(void)c; /* the cache keeps its device memory */
	(void)page;
}

void cuda_kv_save(const struct backend_cache *c, void *to, uint32_t page)
{
	copy_page(c, to, page_at(c, page), cudaMemcpyDeviceToHost);
}

void cuda_kv_load(struct backend_cache *c, uint32_t page, const void *from)
{
	copy_page(c, page_at(c, page), from, cudaMemcpyHostToDevice);
}

void cuda_kv_free(struct backend_cache *c)
{
	if (!c)
		return;
	(void)cudaSetDevice(c->b->device);
	rt_free(c->base);
	mem_free(c);
}
