/* infer-bench/nvml.h - energy and memory of NVIDIA GPUs, by the management library (NVML). */
#ifndef INFER_BENCH_NVML_H
#define INFER_BENCH_NVML_H

struct nvml_said {
	int devices;
	/* Sums over all GPUs: energy since the driver was loaded, memory in use; -1: not reported. */
	double energy_j, memory_bytes;
};
/* Read the counters. devices is 0 if there is no library or no GPU. */
void nvml_read(struct nvml_said *s);
#endif
