/* tests/unit/sample/test_sample.c - stages compared with float64 numpy
 * (tests/golden/sample/chains.jsonl), draws with their distribution, and public vectors. */
#include "../nth.h"
#include "../json.h"
#include "../shared.h"
#include <math.h>
#include "base/fmath.h"
#include "base/rng.h"
#include "sample/best.h"
#include "sample/sample.h"
#include "row.h"

/* The fields of numbers, by the names that chains have for them; used: by how many of them. */
enum { REAL, WHOLE };
static struct number {
	const char *name;
	int whole;
	size_t at;
	int used;
} numbers[] = {
#define PARAM(field, type, ...) { #field, type, offsetof(struct infer_sample_opts, field), 0 },
#include "sample/param_list.h"
#undef PARAM
};

/* key: whose value v is */
static void set(struct row *r, const char *key, const struct json *v)
{
	struct infer_sample_opts *o = &r->o;
	size_t n = 0;

	for (struct number *p = numbers; p < numbers + sizeof numbers / sizeof *numbers; p++) {
		void *at = (char *)o + p->at;

		if (strcmp(key, p->name))
			continue;
		if (p->whole)
			*(int32_t *)at = (int32_t)json_int(v);
		else
			*(float *)at = (float)json_double(v);
		p->used++;
		return;
	}
	if (!strcmp(key, "bias")) {
		json_each(e, v)
			r->bias[n++] =
				(struct infer_logit_bias){ (int32_t)json_int(json_at(e, 0)),
				                           (float)json_double(json_at(e, 1)) };
		o->bias = r->bias;
		o->n_bias = (int32_t)n;
	} else if (!strcmp(key, "dry_breakers")) {
		json_each(e, v) {
			r->n_breaker[n] = ints(e, r->breakers[n]);
			r->breaker_at[n] = r->breakers[n];
			n++;
		}
		o->dry_breakers = r->breaker_at;
		o->n_dry_breaker = r->n_breaker;
		o->n_dry_breakers = (int32_t)n;
	} else if (!strcmp(key, "order")) {
		json_each(e, v) {
			for (int s = 1; s < INFER_STAGE_COUNT; s++)
				if (json_equals(e, infer_stage_name(s)))
					o->order[n] = (uint8_t)s;
			n++;
		}
	} else {
		fail_msg("option %s", key);
	}
}

/* 1; 0 at the end; -1 without memory. */
static int read_row(FILE *f, struct row *r)
{
	static char line[1 << 16];
	const struct json *json;

	if (!fgets(line, sizeof line, f))
		return 0;
	memset(r, 0, sizeof *r);
	arena_init(&r->mem, MEM_BASE);
	if (jread(&json, &r->mem, line, strlen(line), "row", NULL)) {
		arena_fini(&r->mem);
		return -1;
	}
	json_each(v, json_get(json, "logits"))
		r->logits[r->n++] = (float)json_double(v);
	r->n_history = (size_t)ints(json_get(json, "history"), r->history);
	json_each(v, json_get(json, "expected"))
		r->want[json_int(json_at(v, 0))] = json_double(json_at(v, 1));
	json_each(v, json_get(json, "options")) {
		char key[40];

		snprintf(key, sizeof key, "%.*s", (int)v->key_n, v->key);
		set(r, key, v);
	}
	arena_fini(&r->mem);
	return 1;
}

static void check_candidates(const struct row *r, infer_sampler *s, int32_t token, int number)
{
	struct infer_candidate c[MOST];
	float drawn;
	int32_t n = infer_sampler_candidates(s, c, MOST, &drawn), want = 0;

	for (int32_t i = 0; i < r->n; i++)
		want += r->want[i] > 0;
	if (n != want)
		fail_msg("row %d: %d candidates, not %d", number, n, want);
	for (int32_t i = 0; i < n; i++) {
		if (fabs((double)c[i].p - r->want[c[i].token]) > 2e-6)
			fail_msg("row %d: token %d has %.8f, not %.8f", number, c[i].token,
			         (double)c[i].p, r->want[c[i].token]);
		if (i && c[i].p > c[i - 1].p)
			fail_msg("row %d: candidate %d is likelier than the one before", number, i);
	}
	if (fabs((double)drawn - r->want[token]) > 2e-6)
		fail_msg("row %d: the drawn token %d has %.8f, not %.8f", number, token,
		         (double)drawn, r->want[token]);
	assert_int_equal(infer_sampler_candidates(s, c, 1, &drawn), 1);
}

