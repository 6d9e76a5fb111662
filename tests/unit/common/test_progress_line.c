/* tests/unit/common/test_progress_line.c - rates, times left, and the line at every width. */
#include "../nth.h"
#include "common/progress_line.h"

#include <string.h>

#define S INT64_C(1000000000)

static void says(const struct progress_view *v, size_t width, const char *want)
{
	char out[256];
	size_t n = progress_line(out, sizeof out, v, width);

	assert_string_equal(out, want);
	assert_int_equal(n, strlen(want));
}

static void test_lines(void **state)
{
	const struct progress_view prompt = { .what = "prompt",
		                              .unit = PROGRESS_TOKENS,
		                              .done = 512,
		                              .all = 5851,
		                              .rates = PROGRESS_TOKENS,
		                              .rate = 61.2,
		                              .left_s = 87.2 },
				   batch = { .what = "batch",
		                             .done = 96,
		                             .all = 300,
		                             .failed = 4,
		                             .rates = PROGRESS_TOKENS,
		                             .rate = 412,
		                             .left_s = 40 },
				   bytes = { .what = "sha256",
		                             .unit = PROGRESS_BYTES,
		                             .done = UINT64_C(1288490189),
		                             .all = UINT64_C(4939212390),
		                             .rates = PROGRESS_BYTES,
		                             .rate = 851443712.0,
		                             .left_s = 4.4 };
	struct progress_view v;

	(void)state;
	says(&prompt, 79, "prompt 512/5851 (8 %) 61 tok/s, 1:27 left");
	says(&batch, 79, "batch 96/300, 4 failed, 412 tok/s, 0:40 left");
	says(&bytes, 79, "sha256 1.2/4.6 GiB (26 %) 812 MiB/s, 0:04 left");
	/* nothing is made up */
	v = prompt;
	v.rate = 0;
	v.left_s = -1;
	v.done = 0;
	says(&v, 79, "prompt 0/5851 (0 %)");
	v = batch;
	v.all = v.failed = 0;
	v.left_s = -1;
	says(&v, 79, "batch 96, 412 tok/s");
	v = bytes;
	v.all = 0;
	v.left_s = -1;
	says(&v, 79, "sha256 1.2 GiB, 812 MiB/s");
	v = (struct progress_view){
		.what = "decode 128:", .done = 2, .all = 5, .rate = 1, .left_s = 3753
	};
	says(&v, 79, "decode 128: 2/5, 1:02:33 left");
	v = prompt;
	v.done = v.all;
	v.rate = 3.14;
	v.left_s = 0;
	says(&v, 79, "prompt 5851/5851 (100 %) 3.1 tok/s, 0:00 left");
}

static void test_widths(void **state)
{
	const struct progress_view v = { .what = "prompt",
		                         .unit = PROGRESS_TOKENS,
		                         .done = 512,
		                         .all = 5851,
		                         .failed = 0,
		                         .rates = PROGRESS_TOKENS,
		                         .rate = 61,
		                         .left_s = 87 };
	char out[256];

	(void)state;
	says(&v, 41, "prompt 512/5851 (8 %) 61 tok/s, 1:27 left");
	says(&v, 40, "prompt 512/5851 (8 %), 1:27 left");
	says(&v, 31, "prompt 512/5851, 1:27 left");
	says(&v, 10, "prompt 512");
	says(&v, 0, "");
	for (size_t room = 1; room < 60; room++) {
		memset(out, 'x', sizeof out);
		assert_true(progress_line(out, room, &v, 79) < room);
		assert_int_equal(out[room], 'x');
	}
}

static void near(double got, double want)
{
	if (got < want - 1e-6 || got > want + 1e-6)
		fail_msg("%g where %g is wanted", got, want);
}

static void test_rate(void **state)
{
	struct meter m = { .n = 0 };

	(void)state;
	near(meter_rate(&m), 0);
	assert_true(meter_left(&m, 0, 100) < 0);
	meter_put(&m, S, 3000); /* what was there before it began is no work */
	near(meter_rate(&m), 0);
	assert_true(meter_left(&m, S, 5000) < 0);
	meter_put(&m, 2 * S, 3010);
	near(meter_rate(&m), 10);
	near(meter_left(&m, 2 * S, 3110), 10);
	near(meter_left(&m, 5 * S, 3110), 7); /* it runs on between two counts */
	near(meter_left(&m, 50 * S, 3110), 0);
	/* a count that does not grow is no sample */
	meter_put(&m, 9 * S, 3010);
	near(meter_rate(&m), 10);
	/* the last ten seconds alone count */
	for (int i = 1; i <= 300; i++)
		meter_put(&m, (9 + i) * S, 3010 + (uint64_t)i * 50);
	near(meter_rate(&m), 50);
	/* a stop of the process is no time */
	meter_shift(&m, 100 * S);
	meter_put(&m, 410 * S, 3010 + 301 * 50);
	near(meter_rate(&m), 50);
}

/* Counts that come once a minute: the last two tell; in bursts: the whole time. */
static void test_rare(void **state)
{
	struct meter m = { .n = 0 }, whole = { .whole = 1 };
	int64_t at = 0;

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		meter_put(&m, (int64_t)i * 60 * S, i * 600);
	near(meter_rate(&m), 10);
	for (int burst = 0; burst < 10; burst++, at += 30 * S)
		for (int i = 0; i < 32; i++)
			meter_put(&whole, at + i * S / 100, (uint64_t)(burst * 32 + i));
	near(meter_rate(&whole), 319 / 270.31);
	meter_shift(&whole, 7 * S);
	near(meter_rate(&whole), 319 / 270.31);
}

static void test_times(void **state)
{
	static const struct {
		double s;
		const char *text;
	} rows[] = { { 0.031, "0.03 s" }, { 9.994, "9.99 s" }, { 12.34, "12.3 s" },
		     { 59.94, "59.9 s" }, { 59.96, "1:00" },   { 87, "1:27" },
		     { 3599, "59:59" },   { 3753, "1:02:33" } };
	char out[32];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		progress_time(out, sizeof out, rows[i].s);
		assert_string_equal(out, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines),
		                            cmocka_unit_test(test_widths),
		                            cmocka_unit_test(test_rate),
		                            cmocka_unit_test(test_rare),
		                            cmocka_unit_test(test_times) };

	return nth_group(tests);
}
