/* infer-bench/compare.c - compare: which metrics of two files of records became better or worse. */
#include "bench.h"
#include "cases.h"
#include "compare.h"
#include "judge.h"
#include "rules.h"
#include "common/say.h"
#include <infer/statistic.h>
#include "base/err.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>

enum { BATCHES = 20 };

struct compared {
	const char *key, *metric, *unit;
	struct judged j;
	struct compared *next;
};
struct compare {
	const struct bench_opts *o;
	struct cases base, now;
	struct compared *first, *last;
	size_t n, lone; /* lone: cases that only one file has */
	struct rule_said rules[RULE_COUNT];
	struct arena mem;
};

/* Replace the values by medians of batches of consecutive values. Consecutive requests are correlated;
 * batches are nearly independent. */
static size_t batch_medians(double *v, size_t n, struct arena *mem)
{
	size_t each = n / BATCHES;
	double *room = arena_alloc(mem, each + 1, sizeof *room);

	if (each < 2 || !room)
		return n;
	for (size_t i = 0; i < BATCHES; i++) {
		memcpy(room, v + i * each, each * sizeof *v);
		infer_sort(room, each);
		v[i] = infer_quantile(room, each, 0.5);
	}
	return BATCHES;
}

static int is_per_request(const struct bench_case *c)
{
	return c->n == 1 && json_is(json_get(c->records[0], "paired_by_request"), JSON_TRUE);
}

static double created(const struct bench_case *c, size_t i)
{
	return json_double(json_get(c->records[i], "created_ms"));
}

/* True if the records of two cases were made in alternation: each pair is later than the pair before. */
static int are_alternating(const struct bench_case *a, const struct bench_case *b)
{
	if (a->n != b->n || a->n < CASES_MANY)
		return 0;
	for (size_t i = 0; i < a->n; i++) {
		if (!json_is_number(json_get(a->records[i], "created_ms")) ||
		    !json_is_number(json_get(b->records[i], "created_ms")))
			return 0;
		if (i &&
		    (created(a, i) <= created(b, i - 1) || created(b, i) <= created(a, i - 1) ||
		     created(a, i) <= created(a, i - 1) || created(b, i) <= created(b, i - 1)))
			return 0;
	}
	return 1;
}

/* True if the metric gets a verdict. */
static int is_judged(const char *metric)
{
	return strcmp(metric, "send_lag_ms") && strcmp(metric, "itl_ms") &&
	       strcmp(metric, "hit_rate");
}

static struct compared *add_compared(struct compare *c, struct compared x)
{
	struct compared *to = arena_alloc(&c->mem, 1, sizeof *to);

	if (!to)
		return NULL;
	*to = x;
	to->next = NULL;
	*(c->last ? &c->last->next : &c->first) = to;
	c->last = to;
	c->n++;
	return to;
}

/* Compare the 95th and 99th percentiles of a latency, which users of a server notice most. */
static int compare_tails(struct compare *c, const struct compared *like, const double *base,
                         size_t n_base, const double *now, size_t n_new, infer_error *err)
{
	static const struct {
		const char *name;
		double q;
	} tail[] = { { "p95", 0.95 }, { "p99", 0.99 } };

	for (size_t i = 0; !like->j.higher && i < sizeof tail / sizeof *tail; i++) {
		struct compared x = *like;
		char name[96];

		if (!judge_has_tail(base, n_base, tail[i].q) ||
		    !judge_has_tail(now, n_new, tail[i].q))
			continue;
		int n = snprintf(name, sizeof name, "%s %s", like->metric, tail[i].name);
		x.metric = arena_strndup(&c->mem, name, (size_t)n);
		if (!x.metric)
			return err_nomem(err);
		TRY(judge_tail(&x.j, base, n_base, now, n_new, tail[i].q, like->j.paired, &c->mem,
		               err));
		if (!add_compared(c, x))
			return err_nomem(err);
	}
	return INFER_OK;
}

