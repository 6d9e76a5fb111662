/* infer-bench/compare.c - compare: which metrics of two files of records became better or worse. */
#include "bench.h"
#include "cases.h"
#include "compare.h"
#include "judge.h"
#include "rules.h"
#include "turns.h"
#include "unclear.h"
#include "common/say.h"
#include <infer/statistic.h>
#include "base/err.h"
#include "base/jwrite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCHES = 20, FEW = 5, BEYOND = 10 }; /* BEYOND: fewest measurements above a quantile */

struct compared {
	const char *key, *metric, *unit;
	struct judged j;
	struct compared *next;
};
struct compare {
	const struct bench_opts *o;
	struct cases base, now;
	struct compared *first, *last;
	size_t n, one_sided; /* one_sided: cases that only one file has */
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

static const struct tail {
	const char *name;
	double q;
} tails[] = { { "p95", 0.95 }, { "p99", 0.99 } };
enum { TAILS = sizeof tails / sizeof *tails };

/* Two cases with the same key, and what is known of both. */
struct pair {
	const struct bench_case *a, *b;
	struct turns turns;
	struct judge_machine machine; /* if not in turns */
};

static int add_tail(struct compare *c, struct compared *x, const char *metric, const char *tail,
                    infer_error *err)
{
	char name[96];
	int n = snprintf(name, sizeof name, "%s %s", metric, tail);

	x->metric = arena_strndup(&c->mem, name, (size_t)n);
	return x->metric && add_compared(c, *x) ? INFER_OK : err_nomem(err);
}

/* Compare the 95th and 99th percentiles of a latency, which users of a server notice most, of two records. */
static int compare_tails(struct compare *c, const struct compared *like, const double *base,
                         size_t n_base, const double *now, size_t n_new, infer_error *err)
{
	for (size_t i = 0; !like->j.higher && i < TAILS; i++) {
		struct compared x = *like;

		if (!judge_has_tail(base, n_base, tails[i].q) ||
		    !judge_has_tail(now, n_new, tails[i].q))
			continue;
		TRY(judge_tail(&x.j, base, n_base, now, n_new, tails[i].q, like->j.paired, &c->mem,
		               err));
		TRY(add_tail(c, &x, like->metric, tails[i].name, err));
	}
	return INFER_OK;
}

/* Replace the values of the records by those in pairs. */
static double *pick_values(const double *v, const size_t *at, size_t n, struct arena *mem)
{
	double *to = arena_alloc(mem, n + 1, sizeof *to);

	for (size_t i = 0; to && i < n; i++)
		to[i] = v[at[i]];
	return to;
}

/* Compare a quantile of the records of both cases. Each record is a measurement. Sets *judged to 0 if a side
 * has no values. */
static int judge_records(struct judged *j, int *judged, struct compare *c, const struct pair *p,
                         const char *metric, const char *quantile, infer_error *err)
{
	enum pairing paired = PAIR_NONE;
	size_t na, nb;
	double *va = case_values(p->a, metric, quantile, &na, &c->mem),
	       *vb = case_values(p->b, metric, quantile, &nb, &c->mem);

	if (!va || !vb)
		return err_nomem(err);
	*judged = na && nb;
	if (!*judged)
		return INFER_OK;
	if (p->turns.n && na == p->a->n && nb == p->b->n) {
		paired = PAIR_ROUNDS;
		na = nb = p->turns.n;
		va = pick_values(va, p->turns.base, na, &c->mem);
		vb = pick_values(vb, p->turns.now, nb, &c->mem);
		if (!va || !vb)
			return err_nomem(err);
	}
	return judge(j, va, na, vb, nb, paired, &c->mem, err);
}

/* True if every record has enough measurements of the metric for the quantile q. */
static int records_have_tail(const struct bench_case *c, const char *metric, double q)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct json *m = json_get(json_get(c->records[i], "metrics"), metric);

		if ((1 - q) * json_double(json_get(m, "n")) < BEYOND ||
		    !(json_double(json_get(m, "min")) > 0))
			return 0;
	}
	return 1;
}

