/* infer-bench/nvml.c - energy and memory of NVIDIA GPUs. The library is loaded if it is installed; names and
 * structures are those of nvml.h, API version 12. */
#include "nvml.h"

#include <dlfcn.h>
#include <stddef.h>

struct memory {
	unsigned long long total, free, used;
};
#define CALLS(F) \
	F(init, "nvmlInit_v2", (void)) \
	F(shut, "nvmlShutdown", (void)) \
	F(count, "nvmlDeviceGetCount_v2", (unsigned *)) \
	F(device, "nvmlDeviceGetHandleByIndex_v2", (unsigned, void **)) \
	F(energy, "nvmlDeviceGetTotalEnergyConsumption", (void *, unsigned long long *)) \
	F(memory, "nvmlDeviceGetMemoryInfo", (void *, struct memory *))
#define FIELD(name, symbol, arguments) int(*name) arguments;
struct nvml {
	CALLS(FIELD)
	void *so;
};

static int load_nvml(struct nvml *n)
{
	n->so = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->so)
		return 0;
#define LOAD(name, symbol, arguments) \
	if (!(*(void **)(void *)&n->name = dlsym(n->so, symbol))) \
		return 0;
	CALLS(LOAD)
	return !n->init();
}

static void add_device(struct nvml_said *s, const struct nvml *n, unsigned i)
{
	unsigned long long mj;
	struct memory m;
	void *device;

	if (n->device(i, &device)) {
		s->energy_j = s->memory_bytes = -1;
		return;
	}
	if (n->energy(device, &mj))
		s->energy_j = -1;
	else if (s->energy_j >= 0)
		s->energy_j += (double)mj * 1e-3;
	if (n->memory(device, &m))
		s->memory_bytes = -1;
	else if (s->memory_bytes >= 0)
		s->memory_bytes += (double)m.used;
}

void nvml_read(struct nvml_said *s)
{
	struct nvml n = { .so = NULL };
	unsigned count = 0;

	*s = (struct nvml_said){ 0, -1, -1 };
	if (load_nvml(&n)) {
		if (!n.count(&count) && count)
			*s = (struct nvml_said){ (int)count, 0, 0 };
		for (unsigned i = 0; i < count; i++)
			add_device(s, &n, i);
		n.shut();
	}
	if (n.so)
		dlclose(n.so);
}
