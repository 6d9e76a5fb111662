/* backend/cuda/host_experts.h (private) - experts of a plan that the host computes. */
#ifndef BACKEND_CUDA_HOST_EXPERTS_H
#define BACKEND_CUDA_HOST_EXPERTS_H
#include <cuda_runtime_api.h>
#include "backend/cpu/experts.h"

struct cuda_host { /* a MOE node that the host computes; values on the device */
	const float *x, *choice;
	float *y;
	int32_t cols, used, experts, number; /* number: of cpu_experts_run */
};
struct cuda_experts { /* of a plan; all but n is NULL if n is 0 */
	int n;        /* nodes */
	struct cpu_experts *plan;
	struct cpu_expert_rows rows; /* pinned, for the largest node */
	cudaEvent_t asked;           /* recorded after the copy of rows to the host */
};
/* Add the memory of the host that the experts of p need to need->host and need->thread. */
int cuda_host_need(struct backend_need *need, const struct backend_plan *p, infer_error *err);
/* Make the plan of the experts and the event, if p has any; p->host.n and the rows are set. */
int cuda_host_make(struct backend_plan *p, infer_error *err);
void cuda_host_free(struct backend_plan *p);
/* Enqueue the copy of x and choice to the host.  Returns a cudaError_t. */
int cuda_host_ask(const struct backend_plan *p, const struct cuda_host *h, int32_t rows);
/* Wait for that copy, compute the experts, and enqueue the copy of y to the device.
 * INFER_ECANCEL: the step was stopped; INFER_EDEVICE: a choice that is not an expert */
int cuda_host_answer(const struct backend_plan *p, const struct cuda_host *h, int32_t rows,
                     infer_error *err);
#endif
