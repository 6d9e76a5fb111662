/* infer/device.h - the GPUs that engines of this build can use.   floor: backend */
#ifndef INFER_DEVICE_H
#define INFER_DEVICE_H
#include <stdint.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_device {
	char name[64];
	char bus[16];        /* PCI address: "0000:01:00.0" */
	int major, minor;    /* compute capability: 9, 0 */
	int processors;      /* multiprocessors */
	int driver, runtime; /* CUDA version: newest supported, of this build; 13000: 13.0 */
	uint64_t memory_bytes, free_bytes;
};
enum { INFER_DEVICES = 64 };

/* Return the kind of GPU of this build, "cuda", or NULL. Loads no driver.  Any thread. */
const char *infer_device_kind(void);

/* List the GPUs: out[i] is "cuda:i" of infer_engine_opts.device.  Fills at most `cap` entries; *n:
 * the number of GPUs, 0 on failure.  Loads the driver, which can take a second.  Any thread.
 * INFER_EUNSUP: this build has no backend for GPUs.
 * INFER_EDEVICE: there is no driver or no device, or the driver fails. */
int infer_device_list(struct infer_device *out, int cap, int *n, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
