/* engine/device.h (private) - choose devices from the engine's options. */
#ifndef ENGINE_DEVICE_H
#define ENGINE_DEVICE_H
#include <infer/engine.h>
#include "engine/stages.h"

/* The devices of an engine, in the order of the layers. */
struct device_list {
	struct stages_device at[KV_DEVICES];
	int n;
	int32_t ctx_least; /* the least context that must fit if the options name none; 0: any */
};
/* A kind of GPU. */
struct device_gpu {
	const struct backend_kind *kind; /* NULL: the build has none */
	uint64_t least_bytes;            /* device auto: the CPU computes smaller models */
};
/* Return the kind of GPU that this build supports. */
struct device_gpu device_gpu(void);

/* Check the options that name devices.  INFER_EINVAL: the message names a malformed one. */
int device_check(const struct infer_engine_opts *o, infer_error *err);
/* True if o names a GPU, by its device or by a number of layers. */
int device_wants_gpu(const struct infer_engine_opts *o);
/* Return a list with only the CPU. */
struct device_list device_cpu(void);
/* Return a list with o->gpu_layers layers on the GPU, or on the GPUs of o->split, and the others on the
 * CPU.  With INFER_GPU_LAYERS_FIT: all on the GPU if all_fit, else STAGES_FIT. */
struct device_list device_with_gpu(const infer_model *m, const struct infer_engine_opts *o,
                                   const struct device_gpu *gpu, int all_fit);
/* Check that o allows a GPU.  INFER_EDEVICE: the build has no backend for one; INFER_EUNSUP: the
 * message names an option that needs the CPU; INFER_EINVAL: o->split has more shares than there are
 * layers. */
int device_allows(const infer_model *m, const struct infer_engine_opts *o,
                  const struct device_gpu *gpu, infer_error *err);

/* engine.c: like infer_engine_open and infer_engine_need, on these devices. */
int engine_open_list(infer_engine **out, const infer_model *m, const struct infer_engine_opts *o,
                     const struct device_list *list, infer_error *err);
int engine_need_list(struct infer_engine_need *need, const infer_model *m,
                     const struct infer_engine_opts *o, const struct device_list *list,
                     infer_error *err);
/* log_config.c: log the context and cache sizes, and what each device computes. */
void engine_tell(const infer_engine *e, const struct infer_engine_opts *o);
static inline int device_is_host(const struct backend_device *on)
{
	return on->kind == backend_find("cpu");
}
/* Open an engine on the devices that o names.  Errors as infer_engine_open. */
int device_open(infer_engine **out, const infer_model *m, const struct infer_engine_opts *o,
                const struct device_gpu *gpu, infer_error *err);
/* Compute the memory that this engine would need. For device auto: the memory on the CPU. */
int device_need(struct infer_engine_need *need, const infer_model *m,
                const struct infer_engine_opts *o, const struct device_gpu *gpu, infer_error *err);
#endif
