/* plan/step.c - the least time and the predicted time of a step (roofline model: Williams+ 2009,
 * doi:10.1145/1498765.1498785).  Predictions use the measured rates of the kernels, or else the
 * published fraction of the limit that such machines reach. */
#include <infer/plan.h>
#include "backend/cpu/limits.h"
#include "kern/kern.h"
#include "plan/efficiency.h"
#include "plan/shape.h"

#include <string.h>

const char *infer_bound_name(int bound)
{
	static const char *const names[] = { "memory", "kv",      "compute",
		                             "link",   "runtime", "scheduler" };

	return bound >= 0 && bound < INFER_BOUND_COUNT ? names[bound] : "unknown";
}

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

/* ---- counts ---- */

static double rows_of(const struct infer_work *w, const struct infer_load *l)
{
	return (double)(w->out ? l->out : l->rows);
}

static double seen(const struct infer_work *w, const struct infer_load *l)
{
	return (double)(w->window && w->window < l->ctx ? w->window : l->ctx);
}

/* Operations of a node, and the bytes of weights and cache that it reads.  All rows of a sequence
 * share one read of the cache. */
struct counts {
	double ops, weight_bytes, kv_bytes;
};
static struct counts count_work(const struct infer_work *w, const struct infer_setup *how,
                                const struct infer_load *l)
{
	double rows = rows_of(w, l), touched;
	struct counts c = { 0 };

	switch ((enum infer_work_kind)w->kind) {
	case INFER_WORK_MATRIX:
		c.ops = 2 * rows * (double)w->n * (double)w->k;
		c.weight_bytes =
			rows > 0 ? (double)w->n * (double)w->k * element_bytes(w->type) : 0;
		break;
	case INFER_WORK_EXPERTS:
		touched = infer_experts_touched(w->experts, w->used, rows);
		c.ops = 2 * rows * w->used * (double)w->n * (double)w->k;
		c.weight_bytes = touched * (double)w->n * (double)w->k * element_bytes(w->type);
		break;
	case INFER_WORK_ATTN:
		c.ops = 2 * rows * seen(w, l) * w->heads * (w->dk + w->dv);
		c.kv_bytes = (double)l->seqs * seen(w, l) * w->kv_heads *
		             (w->dk * element_bytes(how->k_type) +
		              (w->latent ? 0 : w->dv) * element_bytes(how->v_type));
		break;
	case INFER_WORK_STATE: /* each row reads and writes the state; 7 operations per element */
		c.ops = 7 * rows * w->heads * w->dk * w->dv;
		c.kv_bytes = 8.0 * (double)l->seqs * w->heads * w->dk * w->dv;
		break;
	case INFER_WORK_ROWS:
	case INFER_WORK_PUT:
		c.ops = 4 * rows * (double)w->k;
		break;
	}
	c.ops *= w->times;
	c.weight_bytes *= w->times;
	c.kv_bytes *= w->times;
	return c;
}

/* ---- the host, from measured kernels ---- */

/* Interpolate linearly between points of ascending x; outside them, return the y of the nearest. */
static double interpolate(const double *x, const double *y, int n, double at)
{
	if (at <= x[0])
		return y[0];
	for (int i = 1; i < n; i++)
		if (at <= x[i])
			return y[i - 1] + (y[i] - y[i - 1]) * (at - x[i - 1]) / (x[i] - x[i - 1]);
	return y[n - 1];
}

/* Return seconds per 1e9 weights of the in-place kernels (PROBE_ROWS) for m rows; 0: none. */
static double in_place_time(const double *rates, double m)
{
	static const double at[] = { 1, 2, 4, 8 };
	double x[4], y[4];
	int n = 0;

	for (int i = 0; i < 4; i++)
		if (rates[i] > 0) {
			x[n] = at[i];
			y[n++] = 1 / rates[i];
		}
	return n && m <= x[n - 1] ? interpolate(x, y, n, m) : 0;
}

static double skinny_time(const struct infer_loop_rate *r, double m)
{
	static const double at[] = { 8, 16, 32 };
	double y[3];

	if (!(r->few[0] > 0) || m < 2 || m > 32)
		return 0;
	for (int i = 0; i < 3; i++)
		y[i] = 1 / r->few[i];
	return interpolate(at, y, 3, m < 8 ? 8 : m);
}

