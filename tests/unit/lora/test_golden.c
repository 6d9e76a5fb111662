/* tests/unit/lora/test_golden.c - adapters that peft saves, and those that the public converter makes of them, against
 * the logits of peft in float64: applied in each step, and merged into the file of the model.
 *
 * tests/golden/lora/cases.txt (made by scripts/golden-lora.py, which defines it) names models of tests/golden/logits,
 * ids, and adapters: one for every module of a family, and one for every way to write them. */
#include "../nth.h"
#include "../floor.h"
#include "../golden_logits.h"

#include <math.h>
#include <unistd.h>

#include <infer/model.h>
#include <infer/quant.h>
#include "lora/lora.h"

#define GOLDEN_LORA "tests/golden/lora/"
enum { MAX_MODELS = 24, MAX_ADAPTERS = 256, N_POSITIONS = 16 };

struct adapter {
	char name[2 * NAME], path[128];
	double scale;
	const struct golden *of;
	int at; /* index of its logits in the file of the model */
};
static struct adapter adapters[MAX_ADAPTERS];
static int n_adapters;
static int n_last; /* expected are the logits of so many positions, the last ones */
static char merged[] = "/tmp/infer-test-lora-XXXXXX";
static char merged_file[64];

/* --- the cases */

static void read_model(struct golden *g, const char *line)
{
	int used = 0;

	if (sscanf(line, "model %63s %63s %d %d %d%n", g->name, g->file, &g->n_vocab, &n_last,
	           &g->n, &used) != 5 ||
	    g->n > N_POSITIONS || n_last > g->n)
		fail_msg("cases.txt: %s", line);
	for (int i = 0, k = 0; i < g->n; i++, used += k)
		if (sscanf(line + used, "%d%n", &g->ids[i], &k) != 1)
			fail_msg("cases.txt: too few ids: %s", line);
}

static void read_case(const char *line)
{
	struct golden *g = &cases[n_cases - 1];
	struct adapter *a = &adapters[n_adapters++];
	char name[NAME];

	assert_true(n_adapters <= MAX_ADAPTERS);
	if (sscanf(line, "case %63s %127s %lf", name, a->path, &a->scale) != 3)
		fail_msg("cases.txt: %s", line);
	snprintf(a->name, sizeof a->name, "%s %s", g->name, name);
	a->of = g;
	a->at = g->ctx++; /* the number of cases of the model */
}

static void read_cases(void)
{
	FILE *f = fopen(GOLDEN_LORA "cases.txt", "r");
	char line[512];

	if (!f) {
		printf("Bail out! " GOLDEN_LORA "cases.txt cannot be read\n");
		exit(1);
	}
	while (fgets(line, sizeof line, f)) {
		if (!strncmp(line, "model ", 6)) {
			assert_true(n_cases < MAX_MODELS);
			read_model(&cases[n_cases++], line);
		} else if (!strncmp(line, "case ", 5)) {
			assert_true(n_cases > 0);
			read_case(line);
		} else if (*line != '#') {
			fail_msg("cases.txt: %s", line);
		}
	}
	fclose(f);
}

/* Read the expected logits of a case, f32 [n_last][n_vocab]. */
static float *read_logits(const struct adapter *a)
{
	size_t n = (size_t)n_last * (size_t)a->of->n_vocab;
	float *want = malloc(n * sizeof *want);
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, GOLDEN_LORA "%s.f32", a->of->name);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_non_null(want);
	assert_int_equal(fseek(f, (long)((size_t)a->at * n * sizeof *want), SEEK_SET), 0);
	assert_int_equal(fread(want, sizeof *want, n, f), n);
	fclose(f);
	return want;
}

/* --- evaluation */

static const char *base_path(const struct adapter *a)
{
	static char path[128];

	snprintf(path, sizeof path, GOLDEN_LOGITS "%s", a->of->file);
	return path;
}

static int open_adapter(infer_lora **l, const infer_model *m, const struct adapter *a,
                        infer_error *err)
{
	char path[192];

	snprintf(path, sizeof path, GOLDEN_LORA "%s", a->path);
	return infer_lora_open(l, m, path, NULL, NULL, err);
}

/* Compute the logits of a model, in steps of `rows`, with an adapter in each step unless l is NULL. */
static int run_model(const infer_model *m, const infer_lora *l, const struct adapter *a, int rows,
                     float *y, infer_error *err)
{
	const struct backend_use use = { l ? lora_adapter(l) : NULL, (float)a->scale };
	struct floor f;
	int rc = floor_open_rank(&f, m, NULL, 2, rows, l ? use.adapter->max_rank : 0, err);

	f.uses = l ? &use : NULL;
	f.n_uses = l != NULL;
	if (!rc)
		rc = floor_run(&f, a->of->ids, 0, a->of->n, y, err);
	floor_close(&f);
	return rc;
}

static int eval_used(const struct adapter *a, int rows, float *y, infer_error *err)
{
	infer_model *m = NULL;
	infer_lora *l = NULL;
	int rc = infer_model_open(&m, base_path(a), NULL, err);

	if (!rc)
		rc = open_adapter(&l, m, a, err);
	if (!rc)
		rc = run_model(m, l, a, rows, y, err);
	infer_lora_close(&l);
	infer_model_close(&m);
	return rc;
}

