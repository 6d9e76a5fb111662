/* tests/unit/quant/test_imatrix.c - importances compared with numpy (scripts/golden-imatrix.py): dense
 * products, fused ones and experts; files written, read, added; the same bits for any threads. */
#include "../nth.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <infer/imatrix.h>
#include <infer/type.h>
#include "quant/importance.h"

#define GOLDEN "tests/golden/imatrix/"
#define LOGITS "tests/golden/logits/"
enum { MOST_IDS = 128, NAME = 64 };

struct run {
	infer_imatrix *im;
	infer_model *m;
	infer_engine *e;
};

static int run_open(struct run *r, const char *file, int32_t threads, int32_t chunk,
                    infer_error *err)
{
	struct infer_engine_opts o = { .threads = threads,
		                       .ctx = 64,
		                       .prefill_chunk = chunk,
		                       .kv_set = 1,
		                       .k_type = INFER_F32,
		                       .v_type = INFER_F32,
		                       .flags = INFER_ENGINE_NO_PREFIX_CACHE };
	char path[256];
	int rc = infer_imatrix_new(&r->im, err);

	snprintf(path, sizeof path, LOGITS "%s", file);
	if (!rc)
		rc = infer_model_open(&r->m, path, NULL, err);
	if (rc)
		return rc;
	o.observer = infer_imatrix_observer(r->im);
	return infer_engine_open(&r->e, r->m, &o, err);
}

static void run_close(struct run *r)
{
	infer_engine_close(&r->e);
	infer_model_close(&r->m);
	infer_imatrix_free(r->im);
}

struct golden {
	char file[NAME];
	int window, n;
	int32_t ids[MOST_IDS];
};

static struct run measured(const struct golden *g, int32_t threads, int32_t chunk, size_t from)
{
	struct infer_imatrix_text t = {
		.ids = g->ids, .n_ids = (size_t)g->n, .window = g->window, .from = from
	};
	struct run r = { 0 };
	infer_error err;

	if (run_open(&r, g->file, threads, chunk, &err) ||
	    infer_imatrix_read(r.im, r.m, r.e, &t, &err))
		fail_msg("%s: %s", g->file, err.message);
	return r;
}

static int find(const infer_imatrix *m, const char *name, struct infer_imatrix_entry *e)
{
	for (size_t i = 0; infer_imatrix_entry(m, i, e); i++)
		if (!strcmp(e->name, name))
			return 1;
	return 0;
}

static void check_sums(const struct golden *g, const infer_imatrix *im, const char *line)
{
	struct infer_imatrix_entry e;
	char name[NAME];
	int matrix, count, used;

	assert_int_equal(sscanf(line, "%63s %d %d%n", name, &matrix, &count, &used), 3);
	if (!find(im, name, &e))
		fail_msg("%s: %s is not there", g->file, name);
	assert_true(matrix < e.matrices);
	if (e.counts[matrix] != count)
		fail_msg("%s: %s %d: %g rows for %d", g->file, name, matrix, e.counts[matrix],
		         count);
	for (int64_t c = 0; c < e.columns; c++) {
		double want, is = e.sums[matrix * e.columns + c];
		int more;

		assert_int_equal(sscanf(line + used, "%lf%n", &want, &more), 1);
		used += more;
		if (!(fabs(is - want) <= 1e-5 * fmax(1, want)))
			fail_msg("%s: %s %d, column %d: %.9g for %.9g", g->file, name, matrix,
			         (int)c, is, want);
	}
	assert_int_equal(line[used], 0);
}

static void same(const infer_imatrix *a, const infer_imatrix *b)
{
	struct infer_imatrix_entry x, y;
	size_t i;

	for (i = 0; infer_imatrix_entry(a, i, &x); i++) {
		assert_true(infer_imatrix_entry(b, i, &y));
		assert_string_equal(x.name, y.name);
		assert_memory_equal(x.sums, y.sums,
		                    (size_t)(x.columns * x.matrices) * sizeof *x.sums);
		assert_memory_equal(x.counts, y.counts, (size_t)x.matrices * sizeof *x.counts);
	}
	assert_true(i && !infer_imatrix_entry(b, i, &y));
}

