/* type/search_scale_simd.h - (private) search_fit_codes4 in wide registers.  Included by
 * search_scale.c for each register width: V holds SETS groups, four lanes each.  Every lane
 * computes the same operations in the same order as each_plain, so the bits are the same. */
/* Compute the sums of four groups, each with its own scale. */
WIDE static void OF(each)(const struct search_interleaved *at, int n, search_v4 inv,
                          const struct search_grid *g, struct lanes sums[2])
{
	const V none = { 0 }, lo = none + g->lo, hi = none + g->hi, big = none + 0x1.8p23f;

	for (int from = 0; from < 4; from += SETS) {
		const V i = EACH(inv, from);
		V xq = { 0 }, qq = { 0 };

		for (int k = 0; k < n; k++) {
			V v = LOAD(at->x + 4 * k + from);
			V q = (AT_MOST(hi, AT_LEAST(lo, v * i)) + big) - big;
			V wq = LOAD(at->w + 4 * k + from) * q;
			xq += wq * v;
			qq += wq * q;
		}
		memcpy(&sums[0].v[from], &xq, sizeof xq);
		memcpy(&sums[1].v[from], &qq, sizeof qq);
	}
}