/* Compare one metric of two cases with several records on each side. */
static int compare_records(struct compare *c, const struct pair *p, struct compared x,
                           infer_error *err)
{
	const char *metric = x.metric;
	int judged;

	TRY(judge_records(&x.j, &judged, c, p, metric, "p50", err));
	if (!judged)
		return INFER_OK;
	if (!add_compared(c, x))
		return err_nomem(err);
	for (size_t i = 0; !x.j.higher && i < TAILS; i++) {
		if (!records_have_tail(p->a, metric, tails[i].q) ||
		    !records_have_tail(p->b, metric, tails[i].q))
			continue;
		TRY(judge_records(&x.j, &judged, c, p, metric, tails[i].name, err));
		if (judged)
			TRY(add_tail(c, &x, metric, tails[i].name, err));
	}
	return INFER_OK;
}

/* Compare one metric if a case has a single record: each turn or request is a measurement. */
static int compare_turns(struct compare *c, const struct pair *p, struct compared x,
                         infer_error *err)
{
	int requests_a = is_per_request(p->a), requests_b = is_per_request(p->b);
	size_t na, nb;
	double *va = case_values(p->a, x.metric, NULL, &na, &c->mem),
	       *vb = case_values(p->b, x.metric, NULL, &nb, &c->mem);

	if (!va || !vb)
		return err_nomem(err);
	if (!na || !nb)
		return INFER_OK;
	x.j.paired = requests_a && requests_b && na == nb && na > 1 ? PAIR_REQUESTS : PAIR_NONE;
	struct compared *of = add_compared(c, x);

	if (!of)
		return err_nomem(err);
	if (requests_a && requests_b)
		TRY(compare_tails(c, of, va, na, vb, nb, err));
	if (requests_a)
		na = batch_medians(va, na, &c->mem);
	if (requests_b)
		nb = batch_medians(vb, nb, &c->mem);
	return judge(&of->j, va, na, vb, nb, x.j.paired, &c->mem, err);
}

static int compare_metric(struct compare *c, const struct pair *p, const struct json *m,
                          infer_error *err)
{
	char *name = arena_strndup(&c->mem, m->key, m->key_n);
	struct compared x = { .key = p->a->key, .metric = name };

	if (!name)
		return err_nomem(err);
	if (!is_judged(name))
		return INFER_OK;
	x.unit = json_cstr(&c->mem, json_get(m, "unit"));
	x.j.higher = json_equals(json_get(m, "better"), "higher");
	if (!p->turns.n)
		x.j.machine = p->machine;
	if (json_equals(json_get(m, "unit"), "bytes")) {
		/* memory does not depend on the speed of the machine */
		x.j.machine.drift = 0;
		x.j.machine.waited = 0;
	}
	return p->machine.lone ? compare_turns(c, p, x, err) : compare_records(c, p, x, err);
}

/* State in the rule that each record counts as one measurement. */
static void set_many_rule(struct rule_said *r, size_t a, size_t b, int in_turns)
{
	r->state = a < FEW || b < FEW ? RULE_BROKEN : RULE_KEPT;
	snprintf(r->says, sizeof r->says, "%zu records and %zu, the median of each counts; %s", a,
	         b, in_turns ? "taken in turns" : "not taken in turns");
}

static int compare_case(struct compare *c, const struct bench_case *a, const struct bench_case *b,
                        infer_error *err)
{
	struct rule_said rules[RULE_COUNT];
	struct pair p = { .a = a, .b = b };
	double drift = 0;

	TRY(turns_find(&p.turns, a, b, &c->mem, err));
	turns_machine(&p.machine, a, b);
	if (!p.turns.n)
		drift = rules_drift(a->records[0], b->records[0]);
	for (size_t i = 0; i < a->n && i < b->n; i++) {
		rules_check(rules, a->records[i], b->records[i], drift);
		rules_add(c->rules, rules);
	}
	if (!p.machine.lone)
		set_many_rule(&c->rules[RULE_REPEATS], a->n, b->n, p.turns.n > 0);
	for (size_t i = 0; case_metric(a, i); i++)
		TRY(compare_metric(c, &p, case_metric(a, i), err));
	return INFER_OK;
}

