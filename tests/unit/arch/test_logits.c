/* tests/unit/arch/test_logits.c - every architecture and every feature against transformers in
 * float64.
 *
 * tests/golden/logits/cases.txt (made by scripts/golden-logits.py, which defines it) names tiny
 * model files, ids and expected logits, and mutants: edits of a file after which the logits must
 * miss the bound by far, so that a feature that does not act cannot pass unseen. */
#include "../nth.h"
#include "../floor.h"
#include "../golden_edit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/file.h"
#include <infer/model.h>
#include "base/buf.h"

static const double far = 100;

/* --- evaluation */

static int eval_path(const struct golden *g, const char *path, const char *isa, int rows, float *y,
                     infer_error *err)
{
	struct infer_model_opts o = { .ctx = g->ctx };
	infer_model *m = NULL;
	struct floor f = { 0 };
	int rc = infer_model_open(&m, path, &o, err);

	if (!rc)
		assert_int_equal(m->h.n_vocab, g->n_vocab);
	if (!rc)
		rc = floor_open(&f, m, isa, 2, rows, err);
	if (!rc)
		rc = floor_run(&f, g->ids, 0, g->n, y, err);
	floor_close(&f);
	infer_model_close(&m);
	return rc;
}

static void eval(const struct golden *g, const struct edits *more, const char *isa, int rows,
                 float *y)
{
	char path[64];
	infer_error err = { 0 };
	int rc;

	golden_write_edited(GOLDEN_LOGITS, g->file, &g->edits, more, path);
	rc = eval_path(g, path, isa, rows, y, &err);
	unlink(path);
	if (rc)
		fail_msg("%s: %s", g->name, err.message);
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

/* All positions, in one step and in steps of 1 and 7 rows, which must give the same bits. */
static void test_case(void **state)
{
	const struct golden *g = *state;
	size_t n = (size_t)g->n * (size_t)g->n_vocab;
	float *want = expected(g), *y = calloc(n, sizeof *y), *z = calloc(n, sizeof *z);
	static const int rows[] = { 1, 7 };

	assert_true(y && z);
	eval(g, NULL, NULL, g->n, y);
	print_message("# %s: %.3g of the bound\n", g->name, ratio(g, y, want));
	if (!(ratio(g, y, want) <= 1))
		fail_msg("%s: %.4g times the bound", g->name, ratio(g, y, want));
	for (int i = 0; i < 2; i++) {
		eval(g, NULL, NULL, rows[i], z);
		if (memcmp(y, z, n * sizeof *y))
			fail_msg("%s: steps of %d rows give other bits than one step", g->name,
			         rows[i]);
	}
	eval(g, NULL, "ref", g->n, z);
	if (!(ratio(g, z, want) <= 1))
		fail_msg("%s: %.4g times the bound with the plain kernels", g->name,
		         ratio(g, z, want));
	free(want);
	free(y);
	free(z);
}

static void test_mutants(void **state)
{
	const struct golden *g = *state;
	float *want = expected(g), *y = calloc((size_t)g->n * (size_t)g->n_vocab, sizeof *y);

	assert_non_null(y);
	assert_true(g->n_mutants || g->edits.n);
	for (int i = 0; i < g->n_mutants; i++) {
		eval(g, &g->mutants[i].edits, NULL, g->n, y);
		if (!(ratio(g, y, want) >= far))
			fail_msg("%s, mutant %s: only %.4g times the bound", g->name,
			         g->mutants[i].name, ratio(g, y, want));
	}
	free(want);
	free(y);
}

/* Opening and running a model with every allocation failing in turn. */
static int case_memory(void)
{
	static float y[MAX_IDS * 128];
	const struct golden *g = &cases[0];
	char path[512];
	infer_error err = { 0 };
	int rc;

	snprintf(path, sizeof path, GOLDEN_LOGITS "%s", g->file);
	nth_ok(eval_path(g, path, NULL, g->n, y, &err));
out:
	return rc;
}

/* Mark the rows of arch_list.h whose models the cases of a folder read. */
static void mark_families(const char *folder, char *seen)
{
	char path[128], line[4096], file[NAME];
	struct infer_str family;
	infer_file *gguf;
	infer_error e;
	FILE *f;

	snprintf(path, sizeof path, "%scases.txt", folder);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "case %*s %63s", file) != 1)
			continue;
		snprintf(path, sizeof path, "%s%s", folder, file);
		assert_int_equal(infer_file_open(&gguf, path, &e), INFER_OK);
		assert_int_equal(infer_meta_str(gguf, "general.architecture", &family, NULL, &e),
		                 INFER_OK);
		for (int i = 0; infer_model_family(i); i++)
			seen[i] |= strlen(infer_model_family(i)) == family.len &&
			           !memcmp(infer_model_family(i), family.at, family.len);
		infer_file_close(&gguf);
	}
	fclose(f);
}

/* Every architecture has a case whose results another program computed. */
static void test_families(void **state)
{
	char seen[256] = { 0 };

	(void)state;
	mark_families(GOLDEN_LOGITS, seen);
	mark_families("tests/golden/encoders/", seen);
	for (int i = 0; infer_model_family(i); i++)
		if (!seen[i])
			fail_msg("architecture %s: no case in scripts/golden_logits_cases.py or "
			         "scripts/golden-encoders.py",
			         infer_model_family(i));
}

int main(void)
{
	static char names[MAX_CASES][NAME + 8];
	static struct CMUnitTest tests[2 * MAX_CASES + 2];
	static struct nth memory = { case_memory };
	int n = 0;

	golden_read();
	for (int i = 0; i < n_cases; i++) {
		struct golden *g = &cases[i];

		memcpy(names[i], g->name, NAME);
		strcat(names[i], " mutants");
		tests[n++] = (struct CMUnitTest){ g->name, test_case, NULL, NULL, g };
		tests[n++] = (struct CMUnitTest){ names[i], test_mutants, NULL, NULL, g };
	}
	tests[n++] = (struct CMUnitTest){ "families", test_families, NULL, NULL, NULL };
	tests[n++] = (struct CMUnitTest){ "memory", nth_run, NULL, NULL, &memory };
	return _cmocka_run_group_tests("logits", tests, (size_t)n, NULL, NULL);
}