/* chi-square of draws at successive positions; history is put back after each */
static void check_draws(const struct row *r, infer_sampler *s, int number)
{
	enum { DRAWS = NTH_SANITIZED ? 800 : 1600 };
	int seen[MOST] = { 0 }, bins = 0;
	double x = 0, rest = 0, rest_seen = 0;

	for (int d = 0; d < DRAWS; d++) {
		float l[MOST];
		int32_t token;

		memcpy(l, r->logits, sizeof l);
		infer_sampler_rollback(s, SIZE_MAX);
		assert_int_equal(infer_sampler_feed(s, r->history, r->n_history, NULL), 0);
		assert_int_equal(infer_sampler_draw(s, l, NULL, (uint64_t)d, &token, NULL), 0);
		seen[token]++;
	}
	for (int32_t i = 0; i < r->n; i++) {
		double want = r->want[i] * DRAWS;

		if (want < 5) { /* too few for a bin of its own */
			rest += want;
			rest_seen += seen[i];
			if (r->want[i] <= 0 && seen[i])
				fail_msg("row %d: token %d cannot be drawn, but was", number, i);
			continue;
		}
		x += (seen[i] - want) * (seen[i] - want) / want;
		bins++;
	}
	if (rest > 0) {
		x += (rest_seen - rest) * (rest_seen - rest) / rest;
		bins++;
	}
	/* mean k, variance 2k: five standard deviations */
	double k = bins - 1;
	if (x > k + 5 * sqrt(2 * k) + 5)
		fail_msg("row %d: chi-square %.1f with %g degrees of freedom", number, x, k);
}

static int case_chains(void)
{
	int rc = 0, number = 0, more;
	FILE *f = fopen("tests/golden/sample/chains.jsonl", "r");
	struct row *r = malloc(sizeof *r);
	infer_sampler *s = NULL;

	assert_non_null(f);
	while ((more = read_row(f, r)) > 0) {
		float l[MOST];
		int32_t token;

		memcpy(l, r->logits, sizeof l);
		r->o.seed = 7;
		rc = infer_sampler_new(&s, &r->o, r->n, NULL);
		if (!rc)
			rc = infer_sampler_feed(s, r->history, r->n_history, NULL);
		if (!rc)
			rc = infer_sampler_draw(s, l, NULL, 0, &token, NULL);
		if (!rc && (r->o.xtc_probability <= 0 || r->o.xtc_probability >= 1))
			check_candidates(r, s, token, number);
		infer_sampler_free(s);
		s = NULL;
		number++;
		if (rc)
			break;
	}
	free(r);
	fclose(f);
	if (more < 0)
		rc = INFER_ENOMEM;
	if (!rc)
		assert_true(number >= 40);
	return rc;
}

static void test_draws(void **state)
{
	FILE *f = fopen("tests/golden/sample/chains.jsonl", "r");
	struct row *r = malloc(sizeof *r);
	infer_sampler *s;
	int number = 0;

	(void)state;
	assert_non_null(f);
	for (; read_row(f, r) > 0; number++) {
		r->o.seed = 1000 + (uint64_t)number;
		assert_int_equal(infer_sampler_new(&s, &r->o, r->n, NULL), 0);
		check_draws(r, s, number);
		infer_sampler_free(s);
	}
	free(r);
	fclose(f);
	assert_true(number >= 40);
	for (const struct number *p = numbers; p < numbers + sizeof numbers / sizeof *numbers; p++)
		if (!p->used && strncmp(p->name, "mirostat", 8)) /* which has a test of its own */
			fail_msg("no chain of tests/golden/sample sets %s", p->name);
}

static void test_greedy(void **state)
{
	struct infer_sample_opts o = { 0 };
	infer_sampler *s;
	infer_error err;
	int32_t token;

	(void)state;
	assert_int_equal(infer_sampler_new(&s, &o, 6, NULL), 0);
	float ties[6] = { 1, 3, NAN, 3, -INFINITY, 3 };
	assert_int_equal(infer_sampler_draw(s, ties, NULL, 0, &token, &err), 0);
	assert_int_equal(token, 1);
	float none[6] = { NAN, NAN, NAN, NAN, NAN, NAN };
	assert_int_equal(infer_sampler_draw(s, none, NULL, 0, &token, &err), INFER_ENAN);
	float empty[6] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
	assert_int_equal(infer_sampler_draw(s, empty, NULL, 0, &token, &err), INFER_EEMPTY);
	float large[6] = { 0, 0, INFINITY, 0, 0, 0 };
	assert_int_equal(infer_sampler_draw(s, large, NULL, 0, &token, &err), INFER_ENAN);
	assert_non_null(strstr(err.message, "token 2"));
	infer_sampler_free(s);
}

/* The first of a row, taken at once, are those that sorting all of it puts first: equal ones, NaN
 * and -inf among them */
