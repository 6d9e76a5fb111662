/* backend/cuda/cuda.h (private) - the host side of the CUDA backend: the device, weights, KV cache.
 * Plans: plan.h. */
#ifndef BACKEND_CUDA_CUDA_H
#define BACKEND_CUDA_CUDA_H
#include "backend/backend.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/rt.h"

struct backend {
	const struct host *host;           /* threads: pinned copies, experts on the host */
	const struct infer_watch *loading; /* progress of weight uploads; may be NULL */
	int device, major, minor, sms;
	int terms[GPU_FORMS]; /* of activations in each form (--act-type), struct gpu_act */
	cudaStream_t stream;
	int copy_error; /* cudaError_t of the first failed page copy; the next step reports it */
	cudaEvent_t staged[2]; /* recorded after the copy out of each pinned buffer */
};

/* Uploads use CUDA_STAGES pinned host buffers and as many device buffers, CUDA_STAGE_BYTES each. */
enum { CUDA_STAGES = 2, CUDA_STAGE_BYTES = 16 << 20 };

/* A weight on the device.  Vectors and small F32 matrices are stored as in the file (raw), matrices
 * as tiles (launch_mm.h); small F32 matrices are stored both ways. */
struct cuda_weight {
	const struct gpu_type *type; /* type of the tiles; NULL: no tiles */
	unsigned char *tiles, *raw;  /* NULL: not stored in this form */
	size_t matrix_bytes;         /* bytes of tiles from one matrix to the next */
	size_t raw_bytes;            /* bytes of one raw matrix */
};
struct backend_weights {
	struct backend *b;
	const struct weight *w; /* borrowed; shapes and types only */
	struct cuda_weight *at;
	int n;
	unsigned char *arena; /* device allocation that contains all weights */
};
/* Reserve space for w after the first *used bytes of an arena: set its sizes, set its addresses as
 * offsets in the arena, and advance *used.  A weight that is on_host gets no space.  INFER_EUNSUP:
 * its type has no kernels, or it is too large. */
int cuda_weight_place(struct cuda_weight *c, const struct weight *w, size_t *used,
                      infer_error *err);

struct backend_cache {
	struct backend *b;
	unsigned char *base;
	size_t page_bytes, layer_bytes; /* bytes of a page; bytes of one layer in a page */
	size_t k_head, v_head;          /* bytes of K and of V of one KV head in a page */
	size_t v_at;                    /* bytes from the first K of a layer to its first V */
	int k_type, v_type;
	uint32_t n_pages;
};
/* Set the page sizes of cache c for group g. c->base and c->b stay NULL.  INFER_EUNSUP: a type or a
 * head size is not supported. */
int cuda_kv_place(struct backend_cache *c, const struct backend_group *g, infer_error *err);

/* load.c, kv.c: slots of struct backend_kind */
int cuda_load(struct backend_weights **out, struct backend *b, const struct weight *w, int n,
              infer_error *err);
void cuda_unload(struct backend_weights *w);
int cuda_kv_new(struct backend_cache **out, struct backend *b, const struct backend_group *g,
                uint32_t n_pages, infer_error *err);
void cuda_kv_copy(struct backend_cache *c, uint32_t to, uint32_t from, int n);
void cuda_kv_drop(struct backend_cache *c, uint32_t page);
void cuda_kv_save(const struct backend_cache *c, void *to, uint32_t page);
void cuda_kv_load(struct backend_cache *c, uint32_t page, const void *from);
void cuda_kv_free(struct backend_cache *c);
#endif
