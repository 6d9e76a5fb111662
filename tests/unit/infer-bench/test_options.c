/* tests/unit/infer-bench/test_options.c - every option with every sub-command. */
#include "../options.h"
#include "infer-bench/opts.h"

static void test_rows(void **state)
{
#define NAME(name, NAME) #name,
	static const char *const names[] = { BENCH_SUBJECTS(NAME) NULL };
#undef NAME

	(void)state;
	options_check_rows(bench_rows, names);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return nth_group(tests);
}
