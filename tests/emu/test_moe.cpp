/* test_moe.cpp - grouping pairs by expert against a plain loop, activation and sum of experts
 * (moe.cu) against float64; a row has the same bits alone and with others. */
#include "backend/cuda/launch.h"
#include "gpu_test.h"

struct moe_test {
	struct gpu_moe m;
	int rows, pairs;
	float *route; /* host */
	struct gpu_step all, one;
	const struct gpu_step *d_all, *d_one;
};

/* `used` different experts of a row; skew: most pairs with few experts */
static void choose(float *route, int used, int experts, int skew)
{
	for (int i = 0; i < used; i++) {
		bool again = true;
		int e = 0;

		while (again) {
			e = random_below(skew && random_below(4) ? (experts + 3) / 4 + used
			                                         : experts) %
			    experts;
			again = false;
			for (int j = 0; j < i; j++)
				again = again || route[j] == (float)e;
		}
		route[i] = (float)e;
		route[used + i] = uniform() + 1.5f;
	}
}
static struct moe_test make_test(int rows, int used, int experts, int skew)
{
	struct moe_test t;

	memset(&t, 0, sizeof t);
	t.rows = rows, t.pairs = rows * used;
	t.route = host<float>((size_t)(rows * 2 * used));
	for (int r = 0; r < rows; r++)
		choose(t.route + r * 2 * used, used, experts, skew);
	t.all.n = t.all.n_runs = rows, t.all.n_out = rows / 2 + 1;
	t.one.n = t.one.n_out = t.one.n_runs = 1;
	t.d_all = give(&t.all, 1), t.d_one = give(&t.one, 1);
	t.m.rows.step = t.d_all;
	t.m.max_rows = rows + 1, t.m.used = used, t.m.experts = experts;
	t.m.route = give(t.route, (size_t)(rows * 2 * used));
	t.m.first = take<int32_t>((size_t)experts + 1), t.m.pair = take<int32_t>((size_t)t.pairs);
	t.m.active = take<int32_t>((size_t)experts), t.m.n_active = take<int32_t>(1);
	return t;
}

/* ---- grouping ---- */

static void check_group(int rows, int used, int experts, int skew, int out)
{
	struct moe_test t = make_test(rows, used, experts, skew);
	int n = out ? t.all.n_out : rows, at = 0, active = 0;
	char name[96];

	t.m.out = out;
	snprintf(name, sizeof name, "group %d rows %d of %d", n, used, experts);
	expect_run(gpu_moe_group(&t.m, stream()));
	int32_t *first = look(t.m.first, (size_t)experts + 1),
		*pair = look(t.m.pair, (size_t)t.pairs), *list = look(t.m.active, (size_t)experts),
		*count = look(t.m.n_active, 1);
	for (int e = 0; e < experts; e++) {
		int before = at;

		expect(first[e] == at, "%s: first[%d] is %d, should be %d", name, e, first[e], at);
		for (int p = 0; p < n * used; p++)
			if (t.route[p / used * 2 * used + p % used] == (float)e) {
				expect(pair[at] == p, "%s: pair[%d] is %d, should be %d", name, at,
				       pair[at], p);
				at++;
			}
		if (at > before) {
			expect(list[active] == e, "%s: active[%d] is %d, should be %d", name,
			       active, list[active], e);
			active++;
		}
	}
	expect(first[experts] == at && at == n * used, "%s: first[experts] is %d", name,
	       first[experts]);
	expect(*count == active, "%s: %d active experts, should be %d", name, *count, active);
	report_bits(name, pair, (size_t)(n * used), true);
}
static void test_group(void)
{
	check_group(5, 3, 8, 0, 0);
	check_group(1, 2, 4, 0, 0);
	if (small_test())
		return;
	check_group(64, 8, 128, 0, 1);
	check_group(1, 8, 512, 0, 0);
	check_group(300, 6, 64, 1, 0);
	check_group(97, 32, 40, 0, 0);
	check_group(50, 17, 300, 1, 0);
	check_group(400, 1, 7, 1, 0);
	check_group(2048, 4, 32, 1, 0);
}
static void test_group_many(void)
{
	if (!small_test())
		check_group(2048, 16, 64, 1, 0);
}

