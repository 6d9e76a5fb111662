/* tests/unit/infer-run/test_options.c - options that go together, and those that do not. */
#include "../options.h"
#include "infer-run/opts.h"

static void test_rows(void **state)
{
	(void)state;
	options_check_rows(run_rows, NULL);
}

/* The engine's options belong to the process that has the engine; a request's options do not. */
static void test_server(void **state)
{
	static struct opt rows[OPT_ROWS_MAX];

	(void)state;
	opt_rows(rows, run_rows);
	for (int i = 0; rows[i].kind != OPT_END; i++) {
		struct opt_rest rest = { 0 };

		rest.given[i] = 1;
		if (rows[i].selects)
			assert_ptr_equal(opt_without_mark(rows, &rest, OPT_SERVER), &rows[i]);
		if (rows[i].at >= offsetof(struct run_opts, engine) &&
		    rows[i].at < offsetof(struct run_opts, engine) + sizeof(struct engine_args))
			assert_ptr_equal(opt_without_mark(rows, &rest, OPT_SERVER), &rows[i]);
		if (rows[i].at >= offsetof(struct run_opts, sampling) &&
		    rows[i].at < offsetof(struct run_opts, sampling) + sizeof(struct sampling_args))
			assert_null(opt_without_mark(rows, &rest, OPT_SERVER));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
		                            cmocka_unit_test(test_server) };

	return nth_group(tests);
}
