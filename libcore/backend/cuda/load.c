/* backend/cuda/load.c - upload weights to the device.
 *
 * One device allocation, the arena, contains all weights.  The host's threads copy bytes of the
 * mapped file to one of two pinned buffers while the other is transferred to a staging buffer of
 * the device.  From there a kernel repacks them into tiles.  Rows of types without kernels are
 * recoded (recode.h) as they are copied.  Host memory: the two pinned buffers and the mapping. */
#include "backend/cuda/cuda.h"
#include "backend/cuda/recode.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/pool.h"

#include <stdatomic.h>
#include <string.h>

enum {
	ALIGN = 256,
	/* F32 matrices of at most RAW_MOST bytes are also stored raw: biases, gains, taps */
	RAW_MOST = 16 << 20,
	COPY_BYTES = 1 << 20,   /* bytes that a thread copies at a time */
	RECODE_BYTES = 1 << 17, /* bytes that a thread writes at a time when recoding */
};

/* Reserve `bytes` aligned bytes of the arena and advance *used.  Returns their offset. */
static size_t reserve_bytes(size_t *used, size_t bytes)
{
	size_t at = *used;

	*used = at + num_round_up(bytes, ALIGN);
	return at;
}

int cuda_weight_place(struct cuda_weight *c, const struct weight *w, size_t *used, infer_error *err)
{
	size_t bytes = (size_t)w->ne[1] * w->row_bytes, all = bytes * (size_t)w->n;
	const struct infer_type_info *t = infer_type_info(w->type);
	int64_t groups = (w->ne[1] + GPU_GROUP - 1) / GPU_GROUP;

	*c = (struct cuda_weight){ 0 };
	if (w->on_host)
		return INFER_OK;
	if (w->type == INFER_I32 && w->ne[1] == 1 && w->n == 1) { /* the column order of PERMUTE */
		c->raw_bytes = bytes;
		c->raw = (unsigned char *)(uintptr_t)reserve_bytes(used, all);
		return INFER_OK;
	}
	if (w->type == INFER_F32 && (w->ne[1] == 1 || all <= RAW_MOST)) {
		c->raw_bytes = bytes;
		c->raw = (unsigned char *)(uintptr_t)reserve_bytes(used, all);
		if (w->ne[1] == 1 && w->n == 1)
			return INFER_OK;
	}
	c->type = gpu_type_stored(w->type);
	if (!c->type)
		return err_set(err, INFER_EUNSUP, "weights of type %s are not supported",
		               t ? t->name : "(unknown)");
	if (w->ne[0] > INT32_MAX / 2 || w->ne[1] > INT32_MAX / 2)
		return err_set(err, INFER_EUNSUP, "a weight of %lld x %lld is too large",
		               (long long)w->ne[0], (long long)w->ne[1]);
	c->matrix_bytes = (size_t)groups * (size_t)gpu_blocks(w->ne[0]) * c->type->tile_bytes;
	c->tiles = (unsigned char *)(uintptr_t)reserve_bytes(used, c->matrix_bytes * (size_t)w->n);
	return INFER_OK;
}

/* ---- upload ---- */
struct upload {
	struct backend *b;
	unsigned char *pinned[CUDA_STAGES], *device[CUDA_STAGES];
	int next;                  /* index of the buffer to fill next */
	uint8_t busy[CUDA_STAGES]; /* 1: a transfer from the pinned buffer may be running */
};

static void upload_fini(struct upload *u)
{
	for (int i = 0; i < CUDA_STAGES; i++) {
		rt_pinned_free(u->pinned[i]);
		rt_free(u->device[i]);
	}
}

static int upload_init(struct upload *u, struct backend *b, infer_error *err)
{
	*u = (struct upload){ .b = b };
	for (int i = 0; i < CUDA_STAGES; i++) {
		TRY(rt_pinned(&u->pinned[i], CUDA_STAGE_BYTES, "upload weights", err));
		TRY(rt_alloc(&u->device[i], CUDA_STAGE_BYTES, "upload weights", err));
	}
	return INFER_OK;
}

struct copy {
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
};

static void copy_part(void *user, int64_t i, int worker)
{
	const struct copy *c = user;
	size_t at = (size_t)i * COPY_BYTES,
	       n = c->bytes - at < COPY_BYTES ? c->bytes - at : COPY_BYTES;

	(void)worker;
	memcpy(c->to + at, c->from + at, n);
}