/* Compare one metric of two cases. */
static int compare_metric(struct compare *c, const struct bench_case *a, const struct bench_case *b,
                          const struct json *m, double drift, infer_error *err)
{
	char *name = arena_strndup(&c->mem, m->key, m->key_n);
	struct compared x = { .key = a->key };
	int each_a, each_b;
	size_t na, nb;

	if (!name)
		return err_nomem(err);
	double *va = case_values(a, name, &na, &each_a, &c->mem),
	       *vb = case_values(b, name, &nb, &each_b, &c->mem);

	if (!va || !vb)
		return err_nomem(err);
	if (!na || !nb || !is_judged(name))
		return INFER_OK;
	/* medians of records cannot be compared with single measurements */
	if (each_a != each_b)
		na = nb = 1;
	x.metric = name;
	x.unit = json_cstr(&c->mem, json_get(m, "unit"));
	x.j.higher = json_equals(json_get(m, "better"), "higher");
	enum pairing paired = PAIR_NONE;

	if (is_per_request(a) && is_per_request(b) && na == nb && na > 1)
		paired = PAIR_REQUESTS;
	else if (each_a && na == nb && na == a->n && are_alternating(a, b))
		paired = PAIR_ROUNDS;
	/* "fraction" (of the limit) already contains the drift */
	x.j.drift = strcmp(name, "fraction") ? drift : 0;
	x.j.paired = paired;
	struct compared *of = add_compared(c, x);

	if (!of)
		return err_nomem(err);
	if (is_per_request(a) && is_per_request(b))
		TRY(compare_tails(c, of, va, na, vb, nb, err));
	if (is_per_request(a))
		na = batch_medians(va, na, &c->mem);
	if (is_per_request(b))
		nb = batch_medians(vb, nb, &c->mem);
	return judge(&of->j, va, na, vb, nb, paired, &c->mem, err);
}

/* State in the rule that each record counts as one measurement. */
static void set_many_rule(struct rule_said *r, size_t a, size_t b)
{
	r->state = RULE_KEPT;
	snprintf(r->says, sizeof r->says, "%zu records and %zu, the median of each counts", a, b);
}

static int cases(struct compare *c, infer_error *err)
{
	for (const struct bench_case *a = c->base.first; a; a = a->next) {
		const struct bench_case *b = cases_find(&c->now, a->key);
		struct rule_said rules[RULE_COUNT];
		double drift = 0;

		if (!b) {
			say_warning("%s: only in %s", a->key, c->base.name);
			c->lone++;
			continue;
		}
		/* the spread of many records already contains the drift */
		if (a->n < CASES_MANY || b->n < CASES_MANY)
			drift = rules_drift(a->records[0], b->records[0]);
		for (size_t i = 0; i < a->n && i < b->n; i++) {
			rules_check(rules, a->records[i], b->records[i], drift);
			rules_add(c->rules, rules);
		}
		if (a->n >= CASES_MANY && b->n >= CASES_MANY)
			set_many_rule(&c->rules[RULE_REPEATS], a->n, b->n);
		for (size_t i = 0; case_metric(a, i); i++)
			TRY(compare_metric(c, a, b, case_metric(a, i), drift, err));
	}
	for (const struct bench_case *b = c->now.first; b; b = b->next)
		if (!cases_find(&c->base, b->key)) {
			say_warning("%s: only in %s", b->key, c->now.name);
			c->lone++;
		}
	if (c->lone) {
		c->rules[RULE_WORKLOAD].state = RULE_BROKEN;
		snprintf(c->rules[RULE_WORKLOAD].says, sizeof c->rules[RULE_WORKLOAD].says,
		         "%zu cases are in one of the files only", c->lone);
	}
	return c->n ? INFER_OK
	            : err_set(err, INFER_EFORMAT, "%s and %s have no measurements of the same case",
	                      c->base.name, c->now.name);
}

static int verdicts(struct compare *c, infer_error *err)
{
	struct judged **all = arena_alloc(&c->mem, c->n + 1, sizeof(struct judged *));
	size_t n = 0;

	if (!all)
		return err_nomem(err);
	for (struct compared *x = c->first; x; x = x->next)
		all[n++] = &x->j;
	judge_verdicts(all, n, c->o->tolerance / 100, &c->mem);
	return INFER_OK;
}

/* ---- output ---- */

void compare_put(struct jwrite *w, const char *key, const char *metric, const char *unit,
                 const struct judged *j)
{
	static const char *const pairs[] = { "no", "requests", "rounds" };

	jw_str(w, "case", key);
	jw_str(w, "metric", metric);
	jw_str(w, "unit", unit);
	jw_str(w, "better", j->higher ? "higher" : "lower");
	jw_num(w, "base", j->base);
	jw_num(w, "new", j->now);
	jw_uint(w, "n_base", j->n_base);
	jw_uint(w, "n_new", j->n_new);
	jw_str(w, "paired", pairs[j->paired]);
	jw_num(w, "change", j->change);
	if (j->bounded) {
		jw_num(w, "lo", j->lo);
		jw_num(w, "hi", j->hi);
		jw_num(w, "p", j->p);
	} else {
		jw_null(w, "lo");
		jw_null(w, "hi");
		jw_null(w, "p");
	}
	jw_num(w, "drift", j->drift);
	jw_str(w, "verdict", judge_name(j->verdict));
}

