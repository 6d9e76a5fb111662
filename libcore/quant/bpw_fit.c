/* quant/bpw_fit.c - minimise the cost for a size: a multiple-choice knapsack, solved by dynamic
 * programming over units of bytes (Bellman 1957); then a greedy pass uses up the bytes lost by
 * rounding to units. */
#include "base/err.h"
#include "quant/bpw.h"

#include <string.h>

enum { UNITS = 1 << 15 };

uint64_t bpw_least(const struct bpw_search *a)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->n; i++)
		sum += a->t[i].at[0].bytes;
	return sum;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* Return the unit in bytes: the greatest common divisor of all size differences, or larger so that
 * `bytes` has at most UNITS units. */
static uint64_t choose_unit(const struct bpw_search *a, uint64_t bytes)
{
	uint64_t unit = 0, least = bytes / UNITS + 1;

	for (size_t i = 0; i < a->n; i++)
		for (int c = 0; c < a->t[i].n; c++)
			unit = gcd(a->t[i].at[c].bytes - a->t[i].at[0].bytes, unit);
	return unit > least ? unit : least;
}

static uint64_t used_bytes(const struct bpw_search *a)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->n; i++)
		sum += a->t[i].at[a->t[i].chosen].bytes;
	return sum;
}

/* Repeatedly apply the larger choice that still fits and reduces the cost most per byte. */
static void use_rest(struct bpw_search *a, uint64_t bytes)
{
	for (;;) {
		uint64_t left = bytes - used_bytes(a);
		double best = 0;
		size_t at = 0;
		int to = -1;

		for (size_t i = 0; i < a->n; i++) {
			const struct bpw_choice *now = &a->t[i].at[a->t[i].chosen];

			for (int c = a->t[i].chosen + 1; c < a->t[i].n; c++) {
				const struct bpw_choice *then = &a->t[i].at[c];
				uint64_t more = then->bytes - now->bytes;
				double gain = (now->cost - then->cost) / (double)more;

				if (more > left || (to >= 0 && gain <= best))
					continue;
				best = gain;
				at = i;
				to = c;
			}
		}
		if (to < 0)
			return;
		a->t[at].chosen = to;
	}
}

/* Solve the knapsack.  cost[u]: least cost of the tensors so far in u units; way [tensor][u]: the
 * choice with that cost. */
static void solve_knapsack(struct bpw_search *a, double *cost, uint8_t *way, size_t units,
                           uint64_t unit)
{
	memset(way, 0, a->n * (units + 1));
	for (size_t u = 0; u <= units; u++)
		cost[u] = 0;
	for (size_t i = 0; i < a->n; i++) {
		const struct bpw_tensor *t = &a->t[i];
		uint8_t *w = way + i * (units + 1);

		for (size_t u = units + 1; u-- > 0;) {
			double best = cost[u] + t->at[0].cost;

			for (int c = 1; c < t->n; c++) {
				uint64_t more = t->at[c].bytes - t->at[0].bytes;
				size_t n = (size_t)((more + unit - 1) / unit);

				if (n > u)
					break;
				if (cost[u - n] + t->at[c].cost < best) {
					best = cost[u - n] + t->at[c].cost;
					w[u] = (uint8_t)c;
				}
			}
			cost[u] = best;
		}
	}
	for (size_t i = a->n, u = units; i-- > 0;) {
		struct bpw_tensor *t = &a->t[i];

		t->chosen = way[i * (units + 1) + u];
		u -= (size_t)((t->at[t->chosen].bytes - t->at[0].bytes + unit - 1) / unit);
	}
}

int bpw_fit(struct bpw_search *a, uint64_t bytes, infer_error *err)
{
	uint64_t room = bytes - bpw_least(a), unit = choose_unit(a, room);
	size_t units = (size_t)(room / unit);
	double *cost = mem_alloc(MEM_QUANT, units + 1, sizeof *cost);
	uint8_t *way = mem_alloc(MEM_QUANT, a->n, units + 1);
	int rc = cost && way ? INFER_OK : err_nomem(err);

	if (!rc) {
		solve_knapsack(a, cost, way, units, unit);
		use_rest(a, bytes);
	}
	mem_free(cost);
	mem_free(way);
	return rc;
}