static double tile_time(const struct infer_loop_rate *r, double m)
{
	static const double at[] = { 16, 64, 512 };
	double y[3];

	if (!(r->tile[0] > 0))
		return 0;
	for (int i = 0; i < 3; i++)
		y[i] = 2 * at[i] / r->tile[i];
	return m > 512 ? y[2] * m / 512 : interpolate(at, y, 3, m);
}

/* Seconds per 1e9 weights of a type with the fastest kernel, and the fraction of them spent on
 * memory.  A kernel takes somewhat more than the longer of reading and computing: (read^3 +
 * compute^3)^(1/3).  The fraction is read^3 / (read^3 + compute^3). */
struct taken {
	double all, memory_part;
};
static struct taken weight_time(const struct infer_machine *m, int type, double rows, int resident)
{
	const struct infer_loop_rate *r = &m->loops[type];
	double read = resident ? 0 : element_bytes(type) / m->memory_gb_s, x, compute;

	if (!(r->rows[0] > 0)) /* no kernels: decoded first, so at most as fast as f32 */
		r = &m->loops[INFER_F32];
	x = in_place_time(resident ? r->cached : r->rows, rows);
	compute = in_place_time(r->cached, rows);
	if (!(x > 0)) { /* too many rows for the in-place kernels */
		double few = skinny_time(r, rows), many = tile_time(r, rows);
		x = compute = few > 0 && (!(many > 0) || few < many) ? few : many;
		x = most(x, read);
	}
	if (!(x > 0)) /* the kernel set has only in-place kernels */
		x = compute = rows / 8 * in_place_time(resident ? r->cached : r->rows, 8);
	double a = read * read * read, b = compute * compute * compute;

	return (struct taken){ x, a > 0 ? a / (a + b) : 0 };
}

/* Return the slowdown of a region too small to occupy all threads.  The backend divides it into
 * items of at least CPU_ITEM_WORK multiplications; one thread alone computes up to two items. */
static double small_work_factor(const struct infer_machine *m, double work)
{
	double items = work / CPU_ITEM_WORK, threads = m->threads, rounds;

	if (items <= 2)
		return threads;
	rounds = (double)(int64_t)((items + threads - 1) / threads);
	return items > 64 * threads ? 1 : rounds * threads / items;
}

/* Return the slowdown of arithmetic if fewer threads run than were measured. */
static double thread_factor(const struct infer_machine *m, const struct infer_setup *how)
{
	return how->threads && how->threads < m->threads ? (double)m->threads / how->threads : 1;
}

/* Return the seconds of attention, with the work divided as in backend/cpu/attn.c. */
static double attention_time(const struct infer_machine *m, const struct infer_work *w,
                             const struct infer_setup *how, const struct infer_load *l,
                             const struct counts *c, int resident)
{
	const struct infer_attn_rate *r = &m->attn[how->k_type];
	int wide = (w->dk > 48) + (w->dk > 96);
	double ops = c->ops * 1e-9, rows = (double)l->rows / (double)l->seqs,
	       splits = (double)(int64_t)((seen(w, l) + KERN_SPLIT - 1) / KERN_SPLIT),
	       merged = (double)l->rows * w->heads * w->times * splits,
	       merge = merged * w->dv * 1e-9 / m->slots[w->slot], each = merged * 1e-9 / m->threads;
	double alone = most(ops / r->cached[wide] + r->one_ns[wide] * each,
	                    resident ? 0 : c->kv_bytes * 1e-9 / m->memory_gb_s);

	/* a single row: one thread computes small work alone, and one merges */
	if (l->rows == 1)
		return alone * (seen(w, l) * w->heads * w->dv < CPU_ATTN_SMALL ? m->threads : 1) +
		       merge;
	if (rows < 2)
		return alone + merge / m->threads;
	/* a block of rows is computed up to the last position of its last row */
	ops *= 1 + least(rows, CPU_ATTN_BLOCK) / 2 / seen(w, l);
	return least(alone, ops / r->prefill[wide] + r->block_ns[wide] * each) + merge / m->threads;
}

