/* type/search_wide.h - (private) four tries side by side in wide registers.  Included by search_wide.c
 * for each kind of register: V holds SETS tries, four lanes each; every lane computes what it does
 * in search_wide.c's plain functions, in the same order, so the bits are the same. */
WIDE static void OF(line)(const search_v4 *x, const search_v4 *w, int n,
                          const struct line_place *at, float top, struct lanes sums[3])
{
	const V lo = { 0 }, hi = lo + top, big = lo + 0x1.8p23f;

	for (int from = 0; from < 4; from += SETS) {
		const V i = EACH(at->inv, from), b = EACH(at->base, from), z = EACH(at->zero, from);
		V sq = { 0 }, qq = { 0 }, xq = { 0 };

		for (int k = 0; k < n; k++) {
			V v = SPREAD(x + k);
			V q = ((AT_MOST(hi, AT_LEAST(lo, v * i + b)) + big) - big) - z;
			V wq = SPREAD(w + k) * q;
			sq += wq;
			qq += wq * q;
			xq += wq * v;
		}
		memcpy(&sums[0].v[from], &sq, sizeof sq);
		memcpy(&sums[1].v[from], &qq, sizeof qq);
		memcpy(&sums[2].v[from], &xq, sizeof xq);
	}
}
