/* stat/metric.c - write a metric as an object of its record. */
#include <infer/statistic.h>
#include "base/jwrite.h"

#include <string.h>

static void put_quantile(struct jwrite *w, const char *key, const struct infer_metric *m, double q)
{
	double lo, hi;

	jw_object(w, key);
	jw_num(w, "value", infer_quantile(m->scratch, m->n, q));
	if (infer_quantile_interval(m->scratch, m->n, q, 0.95, &lo, &hi)) {
		jw_num(w, "lo", lo);
		jw_num(w, "hi", hi);
	}
	jw_end(w);
}

void infer_metric_put(struct jwrite *w, const struct infer_metric *m)
{
	if (!m->n)
		return;
	memcpy(m->scratch, m->values, m->n * sizeof *m->values);
	infer_sort(m->scratch, m->n);
	jw_object(w, m->name);
	jw_str(w, "unit", m->unit);
	jw_str(w, "better", m->higher ? "higher" : "lower");
	jw_uint(w, "n", m->n);
	jw_num(w, "mean", infer_mean(m->values, m->n));
	put_quantile(w, "p50", m, 0.50);
	put_quantile(w, "p95", m, 0.95);
	put_quantile(w, "p99", m, 0.99);
	jw_num(w, "min", m->scratch[0]);
	jw_num(w, "max", m->scratch[m->n - 1]);
	if (m->n <= INFER_METRIC_VALUES) {
		jw_array(w, "values");
		for (size_t i = 0; i < m->n; i++)
			jw_num(w, NULL, m->values[i]);
		jw_end(w);
	}
	jw_end(w);
}
