/* tests/unit/quant/test_aim.c - the choice that fits is the best one, also where bytes are counted in
 * large units; the types that a tensor may have are in order, and their errors are those of what the
 * encoders write. */
#include "../nth.h"
#include "file/gguf_write.h"
#include "quant/bpw.h"
#include "type/type.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TENSORS = 6, MOST = 4 };

/* A number below n. */
static uint64_t below(uint64_t *state, uint64_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % n;
}

static void draw(struct bpw_search *a, uint64_t *r, uint64_t unit)
{
	for (int i = 0; i < TENSORS; i++) {
		struct bpw_tensor *t = &a->t[i];
		double cost = 100;
		uint64_t bytes = 0;

		t->n = 1 + (int)below(r, MOST);
		t->chosen = 0;
		for (int c = 0; c < t->n; c++) {
			bytes += unit * (1 + below(r, 20));
			cost -= (double)below(r, 24);
			t->at[c] = (struct bpw_choice){ .bytes = bytes, .cost = cost };
		}
	}
}

static double cost_of(const struct bpw_search *a, uint64_t *bytes)
{
	double cost = 0;

	*bytes = 0;
	for (size_t i = 0; i < a->n; i++) {
		cost += a->t[i].at[a->t[i].chosen].cost;
		*bytes += a->t[i].at[a->t[i].chosen].bytes;
	}
	return cost;
}

/* Every choice there is. */
static double best_of(struct bpw_search *a, size_t i, uint64_t bytes, double cost)
{
	double best = 1e9;

	if (i == a->n)
		return cost;
	for (int c = 0; c < a->t[i].n; c++)
		if (a->t[i].at[c].bytes <= bytes) {
			double d = best_of(a, i + 1, bytes - a->t[i].at[c].bytes,
			                   cost + a->t[i].at[c].cost);
			best = d < best ? d : best;
		}
	return best;
}

static int case_fit(void)
{
	struct bpw_tensor t[TENSORS] = { { 0 } };
	struct bpw_search a = { .t = t, .n = TENSORS };
	uint64_t r = 7;
	uint64_t bytes;
	int rc = INFER_OK;

	for (int i = 0; i < 50; i++) {
		uint64_t unit = i % 2 ? 1 : 1000, least, most;

		draw(&a, &r, unit);
		least = bpw_least(&a);
		most = least + unit * below(&r, 200) + below(&r, unit);
		nth_ok(bpw_fit(&a, most, NULL));
		double cost = cost_of(&a, &bytes);

		assert_true(bytes <= most);
		assert_true(cost <= best_of(&a, 0, most, 0));
	}
out:
	return rc;
}

/* More bytes than there are units: rounded up, then filled. */
static void test_units(void **state)
{
	struct bpw_tensor t[2] = { { .n = 2 }, { .n = 2 } };
	struct bpw_search a = { .t = t, .n = 2 };
	uint64_t bytes;

	(void)state;
	t[0].at[0] = (struct bpw_choice){ .bytes = 1, .cost = 9 };
	t[0].at[1] = (struct bpw_choice){ .bytes = 1000000007, .cost = 1 };
	t[1].at[0] = (struct bpw_choice){ .bytes = 2, .cost = 9 };
	t[1].at[1] = (struct bpw_choice){ .bytes = 1000000011, .cost = 2 };
	assert_int_equal(bpw_fit(&a, 2000000018, NULL), INFER_OK);
	cost_of(&a, &bytes);
	assert_int_equal(bytes, 2000000018);
	assert_int_equal(bpw_fit(&a, 2000000017, NULL), INFER_OK);
	assert_int_equal(t[0].chosen, 1);
	assert_int_equal(t[1].chosen, 0);
	assert_int_equal(bpw_fit(&a, 3, NULL), INFER_OK);
	assert_int_equal(t[0].chosen + t[1].chosen, 0);
}

/* ---- errors ---- */

