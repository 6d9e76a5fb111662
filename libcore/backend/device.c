/* backend/device.c - the list of GPUs. */
#include <infer/device.h>
#include "base/err.h"
#ifdef BACKEND_cuda
#include "backend/cuda/devices.h"
#endif

#include <stddef.h>
#include <string.h>

#ifdef BACKEND_cuda
const char *infer_device_kind(void) { return "cuda"; }

static struct infer_device device_of(const struct cuda_device *d)
{
	struct infer_device to = { .major = d->major,
		                   .minor = d->minor,
		                   .processors = d->sms,
		                   .driver = d->driver,
		                   .runtime = d->runtime,
		                   .memory_bytes = d->memory_bytes,
		                   .free_bytes = d->free_bytes };

	_Static_assert(sizeof to.name == sizeof d->name && sizeof to.bus == sizeof d->bus,
	               "the names are copied whole");
	memcpy(to.name, d->name, sizeof to.name);
	memcpy(to.bus, d->bus, sizeof to.bus);
	return to;
}

int infer_device_list(struct infer_device *out, int cap, int *n, infer_error *err)
{
	struct cuda_device found[INFER_DEVICES];
	infer_error why = { 0 };
	int all = cuda_devices(found, INFER_DEVICES, &why);

	*n = 0;
	if (all < 0)
		return err_set(err, why.code, "%s", why.message);
	*n = all < INFER_DEVICES ? all : INFER_DEVICES;
	for (int i = 0; i < *n && i < cap; i++)
		out[i] = device_of(&found[i]);
	return INFER_OK;
}
#else

const char *infer_device_kind(void) { return NULL; }

int infer_device_list(struct infer_device *out, int cap, int *n, infer_error *err)
{
	(void)out;
	(void)cap;
	*n = 0;
	return err_set(err, INFER_EUNSUP, "no GPU support in this build");
}
#endif
