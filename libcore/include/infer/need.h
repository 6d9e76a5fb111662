/* infer/need.h - the memory of an engine.   floor: engine */
#ifndef INFER_NEED_H
#define INFER_NEED_H
#include <stdint.h>
#include <infer/status.h>
#include <infer/model.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_engine_opts; /* infer/engine.h */

/* Compute the memory that an engine with these options would need; nothing is reserved and no
 * weight is read.  o->threads is ignored: the workspace is that of one thread.  o->ctx 0: the
 * model's context.  device auto counts as cpu; a GPU is opened only if it is named.  o: NULL is all
 * defaults.  Errors as infer_engine_open, but a size that does not fit is an error only with
 * INFER_GPU_LAYERS_FIT. */
struct infer_engine_need {
	int32_t ctx;
	uint64_t weight_bytes; /* weights that every step reads, in the file or in copies */
	uint64_t kv_bytes, workspace_bytes;
	uint64_t thread_bytes; /* workspace of each thread beyond the first */
	/* part of the workspace that steps of prefill_chunk rows without scores touch */
	uint64_t touched_bytes;
	/* memory on GPUs; not included above */
	uint64_t device_weight_bytes, device_kv_bytes, device_workspace_bytes;
};
int infer_engine_need(const infer_model *model, const struct infer_engine_opts *o,
                      struct infer_engine_need *need, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
