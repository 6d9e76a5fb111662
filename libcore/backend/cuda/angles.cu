/* backend/cuda/angles.cu - cos and sin of the RoPE angles of every row: cs[row][i] =
 * cos(angle) mscale, sin(angle) mscale with angle = pos freq[i], in double, rounded once to f32.
 * grid (rows, tables). */
#include "backend/cuda/launch.h"
#include "backend/cuda/math.cuh"

enum { ANGLE_THREADS = 64 };

__global__ void __launch_bounds__(ANGLE_THREADS)
	angles_kernel(const __grid_constant__ struct gpu_angles a)
{
	int row = (int)blockIdx.x, rope = (int)blockIdx.y, half = a.half[rope];
	float *cs = a.rows.cs[rope] + (size_t)row * 2 * (size_t)half;
	const double *freq = a.freq[rope];
	double mscale = a.mscale[rope], pos;

	gpu_next();
	gpu_wait();
	if (row >= a.rows.step->n)
		return;
	pos = a.rows.pos[row];
	for (int i = (int)threadIdx.x; i < half; i += ANGLE_THREADS) {
		double angle = pos * freq[i];

		cs[2 * i] = (float)(gpu_cos(angle) * mscale);
		cs[2 * i + 1] = (float)(gpu_sin(angle) * mscale);
	}
}

int gpu_angles(const struct gpu_angles *a, cudaStream_t s)
{
	if (a->n_ropes < 0 || a->n_ropes > GPU_ROPES)
		return cudaErrorInvalidValue;
	if (a->n_ropes == 0 || a->max_rows < 1)
		return cudaSuccess;
	return LAUNCH(angles_kernel, dim3((unsigned)a->max_rows, (unsigned)a->n_ropes),
	              ANGLE_THREADS, 0, s, *a);
}