static double row_time(const struct infer_machine *m, const struct infer_work *w,
                       const struct infer_load *l)
{
	double rows = rows_of(w, l), threads = rows > 1 ? m->threads : 1;

	return rows * (double)w->k * 1e-9 * w->times / (m->slots[w->slot] * threads);
}

static double put_time(const struct infer_machine *m, const struct infer_work *w,
                       const struct infer_setup *how, const struct infer_load *l)
{
	double rows = rows_of(w, l), threads = rows > 1 ? m->threads : 1,
	       rate = m->attn[how->k_type].put;

	return rate > 0 ? rows * (double)w->k * 1e-9 * w->times / (rate * threads) : 0;
}

/* Return the seconds to quantise the activations of a product.  Products with the same source share
 * them: half of the products on average. */
static double quant_time(const struct infer_machine *m, const struct infer_work *w,
                         const struct infer_load *l)
{
	double rate = m->loops[w->type].quant, rows = rows_of(w, l);

	if (!(rate > 0))
		return 0;
	return rows * (double)w->k * 1e-9 * w->times / rate * (rows > 1 ? 1 : m->threads) / 2;
}

/* Fractions of the measured kernel rates that products reach in an engine, whose threads wait for
 * each other after every matrix.  Measured with two threads of Zen 4 and models of 0.3 to 1.5
 * GB. */
static const double reading_part = 0.87, multiplying_part = 0.93;

/* Return the multiplications of the region of a product. */
static double region_work(const struct infer_work *w, const struct infer_load *l)
{
	double one = w->region ? (double)w->region : (double)w->n * (double)w->k;

	return rows_of(w, l) * one;
}

/* Return the parallel regions that the nodes begin in a step.  Small ones are computed by one thread. */
static double regions_of(const struct infer_work *w, const struct infer_load *l)
{
	int alone = 0;

	if (w->kind == INFER_WORK_MATRIX)
		alone = region_work(w, l) <= 2 * CPU_ITEM_WORK;
	else if (w->kind == INFER_WORK_ATTN)
		alone = l->rows == 1 && seen(w, l) * w->heads * w->dv < CPU_ATTN_SMALL;
	return alone ? 0 : (double)w->starts * w->times;
}

static void predict_by_loops(struct infer_step_time *t, const struct infer_shape *s,
                             const struct infer_machine *m, const struct infer_setup *how,
                             const struct infer_load *l)
{
	/* weights that fit into half of the last-level cache stay there */
	int resident = s->weight_bytes - s->table_bytes + t->kv_bytes < 0.5 * (double)m->l3_bytes;
	double more = thread_factor(m, how), compute = 0, memory = 0, regions = 0;
	struct taken one;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		struct counts c = count_work(w, how, l);
		double rows = rows_of(w, l), touched = 1, x;

		regions += regions_of(w, l);
		switch ((enum infer_work_kind)w->kind) {
		case INFER_WORK_EXPERTS:
			touched = infer_experts_touched(w->experts, w->used, rows);
			rows = touched > 0 ? rows * w->used / touched : 0;
			/* fall through */
		case INFER_WORK_MATRIX:
			if (!(rows > 0))
				break;
			one = weight_time(m, w->type, rows, resident);
			x = one.all * 1e-9 * (double)w->n * (double)w->k * w->times * touched *
			    small_work_factor(m, region_work(w, l));
			memory += x * one.memory_part / reading_part;
			compute += x * (1 - one.memory_part) / multiplying_part;
			t->part[INFER_BOUND_RUNTIME] += quant_time(m, w, l);
			break;
		case INFER_WORK_ATTN:
			t->part[INFER_BOUND_KV] += attention_time(m, w, how, l, &c, resident);
			break;
		case INFER_WORK_STATE: /* three passes over the state; heads run in parallel */
			t->part[INFER_BOUND_KV] += 3 * rows * w->heads * w->dk * w->dv * 1e-9 *
			                           w->times / (m->slots[w->slot] * m->threads);
			break;
		case INFER_WORK_ROWS:
			t->part[INFER_BOUND_RUNTIME] += row_time(m, w, l);
			break;
		case INFER_WORK_PUT:
			t->part[INFER_BOUND_RUNTIME] += put_time(m, w, how, l);
			break;
		}
	}
	t->part[INFER_BOUND_COMPUTE] += compute * more;
	t->part[INFER_BOUND_MEMORY] += memory * (more > 1 ? more : 1);
	t->part[INFER_BOUND_RUNTIME] +=
		(regions * m->barrier_ns + s->nodes * m->node_ns +
	         (double)s->regions * m->row_ns * (double)(l->rows - l->seqs)) *
			1e-9 +
		(double)(l->seqs - 1) * m->seq_ns * 1e-9 +
		(double)l->out * s->vocab * 1e-3 * m->sample_ns * 1e-9 /
			(l->out > 1 ? least((double)l->out, m->threads) : 1);
}

