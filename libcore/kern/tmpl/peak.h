/* kern/tmpl/peak.h - fma in as many independent chains as the registers hold: the machine's fp32 rate. */
void KERN_FN(peak_fma)(double *ops, float *sink, int turns)
{
	enum { CHAINS = 2 * MM_T };
	const vf x = v_set(0.75f), y = v_set(0.25f);
	vf a[CHAINS];

	UNROLL
	for (int i = 0; i < CHAINS; i++)
		a[i] = v_set((float)i);
	for (int t = 0; t < turns; t++) {
		UNROLL
		for (int i = 0; i < CHAINS; i++)
			a[i] = v_fma(a[i], x, y);
	}
	*sink = 0;
	UNROLL
	for (int i = 0; i < CHAINS; i++)
		*sink += v_sum(a[i]);
	*ops = 2.0 * 16 * CHAINS * turns;
}