/* Wait until the next pinned buffer can be written. */
static int wait_for_stage(const struct upload *u, infer_error *err)
{
	return u->busy[u->next] ? rt_check(cudaEventSynchronize(u->b->staged[u->next]),
	                                   "upload weights", err)
	                        : INFER_OK;
}

/* Start the transfer of the next pinned buffer.  Sets *at to its copy on the device. */
static int send_stage(struct upload *u, size_t bytes, unsigned char **at, infer_error *err)
{
	cudaStream_t s = u->b->stream;
	int i = u->next;

	u->next = (i + 1) % CUDA_STAGES;
	TRY(rt_check(cudaMemcpyAsync(u->device[i], u->pinned[i], bytes, cudaMemcpyHostToDevice, s),
	             "upload weights", err));
	TRY(rt_check(cudaEventRecord(u->b->staged[i], s), "upload weights", err));
	u->busy[i] = 1;
	*at = u->device[i];
	return INFER_OK;
}

/* Copy bytes to the next pinned buffer and start its transfer to the device, at *at. */
static int send_bytes(struct upload *u, const void *from, size_t bytes, unsigned char **at,
                      infer_error *err)
{
	struct copy c = { u->pinned[u->next], from, bytes };

	must(bytes <= CUDA_STAGE_BYTES);
	TRY(wait_for_stage(u, err));
	pool_run(u->b->host->pool, (int64_t)((bytes + COPY_BYTES - 1) / COPY_BYTES), copy_part, &c);
	return send_stage(u, bytes, at, err);
}

/* Arguments of recode_part, which the threads run. */
struct recode {
	unsigned char *to;
	const unsigned char *from;
	const struct weight *w;
	int64_t rows, each; /* each: rows that one thread recodes at a time */
	atomic_int inexact; /* 1: X8 cannot represent a value */
};

static void recode_part(void *user, int64_t i, int worker)
{
	struct recode *r = user;
	size_t bytes = recode_row_bytes(r->w->ne[0]);
	int64_t end = num_min((i + 1) * r->each, r->rows);

	(void)worker;
	for (int64_t row = i * r->each; row < end; row++)
		if (!recode_row(r->to + (size_t)row * bytes,
		                r->from + (size_t)row * r->w->row_bytes, r->w->type, r->w->ne[0]))
			atomic_store_explicit(&r->inexact, 1, memory_order_relaxed);
}

/* Recode n rows of w to the next pinned buffer and start its transfer to the device, at *at. */
static int send_recoded(struct upload *u, const struct weight *w, const unsigned char *from,
                        int64_t n, unsigned char **at, infer_error *err)
{
	size_t bytes = recode_row_bytes(w->ne[0]);
	struct recode r = {
		u->pinned[u->next], from, w, n, num_max(1, RECODE_BYTES / (int64_t)bytes), 0
	};

	must((size_t)n * bytes <= CUDA_STAGE_BYTES);
	TRY(wait_for_stage(u, err));
	pool_run(u->b->host->pool, (n + r.each - 1) / r.each, recode_part, &r);
	if (atomic_load_explicit(&r.inexact, memory_order_relaxed))
		return err_set(
			err, INFER_EUNSUP,
			"a weight of type %s contains values that int8 codes cannot represent",
			infer_type_info(w->type)->name);
	return send_stage(u, (size_t)n * bytes, at, err);
}

static int load_raw(struct upload *u, unsigned char *to, const unsigned char *from, size_t bytes,
                    infer_error *err)
{
	for (size_t at = 0; at < bytes; at += CUDA_STAGE_BYTES) {
		size_t n = bytes - at < CUDA_STAGE_BYTES ? bytes - at : CUDA_STAGE_BYTES;
		unsigned char *staged;

		TRY(send_bytes(u, from + at, n, &staged, err));
		TRY(rt_check(
			cudaMemcpyAsync(to + at, staged, n, cudaMemcpyDeviceToDevice, u->b->stream),
			"upload weights", err));
	}
	return INFER_OK;
}