enum { COLUMNS = 256, ROWS = 4 };
static char path[] = "/tmp/infer-test-aim-XXXXXX";

static float value(int64_t i) { return (float)((i * 7919) % 2003 - 1001) / 511; }

static int rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	(void)user;
	(void)err;
	for (int64_t i = 0; i < n * COLUMNS; i++)
		((float *)dst)[i] = value(row * COLUMNS + i);
	return INFER_OK;
}

static int write_model(void)
{
	const int64_t ne[2] = { COLUMNS, ROWS };
	struct gguf_write *w = NULL;
	int rc = gguf_write_new(&w, path, NULL);

	if (rc)
		return rc;
	gguf_write_str(w, "general.architecture", "llama", 5);
	rc = gguf_write_tensor(w, "blk.0.ffn_up.weight", INFER_F32, 2, ne, rows, NULL, NULL);
	if (!rc)
		rc = gguf_write_end(w, NULL);
	gguf_write_free(w);
	return rc;
}

static double error_of(int type, const float *importance)
{
	float x[COLUMNS * ROWS], back[COLUMNS * ROWS], w[COLUMNS * ROWS];
	unsigned char out[COLUMNS * ROWS * 4];
	const struct type *t = type_get(type);
	double sum = 0;

	for (int64_t i = 0; i < COLUMNS * ROWS; i++) {
		x[i] = value(i);
		w[i] = importance ? importance[i % COLUMNS] : 1;
	}
	int weighs = importance != NULL;

	if (weighs)
		importance_weigh(w, type, x, w, COLUMNS * ROWS);
	else
		weighs = importance_alone(w, type, x, COLUMNS * ROWS);
	type_encode(type, out, x, weighs ? w : NULL, (size_t)(COLUMNS * ROWS / t->info.block), 0);
	t->decode(back, out, (size_t)(COLUMNS * ROWS / t->info.block));
	for (int i = 0; i < COLUMNS * ROWS; i++) {
		double e = (double)back[i] - (double)x[i];

		sum += (importance ? (double)importance[i % COLUMNS] : 1) * e * e;
	}
	return sum;
}

static int case_errors(void)
{
	static float importance[COLUMNS];
	struct bpw_tensor t = { .n = 0 };
	struct bpw_search a = { .t = &t, .n = 1 };
	infer_file *f = NULL;
	int rc, has[2];

	for (int i = 0; i < COLUMNS; i++)
		importance[i] = (float)((i * 31) % 17 + 1);
	nth_ok(pool_new(&a.pool, 2, NULL));
	nth_ok(write_model());
	nth_ok(infer_file_open(&f, path, NULL));
	a.in = f;
	for (int weighed = 0; weighed < 2; weighed++) {
		t = (struct bpw_tensor){ .in = infer_file_tensor_at(f, 0) };
		t.importance = weighed ? importance : NULL;
		t.n_importance = weighed ? COLUMNS : 0;
		nth_ok(bpw_errors(&a, NULL));
		has[weighed] = 0;
		for (int c = 0; c < t.n; c++) {
			if (c)
				assert_true(t.at[c].bytes > t.at[c - 1].bytes &&
				            t.at[c].error < t.at[c - 1].error);
			if (t.at[c].type != INFER_F32) {
				double want = error_of(t.at[c].type, t.importance);

				assert_true(t.at[c].error > 0.999999 * want &&
				            t.at[c].error < 1.000001 * want);
			}
			has[weighed] |= t.at[c].type == INFER_IQ2_XXS;
		}
		assert_int_equal(t.at[t.n - 1].type, INFER_F32);
		assert_true(t.at[t.n - 1].error <= 0);
	}
	/* a type that needs importances */
	assert_false(has[0]);
	assert_true(has[1]);
out:
	infer_file_close(&f);
	pool_free(a.pool);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_fit),
		cmocka_unit_test(test_units),
		nth_case(case_errors),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	int rc = nth_group(tests);

	unlink(path);
	return rc;
}
