/* infer-bench/judge.c - test if two series of measurements differ: shifts of their logarithms. */
#include "judge.h"
#include <infer/statistic.h>
#include "base/err.h"

#include <math.h>
#include <string.h>

/* The least p-value of ranks is 2 / (the number of equally likely orders); with this many it can be significant
 * among 50 metrics. */
enum { ORDERS = 10000 };
/* Fewest measurements to ask for, and most: more are not worth the time. */
enum { LEAST_NEEDED = 5, MOST_NEEDED = 100000 };
#define EDGE \
	0.15 /* a change that differs from the tolerance by less than this part is at its edge */
#define MARGIN 1.3 /* of the number of measurements that would do, because estimates vary */

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

/* True if the p-value of ranks can be small: there are 2^n orders of n pairs, and (na + nb)! / (na! nb!) of two
 * samples. */
static int has_orders(size_t na, size_t nb, enum pairing paired)
{
	double n = 1;

	for (size_t i = 1; i <= na && n < ORDERS; i++)
		n *= paired ? 2 : (double)(nb + i) / (double)i;
	return n >= ORDERS;
}

/* Estimate the shift from a to b, logarithms. Ranks need no distribution, but few measurements have few orders:
 * the p-value of five and five is at least 2 / 252. Use Student's t for few. Reorders a and b. */
static void find_shift(struct infer_shift *s, double *a, size_t na, double *b, size_t nb,
                       enum pairing paired)
{
	int ranks = has_orders(na, nb, paired);

	for (size_t i = 0; paired && i < na; i++)
		b[i] -= a[i];
	if (paired && ranks)
		infer_shift_paired(s, b, na, JUDGE_LEVEL);
	else if (paired)
		infer_shift_paired_t(s, b, na, JUDGE_LEVEL);
	else if (ranks)
		infer_shift_unpaired(s, a, na, b, nb, JUDGE_LEVEL);
	else
		infer_shift_unpaired_t(s, a, na, b, nb, JUDGE_LEVEL);
}

int judge(struct judged *j, const double *base, size_t n_base, const double *now, size_t n_new,
          enum pairing paired, struct arena *mem, infer_error *err)
{
	double *a = arena_alloc(mem, n_base + 1, sizeof *a),
	       *b = arena_alloc(mem, n_new + 1, sizeof *b), middle;
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
	find_shift(&s, a, n_base, b, n_new, paired);
	/* the medians of both sides may contradict the shift, so the middle of both is divided by it */
	middle = (infer_log(j->base) + infer_log(j->now)) / 2;
	j->base = infer_exp(middle - s.estimate / 2);
	j->now = infer_exp(middle + s.estimate / 2);
	j->ratio = 1;
	j->change = infer_exp(s.estimate) - 1;
	j->bounded = s.bounded;
	j->lo = s.bounded ? infer_exp(s.lo) - 1 : 0;
	j->hi = s.bounded ? infer_exp(s.hi) - 1 : 0;
	j->p = s.p;
	return INFER_OK;
}

static enum doubt machine_doubt(const struct judge_machine *m)
{
	if (m->waited > JUDGE_WAITED)
		return DOUBT_WAITED;
	if (isinf(m->drift) || m->waited < 0)
		return DOUBT_UNKNOWN;
	return m->lone || m->drift > 0 ? DOUBT_MOVED : DOUBT_NONE;
}

/* Return the number of measurements that would probably narrow the interval enough: its width falls with the
 * square root. */
static size_t count_needed(const struct judged *j, double tolerance)
{
	double change = fabs(infer_log(1 + j->change)), limit = infer_log(1 + tolerance),
	       half = (infer_log(1 + j->hi) - infer_log(1 + j->lo)) / 2,
	       gap = change < limit ? limit - change : change,
	       n = (double)(j->n_base > j->n_new ? j->n_base : j->n_new);

	n *= MARGIN * (half > gap ? half * half / (gap * gap) : 1);
	if (!(n < MOST_NEEDED))
		return 0;
	return n < LEAST_NEEDED ? LEAST_NEEDED : (size_t)n + 1;
}

static void set_doubt(struct judged *j, double tolerance)
{
	double change = fabs(infer_log(1 + j->change)), limit = infer_log(1 + tolerance);

	j->verdict = VERDICT_UNCLEAR;
	if (!j->ratio) {
		j->doubt = DOUBT_RATIO;
		return;
	}
	j->doubt = machine_doubt(&j->machine);
	j->needed = LEAST_NEEDED;
	if (j->doubt)
		return;
	j->doubt = DOUBT_FEW;
	if (!j->bounded)
		return;
	j->needed = count_needed(j, tolerance);
	j->doubt = fabs(change - limit) < EDGE * limit ? DOUBT_EDGE : DOUBT_WIDE;
}

static void set_verdict(struct judged *j, double tolerance)
{
	const struct judge_machine *m = &j->machine;
	double up = tolerance, down = 1 / (1 + tolerance) - 1, drift = 1 + m->drift,
	       lo = (1 + j->lo) / drift - 1, hi = (1 + j->hi) * drift - 1;
	double level = j->hi - j->lo > JUDGE_WIDE * tolerance ? JUDGE_STRICT : 1 - JUDGE_LEVEL;
	int found = j->bounded && j->p <= level && !isinf(drift) && m->waited >= 0 &&
	            m->waited <= JUDGE_WAITED;

	/* measured one after the other, what exceeds the drift must exceed the tolerance too */
	if (m->lone || m->drift > 0)
		found &= lo > up || hi < down;
	j->doubt = DOUBT_NONE;
	j->needed = 0;
	if (found && j->change > up && lo > 0)
		j->verdict = j->higher ? VERDICT_BETTER : VERDICT_WORSE;
	else if (found && j->change < down && hi < 0)
		j->verdict = j->higher ? VERDICT_WORSE : VERDICT_BETTER;
	else if (j->bounded && !m->lone && machine_doubt(m) != DOUBT_WAITED && m->waited >= 0 &&
	         lo >= down && hi <= up)
		j->verdict = VERDICT_SAME;
	else
		set_doubt(j, tolerance);
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
		if (p && all[i]->bounded)
			all[i]->p = p[k++];
		else
			all[i]->p = 1;
		set_verdict(all[i], tolerance);
	}
}

const char *judge_name(enum verdict v)
{
	static const char *const names[] = { "same", "better", "worse", "unclear" };

	return names[v];
}
