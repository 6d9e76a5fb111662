/* infer-bench/rules.c - rules of honest measurement, checked on records. */
#include "rules.h"
#include "base/jwrite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FEW = 5, FOR_P95 = 20, FOR_P99 = 100 };
#define LAG_PART 0.1 /* greatest allowed lag of the client / median latency */
#define ABOVE 1.05   /* greatest allowed measurement / limit */

static void set_finding(struct rule_said *r, enum rule_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void set_finding(struct rule_said *r, enum rule_state state, const char *fmt, ...)
{
	va_list ap;

	if (r->state == RULE_BROKEN)
		return; /* keep the first finding */
	r->state = state;
	va_start(ap, fmt);
	vsnprintf(r->says, sizeof r->says, fmt, ap);
	va_end(ap);
}

static const struct json *path(const struct json *r, const char *a, const char *b)
{
	return b ? json_get(json_get(r, a), b) : json_get(r, a);
}

static void put_value(char *to, size_t room, const struct json *v)
{
	struct jwrite w;
	struct buf b;

	if (json_is_string(v)) {
		snprintf(to, room, "%.*s", (int)(json_bytes(v) < 60 ? json_bytes(v) : 60),
		         json_str(v));
		return;
	}
	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	if (v)
		jw_value(&w, NULL, v);
	snprintf(to, room, "%.60s", b.len ? b.at : "nothing");
	buf_fini(&b);
}

/* Check that a field is the same in both records. what: its name in findings */
static void check_equal(struct rule_said *r, const struct json *base, const struct json *now,
                        const char *a, const char *b, const char *what)
{
	char x[80], y[80];
	const struct json *of_base = path(base, a, b), *of_now = path(now, a, b);

	put_value(x, sizeof x, of_base);
	put_value(y, sizeof y, of_now);
	if (!of_base || (now && !of_now)) {
		if (r->state == RULE_UNKNOWN)
			set_finding(r, RULE_UNKNOWN, "the records do not tell the %s", what);
	} else if (now && strcmp(x, y) != 0) {
		set_finding(r, RULE_BROKEN, "the %s differs: %s and %s", what, x, y);
	} else {
		set_finding(r, RULE_KEPT, "%s: %.60s", what, x);
	}
}

/* Return the array of sha256 of the files of the model, or NULL. */
static const struct json *file_hashes(const struct json *r)
{
	const struct json *v = json_get(r, "sha256");

	return v ? v : path(r, "model", "sha256");
}

/* True if both records have the hashes of the model's files, and the hashes are equal.  Ids of one model
 * differ between versions. */
static int same_files(const struct json *base, const struct json *now)
{
	const struct json *a = file_hashes(base), *b = file_hashes(now);
	size_t n = json_count(a);
	int same = n > 0 && n == json_count(b);

	for (size_t i = 0; same && i < n; i++) {
		const struct json *x = json_at(a, i), *y = json_at(b, i);

		same = json_is_string(x) && json_is_string(y) && json_bytes(x) == json_bytes(y) &&
		       !memcmp(json_str(x), json_str(y), json_bytes(x));
	}
	return same;
}

static double get_number(const struct json *r, const char *a, const char *b)
{
	return json_double(path(r, a, b));
}

static double percentile(const struct json *r, const char *metric, const char *q)
{
	return json_double(json_get(json_get(path(r, "metrics", metric), q), "value"));
}

/* ---- rules of one record ---- */

static void warm(struct rule_said *r, const struct json *x)
{
	if (json_get(x, "workload") && get_number(x, "workload", "warmup") < 1)
		set_finding(r, RULE_BROKEN, "nothing was sent before what counts: --warmup");
	else
		set_finding(r, RULE_KEPT, "a first turn, or requests before, are not counted");
}

static void repeats(struct rule_said *r, const struct json *x)
{
	const struct json *metrics = json_get(x, "metrics");
	size_t most = 0;

	json_each(m, metrics) {
		size_t n = (size_t)json_double(json_get(m, "n"));

		most = n > most ? n : most;
	}
	if (!metrics)
		set_finding(r, RULE_UNKNOWN,
		            "the record has no measurements, only what came of them");
	else if (most < FEW)
		set_finding(r, RULE_BROKEN,
		            "%zu measurements: no spread can be told from fewer than %d", most,
		            FEW);
	else if (most < FOR_P95)
		set_finding(r, RULE_KEPT, "%zu measurements: medians, but no p95 or p99", most);
	else if (most < FOR_P99)
		set_finding(r, RULE_KEPT, "%zu measurements: medians and p95, but no p99", most);
	else
		set_finding(r, RULE_KEPT, "%zu measurements", most);
}

static void due(struct rule_said *r, const struct json *x)
{
	double lag = percentile(x, "send_lag_ms", "p99"), e2e = percentile(x, "e2e_ms", "p50");

	if (!json_get(x, "workload"))
		set_finding(r, RULE_KEPT, "nothing waits outside the engine");
	else if (e2e > 0 && lag > LAG_PART * e2e)
		set_finding(
			r, RULE_BROKEN,
			"requests were sent up to %.1f ms late (p99): that is in their latencies, "
			"which are %.1f ms (p50)",
			lag, e2e);
	else
		set_finding(r, RULE_KEPT,
		            "latencies from when requests were due; sent %.2f ms late (p99)", lag);
}

static void counts(struct rule_said *r, const struct json *x)
{
	const struct json *c = json_get(x, "counts");
	double failed = json_double(json_get(c, "failed")), cut = json_double(json_get(c, "short"));

	if (!c)
		set_finding(r, RULE_KEPT, "the engine's own counts");
	else if (failed > 0)
		set_finding(r, RULE_BROKEN, "%.0f requests failed", failed);
	else if (json_is(json_get(c, "agree"), JSON_FALSE))
		set_finding(r, RULE_BROKEN, "the server counted other numbers of tokens");
	else if (cut > 0)
		set_finding(r, RULE_BROKEN, "%.0f answers are shorter than was asked for", cut);
	else if (!json_is(json_get(c, "usage"), JSON_TRUE))
		set_finding(r, RULE_BROKEN,
		            "answers without usage: pieces of text were counted as tokens");
	else if (json_is_null(json_get(c, "agree")))
		set_finding(r, RULE_UNKNOWN, "the server has no counters to compare with");
	else
		set_finding(r, RULE_KEPT, "all answered, and the server's counters agree");
}

static void limit(struct rule_said *r, const struct json *x)
{
	double part = percentile(x, "fraction", "p50");

	part = part > 0 ? part : get_number(x, "fraction", "median");
	if (!(part > 0))
		set_finding(r, RULE_UNKNOWN, "no limit was measured beside it");
	else if (part > ABOVE)
		set_finding(r, RULE_BROKEN,
		            "%.2f of the limit: the ceilings are not those of this machine", part);
	else
		set_finding(r, RULE_KEPT, "%.2f of the limit, measured in the same turns", part);
}

double rules_drift(const struct json *base, const struct json *now)
{
	static const char *const names[] = { "mapped_gb_s", "fma_gflop_s", "dot_gop_s" };
	double most = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		double a = get_number(base, names[i], "median"),
		       b = get_number(now, names[i], "median"),
		       d = a > 0 && b > 0 ? (a > b ? a / b : b / a) - 1 : 0;

		most = d > most ? d : most;
	}
	return most;
}

