/* chain_test.h - common code of the tests of row operations: a step of random runs, and one
 * operation run in several ways.  A row has the same bits alone and with others, and an operation in
 * place and elsewhere. */
#ifndef TESTS_EMU_CHAIN_TEST_H
#define TESTS_EMU_CHAIN_TEST_H
#include "backend/cuda/launch.h"
#include "gpu_test.h"

enum { NAME = 96, MOST_RUN = 3, MOST_POS = 3000, MOST_ID = 50 };
static const int test_cols[] = { 1, 20, 255, 256, 257, 4096 }, small_cols[] = { 20, 257 };
static const int test_rows[] = { 1, 2, 9 }, small_rows[] = { 2 };
TEST_FN int cols_count(void) { return small_test() ? 2 : 6; }
TEST_FN int rows_count(void) { return small_test() ? 1 : 3; }
TEST_FN int cols_at(int i) { return small_test() ? small_cols[i] : test_cols[i]; }
TEST_FN int rows_at(int i) { return small_test() ? small_rows[i] : test_rows[i]; }
#define EACH_SHAPE(r, n, c, cols) \
	for (int r = 0, n, mark; r < rows_count(); r++) \
		for (int c = (n = rows_at(r), 0), cols; c < cols_count(); c++) \
			if (cols = cols_at(c), mark = mark_buffers(), 1)

/* ---- a step ---- */

struct step {
	int n, n_out, n_runs;
	int32_t *id, *pos, *run, *out; /* host */
	struct gpu_run *runs;
	struct gpu_rows d, one; /* device; one: of a step of one row */
};

TEST_FN void fill_runs(struct step *s)
{
	for (int row = 0; row < s->n; s->n_runs++) {
		struct gpu_run *r = &s->runs[s->n_runs];

		memset(r, 0, sizeof *r);
		r->row = row;
		r->n = 1 + random_below(MOST_RUN);
		r->n = r->n > s->n - row ? s->n - row : r->n;
		r->pos = random_below(MOST_POS);
		r->second = s->n_runs % 2 ? r->pos + 1 : 0;
		for (int i = 0; i < r->n; i++, row++) {
			s->run[row] = s->n_runs;
			s->pos[row] = r->pos + i;
			s->id[row] = random_below(MOST_ID);
		}
	}
}
TEST_FN struct step make_step(int n, int n_out)
{
	struct step s;
	struct gpu_step all, one;

	memset(&s, 0, sizeof s);
	s.n = n, s.n_out = n_out;
	s.id = host<int32_t>((size_t)n), s.pos = host<int32_t>((size_t)n),
	s.run = host<int32_t>((size_t)n);
	s.out = host<int32_t>((size_t)n_out), s.runs = host<struct gpu_run>((size_t)n);
	fill_runs(&s);
	for (int i = 0; i < n_out; i++)
		s.out[i] = n - 1 - i;
	all.n = n, all.n_out = n_out, all.n_runs = s.n_runs, all.pad = 0;
	one.n = one.n_out = one.n_runs = 1, one.pad = 0;
	s.d.step = give(&all, 1), s.d.id = give(s.id, (size_t)n), s.d.pos = give(s.pos, (size_t)n);
	s.d.run = give(s.run, (size_t)n), s.d.out = give(s.out, (size_t)n_out);
	s.d.runs = give(s.runs, (size_t)s.n_runs);
	s.one = s.d;
	s.one.step = give(&one, 1);
	return s;
}

/* ---- one operation ---- */

TEST_FN struct gpu_op op_of(int op, int cols)
{
	struct gpu_op o;

	memset(&o, 0, sizeof o);
	o.node.op = (uint8_t)op;
	o.node.cols = o.a_cols = o.b_cols = cols;
	return o;
}
TEST_FN void run_ops(const struct gpu_op *ops, int n, const struct gpu_rows *rows, int out,
                     int max_rows)
{
	struct gpu_chain c;

	memset(&c, 0, sizeof c);
	for (int i = 0; i < n; i++)
		c.ops[i] = ops[i];
	c.n = n, c.out = out, c.max_rows = max_rows, c.rows = *rows;
	expect_run(gpu_chain(&c, stream()));
}
/* Row r of the step as a step of its own. */
TEST_FN void run_alone(struct gpu_op o, const struct step *s, int out, int r, float *y)
{
	struct gpu_rows rows = s->one;

	if (out) {
		rows.out += r;
	} else {
		rows.id += r, rows.pos += r, rows.run += r;
		for (int i = 0; i < GPU_ROPES; i++)
			rows.cs[i] = rows.cs[i] ? rows.cs[i] + (size_t)r * (size_t)o.node.rope.rot
			                        : NULL;
	}
	o.a = o.node.op == GRAPH_GET_ROWS || !o.a ? o.a : o.a + (size_t)r * (size_t)o.a_cols;
	o.b = o.b ? o.b + (size_t)r * (size_t)o.b_cols : NULL;
	o.c = o.c ? o.c + (size_t)r * (size_t)o.c_cols : NULL;
	o.y = y;
	run_ops(&o, 1, &rows, out, 1);
}
TEST_FN bool may_overwrite(int op)
{
	return op != GRAPH_EMBED && op != GRAPH_GET_ROWS && op != GRAPH_SLICE &&
	       op != GRAPH_PERMUTE && op != GRAPH_ALTUP_MIX && op != GRAPH_ALTUP_RESCALE &&
	       op != GRAPH_ROUTE;
}
/* Run o and compare with the truth and with other ways to run it, also with spare rows. */
TEST_FN float *check_op(const char *what, struct gpu_op o, const struct step *s, int out,
                        const double *truth, double within)
{
	int rows = out ? s->n_out : s->n, cols = o.node.cols;
	size_t n = (size_t)rows * (size_t)cols;
	float *y = host<float>(n), *again = host<float>(n), *one = host<float>((size_t)cols);
	char name[NAME];

	snprintf(name, sizeof name, "%s %dx%d", what, rows, cols);
	o.y = take<float>(n);
	run_ops(&o, 1, &s->d, out, rows + 1);
	fetch(y, o.y, n);
	expect_close(name, y, truth, n, within);
	report_bits(name, y, n, true);
	float *y1 = take<float>((size_t)cols);
	for (int r = 0; r < rows; r++) {
		run_alone(o, s, out, r, y1);
		fetch(one, y1, (size_t)cols);
		expect_same(name, one, y + (size_t)r * (size_t)cols, (size_t)cols);
	}
	if (may_overwrite(o.node.op)) {
		fetch(again, o.a, n);
		put(o.y, again, n);
		o.a = o.y;
		run_ops(&o, 1, &s->d, out, rows);
		fetch(again, o.y, n);
		expect_same(name, again, y, n);
	}
	return y;
}
/* n numbers on the host in *h, and on the device */
TEST_FN float *values(float **h, size_t n, float scale)
{
	*h = host<float>(n);
	fill_uniform(*h, n, scale);
	return give(*h, n);
}

TEST_FN double sigmoid(double x) { return 1 / (1 + exp(-x)); }
#endif