static void test_take(void **state)
{
	enum { N = 150 };
	struct cand all[N], first[N];
	float l[N];

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		int32_t n = 1 + (int32_t)(rng_unit(seed, 999) * N),
			most = 1 + (int32_t)(rng_unit(seed, 998) * (n + 3));
		struct cands a = { .at = all }, c = { .at = first, .soft = 1 };

		for (int32_t i = 0; i < n; i++) {
			double u = rng_unit(seed, (uint64_t)i);

			l[i] = u < 0.05  ? NAN
			       : u < 0.1 ? -INFINITY
			                 : (float)((int)(u * 60) - i / 40 * (int)(seed % 3));
			if (l[i] > -INFINITY)
				all[a.n++] = (struct cand){ .id = i, .logit = l[i] };
		}
		cands_take(&c, l, NULL, n, most);
		stage_top_k(&a, most);
		assert_int_equal(c.n, a.n);
		assert_true(c.sorted && !c.soft);
		for (int32_t i = 0; i < c.n; i++)
			if (c.at[i].id != a.at[i].id || !(c.at[i].logit == a.at[i].logit))
				fail_msg("seed %d: place %d of %d: token %d, not %d", (int)seed,
				         (int)i, (int)c.n, (int)c.at[i].id, (int)a.at[i].id);
	}
}

/* A draw leaves the row as it was, bias or none */
static void test_row_kept(void **state)
{
	const struct infer_logit_bias bias[] = { { 2, 9 }, { 2, -3 }, { 1, -INFINITY } };
	const float row[6] = { 1, 8, 1.5f, NAN, -INFINITY, 2 };

	(void)state;
	for (int with = 0; with < 2; with++) {
		struct infer_sample_opts o = {
			.temp = 1, .top_k = 3, .bias = bias, .n_bias = with ? 3 : 0
		};
		float l[6];
		struct infer_candidate c[6];
		infer_sampler *s;
		int32_t token;
		float drawn;

		memcpy(l, row, sizeof l);
		assert_int_equal(infer_sampler_new(&s, &o, 6, NULL), 0);
		assert_int_equal(infer_sampler_draw(s, l, NULL, 0, &token, NULL), 0);
		assert_memory_equal(l, row, sizeof l);
		assert_int_equal(infer_sampler_candidates(s, c, 6, &drawn), 3);
		assert_int_equal(c[0].token, with ? 2 : 1);
		infer_sampler_free(s);
	}
}

/* NaN is never chosen, whatever the stages */
static void test_nan(void **state)
{
	struct infer_sample_opts o = {
		.temp = 1, .top_k = 4, .top_p = 0.9f, .min_p = 0.01f, .typical = 0.9f
	};
	infer_sampler *s;

	(void)state;
	assert_int_equal(infer_sampler_new(&s, &o, 8, NULL), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		float l[8] = { NAN, 0.1f, NAN, 0.3f, 2, NAN, -1, NAN };
		int32_t token;

		assert_int_equal(infer_sampler_draw(s, l, NULL, i, &token, NULL), 0);
		assert_true(token == 1 || token == 3 || token == 4 || token == 6);
	}
	infer_sampler_free(s);
}

