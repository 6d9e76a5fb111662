/* quant/eval_point.c - compare the logits of two models at one position, in double */
#include "quant/eval.h"
#include "base/fexp.h"
#include "base/fmath.h"

#include <math.h>

enum { TOP = 5 };

struct normal {
	double max, sum, log_sum; /* sum, log_sum: of exp(logits[i] - max) */
};

static double greatest(const float *logits, int32_t n)
{
	float max = -INFINITY;

	for (int32_t i = 0; i < n; i++)
		if (logits[i] > max)
			max = logits[i];
	return (double)max;
}

static double logprob(const struct normal *s, float logit)
{
	return (double)logit - s->max - s->log_sum;
}

static struct normal normalise(const float *logits, int32_t n)
{
	struct normal s = { greatest(logits, n), 0, 0 };

	for (int32_t i = 0; i < n; i++)
		s.sum += fexp((double)logits[i] - s.max);
	s.log_sum = fm_log(s.sum);
	return s;
}

double eval_logprob(const float *logits, int32_t n_vocab, int32_t token)
{
	struct normal s = normalise(logits, n_vocab);

	return logprob(&s, logits[token]);
}

/* Normalise both rows in one pass.  Returns KL(q || p) = sum q_i (ln q_i - ln p_i), where q_i =
 * 0 adds 0. */
static double kl_divergence(struct normal *ps, const float *p, struct normal *qs, const float *q,
                            int32_t n)
{
	double sum = 0, kl;

	*ps = (struct normal){ greatest(p, n), 0, 0 };
	*qs = (struct normal){ greatest(q, n), 0, 0 };
	for (int32_t i = 0; i < n; i++) {
		double x = (double)p[i] - ps->max, y = (double)q[i] - qs->max, w = fexp(y);

		ps->sum += fexp(x);
		qs->sum += w;
		if (w > 0)
			sum += w * (y - x);
	}
	ps->log_sum = fm_log(ps->sum);
	qs->log_sum = fm_log(qs->sum);
	kl = sum / qs->sum + (ps->log_sum - qs->log_sum);
	return kl > 0 ? kl : 0; /* rounding can make it negative */
}

/* Fill `top` with the ids of the greatest logits in descending order, equal ones by id.  Returns
 * their number. */
static int pick_top(int32_t top[TOP], const float *logits, int32_t n)
{
	int have = 0;

	for (int32_t t = 0; t < n; t++) {
		int i;

		if (have == TOP && !(logits[t] > logits[top[TOP - 1]]))
			continue;
		for (i = have < TOP ? have++ : TOP - 1; i > 0 && logits[t] > logits[top[i - 1]];
		     i--)
			top[i] = top[i - 1];
		top[i] = t;
	}
	return have;
}

static int same_set(const int32_t *a, const int32_t *b, int n)
{
	int same = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			same += a[i] == b[k];
	return same == n;
}

void eval_point(struct eval_point *p, const float *logits, const float *ref, int32_t n_vocab,
                int32_t token)
{
	struct normal s, rs;
	int32_t a[TOP], b[TOP];
	int n;

	*p = (struct eval_point){ 0 };
	if (!ref) {
		p->nll = -eval_logprob(logits, n_vocab, token);
		return;
	}
	p->kl = kl_divergence(&s, logits, &rs, ref, n_vocab);
	p->nll = -logprob(&s, logits[token]);
	p->ref_nll = -logprob(&rs, ref[token]);
	p->dp = fm_exp(-p->nll) - fm_exp(-p->ref_nll);
	n = pick_top(a, logits, n_vocab);
	pick_top(b, ref, n_vocab);
	p->top1 = a[0] == b[0];
	p->top5 = same_set(a, b, n);
}
