/* type/search_affine_simd.h - (private) affine_fit_codes4 and affine_fit_groups4 in wide registers.
 * Included by search_affine_fit.c for each register width: V holds SETS tries or groups, four
 * lanes each.  Every lane computes the same operations in the same order as the plain functions
 * there, so the bits are the same. */
WIDE static inline __attribute__((always_inline)) void
OF(sums)(const search_v4 *x, const search_v4 *w, int n, const struct affine_map *at, float top,
         int groups, struct lanes sums[3])
{
	const V lo = { 0 }, hi = lo + top, big = lo + 0x1.8p23f;

	for (int from = 0; from < 4; from += SETS) {
		const V i = EACH(at->inv, from), b = EACH(at->base, from), z = EACH(at->zero, from);
		V sq = { 0 }, qq = { 0 }, xq = { 0 };

		for (int k = 0; k < n; k++) {
			V v = groups > 1 ? LOAD(x + 4 * k + from) : SPREAD(x + k);
			V heed = groups > 1 ? LOAD(w + 4 * k + from) : SPREAD(w + k);
			V q = ((AT_MOST(hi, AT_LEAST(lo, v * i + b)) + big) - big) - z;
			V wq = heed * q;
			sq += wq;
			qq += wq * q;
			xq += wq * v;
		}
		memcpy(&sums[0].v[from], &sq, sizeof sq);
		memcpy(&sums[1].v[from], &qq, sizeof qq);
		memcpy(&sums[2].v[from], &xq, sizeof xq);
	}
}

WIDE static void OF(line)(const search_v4 *x, const search_v4 *w, int n,
                          const struct affine_map *at, float top, struct lanes sums[3])
{
	OF(sums)(x, w, n, at, top, 1, sums);
}

WIDE static void OF(groups)(const struct search_interleaved *f, int n, const struct affine_map *at,
                            float top, struct lanes sums[3])
{
	OF(sums)(f->x, f->w, n, at, top, 4, sums);
}
