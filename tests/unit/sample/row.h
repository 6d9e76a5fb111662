/* tests/unit/sample/row.h - a row of logits, the history, and the expected result. */
#ifndef SAMPLE_ROW_H
#define SAMPLE_ROW_H
#include "../json.h"
#include "sample/sample.h"

enum { MOST = 256 };
struct row {
	struct arena mem;
	float logits[MOST];
	int32_t n;
	int32_t history[MOST];
	size_t n_history;
	double want[MOST];
	struct infer_sample_opts o;
	struct infer_logit_bias bias[8];
	int32_t breakers[8][8], n_breaker[8];
	const int32_t *breaker_at[8];
};

static int32_t ints(const struct json *a, int32_t *out)
{
	int32_t n = 0;

	json_each(v, a)
		out[n++] = (int32_t)json_int(v);
	return n;
}
#endif