/* ---- activation ---- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double clamp(double x, double from, double to) { return x < from ? from : x > to ? to : x; }
static double mid_truth(int act, double g, double u, double limit)
{
	switch (act) {
	case 0:
		return g * sigmoid(g) * u;
	case 1:
		return 0.5 * g * (1 + tanh(sqrt(2 / M_PI) * (g + 0.044715 * g * g * g))) * u;
	}
	g = g > limit ? limit : g;
	u = clamp(u, -limit, limit);
	return g * sigmoid(1.702 * g) * (u + 1);
}
static void make_form(struct gpu_moe *m, int form, int pairs)
{
	size_t blocks = (size_t)gpu_blocks(m->ff);

	m->mid_act.form = form, m->mid_act.terms = 2;
	m->mid_act.row_bytes = blocks * GPU_BLOCK * (form == GPU_I8 ? 1 : 4);
	m->mid_act.q = take<unsigned char>(m->mid_act.row_bytes * (size_t)pairs);
	m->mid_act.d = take<float>(blocks * (size_t)pairs);
	m->mid_act.sum = take<int16_t>(blocks * 8 * (size_t)pairs);
}
/* act of mid by a chain of its own has the bits that gpu_moe_mid made */
static void check_form(const char *name, const struct moe_test *t)
{
	struct moe_test u = *t;
	struct gpu_chain c;
	size_t q_bytes = t->m.mid_act.row_bytes * (size_t)t->pairs,
	       n_d = (size_t)(gpu_blocks(t->m.ff) * t->pairs);
	struct gpu_step s = { t->pairs, t->pairs, t->pairs, 0 };

	make_form(&u.m, t->m.mid_act.form, t->pairs);
	memset(&c, 0, sizeof c);
	c.n = 1, c.max_rows = t->pairs, c.rows.step = give(&s, 1);
	c.ops[0].node.op = GPU_OP_ACT, c.ops[0].a = t->m.mid, c.ops[0].a_cols = t->m.ff,
	c.ops[0].act = u.m.mid_act;
	expect_run(gpu_chain(&c, stream()));
	expect_same(name, look((unsigned char *)u.m.mid_act.q, q_bytes),
	            look((unsigned char *)t->m.mid_act.q, q_bytes), q_bytes);
	expect_same(name, look(u.m.mid_act.d, n_d), look(t->m.mid_act.d, n_d), n_d);
	if (t->m.mid_act.form == GPU_I8)
		expect_same(name, look(u.m.mid_act.sum, n_d * 8), look(t->m.mid_act.sum, n_d * 8),
		            n_d * 8);
}
static void check_mid(int rows, int used, int ff, int act, int inside, int form)
{
	struct moe_test t = make_test(rows, used, 40, 0);
	size_t n = (size_t)(t.pairs * ff);
	float *g = host<float>(n), *u = host<float>(n), *y;
	double *truth = host<double>(n);
	char name[96];

	fill_uniform(g, n, 4), fill_uniform(u, n, 4);
	t.m.ff = ff, t.m.act = act, t.m.weight_before_ffn = inside, t.m.limit = 3;
	t.m.gate = give(g, n), t.m.up = give(u, n), t.m.mid = take<float>(n);
	make_form(&t.m, form, t.pairs);
	for (size_t i = 0; i < n; i++) {
		int p = (int)(i / (size_t)ff);
		double by = inside ? t.route[p / used * 2 * used + used + p % used] : 1;

		truth[i] = mid_truth(act, by * g[i], by * u[i], 3);
	}
	snprintf(name, sizeof name, "mid %d of %dx%dx%d", act + 10 * inside, rows, used, ff);
	expect_run(gpu_moe_mid(&t.m, stream()));
	y = look(t.m.mid, n);
	expect_close(name, y, truth, n, 1e-6);
	report_bits(name, y, n, true);
	check_form(name, &t);
	put((float *)t.m.mid, g, n); /* in place */
	t.m.gate = t.m.mid;
	expect_run(gpu_moe_mid(&t.m, stream()));
	expect_same(name, look(t.m.mid, n), y, n);
	struct gpu_moe one = t.m; /* the last row alone */
	size_t last = (size_t)((rows - 1) * used);
	put((float *)t.m.mid, g, n);
	one.rows.step = t.d_one, one.max_rows = 1, one.route += (rows - 1) * 2 * used;
	one.gate += last * (size_t)ff, one.up += last * (size_t)ff, one.mid += last * (size_t)ff;
	expect_run(gpu_moe_mid(&one, stream()));
	expect_same(name, look(one.mid, (size_t)(used * ff)), y + last * (size_t)ff,
	            (size_t)(used * ff));
}
static void test_mid(void)
{
	check_mid(2, 3, 300, 2, 0, GPU_I8);
	if (small_test())
		return;
	for (int act = 0; act < 3; act++)
		for (int inside = 0; inside < 2; inside++)
			check_mid(3, 2, 257, act, inside,
			          act == 1   ? GPU_F16
			          : act == 2 ? GPU_BF16
			                     : GPU_I8);
	check_mid(2, 8, 2880, 0, 0, GPU_I8);
	check_mid(1, 1, 20, 0, 0, GPU_F16);
}

