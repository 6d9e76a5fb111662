/* kern/tmpl/peak.h - measure the peak fp32 rate, with as many independent fma chains as registers,
 * and the memory bandwidth. */
#include "base/num.h"

void KERN_FN(peak_fma)(double *ops, float *sink, int reps)
{
	enum { CHAINS = 2 * MM_T };
	const vf x = v_set(0.75f), y = v_set(0.25f);
	vf a[CHAINS];

	UNROLL
	for (int i = 0; i < CHAINS; i++)
		a[i] = v_set((float)i);
	for (int t = 0; t < reps; t++) {
		UNROLL
		for (int i = 0; i < CHAINS; i++)
			a[i] = v_fma(a[i], x, y);
	}
	*sink = 0;
	UNROLL
	for (int i = 0; i < CHAINS; i++)
		*sink += v_sum(a[i]);
	*ops = 2.0 * 16 * CHAINS * reps;
}

/* Read eight streams, because one does not reach the full bandwidth. */
void KERN_FN(peak_read)(uint32_t *sink, const void *p, size_t bytes)
{
	enum { STREAMS = 8, CHAINS = 4, AHEAD = 1024, LINE = 64 };
	const char *from = p;
	size_t part = bytes / LINE / STREAMS * LINE;
	vi a[CHAINS];
	float f[16];

	UNROLL
	for (int i = 0; i < CHAINS; i++)
		a[i] = vi_set(0);
	for (size_t at = 0; at < part; at += LINE, from += LINE) {
		UNROLL
		for (size_t i = 0; i < STREAMS; i++) {
			v_prefetch(from + i * part + AHEAD);
			a[i % CHAINS] = vi_add(
				a[i % CHAINS],
				v_bits(v_load((const float *)(const void *)(from + i * part))));
		}
	}
	*sink = 0;
	for (int i = 0; i < CHAINS; i++) {
		v_store(f, v_from(a[i]));
		for (int j = 0; j < 16; j++)
			*sink += num_bits(f[j]);
	}
}
