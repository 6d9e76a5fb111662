/* runner/embedding.c - finish the vector of an embedding, or the score of a rank */
#include "runner/embedding.h"
#include "base/fmath.h"

#include <math.h>

void runner_end_embedding(const infer_job *j, float *v, int32_t n_embd, struct infer_choice *c)
{
	int32_t n = j->dimensions ? j->dimensions : n_embd;
	double sum = 0;

	if (j->request.embed == INFER_EMBED_RANK) {
		if (!j->no_normalize)
			v[0] = fm_sigmoidf(v[0]);
		c->embedding = v;
		c->n_embedding = 1;
		return;
	}
	for (int32_t i = 0; i < n; i++)
		sum += (double)v[i] * (double)v[i];
	for (int32_t i = 0; i < n && sum > 0 && !j->no_normalize; i++)
		v[i] = (float)((double)v[i] / sqrt(sum));
	c->embedding = v;
	c->n_embedding = n;
}
