/* sample/banned.c - token sequences that are never completed: the last token is not drawn after the others */
#include "base/err.h"
#include "sample/sample.h"

#include <math.h>
#include <string.h>

int banned_check(const struct infer_sample_opts *o, int32_t n_vocab, infer_error *err)
{
	for (int32_t b = 0; b < o->n_banned; b++) {
		if (o->n_banned_ids[b] < 1)
			return err_set(err, INFER_EINVAL, "banned sequence %d has %d tokens",
			               (int)b, (int)o->n_banned_ids[b]);
		for (int32_t i = 0; i < o->n_banned_ids[b]; i++)
			if (o->banned[b][i] < 0 || o->banned[b][i] >= n_vocab)
				return err_set(err, INFER_EINVAL,
				               "banned sequence %d: token %d is outside the "
				               "vocabulary of %d",
				               (int)b, (int)o->banned[b][i], (int)n_vocab);
	}
	return INFER_OK;
}

/* True if the history from banned_from on ends with ids[0 .. n). */
static int answer_ends_with(const struct infer_sampler *s, const int32_t *ids, size_t n)
{
	const struct sampler_history *h = &s->h;

	return !n || (h->n >= s->o.banned_from && h->n - s->o.banned_from >= n &&
	              !memcmp(h->ids + h->n - n, ids, n * sizeof *ids));
}

void banned_apply(const struct infer_sampler *s, float *logits)
{
	for (int32_t b = 0; b < s->o.n_banned; b++) {
		const int32_t last = s->o.n_banned_ids[b] - 1, *ids = s->o.banned[b];

		if (answer_ends_with(s, ids, (size_t)last))
			logits[ids[last]] = -INFINITY;
	}
}
