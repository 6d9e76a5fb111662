/* infer-bench/rules.c - ten rules, and what records say about each. */
#include "rules.h"
#include "base/jwrite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FEW = 5, FOR_P95 = 20, FOR_P99 = 100 };
#define LAG_PART 0.1 /* of the median latency that the client may add */
#define ABOVE 1.05   /* of the limit, measured beside it */

static void say(struct rule_said *r, enum rule_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void say(struct rule_said *r, enum rule_state state, const char *fmt, ...)
{
	va_list ap;

	if (r->state == RULE_BROKEN)
		return; /* the first thing found stays */
	r->state = state;
	va_start(ap, fmt);
	vsnprintf(r->says, sizeof r->says, fmt, ap);
	va_end(ap);
}

static const struct json *path(const struct json *r, const char *a, const char *b)
{
	return b ? json_get(json_get(r, a), b) : json_get(r, a);
}

static void text_of(char *to, size_t room, const struct json *v)
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

/* A field of both that has to be the same. */
static void equal(struct rule_said *r, const struct json *base, const struct json *now,
                  const char *a, const char *b, const char *what)
{
	char x[80], y[80];
	const struct json *of_base = path(base, a, b), *of_now = path(now, a, b);

	text_of(x, sizeof x, of_base);
	text_of(y, sizeof y, of_now);
	if (!of_base || (now && !of_now)) {
		if (r->state == RULE_UNKNOWN)
			say(r, RULE_UNKNOWN, "the records do not tell the %s", what);
	} else if (now && strcmp(x, y) != 0) {
		say(r, RULE_BROKEN, "the %s differs: %s and %s", what, x, y);
	} else {
		say(r, RULE_KEPT, "%s: %.60s", what, x);
	}
}

/* The sha256 of each file of the model, an array; NULL: the record has none. */
static const struct json *hashes(const struct json *r)
{
	const struct json *v = json_get(r, "sha256");

	return v ? v : path(r, "model", "sha256");
}

/* True if both records have the hashes of the model's files, and these are equal.  Ids of one model
 * differ between versions. */
static int same_files(const struct json *base, const struct json *now)
{
	const struct json *a = hashes(base), *b = hashes(now);
	size_t n = json_count(a);
	int same = n > 0 && n == json_count(b);

	for (size_t i = 0; same && i < n; i++) {
		const struct json *x = json_at(a, i), *y = json_at(b, i);

		same = json_is_string(x) && json_is_string(y) && json_bytes(x) == json_bytes(y) &&
		       !memcmp(json_str(x), json_str(y), json_bytes(x));
	}
	return same;
}

static double number(const struct json *r, const char *a, const char *b)
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
	if (json_get(x, "workload") && number(x, "workload", "warmup") < 1)
		say(r, RULE_BROKEN, "nothing was sent before what counts: --warmup");
	else
		say(r, RULE_KEPT, "a first turn, or requests before, are not counted");
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
		say(r, RULE_UNKNOWN, "the record has no measurements, only what came of them");
	else if (most < FEW)
		say(r, RULE_BROKEN, "%zu measurements: no spread can be told from fewer than %d",
		    most, FEW);
	else if (most < FOR_P95)
		say(r, RULE_KEPT, "%zu measurements: medians, but no p95 or p99", most);
	else if (most < FOR_P99)
		say(r, RULE_KEPT, "%zu measurements: medians and p95, but no p99", most);
	else
		say(r, RULE_KEPT, "%zu measurements", most);
}

static void due(struct rule_said *r, const struct json *x)
{
	double lag = percentile(x, "send_lag_ms", "p99"), e2e = percentile(x, "e2e_ms", "p50");

	if (!json_get(x, "workload"))
		say(r, RULE_KEPT, "nothing waits outside the engine");
	else if (e2e > 0 && lag > LAG_PART * e2e)
		say(r, RULE_BROKEN,
		    "requests were sent up to %.1f ms late (p99): that is in their latencies, "
		    "which are %.1f ms (p50)",
		    lag, e2e);
	else
		say(r, RULE_KEPT, "latencies from when requests were due; sent %.2f ms late (p99)",
		    lag);
}

static void counts(struct rule_said *r, const struct json *x)
{
	const struct json *c = json_get(x, "counts");
	double failed = json_double(json_get(c, "failed")), cut = json_double(json_get(c, "short"));

	if (!c)
		say(r, RULE_KEPT, "the engine's own counts");
	else if (failed > 0)
		say(r, RULE_BROKEN, "%.0f requests failed", failed);
	else if (json_is(json_get(c, "agree"), JSON_FALSE))
		say(r, RULE_BROKEN, "the server counted other numbers of tokens");
	else if (cut > 0)
		say(r, RULE_BROKEN, "%.0f answers are shorter than was asked for", cut);
	else if (!json_is(json_get(c, "usage"), JSON_TRUE))
		say(r, RULE_BROKEN, "answers without usage: pieces of text were counted as tokens");
	else if (json_is_null(json_get(c, "agree")))
		say(r, RULE_UNKNOWN, "the server has no counters to compare with");
	else
		say(r, RULE_KEPT, "all answered, and the server's counters agree");
}

static void limit(struct rule_said *r, const struct json *x)
{
	double part = percentile(x, "fraction", "p50");

	part = part > 0 ? part : number(x, "fraction", "median");
	if (!(part > 0))
		say(r, RULE_UNKNOWN, "no limit was measured beside it");
	else if (part > ABOVE)
		say(r, RULE_BROKEN, "%.2f of the limit: the ceilings are not those of this machine",
		    part);
	else
		say(r, RULE_KEPT, "%.2f of the limit, measured in the same turns", part);
}

double rules_drift(const struct json *base, const struct json *now)
{
	static const char *const names[] = { "mapped_gb_s", "fma_gflop_s", "dot_gop_s" };
	double most = 0;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		double a = number(base, names[i], "median"), b = number(now, names[i], "median"),
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
		equal(&out[RULE_MODEL], base, NULL, "model", "id", "id of the model");
	else if (json_get(base, "model"))
		equal(&out[RULE_MODEL], base, now, "model", "id", "id of the model");
	else
		equal(&out[RULE_MODEL], base, now, "served", NULL, "name of the model");
	equal(&out[RULE_WEIGHTS], base, now, "model", "types", "types of the weights");
	equal(&out[RULE_ENGINE], base, now, json_get(base, "run") ? "run" : "flags",
	      json_get(base, "run") ? "flags" : NULL, "options");
	if (!json_get(base, "commit") || (now && !json_get(now, "commit")))
		say(&out[RULE_ENGINE], RULE_BROKEN, "the commit of the source is not known");
	equal(&out[RULE_MACHINE], base, now, "machine", "cpu", "processor");
	equal(&out[RULE_MACHINE], base, now, "machine", "threads", "number of threads");
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
	say(&out[RULE_WORKLOAD], RULE_KEPT, "the same lengths, depths and numbers at once");
	if (drift > 0.1)
		say(&out[RULE_LIMIT], RULE_BROKEN,
		    "the machine itself gave %.0f %% more or less: other load; only what exceeds "
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