/* The first half goes through a file, as after a stop; and two files are added. */
static void check_files(const struct golden *g, const infer_imatrix *whole)
{
	struct golden half = *g;
	char path[] = "/tmp/test_imatrix-XXXXXX";
	struct infer_imatrix_text t = {
		.ids = g->ids, .n_ids = (size_t)g->n, .window = g->window, .from = 1
	};
	struct importance *read;
	infer_error err = { 0 };
	int32_t window;
	int fd = mkstemp(path);

	assert_true(fd >= 0 && !close(fd));
	half.n = g->window;
	struct run a = measured(&half, 1, 0, 0), b = { 0 };
	if (infer_imatrix_write(a.im, path, 1, &err) || run_open(&b, g->file, 2, 0, &err) ||
	    infer_imatrix_add(b.im, path, &err) || infer_imatrix_read(b.im, b.m, b.e, &t, &err))
		fail_msg("%s", err.message);
	same(whole, b.im);
	assert_int_equal(infer_imatrix_windows(b.im, &window), 2);
	assert_int_equal(window, 32);
	/* as quantising reads it */
	if (infer_imatrix_name(b.im, "a text", &err) || infer_imatrix_write(b.im, path, 0, &err) ||
	    importance_open(&read, path, &err))
		fail_msg("%s", err.message);
	assert_int_equal(importance_chunks(read), 2);
	assert_int_equal(importance_dataset(read).len, 6);
	struct infer_imatrix_entry e;
	assert_true(infer_imatrix_entry(whole, 0, &e));
	size_t n;
	const float *v = importance_get(read, (struct infer_str){ e.name, strlen(e.name) }, &n);
	assert_non_null(v);
	assert_int_equal(n, e.columns * e.matrices);
	for (size_t i = 0; i < n; i++)
		assert_true(fabs((double)v[i] - e.sums[i] / e.counts[(int64_t)i / e.columns]) <=
		            1e-6 * (1 + (double)v[i]));
	importance_free(read);
	run_close(&a);
	run_close(&b);
	unlink(path);
}

static void test_golden(void **state)
{
	static const char *const names[] = { "llama-gqa", "qwen3moe", "phi3" };
	static char line[4096];
	static struct golden g;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct run r = { 0 }, other;
		char path[256];
		int used, sums = 0;

		snprintf(path, sizeof path, GOLDEN "%s.txt", names[i]);
		FILE *f = fopen(path, "r");
		assert_non_null(f);
		while (fgets(line, sizeof line, f)) {
			line[strcspn(line, "\n")] = 0;
			if (sscanf(line, "case %63s %d %d%n", g.file, &g.window, &g.n, &used) ==
			    3) {
				assert_true(g.n <= MOST_IDS);
				for (int k = 0, more; k < g.n; k++, used += more)
					sscanf(line + used, "%d%n", &g.ids[k], &more);
				r = measured(&g, 2, 0, 0);
			} else if (!strncmp(line, "sums ", 5)) {
				check_sums(&g, r.im, line + 5);
				sums++;
			}
		}
		fclose(f);
		assert_true(sums >= 8);
		other = measured(&g, 1, 5, 0);
		same(r.im, other.im);
		check_files(&g, r.im);
		run_close(&other);
		run_close(&r);
	}
}

static int case_all(void)
{
	static const int32_t ids[] = { 5, 9, 2, 7, 31, 3, 8, 1, 4 };
	const struct infer_imatrix_text t = { .ids = ids, .n_ids = 9, .window = 4 };
	char path[] = "/tmp/test_imatrix-XXXXXX";
	struct run r = { 0 };
	infer_imatrix *again = NULL;
	int32_t window;
	int rc, fd = mkstemp(path);

	assert_true(fd >= 0 && !close(fd));
	nth_ok(run_open(&r, "llama-gqa.gguf", 1, 16, NULL));
	nth_ok(infer_imatrix_read(r.im, r.m, r.e, &t, NULL));
	assert_int_equal(infer_imatrix_windows(r.im, &window), 2);
	nth_ok(infer_imatrix_name(r.im, "x", NULL));
	nth_ok(infer_imatrix_write(r.im, path, 1, NULL));
	nth_ok(infer_imatrix_new(&again, NULL));
	nth_ok(infer_imatrix_add(again, path, NULL));
	same(r.im, again);
	assert_string_equal(infer_imatrix_dataset(again), "x");
out:
	run_close(&r);
	infer_imatrix_free(again);
	unlink(path);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden), nth_case(case_all) };

	return nth_group(tests);
}