/* ---- limits ---- */

static void host_limit(struct infer_step_time *t, const struct infer_shape *s,
                       const struct infer_machine *m, const struct infer_setup *how,
                       const struct infer_load *l, double part)
{
	double bytes = 0, kv = 0, dot = 0, fma = 0, dots, compute;

	for (int i = 0; i < s->n_work; i++) {
		const struct infer_work *w = &s->work[i];
		struct counts c = count_work(w, how, l);
		int floats = w->kind == INFER_WORK_ATTN || w->kind == INFER_WORK_STATE ||
		             w->kind == INFER_WORK_ROWS || w->type == INFER_F32 ||
		             w->type == INFER_F16 || w->type == INFER_BF16;
		bytes += c.weight_bytes;
		kv += c.kv_bytes;
		if (floats)
			fma += c.ops;
		else
			dot += c.ops;
	}
	dots = most(m->i8_gop_s, m->tile_i8_gop_s);
	compute = (m->f32_gflop_s > 0 ? fma * 1e-9 / m->f32_gflop_s : 0) +
	          (dots > 0 ? dot * 1e-9 / dots : 0);
	double memory = (bytes + kv) * 1e-9 / m->memory_gb_s;
	/* weights that fit into the caches are read from there */
	if (m->cached_gb_s > 0 && s->weight_bytes + kv < (double)m->l3_bytes)
		memory = (bytes + kv) * 1e-9 / m->cached_gb_s;
	double x = part * most(compute, memory);

	if (x > 0 && x >= t->limit * 0.5)
		t->limit_by = compute > memory ? INFER_BOUND_COMPUTE
		              : kv > bytes     ? INFER_BOUND_KV
		                               : INFER_BOUND_MEMORY;
	t->limit += x;
}

/* Return the exchanges between accelerators in a step, and the bytes that each sends over its link in
 * all of them. */
static double count_exchanges(const struct infer_shape *s, const struct infer_setup *how,
                              const struct infer_load *l, double *bytes)
{
	double n = how->gpus, row = 2.0 * s->embd * (double)l->rows, /* in f16 */
		layers = s->layers * how->gpu_part;

	*bytes = 0;
	if (n < 2)
		return 0;
	switch ((enum infer_split)how->split) {
	case INFER_SPLIT_TENSOR: /* two ring all-reduces per layer */
		*bytes = 2 * layers * 2 * (n - 1) / n * row;
		return 2 * layers;
	case INFER_SPLIT_PIPELINE:
		*bytes = (n - 1) * row;
		return n - 1;
	case INFER_SPLIT_EXPERT: /* two all-to-all exchanges per layer: to the experts and back */
		*bytes = 2 * layers * (s->used ? s->used : 1) * (n - 1) / n * row / n;
		return 2 * layers;
	case INFER_SPLIT_NONE:
		break;
	}
	return 0;
}

