/* backend/cuda/host_experts.h (private) - MOE nodes of a plan that the host computes, because their
 * weights are on_host. */
#ifndef BACKEND_CUDA_HOST_EXPERTS_H
#define BACKEND_CUDA_HOST_EXPERTS_H
#include <cuda_runtime_api.h>
#include "backend/cpu/experts.h"

/* One MOE node that the host computes. x, choice, y: device arrays, as in struct
 * cpu_expert_rows. */
struct cuda_host_moe {
	const float *x, *choice;
	float *y;
	int32_t cols, used, experts;
	int32_t number; /* index of the node for cpu_experts_run */
};
/* All MOE nodes of a plan that the host computes.  If n is 0, all other members are NULL. */
struct cuda_host_experts {
	int n;
	struct cpu_experts *plan;
	struct cpu_expert_rows rows; /* pinned buffers, sized for the largest node */
	cudaEvent_t rows_copied;     /* recorded after x and choice are copied to the host */
};
/* Add the host memory that the host's experts of p need to need->host and need->thread.
 * INFER_ENOMEM */
int cuda_host_need(struct backend_need *need, const struct backend_plan *p, infer_error *err);
/* Create the CPU plan of the experts and the event, if p has any.  p->host_experts.n and .rows must
 * be set.  INFER_ENOMEM, INFER_EDEVICE */
int cuda_host_make(struct backend_plan *p, infer_error *err);
void cuda_host_free(struct backend_plan *p);
/* Enqueue the copy of `rows` rows of x and choice to the host.  Returns a cudaError_t. */
int cuda_host_send_rows(const struct backend_plan *p, const struct cuda_host_moe *h, int32_t rows);
/* Wait for the copy of cuda_host_send_rows, compute the experts, and enqueue the copy of y to the
 * device. INFER_ECANCEL: the step was stopped; INFER_EDEVICE: an id in choice is not an expert. */
int cuda_host_compute(const struct backend_plan *p, const struct cuda_host_moe *h, int32_t rows,
                      infer_error *err);
#endif
