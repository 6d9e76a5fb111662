/* tests/unit/sample/test_vectors.c - single stages and chains of them against public vectors */
#include "../nth.h"
#include "../json.h"
#include "../shared.h"
#include <math.h>
#include "sample/sample.h"
#include "row.h"

/* candidates from probabilities, as the public vectors give them */
static void load(struct cands *c, const struct json *probs)
{
	c->n = 0;
	json_each(v, probs) {
		c->at[c->n] = (struct cand){ .id = c->n, .logit = logf((float)json_double(v)) };
		c->n++;
	}
	c->sorted = c->soft = 0;
}

static double num(const struct json *row, const char *key)
{
	return json_double(json_get(row, key));
}

/* Returns 0 for a kind this library does not have.  *plain: the expected values are the original
 * probabilities of those kept. */
static int apply_vector(const struct json *row, struct cands *c, int *plain)
{
	const struct json *kind = json_get(row, "sampler");

	*plain = 0;
	if (json_equals(kind, "temp") || json_equals(kind, "temp_ext"))
		stage_temp(c, (float)num(row, "temp"), (float)num(row, "delta"),
		           (float)num(row, "exponent"));
	else if (json_equals(kind, "top_k"))
		stage_top_k(c, (int32_t)num(row, "k"));
	else if (json_equals(kind, "top_p"))
		stage_top_p(c, (float)num(row, "p"), 1);
	else if (json_equals(kind, "min_p"))
		stage_min_p(c, (float)num(row, "p"), 1);
	else if (json_equals(kind, "top_n_sigma"))
		stage_top_n_sigma(c, (float)num(row, "n"));
	else if (json_equals(kind, "typical") && (*plain = 1))
		stage_typical(c, (float)num(row, "p"), 1);
	else if (json_equals(kind, "xtc") && (*plain = 1))
		stage_xtc(c, (float)num(row, "threshold"), 0);
	else
		return 0;
	return 1;
}

static void compare(const struct json *row, struct cands *c, int plain, const char *text)
{
	const struct json *probs = json_get(row, "probs"), *want = json_get(row, "expected");

	cands_soft(c);
	cands_sort(c, c->n);
	for (size_t i = 0; i < json_count(want); i++) {
		double w = json_double(json_at(want, i)), have = 0;

		if ((int32_t)i < c->n)
			have = plain ? json_double(json_at(probs, (size_t)c->at[i].id))
			             : (double)c->at[i].p;
		if (fabs(have - w) > 1e-5)
			fail_msg("%s: value %zu is %.6f", text, i, have);
	}
	for (int32_t i = (int32_t)json_count(want); i < c->n; i++)
		assert_true(c->at[i].p < 1e-5f);
}

static void history_vector(const struct json *row, struct cands *c)
{
	static struct row r;
	static float l[MOST];
	infer_sampler *s;
	int32_t token;
	size_t i = 0;

	memset(&r, 0, sizeof r);
	r.n_history = (size_t)ints(json_get(row, "last_tokens"), r.history);
	r.o = (struct infer_sample_opts){ .temp = 1,
		                          .repeat = (float)num(row, "repeat"),
		                          .frequency = (float)num(row, "frequency"),
		                          .presence = (float)num(row, "presence"),
		                          .repeat_window = -1,
		                          .dry_multiplier = (float)num(row, "multiplier"),
		                          .dry_base = (float)num(row, "base"),
		                          .dry_allowed_length = (int32_t)num(row, "allowed_length"),
		                          .dry_window = (int32_t)num(row, "penalty_last_n") };
	json_each(v, json_get(row, "seq_breakers")) {
		r.n_breaker[i] = ints(v, r.breakers[i]);
		r.breaker_at[i] = r.breakers[i];
		i++;
	}
	r.o.dry_breakers = r.breaker_at;
	r.o.n_dry_breaker = r.n_breaker;
	r.o.n_dry_breakers = (int32_t)i;
	assert_int_equal(infer_sampler_new(&s, &r.o, c->n, NULL), 0);
	assert_int_equal(infer_sampler_feed(s, r.history, r.n_history, NULL), 0);
	for (int32_t k = 0; k < c->n; k++)
		l[k] = c->at[k].logit;
	assert_int_equal(infer_sampler_draw(s, l, NULL, 0, &token, NULL), 0);
	/* the candidates that were drawn from, likeliest first */
	s->c.sorted = 0;
	cands_sort(&s->c, s->c.n);
	c->n = s->c.n;
	for (int32_t k = 0; k < c->n; k++)
		c->at[k] = (struct cand){ .id = s->c.at[k].id, .logit = logf(s->c.at[k].p) };
	infer_sampler_free(s);
}

