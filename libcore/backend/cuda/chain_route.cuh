/* backend/cuda/chain_route.cuh (private) - ROUTE: choose the `used` experts with the best scores of
 * up to GPU_EXPERTS, ties to the lower id, as in backend/cpu/moe.c.  y = ids [used], then weights
 * [used].
 *
 *   p = softmax(x) or sigmoid(x);  score = p + w0; without w0: p, or x if its order is the same
 *   groups: score of a group = sum of its group_best best scores, best first; only experts of the
 *           groups_used best groups can be chosen
 *   weight = p (or p / sum of the chosen) times mul w1[id]
 *
 * NaN ranks below every number: the score of a chosen or excluded expert is set to NaN. */
#ifndef BACKEND_CUDA_CHAIN_ROUTE_CUH
#define BACKEND_CUDA_CHAIN_ROUTE_CUH
#include "backend/cuda/chain_row.cuh"
#include "backend/cuda/math.cuh"

enum { ROUTE_NONE = 0x7fffffff };

struct route { /* arrays in shared memory, GPU_EXPERTS floats each */
	float *prob, *left, *work, *group;
};

GPU_FN bool route_better(float a, float b) { return a > b || (b != b && a == a); }

/* Return the index of the largest of s[n].  All lanes of a warp call it. */
GPU_FN int route_best(const float *s, int n)
{
	float best = gpu_float(0x7fc00000);
	int at = ROUTE_NONE;

	for (int i = chain_thread() % 32; i < n; i += 32)
		if (at == ROUTE_NONE || route_better(s[i], best))
			best = s[i], at = i;
	for (int i = 16; i; i /= 2) {
		float other = __shfl_xor_sync(~0u, best, i);
		int from = __shfl_xor_sync(~0u, at, i);

		if (route_better(other, best) || (!route_better(best, other) && from < at))
			best = other, at = from;
	}
	return at;
}

/* Return the index of the largest of s[n]; add that score to *sum of lane 0 and set it to NaN. */
GPU_FN int route_take(float *s, int n, float *sum)
{
	int best = route_best(s, n);

	__syncwarp(); /* all lanes have read s */
	if (chain_thread() % 32 == 0) {
		*sum += s[best];
		s[best] = gpu_float(0x7fc00000);
	}
	__syncwarp();
	return best;
}

GPU_FN float route_most(struct chain_row *r, const float *x, int n)
{
	float most = gpu_float(0xff800000), *s = r->sums + (r->turn ^= 1) * GPU_ROW_THREADS;

	for (int i = chain_thread(); i < n; i += GPU_ROW_THREADS)
		most = x[i] > most ? x[i] : most;
	s[threadIdx.x] = most;
	__syncthreads();
	for (int i = chain_thread() % 32; i < GPU_ROW_THREADS; i += 32)
		most = s[i] > most ? s[i] : most;
	for (int i = 16; i; i /= 2) {
		float other = __shfl_xor_sync(~0u, most, i);

		most = other > most ? other : most;
	}
	return most;
}

/* Set prob[] of the experts that the thread owns. */
GPU_FN void route_gate(const struct gpu_op *o, struct chain_row *r, float *prob, const float *x)
{
	int n = o->a_cols;
	float most, sum = 0;

	if (o->node.route.sigmoid) {
		for (int i = chain_thread(); i < n; i += GPU_ROW_THREADS)
			prob[i] = gpu_sigmoid(x[i]);
		return;
	}
	most = route_most(r, x, n);
	for (int i = chain_thread(); i < n; i += GPU_ROW_THREADS) {
		prob[i] = gpu_exp(x[i] - most);
		sum += prob[i];
	}
	sum = chain_total(r, r->sums, sum);
	for (int i = chain_thread(); i < n; i += GPU_ROW_THREADS)
		prob[i] /= sum;
}

/* Exclude the experts outside the best groups. */
GPU_FN void route_groups(const struct gpu_op *o, const struct route *t)
{
	int n = o->a_cols, groups = o->node.route.groups, each = n / groups,
	    lane = chain_thread() % 32;
	float unused = 0;

	for (int g = chain_thread() / 32; g < groups; g += CHAIN_WARPS) {
		float *work = t->work + g * each, sum = 0;

		for (int i = lane; i < each; i += 32)
			work[i] = t->left[g * each + i];
		for (int i = 0; i < o->node.route.group_best; i++)
			route_take(work, each, &sum);
		if (lane == 0)
			t->group[g] = sum;
	}
	__syncthreads();
	for (int i = 0; threadIdx.x < 32 && i < o->node.route.groups_used; i++)
		route_take(t->group, groups, &unused);
	__syncthreads();
	for (int i = chain_thread(); i < groups * each; i += GPU_ROW_THREADS)
		if (t->group[i / each] == t->group[i / each])
			t->left[i] = gpu_float(0x7fc00000);
}

/* Choose the experts and write y.  One warp calls it. */
GPU_FN void route_choose(const struct gpu_op *o, const struct route *t, float *y)
{
	int used = o->node.route.used, lane = chain_thread() % 32;
	float mul = o->node.route.mul == 0 ? 1 : o->node.route.mul, sum = 0, unused = 0;
	const float *own = (const float *)o->w1;

	for (int r = 0; r < used; r++) {
		int best = route_take(t->left, o->a_cols, &unused);

		sum += t->prob[best];
		if (lane == r % 32) {
			y[r] = (float)best;
			y[used + r] = t->prob[best];
		}
	}
	for (int r = lane; r < used; r += 32) {
		float p = o->node.route.norm ? y[used + r] / sum : y[used + r];

		y[used + r] = p * (own ? mul * own[(int)y[r]] : mul);
	}
}

GPU_FN void chain_route(const struct gpu_op *o, struct chain_row *r, const struct route *t,
                        float *y, const float *x)
{
	const float *bias = (const float *)o->w0;
	/* sigmoids of large logits may be equal although the logits differ */
	bool by_logit = o->node.route.sigmoid && o->node.route.groups < 2;

	route_gate(o, r, t->prob, x);
	for (int i = chain_thread(); i < o->a_cols; i += GPU_ROW_THREADS)
		t->left[i] = bias ? t->prob[i] + bias[i] : by_logit ? x[i] : t->prob[i];
	__syncthreads();
	if (o->node.route.groups > 1) {
		route_groups(o, t);
		__syncthreads();
	}
	if (threadIdx.x < 32)
		route_choose(o, t, y);
}
#endif
