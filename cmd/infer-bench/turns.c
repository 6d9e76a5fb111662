/* infer-bench/turns.c - find out from records if two cases were measured in turns, and how far the machine
 * moved between them. */
#include "turns.h"
#include "base/err.h"

#include <math.h>

enum { LEAST_PAIRS = 2 };

/* Return the time of record i, or -1 if it is unknown or the records are not in the order of time. */
static double get_time(const struct bench_case *c, size_t i)
{
	const struct json *t = json_get(c->records[i], "created_ms");

	if (!json_is_number(t) ||
	    (i && json_double(t) < json_double(json_get(c->records[i - 1], "created_ms"))))
		return -1;
	return json_double(t);
}

static int has_times(const struct bench_case *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (get_time(c, i) < 0)
			return 0;
	return 1;
}

int turns_find(struct turns *t, const struct bench_case *a, const struct bench_case *b,
               struct arena *mem, infer_error *err)
{
	size_t least = a->n < b->n ? a->n : b->n, most = a->n < b->n ? b->n : a->n, i = 0, j = 0;
	int waiting = -1; /* the side of the record before, if it is in no pair; -1: none */

	*t = (struct turns){ 0 };
	if (least < LEAST_PAIRS || !has_times(a) || !has_times(b))
		return INFER_OK;
	t->base = arena_alloc(mem, least + 1, sizeof *t->base);
	t->now = arena_alloc(mem, least + 1, sizeof *t->now);
	if (!t->base || !t->now)
		return err_nomem(err);
	while (i < a->n || j < b->n) {
		int side = i == a->n || (j < b->n && get_time(b, j) < get_time(a, i));

		*(side ? &j : &i) += 1;
		if (waiting < 0 || waiting == side) {
			waiting = side;
			continue;
		}
		t->base[t->n] = i - 1;
		t->now[t->n++] = j - 1;
		waiting = -1;
	}
	if (t->n < LEAST_PAIRS || 5 * t->n < 4 * most)
		t->n = 0;
	return INFER_OK;
}

/* Widen [*least, *most] by what the records contain of a rate; *n: the number of records that contain it. */
static void add_range(const struct bench_case *c, const char *name, int extremes, double *least,
                      double *most, size_t *n)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct json *r = json_get(c->records[i], name);
		double lo = json_double(json_get(r, extremes ? "min" : "median")),
		       hi = json_double(json_get(r, extremes ? "max" : "median"));

		if (!(lo > 0) || !(hi > 0))
			continue;
		*least = !*n || lo < *least ? lo : *least;
		*most = !*n || hi > *most ? hi : *most;
		++*n;
	}
}

void turns_machine(struct judge_machine *m, const struct bench_case *a, const struct bench_case *b)
{
	static const char *const rates[] = { "mapped_gb_s", "fma_gflop_s", "dot_gop_s",
		                             "core_clock" };
	const struct bench_case *const sides[] = { a, b };

	*m = (struct judge_machine){ .lone = a->n < LEAST_PAIRS || b->n < LEAST_PAIRS };
	for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
		double least = 1, most = 1;
		size_t n = 0;

		add_range(a, rates[k], m->lone, &least, &most, &n);
		add_range(b, rates[k], m->lone, &least, &most, &n);
		if (n < a->n + b->n)
			m->drift = INFINITY;
		else if (most / least - 1 > m->drift)
			m->drift = most / least - 1;
	}
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < sides[s]->n; i++) {
			const struct json *w =
				json_get(json_get(sides[s]->records[i], "waited"), "median");

			if (!json_is_number(w) || m->waited < 0)
				m->waited = -1;
			else if (json_double(w) > m->waited)
				m->waited = json_double(w);
		}
}