/* Add the part of a step on accelerators to the limit and the prediction. */
static void add_gpu_part(struct infer_step_time *t, const struct infer_shape *s,
                         const struct infer_machine *m, const struct infer_setup *how,
                         const struct infer_load *l)
{
	const struct infer_gpu *g = &m->gpu;
	const struct efficiency e = efficiency_of_gpu(g);
	const struct link between = link_of(g);
	double n = how->gpus > 1 && how->split != INFER_SPLIT_PIPELINE ? how->gpus : 1, sent;
	double exchanges = count_exchanges(s, how, l, &sent);
	double bytes = t->weight_bytes + t->kv_bytes, f16 = g->f16_tflop_s,
	       memory = how->gpu_part * bytes * 1e-9 / g->memory_gb_s / n,
	       compute = f16 > 0 ? how->gpu_part * t->ops * 1e-12 / f16 / n : 0,
	       link = between.gb_s > 0 ? sent * 1e-9 / between.gb_s : 0,
	       x = most(most(memory, compute), link);

	t->limit += x;
	t->limit_by = link >= x && link > 0           ? INFER_BOUND_LINK
	              : compute > memory              ? INFER_BOUND_COMPUTE
	              : t->kv_bytes > t->weight_bytes ? INFER_BOUND_KV
	                                              : INFER_BOUND_MEMORY;
	int many = compute > memory;
	double part = many ? e.prefill : e.decode;

	t->partial = !(f16 > 0) && l->rows > l->seqs;
	/* any link is fast enough for the few rows of a pipeline */
	int unknown = exchanges > 0 && how->split != INFER_SPLIT_PIPELINE && !(between.gb_s > 0);

	if (!(part > 0) || t->partial || unknown)
		return;
	if (many) {
		t->part[INFER_BOUND_COMPUTE] += compute / part;
	} else {
		t->part[INFER_BOUND_MEMORY] += memory * t->weight_bytes / bytes / part;
		t->part[INFER_BOUND_KV] += memory * t->kv_bytes / bytes / part;
	}
	t->part[INFER_BOUND_RUNTIME] += s->layers * how->gpu_part * e.layer_us * 1e-6;
	t->part[INFER_BOUND_LINK] += link + exchanges * between.us * 1e-6;
}

static void predict_by_fraction(struct infer_step_time *t, const struct infer_machine *m,
                                double limit, int prompt)
{
	const struct efficiency e = efficiency_of_host(m);
	double part = t->limit_by == INFER_BOUND_COMPUTE ? e.prefill : e.decode;

	if (part > 0 && (m->f32_gflop_s > 0 || !prompt))
		t->part[t->limit_by] += limit / part;
}

static double sum_parts(const struct infer_step_time *t)
{
	double sum = 0;

	for (int i = 0; i < INFER_BOUND_COUNT; i++)
		sum += t->part[i];
	return sum;
}

/* Add the part of a step on the host.  Returns 0 if there are no kernel rates and no efficiency. */
static int add_host_part(struct infer_step_time *t, const struct infer_shape *s,
                         const struct infer_machine *m, const struct infer_setup *how,
                         const struct infer_load *l, double part)
{
	struct infer_step_time host = *t;

	host.limit = 0;
	memset(host.part, 0, sizeof host.part);
	host_limit(&host, s, m, how, l, part);
	if (m->loops[INFER_F32].rows[0] > 0)
		predict_by_loops(&host, s, m, how, l);
	else
		predict_by_fraction(&host, m, host.limit / part, l->rows > l->seqs);
	if (host.limit > t->limit)
		t->limit_by = host.limit_by;
	t->partial |= !(m->f32_gflop_s > 0) && l->rows > l->seqs;
	/* a rehearsal measured steps of decoding rows only; memory may be faster than it was when the limit was measured */
	if (how->decode_times > 0 && l->rows == l->seqs) {
		part *= how->decode_times;
		host.limit = least(host.limit, sum_parts(&host) * part);
	}
	t->limit += host.limit;
	for (int i = 0; i < INFER_BOUND_COUNT; i++)
		t->part[i] += host.part[i] * part;
	return sum_parts(&host) > 0;
}

void infer_step_time(struct infer_step_time *t, const struct infer_shape *s,
                     const struct infer_machine *m, const struct infer_setup *how,
                     const struct infer_load *l)
{
	int known = 1;

	memset(t, 0, sizeof *t);
	for (int i = 0; i < s->n_work; i++) {
		struct counts c = count_work(&s->work[i], how, l);
		t->weight_bytes += c.weight_bytes;
		t->kv_bytes += c.kv_bytes;
		t->ops += c.ops;
	}
	if (how->gpu_part > 0) {
		add_gpu_part(t, s, m, how, l);
		known = sum_parts(t) > 0;
	}
	if (how->gpu_part < 1)
		known &= add_host_part(t, s, m, how, l, 1 - how->gpu_part);
	t->total = known ? sum_parts(t) : 0;
	for (int i = 0; i < INFER_BOUND_COUNT; i++)
		if (t->part[i] > t->part[t->total_by])
			t->total_by = i;
}