/* ---- the sum ---- */

static void check_sum(int rows, int used, int cols, int inside)
{
	struct moe_test t = make_test(rows, used, 64, 0);
	size_t n = (size_t)(t.pairs * cols), all = (size_t)(rows * cols);
	float *d = host<float>(n), *y;
	double *truth = host<double>(all);
	char name[96];

	fill_uniform(d, n, 4);
	t.m.cols = cols, t.m.weight_before_ffn = inside, t.m.down = give(d, n),
	t.m.y = take<float>(all);
	for (size_t i = 0; i < all; i++) {
		int r = (int)i / cols;

		truth[i] = 0;
		for (int k = 0; k < used; k++)
			truth[i] += (inside ? 1.0 : (double)t.route[r * 2 * used + used + k]) *
			            d[(r * used + k) * cols + (int)i % cols];
	}
	snprintf(name, sizeof name, "sum %d of %dx%dx%d", inside, rows, used, cols);
	expect_run(gpu_moe_sum(&t.m, stream()));
	y = look(t.m.y, all);
	expect_close(name, y, truth, all, 2e-6);
	report_bits(name, y, all, true);
	/* rank after rank, each by fma */
	for (size_t i = 0; i < all; i++) {
		int r = (int)i / cols;
		float v = 0;

		for (int k = 0; k < used; k++)
			v = fmaf(inside ? 1 : t.route[r * 2 * used + used + k],
			         d[(r * used + k) * cols + (int)i % cols], v);
		expect(y[i] == v, "%s: [%zu] is %.9g, should be %.9g", name, i, (double)y[i],
		       (double)v);
	}
}
static void test_sum(void)
{
	check_sum(2, 3, 300, 0);
	if (small_test())
		return;
	check_sum(3, 8, 1, 0);
	check_sum(3, 1, 257, 1);
	check_sum(2, 16, 4096, 0);
	check_sum(9, 5, 255, 1);
}
static void test_limits(void)
{
	struct moe_test t = make_test(1, 2, 4, 0);

	t.m.used = GPU_USED + 1;
	expect(gpu_moe_group(&t.m, stream()) != cudaSuccess, "too many ranks are taken");
	t.m.used = 2, t.m.experts = GPU_EXPERTS + 1;
	expect(gpu_moe_group(&t.m, stream()) != cudaSuccess, "too many experts are taken");
}

int main(int argc, char **argv)
{
	start_tests(argc, argv);
	RUN(test_group);
	RUN(test_group_many);
	RUN(test_mid);
	RUN(test_sum);
	RUN(test_limits);
	return end_tests();
}
