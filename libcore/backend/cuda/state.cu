/* backend/cuda/state.cu (private) - launches of recurrent layers: state_conv.cuh, state_delta.cuh.
 *
 * A launch computes all runs of a step, each row by row.  The bits of a row do not depend on how
 * the rows of its sequence are divided into steps, nor on other sequences. */
#include "backend/cuda/launch.h"
#include "backend/cuda/gpu.h"
#include "backend/cuda/state_conv.cuh"
#include "backend/cuda/state_delta.cuh"

extern "C" int gpu_conv(const struct gpu_conv *c, cudaStream_t s)
{
	int chunks = state_pages(c->max_run_rows) - conv_head(c->taps) + 1;
	dim3 grid((unsigned)((c->cols + CONV_THREADS - 1) / CONV_THREADS),
	          (unsigned)(chunks < 1 ? 1 : chunks), (unsigned)c->max_runs);

	return LAUNCH(run_conv, grid, dim3(CONV_THREADS), 0, s, *c);
}

extern "C" int gpu_delta(const struct gpu_delta *d, cudaStream_t s)
{
	dim3 grid((unsigned)((d->dv + DELTA_COLS - 1) / DELTA_COLS), (unsigned)d->heads,
	          (unsigned)d->max_runs);
	int groups = (d->dk + DELTA_GROUP - 1) / DELTA_GROUP;

	if (groups <= 2)
		return LAUNCH(run_delta<2>, grid, dim3(DELTA_THREADS), 0, s, *d);
	if (groups <= 4)
		return LAUNCH(run_delta<4>, grid, dim3(DELTA_THREADS), 0, s, *d);
	if (groups <= 8)
		return LAUNCH(run_delta<8>, grid, dim3(DELTA_THREADS), 0, s, *d);
	if (groups <= DELTA_MOST)
		return LAUNCH(run_delta<DELTA_MOST>, grid, dim3(DELTA_THREADS), 0, s, *d);
	return cudaErrorInvalidValue;
}
