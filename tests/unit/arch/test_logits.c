/* tests/unit/arch/test_logits.c - every architecture and every feature against transformers in
 * float64.
 *
 * tests/golden/logits/cases.txt (made by scripts/golden-logits.py, which defines it) names tiny
 * model files, ids and expected logits, and mutants: edits of a file after which the logits must
 * miss the bound by far, so that a feature that does not act cannot pass unseen. */
#include "../nth.h"
#include "../floor.h"
#include "../golden_logits.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file/file.h"
#include <infer/model.h>
#include "base/buf.h"

static const double far = 100;

/* --- edits: the bytes of a file, changed in place */

struct image {
	unsigned char *at;
	size_t n;
	infer_file *file;
};

static void image_read(struct image *im, const char *name)
{
	char path[512];
	infer_error err = { 0 };
	FILE *f;

	snprintf(path, sizeof path, GOLDEN_LOGITS "%s", name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	im->n = (size_t)ftell(f);
	rewind(f);
	im->at = malloc(im->n);
	assert_non_null(im->at);
	assert_int_equal(fread(im->at, 1, im->n, f), im->n);
	fclose(f);
	if (infer_file_open_bytes(&im->file, im->at, im->n, name, &err))
		fail_msg("%s", err.message);
}

static void image_free(struct image *im)
{
	infer_file_close(&im->file);
	free(im->at);
}

static float *tensor(struct image *im, const char *name, int64_t *cols, int64_t *rows)
{
	const struct infer_tensor *t = infer_file_tensor(im->file, name);

	if (!t || t->type != INFER_F32)
		fail_msg("edit: no f32 tensor %s", name);
	*cols = t->n_dims == 1 ? 1 : t->ne[0]; /* elements of a vector count as rows */
	*rows = (int64_t)(t->bytes / 4) / *cols;
	return (float *)(im->at + ((const unsigned char *)t->data - im->at));
}

static void edit_key(struct image *im, const char *key, const char *value)
{
	const struct infer_meta *m = infer_file_meta(im->file, key);
	unsigned char *at;
	uint32_t u = (uint32_t)strtoul(value, NULL, 10);
	float f = strtof(value, NULL);

	if (!m)
		fail_msg("edit: no key %s", key);
	at = im->at + (file_value(m)->at - im->at);
	switch (m->type) {
	case INFER_META_U32:
		memcpy(at, &u, 4);
		break;
	case INFER_META_F32:
		memcpy(at, &f, 4);
		break;
	case INFER_META_BOOL:
		*at = !strcmp(value, "true");
		break;
	case INFER_META_STR: {
		struct infer_str s;

		assert_int_equal(infer_meta_str(im->file, key, &s, NULL, NULL), INFER_OK);
		assert_int_equal(s.len, strlen(value));
		memcpy(im->at + ((const unsigned char *)s.at - im->at), value, s.len);
		break;
	}
	default:
		fail_msg("edit: key %s has type %d", key, m->type);
	}
}

static void swap_floats(float *a, float *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float t = a[i];

		a[i] = b[i];
		b[i] = t;
	}
}

/* Rows of each head of d: from halves (m, m + d/2) to pairs (2m, 2m + 1), or back. */
static void edit_heads(float *x, int64_t cols, int64_t rows, int d, int to_pairs)
{
	float *old = malloc((size_t)(cols * rows) * sizeof *old);

	assert_non_null(old);
	memcpy(old, x, (size_t)(cols * rows) * sizeof *old);
	for (int64_t r = 0; r < rows; r++) {
		int64_t head = r / d * d, i = r % d;
		int64_t from = to_pairs ? i / 2 + i % 2 * (d / 2) : i % (d / 2) * 2 + i / (d / 2);

		memcpy(x + r * cols, old + (head + from) * cols, (size_t)cols * sizeof *x);
	}
	free(old);
}

static void edit(struct image *im, const char *line)
{
	char op[16], name[NAME], arg[NAME] = "";
	int64_t cols, rows, ucols, urows;
	int j = 0, n = 0;
	float *x, v;

	if (sscanf(line, "%15s %63s %63s %d %d", op, name, arg, &j, &n) < 3)
		fail_msg("edit: %s", line);
	if (!strcmp(op, "key")) {
		edit_key(im, name, arg);
		return;
	}
	x = tensor(im, name, &cols, &rows);
	v = strtof(arg, NULL);
	if (!strcmp(op, "fill") || !strcmp(op, "mul")) {
		for (int64_t i = 0; i < rows * cols; i++)
			x[i] = *op == 'f' ? v : x[i] * v;
	} else if (!strcmp(op, "copy")) {
		const float *u = tensor(im, arg, &ucols, &urows);

		assert_true(ucols == cols && urows == rows);
		memcpy(x, u, (size_t)(rows * cols) * sizeof *x);
	} else if (!strcmp(op, "pairs") || !strcmp(op, "halves")) {
		edit_heads(x, cols, rows, (int)v, *op == 'p');
	} else if (!strcmp(op, "swaprows")) {
		swap_floats(x + (int64_t)v * cols, x + j * cols, n * cols);
	} else if (!strcmp(op, "swapcols")) {
		for (int64_t r = 0; r < rows; r++)
			swap_floats(x + r * cols + (int64_t)v, x + r * cols + j, n);
	} else {
		fail_msg("edit: no such edit: %s", line);
	}
}

/* The case's file with edits, under a name of its own that the caller unlinks. */
static void write_edited(const struct golden *g, const struct edits *more, char path[64])
{
	struct image im = { 0 };
	const char *tmp = getenv("TMPDIR");
	int fd;

	image_read(&im, g->file);
	for (int i = 0; i < g->edits.n; i++)
		edit(&im, g->edits.line[i]);
	for (int i = 0; more && i < more->n; i++)
		edit(&im, more->line[i]);
	if (snprintf(path, 64, "%s/logits-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp") >= 64)
		fail_msg("TMPDIR");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, im.at, im.n), (ssize_t)im.n);
	close(fd);
	image_free(&im);
}

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

	write_edited(g, more, path);
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

int main(void)
{
	static char names[MAX_CASES][NAME + 8];
	static struct CMUnitTest tests[2 * MAX_CASES + 1];
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
	tests[n++] = (struct CMUnitTest){ "memory", nth_run, NULL, NULL, &memory };
	return _cmocka_run_group_tests("logits", tests, (size_t)n, NULL, NULL);
}
