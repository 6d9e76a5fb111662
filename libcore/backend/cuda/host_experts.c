/* backend/cuda/host_experts.c - experts whose weights stay in host memory.
 *
 *   device   ... ROUTE | copy x, choice |  shared experts, if any  |        | copy y | ADD ...
 *   host                                | wait | experts of each row       |
 *
 * ROUTE runs on the device, so the host checks the expert ids before it uses them as indices. */
#include "backend/cuda/plan.h"
#include "base/err.h"

int cuda_host_need(struct backend_need *need, const struct backend_plan *p, infer_error *err)
{
	struct backend_need own;

	if (!p->host_experts.n)
		return INFER_OK;
	TRY(cpu_experts_need(&own, p->b->host, &p->m, &p->size, err));
	need->host += own.workspace;
	need->thread += own.thread;
	return INFER_OK;
}

int cuda_host_make(struct backend_plan *p, infer_error *err)
{
	if (!p->host_experts.n)
		return INFER_OK;
	TRY(rt_check(cudaEventCreateWithFlags(&p->host_experts.rows_copied, cudaEventDisableTiming),
	             "make the workspace", err));
	return cpu_experts_new(&p->host_experts.plan, p->b->host, &p->m, &p->size, err);
}

void cuda_host_free(struct backend_plan *p)
{
	cpu_experts_free(p->host_experts.plan);
	if (p->host_experts.rows_copied)
		(void)cudaEventDestroy(p->host_experts.rows_copied);
}

static size_t bytes_of(int32_t rows, int32_t cols)
{
	return (size_t)rows * (size_t)cols * sizeof(float);
}

int cuda_host_send_rows(const struct backend_plan *p, const struct cuda_host_moe *h, int32_t rows)
{
	int rc = cudaMemcpyAsync(p->host_experts.rows.x, h->x, bytes_of(rows, h->cols),
	                         cudaMemcpyDeviceToHost, p->b->stream);

	if (!rc)
		rc = cudaMemcpyAsync(p->host_experts.rows.choice, h->choice,
		                     bytes_of(rows, 2 * h->used), cudaMemcpyDeviceToHost,
		                     p->b->stream);
	return rc ? rc : (int)cudaEventRecord(p->host_experts.rows_copied, p->b->stream);
}

/* Check that every chosen id is in the range of the experts. */
static int check_ids(const struct cuda_host_moe *h, const float *choice, int32_t rows,
                     infer_error *err)
{
	for (int32_t r = 0; r < rows; r++, choice += 2 * h->used)
		for (int32_t i = 0; i < h->used; i++)
			if (!(choice[i] >= 0 && choice[i] < (float)h->experts))
				return err_set(err, INFER_EDEVICE,
				               "the device chose expert %g of %d",
				               (double)choice[i], h->experts);
	return INFER_OK;
}

int cuda_host_compute(const struct backend_plan *p, const struct cuda_host_moe *h, int32_t rows,
                      infer_error *err)
{
	TRY(rt_check(cudaEventSynchronize(p->host_experts.rows_copied), "run a step", err));
	TRY(check_ids(h, p->host_experts.rows.choice, rows, err));
	TRY(cpu_experts_run(p->host_experts.plan, h->number, p->s, &p->host_experts.rows, err));
	return rt_check(cudaMemcpyAsync(h->y, p->host_experts.rows.y, bytes_of(rows, h->cols),
	                                cudaMemcpyHostToDevice, p->b->stream),
	                "run a step", err);
}