static int cases(struct compare *c, infer_error *err)
{
	for (const struct bench_case *a = c->base.first; a; a = a->next) {
		const struct bench_case *b = cases_find(&c->now, a->key);

		if (!b) {
			say_warning("%s: only in %s", a->key, c->base.name);
			c->one_sided++;
			continue;
		}
		TRY(compare_case(c, a, b, err));
	}
	for (const struct bench_case *b = c->now.first; b; b = b->next)
		if (!cases_find(&c->base, b->key)) {
			say_warning("%s: only in %s", b->key, c->now.name);
			c->one_sided++;
		}
	if (c->one_sided) {
		c->rules[RULE_WORKLOAD].state = RULE_BROKEN;
		snprintf(c->rules[RULE_WORKLOAD].says, sizeof c->rules[RULE_WORKLOAD].says,
		         "%zu cases are in one of the files only", c->one_sided);
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

/* Write the reason or the remedy of an unclear verdict as a member, or null. */
static void put_sentence(struct jwrite *w, const char *name, const struct judged *j, int rounds,
                         int remedy)
{
	struct buf b;

	if (j->verdict != VERDICT_UNCLEAR) {
		jw_null(w, name);
		return;
	}
	buf_init(&b, MEM_BASE);
	if (remedy)
		unclear_remedy(&b, j, rounds);
	else
		unclear_reason(&b, j);
	buf_putc(&b, 0);
	jw_str(w, name, b.bad ? "" : b.at);
	buf_fini(&b);
}

void compare_put(struct jwrite *w, const char *key, const char *metric, const char *unit,
                 const struct judged *j, int rounds)
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
	if (j->ratio)
		jw_num(w, "change", j->change);
	else
		jw_null(w, "change");
	if (j->bounded) {
		jw_num(w, "lo", j->lo);
		jw_num(w, "hi", j->hi);
		jw_num(w, "p", j->p);
	} else {
		jw_null(w, "lo");
		jw_null(w, "hi");
		jw_null(w, "p");
	}
	if (isinf(j->machine.drift))
		jw_null(w, "drift");
	else
		jw_num(w, "drift", j->machine.drift);
	jw_str(w, "verdict", judge_name(j->verdict));
	put_sentence(w, "why", j, rounds, 0);
	put_sentence(w, "settled_by", j, rounds, 1);
}

void compare_head(struct buf *t)
{
	char interval[32];

	snprintf(interval, sizeof interval, "interval (%g %%)", 100 * JUDGE_LEVEL);
	buf_printf(t, "  %-18s %10s %10s %9s %18s %s\n", "metric", "base", "new", "change",
	           interval, "verdict");
}

void compare_line(struct buf *t, const char *metric, const struct judged *j)
{
	buf_printf(t, "  %-18s %10.4g %10.4g", metric, j->base, j->now);
	if (j->ratio)
		buf_printf(t, " %+7.2f %%", 100 * j->change);
	else
		buf_printf(t, " %9s", "");
	if (j->bounded)
		buf_printf(t, " %+7.2f ...%+7.2f", 100 * j->lo, 100 * j->hi);
	else
		buf_printf(t, " %18s", "");
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
		compare_put(w, x->key, x->metric, x->unit, &x->j, 0);
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
	struct unclear why = { 0 };
	struct buf t;
	int rc;

	buf_init(&t, MEM_BASE);
	buf_puts(&t, "base and new: typical values whose ratio is the change, not plain medians\n");
	compare_head(&t);
	for (const struct compared *x = c->first; x; x = x->next) {
		if (strcmp(key, x->key) != 0)
			buf_printf(&t, "%s\n", x->key);
		key = x->key;
		compare_line(&t, x->metric, &x->j);
		unclear_add(&why, x->metric, &x->j);
		if (x->next && !strcmp(key, x->next->key))
			continue;
		unclear_put(&t, &why, 0);
		why = (struct unclear){ 0 };
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
