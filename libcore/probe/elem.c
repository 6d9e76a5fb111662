/* probe/elem.c - measure the row operations of struct kern, on a row that stays in cache */
#include "probe/probe.h"
#include "base/err.h"
#include "base/mem.h"
#include "kern/data.h"

#include <stddef.h>
#include <string.h>

enum { TIMES = 16, HEAD = 64, SPLITS = 16 };

/* Operands of a row operation: a, b and y f32 [k], cs f32 [k] (cosines and sines of angles). */
struct row {
	const float *a, *b;
	float *y;
	int k;
};

static void rms_norm(const struct kern *k, const struct row *r)
{
	k->rms_norm(r->y, r->a, r->b, r->k, 1e-5f);
}
static void silu_mul(const struct kern *k, const struct row *r)
{
	k->silu_mul(r->y, r->a, r->b, r->k);
}
static void gelu_mul(const struct kern *k, const struct row *r)
{
	k->gelu_mul(r->y, r->a, r->b, r->k);
}
static void gelu_erf_mul(const struct kern *k, const struct row *r)
{
	k->gelu_erf_mul(r->y, r->a, r->b, r->k);
}
static void layer_norm(const struct kern *k, const struct row *r)
{
	k->layer_norm(r->y, r->a, r->b, NULL, r->k, 1e-5f);
}
static void swiglu_mul(const struct kern *k, const struct row *r)
{
	k->swiglu_mul(r->y, r->a, r->b, 7, r->k);
}
static void sigmoid_mul(const struct kern *k, const struct row *r)
{
	k->sigmoid_mul(r->y, r->a, r->b, r->k);
}
static void add_scaled(const struct kern *k, const struct row *r)
{
	k->add_scaled(r->y, r->a, r->b, 0.5f, r->k);
}
static void scale(const struct kern *k, const struct row *r) { k->scale(r->y, r->a, 0.5f, r->k); }
static void softcap(const struct kern *k, const struct row *r) { k->softcap(r->y, r->a, 30, r->k); }
static void lse(const struct kern *k, const struct row *r) { k->lse(r->y, r->a, r->k); }
static void to_f16(const struct kern *k, const struct row *r)
{
	k->to_f16((uint16_t *)(void *)r->y, r->a, r->k);
}
static void rope_pairs(const struct kern *k, const struct row *r)
{
	memcpy(r->y, r->a, (size_t)r->k * sizeof(float));
	k->rope_pairs(r->y, r->b, r->k / HEAD, HEAD, HEAD);
}
static void rope_halves(const struct kern *k, const struct row *r)
{
	memcpy(r->y, r->a, (size_t)r->k * sizeof(float));
	k->rope_halves(r->y, r->b, r->k / HEAD, HEAD, HEAD);
}
static void conv(const struct kern *k, const struct row *r)
{
	const float *const x[1] = { r->a };

	k->conv(r->y, x, r->b, 1, r->k);
}
/* Compute one row of the gated delta rule, which updates a state of k / 16 rows. */
static void delta(const struct kern *k, const struct row *r)
{
	const float g = 0.5f, beta = 1e-3f; /* the state stays bounded */
	float y[KERN_DELTA];
	const struct kern_delta d = { .s = r->y,
		                      .q = r->a,
		                      .k = r->b,
		                      .v = r->a,
		                      .g = &g,
		                      .beta = &beta,
		                      .y = y,
		                      .rows = 1,
		                      .dk = r->k / KERN_DELTA,
		                      .cols = KERN_DELTA,
		                      .scale = 1 };

	k->delta(&d);
}
/* Merge the partial results of SPLITS splits of one head, k floats. */
static void attn_merge(const struct kern *k, const struct row *r)
{
	k->attn_merge(r->y, r->b, r->b + SPLITS, r->a, SPLITS, 1, r->k / SPLITS);
}

/* Per element, bytes: read and written; ops: operations in kern/tmpl (an fma counts as two). */
#define SLOT(name, bytes, ops) \
	{ \
#name, name, offsetof(struct kern, name), bytes, ops \
	}
static const struct {
	const char *name;
	void (*run)(const struct kern *, const struct row *);
	size_t at;
	double bytes, ops;
} slots[] = {
	SLOT(rms_norm, 12, 4),     SLOT(rope_pairs, 8, 3),     SLOT(rope_halves, 8, 3),
	SLOT(silu_mul, 12, 27),    SLOT(gelu_mul, 12, 32),     SLOT(swiglu_mul, 12, 32),
	SLOT(sigmoid_mul, 12, 26), SLOT(add_scaled, 12, 2),    SLOT(scale, 8, 1),
	SLOT(softcap, 8, 41),      SLOT(to_f16, 6, 1),         SLOT(lse, 4, 26),
	SLOT(conv, 12, 28),        SLOT(delta, 12, 7),         SLOT(attn_merge, 4, 2),
	SLOT(layer_norm, 12, 6),   SLOT(gelu_erf_mul, 12, 48),
};
enum { SLOTS = sizeof slots / sizeof *slots };

const char *probe_elem_name(int slot)
{
	return slot >= 0 && slot < SLOTS ? slots[slot].name : NULL;
}

double probe_elem_ops(int slot) { return slots[slot].ops; }

int probe_elem_same(int slot, const struct kern *a, const struct kern *b)
{
	return !memcmp((const char *)a + slots[slot].at, (const char *)b + slots[slot].at,
	               sizeof(void (*)(void)));
}

static double piece(struct probe_worker *w)
{
	const struct probe_job *j = w->job;
	size_t k = (size_t)j->c->k;
	const struct row r = { j->fx, j->fx + k, j->y + (size_t)w->id * k, j->c->k };

	for (int i = 0; i < TIMES; i++)
		slots[j->c->slot].run(j->k, &r);
	return TIMES * slots[j->c->slot].ops * j->c->k;
}

int probe_elem(struct probe_job *j, infer_probe *p, infer_error *err)
{
	const struct probe_case *c = j->c;
	size_t k = (size_t)c->k, rows = p->threads > 2 ? (size_t)p->threads : 2;

	j->fx = probe_floats(2 * k, 7);
	j->y = mem_aligned(MEM_PLAN, 64, rows * k * sizeof(float));
	if (!j->fx || !j->y)
		return err_nomem(err);
	memset(j->y, 0, rows * k * sizeof(float));
	for (size_t i = 0; i < k; i++) /* sums of exponentials are positive */
		j->fx[k + i] = j->fx[k + i] < 0 ? -j->fx[k + i] : j->fx[k + i];
	slots[c->slot].run(j->k, &(struct row){ j->fx, j->fx + k, j->y, c->k });
	slots[c->slot].run(&p->ref, &(struct row){ j->fx, j->fx + k, j->y + k, c->k });
	j->same = kern_data_differ(j->y, j->y + k, k) < 0;
	j->fn = piece;
	j->limit = INFER_LIMIT_FMA;
	j->bytes_per_op = slots[c->slot].bytes / slots[c->slot].ops;
	return INFER_OK;
}
