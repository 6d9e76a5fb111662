/* infer-bench/figure.c - make figures from records. */
#include "figure.h"
#include <infer/statistic.h>
#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* MANY: records of a case that are too different for one line of latencies */
enum { QUANTILES = 60, MANY = 5 };

static struct series *find_series(struct figure *f, enum series_style style, const char *name)
{
	for (int i = 0; i < f->n; i++)
		if (!strcmp(f->series[i].name, name))
			return &f->series[i];
	if (f->n == FIGURE_SERIES)
		return NULL;
	struct series *s = &f->series[f->n++];

	snprintf(s->name, sizeof s->name, "%s", name);
	s->style = style;
	return s;
}

/* Add a point to a series, sorted by x. */
static void add_point(struct figure *f, struct series *s, double x, double y, double lo, double hi)
{
	size_t i;

	if (!s || !(x > 0) || !(y > 0))
		return;
	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 16;
		struct point *more = arena_alloc(f->mem, cap, sizeof *more);

		if (!more)
			return;
		if (s->n)
			memcpy(more, s->at, s->n * sizeof *more);
		s->at = more;
		s->cap = cap;
	}
	for (i = s->n++; i && s->at[i - 1].x > x; i--)
		s->at[i] = s->at[i - 1];
	s->at[i] = (struct point){ x, y, lo, hi };
}

static double get_number(const struct json *r, const char *a, const char *b)
{
	return json_double(b ? json_get(json_get(r, a), b) : json_get(r, a));
}

static double percentile(const struct json *r, const char *metric, const char *q)
{
	return json_double(
		json_get(json_get(json_get(json_get(r, "metrics"), metric), q), "value"));
}

static int is_model(const struct json *r)
{
	const struct json *b = json_get(r, "bench");

	return json_equals(b, "decode") || json_equals(b, "prefill");
}

static int is_serve(const struct json *r) { return json_equals(json_get(r, "bench"), "serve"); }

/* ---- sweeps of infer-bench run ---- */

/* Return the swept field: the one with the most different values. */
static const char *find_swept(const struct cases *c)
{
	static const char *const names[] = { "batch", "depth", "tokens" };
	const char *best = "tokens";
	size_t most = 1;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		double seen[64];
		size_t n = 0;

		for (const struct bench_case *k = c->first; k; k = k->next) {
			double x = get_number(k->records[0], names[i], NULL);
			size_t j = 0;

			while (j < n && (seen[j] < x || seen[j] > x))
				j++;
			if (is_model(k->records[0]) && j == n && n < 64)
				seen[n++] = x;
		}
		if (n > most) {
			most = n;
			best = names[i];
		}
	}
	return best;
}

/* Write the name of a series, "decode of 128", and each other field that is not swept and not at its
 * default. */
static int put_series_name(char *to, size_t room, const struct json *r, const char *by)
{
	int n = snprintf(to, room, "%s",
	                 json_equals(json_get(r, "bench"), "decode") ? "decode" : "prefill");

	if (strcmp(by, "tokens"))
		n += snprintf(to + n, room - (size_t)n, " of %g", get_number(r, "tokens", NULL));
	if (strcmp(by, "depth") && get_number(r, "depth", NULL) > 0)
		n += snprintf(to + n, room - (size_t)n, " behind %g", get_number(r, "depth", NULL));
	if (strcmp(by, "batch") && get_number(r, "batch", NULL) > 1)
		n += snprintf(to + n, room - (size_t)n, ", %g at once",
		              get_number(r, "batch", NULL));
	return n;
}

static void sweep(struct figure *f, const struct cases *c)
{
	const char *by = find_swept(c);

	snprintf(f->title, sizeof f->title, "Speed of a model, and its limit");
	snprintf(f->x, sizeof f->x, "%s",
	         !strcmp(by, "batch")   ? "sequences at once"
	         : !strcmp(by, "depth") ? "tokens in the cache before"
	                                : "tokens of the prompt or the answer");
	snprintf(f->y, sizeof f->y, "tokens per second, all sequences together");
	f->log_y = 1;
	for (const struct bench_case *k = c->first; k; k = k->next)
		for (size_t i = 0; is_model(k->records[0]) && i < k->n; i++) {
			const struct json *r = k->records[i], *rate = json_get(r, "tok_s");
			double x = get_number(r, by, NULL) + (strcmp(by, "depth") ? 0 : 1);

			double y = get_number(r, "limit_tok_s", NULL);
			char name[64];
			int n = put_series_name(name, sizeof name, r, by);

			add_point(f, find_series(f, STYLE_LINE, name), x,
			          get_number(rate, "median", NULL), get_number(rate, "min", NULL),
			          get_number(rate, "max", NULL));
			snprintf(name + n, sizeof name - (size_t)n, ": limit");
			add_point(f, find_series(f, STYLE_LIMIT, name), x, y, y, y);
		}
}