/* Write the model with the adapter merged into it. */
static int write_merged(const struct adapter *a, infer_error *err)
{
	infer_file *file = NULL;
	infer_model *m = NULL;
	infer_quant *q = NULL;
	struct infer_lora_use use = { NULL, (float)a->scale };
	struct infer_quant_opts o = { .loras = &use, .n_loras = 1, .verify = 1 };
	struct infer_quant_result result;
	int rc = infer_file_open(&file, base_path(a), err);

	if (!rc)
		rc = infer_model_open_file(&m, file, NULL, err);
	if (!rc)
		rc = open_adapter(&use.lora, m, a, err);
	if (!rc)
		rc = infer_quant_new(&q, file, &o, err);
	if (!rc)
		rc = infer_quant_write(q, merged_file, 2, NULL, &result, err);
	infer_quant_free(q);
	infer_lora_close(&use.lora);
	infer_model_close(&m);
	infer_file_close(&file);
	return rc;
}

static int eval_merged(const struct adapter *a, float *y, infer_error *err)
{
	infer_model *m = NULL;
	int rc = write_merged(a, err);

	if (!rc)
		rc = infer_model_open(&m, merged_file, NULL, err);
	if (!rc)
		rc = run_model(m, NULL, a, a->of->n, y, err);
	infer_model_close(&m);
	return rc;
}

/* Largest deviation over the bound 1e-4 max(1, max |logit|). */
static double ratio_of(const struct adapter *a, const float *y, const float *want)
{
	double most = 0, size = 1;

	y += (size_t)(a->of->n - n_last) * (size_t)a->of->n_vocab;
	for (size_t i = 0; i < (size_t)n_last * (size_t)a->of->n_vocab; i++) {
		double d = fabs((double)y[i] - (double)want[i]);

		if (!(d <= most))
			most = isnan(d) ? INFINITY : d;
		if (fabs((double)want[i]) > size)
			size = fabs((double)want[i]);
	}
	return most / (GOLDEN_TOLERANCE * size);
}

static void check_near(const struct adapter *a, const char *how, int rc, const infer_error *err,
                       const float *y, const float *want)
{
	if (rc)
		fail_msg("%s, %s: %s", a->name, how, err->message);
	print_message("# %s, %s: %.3g of the bound\n", a->name, how, ratio_of(a, y, want));
	if (!(ratio_of(a, y, want) <= 1))
		fail_msg("%s, %s: %.4g times the bound", a->name, how, ratio_of(a, y, want));
}

/* --- tests */

static void test_used(void **state)
{
	const struct adapter *a = *state;
	size_t n = (size_t)a->of->n * (size_t)a->of->n_vocab;
	float *want = read_logits(a), *y = calloc(n, sizeof *y), *z = calloc(n, sizeof *z);
	infer_error err = { 0 };
	int rc;

	assert_true(y && z);
	rc = eval_used(a, a->of->n, y, &err);
	check_near(a, "used", rc, &err, y, want);
	rc = eval_used(a, 3, z, &err);
	check_near(a, "in steps of 3", rc, &err, z, want);
	assert_memory_equal(y, z, n * sizeof *y);
	free(want);
	free(y);
	free(z);
}

static void test_merged(void **state)
{
	const struct adapter *a = *state;
	float *want = read_logits(a),
	      *y = calloc((size_t)a->of->n * (size_t)a->of->n_vocab, sizeof *y);
	infer_error err = { 0 };
	int rc;

	assert_non_null(y);
	rc = eval_merged(a, y, &err);
	check_near(a, "merged", rc, &err, y, want);
	free(want);
	free(y);
}

/* Merging an adapter with every allocation failing in turn. */
static int case_memory(void)
{
	static float y[N_POSITIONS * 128];
	infer_error err = { 0 };
	int rc;

	nth_ok(eval_merged(&adapters[0], y, &err));
out:
	return rc;
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(merged))
		return -1;
	snprintf(merged_file, sizeof merged_file, "%s/m.gguf", merged);
	return 0;
}

static int drop_folder(void **state)
{
	(void)state;
	unlink(merged_file);
	return rmdir(merged);
}

int main(void)
{
	static struct CMUnitTest tests[2 * MAX_ADAPTERS + 1];
	static struct nth memory = { case_memory };
	static char names[2 * MAX_ADAPTERS][2 * NAME + 16];
	int n = 0;

	read_cases();
	for (int i = 0; i < n_adapters; i++)
		for (int how = 0; how < 2; how++, n++) {
			snprintf(names[n], sizeof names[n], "%.128s, %s", adapters[i].name,
			         how ? "merged" : "used");
			tests[n] = (struct CMUnitTest){ names[n], how ? test_merged : test_used,
				                        NULL, NULL, &adapters[i] };
		}
	tests[n++] = (struct CMUnitTest){ "memory", nth_run, NULL, NULL, &memory };
	return _cmocka_run_group_tests("golden", tests, (size_t)n, make_folder, drop_folder);
}
