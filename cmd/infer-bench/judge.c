/* infer-bench/judge.c - test if two series of measurements differ: shifts of their logarithms. */
#include "judge.h"
#include <infer/statistic.h>
#include "base/err.h"

#include <string.h>

static int positive(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(v[i] > 0))
			return 0;
	return n > 0;
}

static double *logs(const double *v, size_t n, struct arena *mem)
{
	double *to = arena_alloc(mem, n + 1, sizeof *to);

	for (size_t i = 0; to && i < n; i++)
		to[i] = infer_log(v[i]);
	return to;
}

static double median(const double *v, size_t n, double *room)
{
	if (n)
		memcpy(room, v, n * sizeof *v);
	infer_sort(room, n);
	return n ? infer_quantile(room, n, 0.5) : 0;
}

int judge(struct judged *j, const double *base, size_t n_base, const double *now, size_t n_new,
          enum pairing paired, struct arena *mem, infer_error *err)
{
	double *a = arena_alloc(mem, n_base + 1, sizeof *a),
	       *b = arena_alloc(mem, n_new + 1, sizeof *b);
	struct infer_shift s = { .p = 1 };

	if (!a || !b)
		return err_nomem(err);
	j->paired = paired;
	j->n_base = n_base;
	j->n_new = n_new;
	j->base = median(base, n_base, a);
	j->now = median(now, n_new, b);
	j->p = 1;
	if (!positive(base, n_base) || !positive(now, n_new))
		return INFER_OK;
	a = logs(base, n_base, mem);
	b = logs(now, n_new, mem);
	if (!a || !b)
		return err_nomem(err);
	if (paired) {
		for (size_t i = 0; i < n_base; i++)
			b[i] -= a[i];
		infer_shift_paired(&s, b, n_base, JUDGE_LEVEL);
	} else {
		infer_shift_unpaired(&s, a, n_base, b, n_new, JUDGE_LEVEL);
	}
	j->change = infer_exp(s.estimate) - 1;
	j->bounded = s.bounded;
	j->lo = s.bounded ? infer_exp(s.lo) - 1 : 0;
	j->hi = s.bounded ? infer_exp(s.hi) - 1 : 0;
	j->p = s.p;
	return INFER_OK;
}

static enum verdict verdict(const struct judged *j, double tolerance)
{
	double drift = j->drift, up = (1 + tolerance) - 1, down = 1 / (1 + tolerance) - 1;

	if (!j->bounded)
		return VERDICT_UNCLEAR;
	if (j->p > 1 - JUDGE_LEVEL)
		return VERDICT_SAME;
	if (j->change > up && j->lo > drift)
		return j->higher ? VERDICT_BETTER : VERDICT_WORSE;
	if (j->change < down && j->hi < 1 / (1 + drift) - 1)
		return j->higher ? VERDICT_WORSE : VERDICT_BETTER;
	return VERDICT_SAME;
}

void judge_verdicts(struct judged *const *all, size_t n, double tolerance, struct arena *mem)
{
	double *p = arena_alloc(mem, n + 1, sizeof *p);
	size_t k = 0;

	/* skip metrics without an interval */
	for (size_t i = 0; p && i < n; i++)
		if (all[i]->bounded)
			p[k++] = all[i]->p;
	if (p)
		infer_holm(p, k);
	k = 0;
	for (size_t i = 0; i < n; i++) {
		if (all[i]->bounded && p)
			all[i]->p = p[k++];
		all[i]->verdict = p ? verdict(all[i], tolerance) : VERDICT_UNCLEAR;
	}
}

const char *judge_name(enum verdict v)
{
	static const char *const names[] = { "same", "better", "worse", "unclear" };

	return names[v];
}