/* ---- latencies of a server ---- */

/* For a quantile q the x axis is logarithmic in 1 - q: the percentiles 90, 99 and 99.9 are evenly spaced. */
static void latency(struct figure *f, const struct cases *c)
{
	static const struct {
		const char *metric, *name;
	} rows[] = { { "ttft_ms", "to the first token" },
		     { "e2e_ms", "to the last token" },
		     { "tpot_ms", "for each further token" } };
	static const double ticks[] = { 0.5, 0.75, 0.9, 0.95, 0.99, 0.999 };

	snprintf(f->title, sizeof f->title, "Latencies of a server");
	snprintf(f->x, sizeof f->x, "percentile of requests");
	snprintf(f->y, sizeof f->y, "milliseconds, from when a request was due");
	f->log_y = 1;
	for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
		struct tick *t = &f->ticks[f->n_ticks++];

		t->at = 1 - infer_log(1 - ticks[i]) / infer_log(10);
		snprintf(t->label, sizeof t->label, "%g", 100 * ticks[i]);
	}
	for (const struct bench_case *k = c->first; k; k = k->next) {
		if (!is_serve(k->records[0]))
			continue;
		/* with several cases, draw only the latencies to the first and the last token */
		for (size_t m = 0; m < sizeof rows / sizeof *rows - (c->n > 1); m++) {
			size_t n = 0;
			double *v = k->n < MANY ? case_values(k, rows[m].metric, NULL, &n, f->mem)
			                        : NULL;
			char name[64];

			if (!v || n < 2)
				continue;
			infer_sort(v, n);
			if (c->n > 1)
				snprintf(name, sizeof name, "%s, %g at once", rows[m].name,
				         get_number(k->records[0], "most_at_once", NULL));
			else
				snprintf(name, sizeof name, "%s", rows[m].name);
			/* skip percentiles that need more requests */
			for (int q = 1; q <= QUANTILES; q++) { /* tails 10^(-q / 20) */
				double tail = infer_exp(-q * 0.115129254649702), /* 1 - quantile */
					y = infer_quantile(v, n, 1 - tail);

				if (tail * (double)n >= 1 || q == 1)
					add_point(f, find_series(f, STYLE_LINE, name),
					          1 - infer_log(tail) / infer_log(10), y, y, y);
			}
		}
	}
}

/* ---- throughput of a server ---- */

static void throughput(struct figure *f, const struct cases *c)
{
	int rates = 0;

	for (const struct bench_case *k = c->first; k; k = k->next)
		rates |= is_serve(k->records[0]) &&
		         get_number(k->records[0], "workload", "rate") > 0;
	snprintf(f->title, sizeof f->title, "Throughput of a server");
	snprintf(f->x, sizeof f->x, "%s", rates ? "requests per second" : "clients at once");
	snprintf(f->y, sizeof f->y, "tokens per second");
	for (const struct bench_case *k = c->first; k; k = k->next)
		for (size_t i = 0; i < k->n; i++) {
			const struct json *r = k->records[i];
			double at = get_number(r, "workload", rates ? "rate" : "clients"),
			       y = percentile(r, "tok_s", "p50"),
			       each = percentile(r, "decode_tok_s", "p50");

			if (is_serve(r)) {
				add_point(f, find_series(f, STYLE_LINE, "all clients together"), at,
				          y, y, y);
				add_point(f,
				          find_series(f, STYLE_LINE,
				                      "one client, while it is answered"),
				          at, each, each, each);
			}
			/* the limit for this number of sequences, if it was measured */
			y = get_number(r, "limit_tok_s", NULL);
			if (!rates && json_equals(json_get(r, "bench"), "decode")) {
				char name[64];

				snprintf(name, sizeof name, "limit of decoding %g tokens",
				         get_number(r, "tokens", NULL));
				add_point(f, find_series(f, STYLE_LIMIT, name),
				          get_number(r, "batch", NULL), y, y, y);
			}
		}
}

/* ---- roofline ---- */

