/* infer-bench/run_table.c - run: measurements as lines of a table. */
#include "bench.h"
#include "common/say.h"
#include "base/err.h"

#include <stdio.h>

struct infer_rate bench_spread(double *of, int64_t n)
{
	struct infer_rate r = { 0, of[0], of[0] };

	for (int64_t i = 1; i < n; i++) /* insertion sort: there are few values */
		for (int64_t k = i; k > 0 && of[k] < of[k - 1]; k--) {
			double x = of[k];
			of[k] = of[k - 1];
			of[k - 1] = x;
		}
	r.least = of[0];
	r.most = of[n - 1];
	r.median = n % 2 ? of[n / 2] : (of[n / 2 - 1] + of[n / 2]) / 2;
	return r;
}

/* Append a number with as many decimals as fit the column, at most `most`. width: negative to align left */
static void put_fitted(struct buf *t, int width, int most, double v, const char *behind)
{
	int room = width < 0 ? -width : width;

	while (most && snprintf(NULL, 0, "%.*f", most, v) > room)
		most--;
	buf_printf(t, "%*.*f%s", width, most, v, behind);
}

/* Append the minimum and maximum of the turns; with a plan, its prediction and measured / predicted. */
static void put_spread(struct buf *t, int planned, const struct infer_bench *b)
{
	if (!planned) {
		put_fitted(t, 7, 1, b->tok_s.least, "-");
		put_fitted(t, -7, 1, b->tok_s.most, " ");
	} else if (b->predicted_tok_s > 0) {
		put_fitted(t, 8, 1, b->predicted_tok_s, " ");
		put_fitted(t, 6, 3, b->tok_s.median / b->predicted_tok_s, " ");
	} else {
		buf_printf(t, "%8s %6s ", "-", "-");
	}
}

/* Say once what a part above 1 means; a little above 1 is within the error of the ceilings. */
static void note_above(const struct infer_bench *b)
{
	static const double ERROR = 0.05;
	static int said;

	if (said || !(b->limit_tok_s > 0) || b->fraction.median <= 1 + ERROR)
		return;
	said = 1;
	say_note(0, "a part above 1 is faster than the ceiling that was measured before: other "
	            "programs used the machine then, or the weights stay in a cache; longer tests "
	            "and more of them (-p, -n, --repeat) are steadier");
}

int run_show_adapters(const struct adapters *a, infer_error *err)
{
	struct buf t;
	int rc;

	if (!a->n_uses)
		return INFER_OK;
	buf_init(&t, MEM_BASE);
	buf_puts(&t, "adapters:");
	for (int32_t i = 0; i < a->n_uses; i++)
		buf_printf(&t, "%s %s=%g", i ? "," : "", a->names[i], (double)a->uses[i].factor);
	buf_puts(&t, "\n");
	rc = t.bad ? err_nomem(err) : say_out(t.at, t.len, err);
	buf_fini(&t);
	return rc;
}

int run_show(const struct infer_bench *b, int header, int planned, infer_error *err)
{
	static const char *const limits[] = { [INFER_LIMIT_MEMORY] = "memory",
		                              [INFER_LIMIT_KV] = "kv",
		                              [INFER_LIMIT_COMPUTE] = "compute" };
	struct buf t;
	int rc;

	buf_init(&t, MEM_BASE);
	if (header)
		buf_printf(&t, "%-7s %6s %6s %3s %8s %-15s %6s %8s %-7s %5s\n", "test", "tokens",
		           "depth", "seq", "tok/s", planned ? "    plan  ratio" : "   least-most",
		           planned ? "then" : "MB/tok", "limit", "by", "part");
	buf_printf(&t, "%-7s %6d %6d %3d ", b->decode ? "decode" : "prefill", (int)b->tokens,
	           (int)b->depth, (int)b->batch);
	put_fitted(&t, 8, 2, b->tok_s.median, " ");
	put_spread(&t, planned, b);
	if (!planned)
		put_fitted(&t, 6, 1, (b->weight_bytes + b->kv_bytes) * 1e-6, " ");
	else if (b->adjusted)
		put_fitted(&t, 6, 3, b->adjusted->ratio.median, " ");
	else
		buf_printf(&t, "%6s ", "-");
	if (b->limit_tok_s > 0) {
		put_fitted(&t, 8, 1, b->limit_tok_s, " ");
		buf_printf(&t, "%-7s %5.3f\n", limits[b->limit], b->fraction.median);
	} else {
		buf_printf(&t, "%8s %-7s %5s\n", "-", "-", "-");
	}
	rc = t.bad ? err_nomem(err) : say_out(t.at, t.len, err);
	buf_fini(&t);
	note_above(b);
	return rc;
}