/* Upload one matrix as tiles, in steps of as many groups of rows as fit into a buffer. */
static int load_tiles(struct upload *u, const struct cuda_weight *c, const struct weight *w,
                      int matrix, infer_error *err)
{
	int recoded = c->type->type != w->type;
	size_t row_bytes = recoded ? recode_row_bytes(w->ne[0]) : w->row_bytes;
	int64_t step = (int64_t)(CUDA_STAGE_BYTES / row_bytes) / GPU_GROUP * GPU_GROUP;
	size_t group = (size_t)gpu_blocks(w->ne[0]) * c->type->tile_bytes;
	unsigned char *to = c->tiles + (size_t)matrix * c->matrix_bytes, *staged;

	if (!step)
		return err_set(err, INFER_EUNSUP, "a weight with rows of %zu bytes is too large",
		               row_bytes);
	for (int64_t row = 0; row < w->ne[1]; row += step) {
		const unsigned char *from =
			(const unsigned char *)w->at[matrix] + (size_t)row * w->row_bytes;
		int64_t n = num_min(step, w->ne[1] - row);

		TRY(recoded ? send_recoded(u, w, from, n, &staged, err)
		            : send_bytes(u, from, (size_t)n * row_bytes, &staged, err));
		TRY(rt_check(c->type->pack(to + (size_t)(row / GPU_GROUP) * group, staged,
		                           row_bytes, n, w->ne[0], u->b->stream),
		             "repack weights", err));
	}
	return INFER_OK;
}

static int load_weight(struct upload *u, const struct cuda_weight *c, const struct weight *w,
                       infer_error *err)
{
	for (int i = 0; i < w->n; i++) {
		if (c->raw)
			TRY(load_raw(u, c->raw + (size_t)i * c->raw_bytes, w->at[i], c->raw_bytes,
			             err));
		if (c->type)
			TRY(load_tiles(u, c, w, i, err));
	}
	return INFER_OK;
}

static uint64_t bytes_to_load(const struct weight *w, int n)
{
	return weights_bytes(w, n) - weights_host_bytes(w, n);
}

/* Report that the first n weights are loaded. */
static void report_loaded(const struct backend_weights *s, int n)
{
	const struct infer_watch *w = s->b->loading;

	if (w && w->fn)
		w->fn(w->user, bytes_to_load(s->w, n), bytes_to_load(s->w, s->n));
}

static int load_weights(struct backend_weights *s, infer_error *err)
{
	struct upload u;
	int rc = upload_init(&u, s->b, err);

	for (int i = 0; i < s->n && !rc; i++) {
		report_loaded(s, i);
		rc = load_weight(&u, &s->at[i], &s->w[i], err);
	}
	if (!rc)
		rc = rt_check(cudaStreamSynchronize(s->b->stream), "upload weights", err);
	else /* wait: the device must not read buffers that are about to be freed */
		(void)cudaStreamSynchronize(s->b->stream);
	upload_fini(&u);
	if (!rc)
		report_loaded(s, s->n);
	return rc;
}

/* Set the addresses of all weights as offsets in the arena.  They start at ALIGN, so that none is
 * NULL. */
static int place_weights(struct backend_weights *s, size_t *bytes, infer_error *err)
{
	size_t used = ALIGN;

	for (int i = 0; i < s->n; i++)
		TRY(cuda_weight_place(&s->at[i], &s->w[i], &used, err));
	*bytes = used;
	return INFER_OK;
}

int cuda_load(struct backend_weights **out, struct backend *b, const struct weight *w, int n,
              infer_error *err)
{
	struct backend_weights *s;
	size_t bytes = 0;
	int rc;

	*out = NULL;
	TRY(rt_check(cudaSetDevice(b->device), "choose the device", err));
	s = mem_zalloc(MEM_BACKEND, 1, sizeof *s);
	if (!s)
		return err_nomem(err);
	*s = (struct backend_weights){ .b = b, .w = w, .n = n };
	s->at = mem_zalloc(MEM_BACKEND, (size_t)n + 1, sizeof *s->at);
	rc = s->at ? place_weights(s, &bytes, err) : err_nomem(err);
	if (!rc)
		rc = rt_alloc(&s->arena, bytes, "load the weights", err);
	for (int i = 0; i < n && !rc; i++) {
		struct cuda_weight *c = &s->at[i];

		if (c->raw)
			c->raw = s->arena + (uintptr_t)c->raw;
		if (c->tiles)
			c->tiles = s->arena + (uintptr_t)c->tiles;
	}
	if (!rc)
		rc = load_weights(s, err);
	if (rc) {
		cuda_unload(s);
		return rc;
	}
	*out = s;
	return INFER_OK;
}

void cuda_unload(struct backend_weights *s)
{
	if (!s)
		return;
	(void)cudaSetDevice(s->b->device);
	rt_free(s->arena);
	mem_free(s->at);
	mem_free(s);
}