void rules_check(struct rule_said out[RULE_COUNT], const struct json *base, const struct json *now,
                 double drift)
{
	memset(out, 0, RULE_COUNT * sizeof *out);
	if (now && same_files(base, now))
		check_equal(&out[RULE_MODEL], base, NULL, "model", "id", "id of the model");
	else if (json_get(base, "model"))
		check_equal(&out[RULE_MODEL], base, now, "model", "id", "id of the model");
	else
		check_equal(&out[RULE_MODEL], base, now, "served", NULL, "name of the model");
	check_equal(&out[RULE_WEIGHTS], base, now, "model", "types", "types of the weights");
	check_equal(&out[RULE_ENGINE], base, now, json_get(base, "run") ? "run" : "flags",
	            json_get(base, "run") ? "flags" : NULL, "options");
	if (!json_get(base, "commit") || (now && !json_get(now, "commit")))
		set_finding(&out[RULE_ENGINE], RULE_BROKEN,
		            "the commit of the source is not known");
	check_equal(&out[RULE_MACHINE], base, now, "machine", "cpu", "processor");
	check_equal(&out[RULE_MACHINE], base, now, "machine", "threads", "number of threads");
	for (int i = 0; i < 2; i++) {
		const struct json *x = i ? now : base;

		if (!x)
			continue;
		warm(&out[RULE_WARM], x);
		repeats(&out[RULE_REPEATS], x);
		due(&out[RULE_DUE], x);
		counts(&out[RULE_COUNTS], x);
		limit(&out[RULE_LIMIT], x);
	}
	set_finding(&out[RULE_WORKLOAD], RULE_KEPT, "the same lengths, depths and numbers at once");
	if (drift > 0.1)
		set_finding(&out[RULE_LIMIT], RULE_BROKEN,
		            "the machine itself gave %.0f %% more or less: other load; only what "
		            "exceeds "
		            "that counts",
		            100 * drift);
}

void rules_add(struct rule_said out[RULE_COUNT], const struct rule_said more[RULE_COUNT])
{
	for (int i = 0; i < RULE_COUNT; i++)
		if (out[i].state != RULE_BROKEN && (more[i].state == RULE_BROKEN || !*out[i].says))
			out[i] = more[i];
}

const char *rule_name(int rule)
{
	static const char *const names[RULE_COUNT] = {
		[RULE_MODEL] = "one model",       [RULE_WEIGHTS] = "one quantisation",
		[RULE_ENGINE] = "engine named",   [RULE_MACHINE] = "one machine",
		[RULE_WORKLOAD] = "one workload", [RULE_WARM] = "warm apart",
		[RULE_REPEATS] = "spread told",   [RULE_DUE] = "no omission",
		[RULE_COUNTS] = "all counted",    [RULE_LIMIT] = "limit beside",
	};

	return names[rule];
}