static void test_vectors(void **state)
{
	char path[SHARED_PATH], line[4096];
	struct cand at[64];
	struct cands c = { .at = at };
	int done = 0, plain;

	(void)state;
	shared_need("data/extracted/samplers.jsonl", 40, path);
	FILE *f = fopen(path, "r");
	while (fgets(line, sizeof line, f)) {
		const struct json *row;
		struct arena mem;

		arena_init(&mem, MEM_BASE);
		row = json_need(&mem, line);
		if (json_get(row, "probs") && !json_equals(json_get(row, "sampler"), "tfs")) {
			load(&c, json_get(row, "probs"));
			if (json_get(row, "last_tokens")) {
				history_vector(row, &c);
				plain = 0;
				c.sorted = c.soft = 0;
			} else {
				assert_true(apply_vector(row, &c, &plain));
			}
			compare(row, &c, plain, line);
			done++;
		}
		arena_fini(&mem);
	}
	fclose(f);
	assert_int_equal(done, 40);
}

/* the queue rows: logits ln(j), j = 0 ... n-1; k, p, m in the row's order; sizes as a float64 chain
 * gives */
static void test_queues(void **state)
{
	char path[SHARED_PATH], line[4096];
	int done = 0;

	(void)state;
	shared_need("data/extracted/samplers.jsonl", 24, path);
	FILE *f = fopen(path, "r");
	while (fgets(line, sizeof line, f)) {
		struct arena mem;

		arena_init(&mem, MEM_BASE);
		const struct json *row = json_need(&mem, line);
		int32_t n = (int32_t)num(row, "n_vocab"), want = n;

		if (!json_equals(json_get(row, "sampler"), "sampler_queue")) {
			arena_fini(&mem);
			continue;
		}
		struct cands c = { .at = malloc((size_t)n * sizeof(struct cand)), .n = n };
		for (int32_t j = 0; j < n; j++)
			c.at[j] = (struct cand){ .id = j, .logit = j ? logf((float)j) : -1e9f };
		for (const char *st = json_cstr(&mem, json_get(row, "samplers")); *st; st++) {
			double top_p = num(row, "top_p"), min_p = num(row, "min_p"), mass = 0,
			       all = 0;
			int32_t k = 0;

			for (int32_t j = 0; j < want; j++)
				all += n - 1 - j;
			if (*st == 'k') {
				stage_top_k(&c, (int32_t)num(row, "top_k"));
				k = (int32_t)num(row, "top_k") < want ? (int32_t)num(row, "top_k")
				                                      : want;
			} else if (*st == 'p') {
				stage_top_p(&c, (float)top_p, 1);
				while (k < want && (k < 1 || mass < top_p * (1 - 1e-12)) &&
				       top_p < 1)
					mass += (n - 1 - k++) / all;
				k = top_p < 1 ? k : want;
			} else {
				stage_min_p(&c, (float)min_p, 1);
				while (k < want && n - 1 - k >= min_p * (n - 1) * (1 - 1e-6))
					k++;
			}
			want = k;
			if (abs(c.n - want) > 1 || c.n < 1)
				fail_msg("%s: %d candidates, not %d", line, c.n, want);
			want = c.n;
		}
		cands_sort(&c, c.n);
		for (int32_t j = 0; j < c.n; j++)
			assert_int_equal(c.at[j].id, n - 1 - j);
		free(c.at);
		arena_fini(&mem);
		done++;
	}
	fclose(f);
	assert_int_equal(done, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_queues),
	};

	return nth_group(tests);
}