static void roof(struct figure *f, const char *name, double gb_s, double peak, double lo, double hi)
{
	struct series *s = find_series(f, STYLE_LIMIT, name);
	double ridge = peak / gb_s;

	if (!(gb_s > 0) || !(peak > 0))
		return;
	add_point(f, s, lo, lo * gb_s < peak ? lo * gb_s : peak, 0, 0);
	if (ridge > lo && ridge < hi)
		add_point(f, s, ridge, peak, 0, 0);
	add_point(f, s, hi, hi * gb_s < peak ? hi * gb_s : peak, 0, 0);
}

static void roofline(struct figure *f, const struct cases *c)
{
	double lo = 1e300, hi = 0, memory = 0, fma = 0, dot = 0;

	snprintf(f->title, sizeof f->title, "Roofline");
	snprintf(f->x, sizeof f->x, "operations per byte that is read");
	snprintf(f->y, sizeof f->y, "GOP/s (10^9 operations per second)");
	f->log_x = f->log_y = 1;
	for (const struct bench_case *k = c->first; k; k = k->next) {
		const struct json *r = k->records[0];
		double ops = get_number(r, "gop_s", "median"),
		       x = ops / get_number(r, "gb_s", "median");
		const struct json *kernel = json_get(r, "kernel");
		char name[64];

		snprintf(name, sizeof name, "kernel %.*s", (int)json_bytes(kernel),
		         json_str(kernel));
		if (is_model(r)) {
			double bytes = get_number(r, "weight_bytes", NULL) +
			               get_number(r, "kv_bytes", NULL);

			x = get_number(r, "ops", NULL) / bytes;
			ops = get_number(r, "ops", NULL) * get_number(r, "tok_s", "median") * 1e-9;
			memory = get_number(r, "mapped_gb_s", "median");
			fma = get_number(r, "fma_gflop_s", "median");
			dot = get_number(r, "dot_gop_s", "median");
			snprintf(name, sizeof name, "%s",
			         json_equals(json_get(r, "bench"), "decode") ? "decode"
			                                                     : "prefill");
		} else if (json_equals(json_get(r, "limit"), "memory")) {
			memory = get_number(r, "ceiling", "median");
		} else if (json_equals(json_get(r, "limit"), "fma")) {
			fma = get_number(r, "ceiling", "median");
		} else if (json_equals(json_get(r, "limit"), "dot")) {
			dot = get_number(r, "ceiling", "median");
		}
		if (!(x > 0) || !(x < 1e9) || !(ops > 0))
			continue;
		lo = x < lo ? x : lo;
		hi = x > hi ? x : hi;
		add_point(f, find_series(f, STYLE_POINTS, name), x, ops, ops, ops);
	}
	if (f->n) {
		roof(f, "limit: memory and 32-bit floats", memory, fma, lo / 2, hi * 2);
		roof(f, "limit: memory and bytes", memory, dot, lo / 2, hi * 2);
	}
}

/* ---- kinds ---- */

static size_t points(const struct figure *f)
{
	size_t n = 0;

	for (int i = 0; i < f->n; i++)
		n += f->series[i].n;
	return n;
}

static void make_kind(struct figure *f, const struct cases *c, enum figure_kind kind,
                      struct arena *mem)
{
	static void (*const kinds[])(struct figure *, const struct cases *) = {
		[FIGURE_SWEEP] = sweep,
		[FIGURE_LATENCY] = latency,
		[FIGURE_THROUGHPUT] = throughput,
		[FIGURE_ROOFLINE] = roofline,
	};

	*f = (struct figure){ .mem = mem };
	kinds[kind](f, c);
}

static enum figure_kind choose_kind(const struct cases *c)
{
	size_t served = 0, models = 0;

	for (const struct bench_case *k = c->first; k; k = k->next) {
		served += (size_t)is_serve(k->records[0]);
		models += (size_t)is_model(k->records[0]);
	}
	return served > 1 ? FIGURE_THROUGHPUT
	       : served   ? FIGURE_LATENCY
	       : models   ? FIGURE_SWEEP
	                  : FIGURE_ROOFLINE;
}

int figure_make(struct figure *f, const struct cases *c, enum figure_kind kind, struct arena *mem,
                infer_error *err)
{
	make_kind(f, c, kind == FIGURE_AUTO ? choose_kind(c) : kind, mem);
	if (mem->bad)
		return err_nomem(err);
	return points(f) ? INFER_OK
	                 : err_set(err, INFER_EFORMAT, "%s: no record has points for the figure %s",
	                           c->name, f->title);
}
