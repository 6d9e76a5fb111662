/* tests/unit/infer-bench/test_workload.c - lengths, times and prompts from seeds; counters of servers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "infer-bench/scrape.h"
#include "infer-bench/workload.h"

enum { DRAWS = 20000 };

/* Mean and variance of the draws are those of the distribution, within five standard errors. */
static void check_dist(const char *text, int output, double mean, double sd)
{
	struct dist d;
	double sum = 0;

	assert_int_equal(dist_take(&d, text, "-p", output, NULL), INFER_OK);
	for (uint64_t i = 0; i < DRAWS; i++) {
		int32_t n = dist_draw(&d, 7, i, 1 << 20);

		assert_true(n >= 1);
		sum += n;
	}
	if (fabs(sum / DRAWS - mean) > 5 * sd / sqrt(DRAWS) + 0.5)
		fail_msg("%s: a mean of %g, not %g", text, sum / DRAWS, mean);
}

static void test_dist(void **state)
{
	static const char *const bad[] = { "",    "0",         "-3",       "5-4",          "5-",
		                           "3.5", "few",       "normal:3", "exp:",         "exp:0",
		                           "12x", "normal:1,", "exp:1,2",  "lognormal:5,9" };
	struct dist d;

	(void)state;
	check_dist("128", 0, 128, 0);
	check_dist("10-20", 0, 15, 3.2);
	check_dist("normal:200,20", 0, 200, 20);
	check_dist("exp:100", 0, 100, 100);
	check_dist("lognormal:100,0.5", 0, 100 * exp(0.125), 60);
	/* Kwon+ 2023, figure 11 */
	check_dist("sharegpt", 0, 161.31, 290);
	check_dist("sharegpt", 1, 337.99, 605);
	check_dist("alpaca", 0, 19.31, 11);
	check_dist("alpaca", 1, 58.45, 78);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(dist_take(&d, bad[i], "-p", 0, NULL), INFER_EINVAL);
}

/* Seeds side by side have no prompt in common, so that no run finds those of another in a cache. */
static void test_seeds(void **state)
{
	enum { SEEDS = 8, PROMPTS = 32 };
	static char text[SEEDS * PROMPTS][512];
	struct buf t;

	(void)state;
	buf_init(&t, MEM_BASE);
	for (int s = 0; s < SEEDS; s++) {
		struct workload_ask o = {
			.prompt = "20", .output = "5", .requests = PROMPTS, .seed = s
		};
		struct workload w;

		assert_int_equal(workload_make(&w, &o, NULL), INFER_OK);
		for (int i = 0; i < PROMPTS; i++) {
			workload_prompt(&w, i, &t);
			assert_true(t.len > 0 && t.len < sizeof text[0]);
			memcpy(text[s * PROMPTS + i], t.at, t.len + 1);
			for (int k = 0; k < s * PROMPTS + i; k++)
				if (!strcmp(text[k], t.at))
					fail_msg("prompt %d of seed %d is prompt %d of seed %d", i,
					         s, k % PROMPTS, k / PROMPTS);
		}
		workload_fini(&w);
	}
	buf_fini(&t);
}

static void test_arrivals(void **state)
{
	struct workload w, again;
	double gaps = 0, late = 0;

	(void)state;
	struct workload_ask o = { .rate = 50, .requests = DRAWS, .seed = 3 };

	assert_int_equal(workload_make(&w, &o, NULL), INFER_OK);
	assert_int_equal(workload_make(&again, &o, NULL), INFER_OK);
	assert_int_equal(w.at[0].at_ns, 0);
	for (int64_t i = 1; i < w.n; i++) {
		double gap = (double)(w.at[i].at_ns - w.at[i - 1].at_ns) * 1e-9;

		assert_true(gap >= 0);
		assert_int_equal(w.at[i].at_ns, again.at[i].at_ns);
		gaps += gap;
		late += gap > 0.02;
	}
	/* of exponential gaps 1/e are longer than their mean */
	assert_true(fabs(gaps / DRAWS - 0.02) < 5 * 0.02 / sqrt(DRAWS));
	assert_true(fabs(late / DRAWS - exp(-1)) < 5 * 0.5 / sqrt(DRAWS));
	workload_fini(&w);
	workload_fini(&again);
}

static void test_prompts(void **state)
{
	struct workload w;
	struct buf a, b;
	struct workload_ask o = {
		.prompt = "40", .output = "5", .requests = 3, .seed = 3, .shared = 30
	};
	size_t same = 0, words = 0;

	(void)state;
	buf_init(&a, MEM_BASE);
	buf_init(&b, MEM_BASE);
	assert_int_equal(workload_make(&w, &o, NULL), INFER_OK);
	workload_prompt(&w, 0, &a);
	workload_prompt(&w, 1, &b);
	for (size_t i = 0; i < a.len; i++)
		words += a.at[i] == ' ';
	assert_int_equal(words, 39);
	words = 0;
	while (a.at[same] == b.at[same])
		words += a.at[same++] == ' ';
	assert_in_range(words, 30, 34);
	assert_string_not_equal(a.at, b.at);
	workload_prompt(&w, 0, &b);
	assert_string_equal(a.at, b.at);
	workload_prompt(&w, -1, &b);
	assert_string_not_equal(a.at, b.at);
	/* twice as many tokens in a word, half as many words */
	w.tokens_per_word = 2;
	workload_prompt(&w, 0, &b);
	words = 0;
	for (size_t i = 0; i < b.len; i++)
		words += b.at[i] == ' ';
	assert_int_equal(words, 19);
	workload_fini(&w);
	buf_fini(&a);
	buf_fini(&b);
}

/* As these servers print them. */
static void test_scrape(void **state)
{
	struct scraped s;

	(void)state;
	scrape_read(&s, "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n"
	                "# TYPE llamacpp:prompt_tokens_total counter\n"
	                "llamacpp:prompt_tokens_total 128\nllamacpp:tokens_predicted_total 64\n");
	assert_true(s.prompt_tokens == 128 && s.completion_tokens == 64 && s.cached_tokens == -1);
	scrape_read(&s, "vllm:prompt_tokens_total{engine=\"0\",model_name=\"a} 5\\\" 6\"} 1.2e+03\n"
	                "vllm:prompt_tokens_total{engine=\"1\",model_name=\"b\"} 1.0\n"
	                "vllm:generation_tokens_total{engine=\"0\"} 7.0\n"
	                "vllm:generation_tokens_total_of_others{engine=\"0\"} 9.0");
	assert_true(s.prompt_tokens == 1201 && s.completion_tokens == 7);
	scrape_read(&s, "");
	assert_true(s.prompt_tokens == -1 && s.resident_bytes == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dist),     cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_arrivals), cmocka_unit_test(test_prompts),
		cmocka_unit_test(test_scrape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
