/* kern/tmpl/state.h - recurrent layers: the operations of kern/state.h in their order.
 *
 * A row of the state s [dk][16] is one vector, so a sum over dk is computed in each lane, and lanes
 * are never added to each other.  For each row of x, delta reads s twice and writes it once: 8 bytes
 * in L1 for each fma. */

void KERN_FN(conv)(float *y, const float *const *x, const float *w, int taps, int n)
{
	for (int c = 0; c < n; c += 16) {
		vf sum = v_set(0);
		for (int t = 0; t < taps; t++) {
			const float *a = w + (size_t)t * (size_t)n + c;
			if (!x[t])
				continue;
			sum = n - c < 16 ? v_fma(v_loadn(x[t] + c, n - c), v_loadn(a, n - c), sum)
			                 : v_fma(v_load(x[t] + c), v_load(a), sum);
		}
		v_storen(y + c, v_mul(sum, v_sigmoid(sum)), n - c < 16 ? n - c : 16);
	}
}

static inline vf join(const vf sum[4])
{
	return v_add(v_add(sum[0], sum[2]), v_add(sum[1], sum[3]));
}

void KERN_FN(delta)(const struct kern_delta *d)
{
	for (int r = 0; r < d->rows; r++) {
		const float *q = d->q + (size_t)r * d->qk_row, *k = d->k + (size_t)r * d->qk_row;
		const vf g = v_set(d->g[r]);
		vf m[4], o[4];
		int i;

		for (int j = 0; j < 4; j++)
			m[j] = o[j] = v_set(0);
		const vf v = v_loadn(d->v + (size_t)r * d->v_row, d->cols);
		vf by = v;
		for (i = 0; i + 4 <= d->dk && !d->plain; i += 4)
			for (int j = 0; j < 4; j++)
				m[j] = v_fma(v_load(d->s + (i + j) * 16), v_set(k[i + j]), m[j]);
		for (int j = 0; i + j < d->dk && !d->plain; j++)
			m[j] = v_fma(v_load(d->s + (i + j) * 16), v_set(k[i + j]), m[j]);
		if (!d->plain)
			by = v_sub(v, v_mul(g, join(m)));
		by = v_mul(v_set(d->beta[r]), by);
#define STEP(at, j) \
	do { \
		vf s_ = v_fma(v_set(k[at]), by, v_mul(g, v_load(d->s + (at)*16))); \
		v_store(d->s + (at)*16, s_); \
		o[j] = v_fma(s_, v_set(q[at]), o[j]); \
	} while (0)
		for (i = 0; i + 4 <= d->dk; i += 4)
			for (int j = 0; j < 4; j++)
				STEP(i + j, j);
		for (int j = 0; i + j < d->dk; j++)
			STEP(i + j, j);
#undef STEP
		vf y = v_mul(v_set(d->scale), join(o));
		if (d->skip != 0)
			y = v_fma(v_set(d->skip), v, y);
		v_storen(d->y + (size_t)r * d->y_row, y, d->cols);
	}
}
