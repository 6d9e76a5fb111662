/* backend/cuda/chain_norm.cuh (private) - NORM.
 *
 *   y = x (1 / sqrt(sum x^2 / n + eps)) w0;  centred: y = c (1 / sqrt(sum c^2 / n + eps)) w0 + w1
 *                                              with c = x - sum x / n
 *
 * Groups of n = cols / groups columns; with `first`, one group of the first `first` columns, and
 * the rest is copied.  A single group is computed by all threads, each on its own columns; several
 * groups by a warp each.  Both give the same bits (chain_row.cuh). */
#ifndef BACKEND_CUDA_CHAIN_NORM_CUH
#define BACKEND_CUDA_CHAIN_NORM_CUH
#include "backend/cuda/chain_row.cuh"

struct norm {
	const float *gain, *bias; /* gain and bias of the group, or NULL */
	float *y;
	const float *x;
	float eps;
	int n;
};

template <bool WARP> GPU_FN struct chain_span norm_span(const struct chain_row *r, int n)
{
	struct chain_span s = WARP ? chain_lane(n) : chain_own(r, n);

	s.step = WARP ? 32 : GPU_ROW_THREADS;
	return s;
}
template <bool WARP, class F> GPU_FN float norm_sum(const struct norm *m, struct chain_row *r, F f)
{
	return WARP ? chain_sum_warp(m->x, m->n, f) : chain_sum(r, m->x, m->n, f);
}

template <bool WARP> GPU_FN void norm_rms(const struct norm *m, struct chain_row *r)
{
	float sum = norm_sum<WARP>(m, r, [](float t, float v) { return fmaf(v, v, t); });
	float by = 1.0f / sqrtf(sum / (float)m->n + m->eps);
	struct chain_span s = norm_span<WARP>(r, m->n);

	if (m->gain)
		chain_map(s, m->y, m->x, m->gain, [=](float u, float g) { return u * by * g; });
	else
		chain_map(s, m->y, m->x, NULL, [=](float u, float) { return u * by; });
}

template <bool WARP> GPU_FN void norm_centred(const struct norm *m, struct chain_row *r)
{
	float mean = norm_sum<WARP>(m, r, [](float t, float v) { return t + v; }) / (float)m->n;
	float sum =
		norm_sum<WARP>(m, r, [=](float t, float v) { return fmaf(v - mean, v - mean, t); });
	float by = 1.0f / sqrtf(sum / (float)m->n + m->eps);
	struct chain_span s = norm_span<WARP>(r, m->n);

	for (int i = s.first; i < s.end; i += s.step) {
		float c = (m->x[i] - mean) * by;

		m->y[i] = !m->gain ? c : m->bias ? fmaf(c, m->gain[i], m->bias[i]) : c * m->gain[i];
	}
}

template <bool CENTRED, bool WARP>
GPU_FN void norm_group(const struct norm *m, struct chain_row *r, int centred)
{
	if (CENTRED && centred)
		norm_centred<WARP>(m, r);
	else
		norm_rms<WARP>(m, r);
}

/* CENTRED false: without the code of centred norms. */
template <bool CENTRED>
GPU_FN void chain_norm(const struct gpu_op *o, struct chain_row *r, float *y, const float *x)
{
	int first = o->node.norm.first, groups = o->node.norm.groups,
	    centred = o->node.norm.centred;
	int n = first ? first : groups > 1 ? o->node.cols / groups : o->node.cols;
	int gain_step = o->w_rows > 1 && !centred ? n : 0; /* from one group's gain to the next */
	struct norm m = { (const float *)o->w0, (const float *)o->w1, y, x, o->node.norm.eps, n };

	if (groups <= 1) {
		norm_group<CENTRED, false>(&m, r, centred);
		for (int i = chain_thread(); first && y != x && i < o->node.cols;
		     i += GPU_ROW_THREADS)
			if (i >= first)
				y[i] = x[i];
		return;
	}
	for (int g = chain_thread() / 32; g < groups; g += CHAIN_WARPS) {
		m.x = x + g * n, m.y = y + g * n;
		m.gain = o->w0 ? (const float *)o->w0 + g * gain_step : NULL;
		norm_group<CENTRED, true>(&m, r, centred);
	}
}
#endif
