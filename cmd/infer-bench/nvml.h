/* infer-bench/nvml.h - what NVIDIA's management library says of the accelerators here. */
#ifndef INFER_BENCH_NVML_H
#define INFER_BENCH_NVML_H

struct nvml_said {
	int devices;
	/* of all: used since the driver was loaded, and held now; -1: not said by each */
	double energy_j, memory_bytes;
};
/* Nothing where there is no library, or it finds no device. */
void nvml_read(struct nvml_said *s);
#endif
