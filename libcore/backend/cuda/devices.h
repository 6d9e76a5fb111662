/* backend/cuda/devices.h - list the GPUs of the machine. */
#ifndef BACKEND_CUDA_DEVICES_H
#define BACKEND_CUDA_DEVICES_H
#include <stdint.h>
#include <infer/status.h>

struct cuda_device {
	char name[64];
	int major, minor, sms; /* compute capability; number of multiprocessors */
	uint64_t memory_bytes, free_bytes;
	char bus[16];        /* PCI address: "0000:01:00.0" */
	int driver, runtime; /* versions: 1000 * major + 10 * minor */
};
/* Fill out[0 .. cap) with the first cap devices.  Returns the number of all devices.  No driver, no
 * device, or an error of the driver: -1, and err is INFER_EDEVICE. */
int cuda_devices(struct cuda_device *out, int cap, infer_error *err);
#endif
