/* tests/unit/cuda/test_logits.c - every architecture whose operations the CUDA backend has, against
 * transformers in float64 (../golden_logits.h), with an F32 cache.
 *
 * Steps of one row, of seven and of all rows give the same bits.  LONG=1: all families, else
 * four. */
#define FLOOR_KIND "cuda"
#include "../nth.h"
#include "../floor.h"
#include "../golden_edit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <infer/model.h>

#ifdef FLOOR_HOST_EXPERTS
/* experts with sinks and biases, experts, shared experts, weights inside */
static const char *const brief[] = { "gpt-oss-hub", "qwen3moe", "deepseek2-lite-hub",
	                             "llama4-hub" };
#else
/* families of the short run: dense, windows and soft caps, experts with sinks, experts */
static const char *const brief[] = { "llama-gqa", "gemma2", "gpt-oss-hub", "qwen3moe" };
#endif
/* The expected logits of this case have activations rounded in blocks of 32, as the CPU does it;
 * this backend rounds blocks of 256 for every type, as the case of K types has it. */
static const char rounded_by_32[] = "llama-blocks-32";
#ifdef FLOOR_HOST_EXPERTS
enum { LEAST = 28 };
#else
enum { LEAST = 66 };
#endif
enum { BRIEF = sizeof brief / sizeof *brief };
static int n_run;

static int eval(const struct golden *g, int rows, float *y, infer_error *err)
{
	struct infer_model_opts o = { .ctx = g->ctx };
	infer_model *m = NULL;
	struct floor f = { 0 };
	char path[64];
	int rc;

	golden_write_edited(GOLDEN_LOGITS, g->file, &g->edits, NULL, path);
	rc = infer_model_open(&m, path, &o, err);
	unlink(path);
	if (!rc)
		rc = floor_open(&f, m, NULL, 1, rows, err);
	if (!rc)
		rc = floor_run(&f, g->ids, 0, g->n, y, err);
	floor_close(&f);
	infer_model_close(&m);
	return rc;
}

/* Largest deviation over the bound 1e-4 max(1, max |logit|). */
static double ratio(const struct golden *g, const float *y, const float *want)
{
	double most = 0, size = 1;

	for (size_t i = 0; i < (size_t)g->n * (size_t)g->n_vocab; i++) {
		double d = fabs((double)y[i] - (double)want[i]);

		if (!(d <= most))
			most = isnan(d) ? INFINITY : d;
		if (fabs((double)want[i]) > size)
			size = fabs((double)want[i]);
	}
	return most / (GOLDEN_TOLERANCE * size);
}

static int is_refusal(const infer_error *e)
{
	return e->code == INFER_EUNSUP && strstr(e->message, "not supported") != NULL;
}

static void check_case(const struct golden *g)
{
	size_t n = (size_t)g->n * (size_t)g->n_vocab;
	float *want = expected(g), *y = calloc(n, sizeof *y), *z = calloc(n, sizeof *z);
	static const int rows[] = { 1, 7 };
	infer_error err = { 0 };
	int rc;

	assert_true(y && z);
	rc = eval(g, g->n, y, &err);
	if (rc && is_refusal(&err)) {
		print_message("# %s: refused: %s\n", g->name, err.message);
	} else {
		if (rc)
			fail_msg("%s: %s", g->name, err.message);
		print_message("# %s: %.3g of the bound\n", g->name, ratio(g, y, want));
		if (!(ratio(g, y, want) <= 1))
			fail_msg("%s: %.4g times the bound", g->name, ratio(g, y, want));
		n_run++;
		for (int i = 0; i < 2; i++) {
			assert_int_equal(eval(g, rows[i], z, &err), INFER_OK);
			if (memcmp(y, z, n * sizeof *y))
				fail_msg("%s: steps of %d rows give other bits than one step",
				         g->name, rows[i]);
		}
	}
	free(want);
	free(y);
	free(z);
}

static int is_brief(const char *name)
{
	for (int i = 0; i < BRIEF; i++)
		if (!strcmp(brief[i], name))
			return 1;
	return 0;
}

static void test_logits(void **state)
{
	int all = getenv("LONG") != NULL;

	(void)state;
	golden_read();
	for (int i = 0; i < n_cases; i++)
		if ((all || is_brief(cases[i].name)) && strcmp(cases[i].name, rounded_by_32))
			check_case(&cases[i]);
	assert_true(n_run >= (all ? LEAST : BRIEF));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_logits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