/* Draw the likeliest token, 7 first, after a history; the answer begins at index from. */
static int draw_after(int32_t *token, const int32_t *history, size_t n, size_t from,
                      const uint64_t *allowed, infer_error *err)
{
	static const int32_t one[] = { 7 }, pair[] = { 1, 6 }, three[] = { 2, 1, 5 };
	static const int32_t *const banned[] = { one, pair, three };
	static const int32_t lens[] = { 1, 2, 3 };
	const struct infer_sample_opts o = {
		.banned = banned, .n_banned_ids = lens, .n_banned = 3, .banned_from = from
	};
	const float logits[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	infer_sampler *s = NULL;
	int rc;

	*token = -1;
	nth_ok(infer_sampler_new(&s, &o, 8, err));
	assert_int_equal(sampler_best(s), 0); /* all logits are needed */
	nth_ok(infer_sampler_feed(s, history, n, err));
	rc = infer_sampler_draw(s, logits, allowed, 0, token, err);
out:
	infer_sampler_free(s);
	return rc;
}

/* The last token of a banned sequence is not drawn after the others, if all of these are in the answer;
 * without the last one in its history, the sampler draws it again. */
static int case_banned(void)
{
	const int32_t history[] = { 2, 1, 2, 1 };
	const uint64_t only_seven = 1 << 7;
	infer_error err;
	int32_t token;
	int rc;

	nth_ok(draw_after(&token, history, 0, 0, NULL, &err));
	assert_int_equal(token, 6);
	nth_ok(draw_after(&token, history, 1, 0, NULL, &err));
	assert_int_equal(token, 6);
	nth_ok(draw_after(&token, history, 4, 0, NULL, &err));
	assert_int_equal(token, 4);
	nth_ok(draw_after(&token, history, 4, 2, NULL, &err));
	assert_int_equal(token, 4);
	nth_ok(draw_after(&token, history, 4, 3, NULL, &err)); /* 2 is of the prompt */
	assert_int_equal(token, 5);
	nth_ok(draw_after(&token, history, 4, 4, NULL, &err));
	assert_int_equal(token, 6);
	nth_fails(draw_after(&token, history, 4, 4, &only_seven, &err), INFER_EEMPTY);
	assert_int_equal(token, -1);
out:
	return rc;
}

static void test_banned_rollback(void **state)
{
	static const int32_t pair[] = { 1, 7 };
	const struct infer_sample_opts o = { .banned = (const int32_t *[]){ pair },
		                             .n_banned_ids = (int32_t[]){ 2 },
		                             .n_banned = 1 };
	const float logits[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	infer_sampler *s;
	int32_t token;

	(void)state;
	assert_int_equal(infer_sampler_new(&s, &o, 8, NULL), 0);
	assert_int_equal(infer_sampler_feed(s, (int32_t[]){ 1 }, 1, NULL), 0);
	assert_int_equal(infer_sampler_draw(s, logits, NULL, 1, &token, NULL), 0);
	assert_int_equal(token, 6);
	infer_sampler_rollback(s, 2);
	assert_int_equal(infer_sampler_draw(s, logits, NULL, 0, &token, NULL), 0);
	assert_int_equal(token, 7);
	infer_sampler_free(s);
}

static void test_refused(void **state)
{
	static const int32_t seven[] = { 7, 8 };
	const struct infer_sample_opts bad[] = {
		{ .temp = -1 },
		{ .temp = NAN },
		{ .top_p = 1.5f },
		{ .top_p = -0.1f },
		{ .min_p = 2 },
		{ .top_k = -2 },
		{ .mirostat = 3 },
		{ .repeat = NAN },
		{ .dry_base = 0.5f },
		{ .repeat_window = -2 },
		{ .order = { 200 } },
		{ .order = { INFER_STAGE_TOP_K, INFER_STAGE_TOP_K } },
		{ .bias = &(struct infer_logit_bias){ 9, 1 }, .n_bias = 1 },
		{ .bias = &(struct infer_logit_bias){ 1, INFINITY }, .n_bias = 1 },
		{ .n_banned = -1 },
		{ .banned = (const int32_t *[]){ seven },
		  .n_banned_ids = (int32_t[]){ 0 },
		  .n_banned = 1 },
		{ .banned = (const int32_t *[]){ seven },
		  .n_banned_ids = (int32_t[]){ 2 },
		  .n_banned = 1 },
	};
	infer_sampler *s;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (infer_sampler_new(&s, &bad[i], 8, &err) != INFER_EINVAL)
			fail_msg("options %zu are taken", i);
		assert_null(s);
	}
}

/* mirostat holds the mean surprise near tau on a Zipf distribution, in both versions */
static void test_mirostat(void **state)
{
	enum { N = 2000, DRAWS = 1000 };
	static float zipf[N], l[N];
	double lse = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		zipf[i] = (float)(-1.1 * log(i + 1.0));
		lse += exp((double)zipf[i]);
	}
	lse = log(lse);
	for (int version = 1; version <= 2; version++)
		for (int tau = 2; tau <= 5; tau++) {
			struct infer_sample_opts o = { .temp = 1,
				                       .mirostat = version,
				                       .mirostat_tau = (float)tau,
				                       .seed = 3 };
			double sum = 0;
			struct infer_candidate likeliest;
			infer_sampler *s;
			int32_t token;
			float drawn;

			assert_int_equal(infer_sampler_new(&s, &o, N, NULL), 0);
			for (uint64_t i = 0; i < DRAWS; i++) {
				memcpy(l, zipf, sizeof l);
				assert_int_equal(infer_sampler_draw(s, l, NULL, i, &token, NULL),
				                 0);
				assert_int_equal(infer_sampler_candidates(s, &likeliest, 1, &drawn),
				                 1);
				sum += -log2((double)drawn);
			}
			if (fabs(sum / DRAWS - tau) > 0.35)
				fail_msg("mirostat %d: mean surprise %.2f bits, tau %d", version,
				         sum / DRAWS, tau);
			infer_sampler_free(s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_chains),          cmocka_unit_test(test_draws),
		cmocka_unit_test(test_greedy),  cmocka_unit_test(test_nan),
		cmocka_unit_test(test_take),    cmocka_unit_test(test_row_kept),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_mirostat),
		nth_case(case_banned),          cmocka_unit_test(test_banned_rollback),
	};

	return nth_group(tests);
}