void compare_line(struct buf *t, const char *metric, const struct judged *j)
{
	buf_printf(t, "  %-18s %10.4g %10.4g %+7.2f %%", metric, j->base, j->now, 100 * j->change);
	if (j->bounded)
		buf_printf(t, " %+7.2f ...%+7.2f", 100 * j->lo, 100 * j->hi);
	else
		buf_printf(t, " %19s", "");
	buf_printf(t, " %s\n", judge_name(j->verdict));
}

static void put_rules(struct jwrite *w, const struct rule_said *rules)
{
	jw_array(w, "rules");
	for (int i = 0; i < RULE_COUNT; i++) {
		jw_object(w, NULL);
		jw_str(w, "rule", rule_name(i));
		if (rules[i].state == RULE_UNKNOWN)
			jw_null(w, "kept");
		else
			jw_bool(w, "kept", rules[i].state == RULE_KEPT);
		jw_str(w, "says", rules[i].says);
		jw_end(w);
	}
	jw_end(w);
}

static enum verdict overall(const struct compare *c)
{
	enum verdict v = VERDICT_UNCLEAR;

	for (const struct compared *x = c->first; x; x = x->next) {
		if (x->j.verdict == VERDICT_WORSE)
			return VERDICT_WORSE;
		if (x->j.verdict == VERDICT_BETTER || v == VERDICT_UNCLEAR)
			v = x->j.verdict;
	}
	return v;
}

static int write_all(const struct compare *c, infer_records *out, infer_error *err)
{
	struct jwrite *w;

	for (const struct compared *x = c->first; x; x = x->next) {
		w = infer_records_begin(out, INFER_KIND_COMPARE);
		compare_put(w, x->key, x->metric, x->unit, &x->j);
		TRY(infer_records_end(out, err));
	}
	w = infer_records_begin(out, INFER_KIND_COMPARE);
	jw_null(w, "case");
	jw_str(w, "base_file", c->base.name);
	jw_str(w, "new_file", c->now.name);
	jw_num(w, "tolerance", c->o->tolerance);
	jw_str(w, "verdict", judge_name(overall(c)));
	put_rules(w, c->rules);
	return infer_records_end(out, err);
}

static int show_all(const struct compare *c, infer_error *err)
{
	static const char *const marks[] = { "?", "+", "!" };
	const char *key = "";
	struct buf t;
	int rc;

	buf_init(&t, MEM_BASE);
	for (const struct compared *x = c->first; x; x = x->next) {
		if (strcmp(key, x->key) != 0)
			buf_printf(&t, "%s\n", x->key);
		key = x->key;
		compare_line(&t, x->metric, &x->j);
	}
	buf_puts(&t, "rules (+ kept, ! broken, ? the records do not tell)\n");
	for (int i = 0; i < RULE_COUNT; i++)
		buf_printf(&t, "%s %-17s %s\n", marks[c->rules[i].state], rule_name(i),
		           c->rules[i].says);
	rc = t.bad ? err_nomem(err) : say_out(t.at, t.len, err);
	buf_fini(&t);
	return rc;
}

int compare(const struct bench_opts *o, const struct opt_rest *rest)
{
	struct compare c = { .o = o };
	struct append out = { .fd = -1 };
	infer_error err = { 0 };
	int rc, late, worse;

	if (rest->n_words != 3) {
		say_error("compare takes two files of records: BASE NEW; - is standard input");
		return EXIT_USAGE;
	}
	arena_init(&c.mem, MEM_BASE);
	rc = cases_read(&c.base, rest->words[1], &err);
	if (!rc)
		rc = cases_read(&c.now, rest->words[2], &err);
	if (!rc)
		rc = cases(&c, &err);
	if (!rc)
		rc = verdicts(&c, &err);
	if (!rc)
		rc = append_open(&out, o->json, o->record, &err);
	if (!rc && out.file)
		rc = write_all(&c, out.file, &err);
	if (!rc && out.out)
		rc = write_all(&c, out.out, &err);
	if (!rc)
		rc = append_send(&out, &err);
	if (!rc && !out.out)
		rc = show_all(&c, &err);
	worse = overall(&c) == VERDICT_WORSE;
	late = append_close(&out, rc ? NULL : &err);
	cases_fini(&c.base);
	cases_fini(&c.now);
	arena_fini(&c.mem);
	if (rc || late)
		return say_fail(&err);
	return worse ? EXIT_DIFFERS : EXIT_DONE;
}
