/* infer-inspect/plan_table.c - tables: a model on one machine by types and contexts, or on every
 * machine of the library. */
#include "plan.h"
#include "base/err.h"

#include <string.h>

static const int table_types[] = { INFER_F16,  INFER_Q8_0,   INFER_Q6_K, INFER_Q5_K,
	                           INFER_Q4_K, INFER_IQ4_XS, INFER_Q3_K };
enum { N_TYPES = sizeof table_types / sizeof *table_types };

static double type_bits(int type)
{
	const struct infer_type_info *t = infer_type_info(type);

	return 8.0 * t->block_bytes / t->block;
}

/* Append a number, or "-" for 0 (unknown). */
static void put_cell(struct buf *out, int width, int decimals, double v)
{
	if (v > 0)
		buf_printf(out, " %*.*f", width, decimals, v);
	else
		buf_printf(out, " %*s", width, "-");
}

/* Append a row of the table, as text or as a record. */
static void put_plan_row(struct buf *out, const struct planned *p, const struct infer_machine *m,
                         const char *name, int type, const struct infer_plan_ask *a,
                         const struct infer_plan *r)
{
	int gpu = a->how.gpu_part > 0;
	struct jwrite w;

	if (p->o->json) {
		infer_record_open(&w, out, INFER_KIND_PLAN, out->len ? 0 : INFER_RECORD_FIRST);
		jw_str(&w, "model", p->named);
		jw_str(&w, "machine", m->name);
		jw_str(&w, "type", infer_type_info(type)->name);
		jw_int(&w, "ctx", a->ctx);
		jw_bool(&w, "fits", r->need.fits);
		jw_num(&w, "bytes", gpu ? r->need.gpu * a->how.gpus : r->need.host);
		if (!r->prefill.partial)
			jw_num(&w, "limit_prefill_tok_s", r->limit_prefill_tok_s);
		jw_num(&w, "limit_decode_tok_s", r->limit_decode_tok_s);
		if (r->prefill_tok_s > 0)
			jw_num(&w, "prefill_tok_s", r->prefill_tok_s);
		if (r->decode_tok_s > 0)
			jw_num(&w, "decode_tok_s", r->decode_tok_s);
		jw_int(&w, "users_memory", r->users_memory);
		infer_record_close(&w);
		return;
	}
	buf_printf(out, "%-18s %-7s %7d %5s %9.2f", name, infer_type_info(type)->name, (int)a->ctx,
	           r->need.fits ? "yes" : "no",
	           (gpu ? r->need.gpu * a->how.gpus : r->need.host) / (1 << 30));
	put_cell(out, 9, 1, r->prefill_tok_s);
	put_cell(out, 9, 1, r->prefill.partial ? 0 : r->limit_prefill_tok_s);
	put_cell(out, 8, 2, r->decode_tok_s);
	put_cell(out, 8, 2, r->limit_decode_tok_s);
	buf_printf(out, " %6d\n", (int)r->users_memory);
}

static void put_head(struct buf *out, const struct planned *p)
{
	if (!p->o->json)
		buf_printf(out, "%-18s %-7s %7s %5s %9s %9s %9s %8s %8s %6s\n", "machine", "type",
		           "ctx", "fits", "GiB", "prefill", "limit", "decode", "limit", "users");
}

static int put_machine_rows(struct buf *out, struct planned *p, infer_error *err)
{
	struct infer_machine m;
	struct infer_plan r;
	char name[32];

	for (int i = 0; infer_machine_name(i, name); i++) {
		struct infer_plan_ask a = p->asked.ask;
		TRY(infer_machine_find(&m, name, err));
		struct infer_setup how;
		infer_plan_place(&how, &p->shape, &m, &a);
		a.how = how;
		infer_plan_make(&r, &p->shape, &m, &a, NULL);
		put_plan_row(out, p, &m, name, p->type, &a, &r);
	}
	return INFER_OK;
}

/* Append the rows of a type; the model's own: of the model as it is. */
static void put_rows_of(struct buf *out, struct planned *p, int type)
{
	static const int32_t contexts[] = { 4096, 32768, 131072 };
	struct infer_shape s = p->shape;

	if (type != p->type)
		infer_shape_retype(&s, type);
	for (size_t c = 0; c < sizeof contexts / sizeof *contexts; c++) {
		struct infer_plan_ask a = p->asked.ask;
		struct infer_plan r;
		if (contexts[c] > p->shape.ctx_train && c)
			continue;
		a.ctx = contexts[c];
		if (a.prompt + a.output > a.ctx)
			continue;
		struct infer_setup how;
		infer_plan_place(&how, &s, p->m, &a);
		a.how = how;
		infer_plan_make(&r, &s, p->m, &a, NULL);
		put_plan_row(out, p, p->m, p->o->machine ? p->o->machine : "here", type, &a, &r);
	}
}

static void put_type_rows(struct buf *out, struct planned *p)
{
	int listed = 0;

	for (int t = 0; t < N_TYPES; t++)
		listed |= table_types[t] == p->type;
	if (!listed)
		put_rows_of(out, p, p->type);
	for (int t = 0; t < N_TYPES; t++)
		if (type_bits(table_types[t]) <= type_bits(p->type))
			put_rows_of(out, p, table_types[t]);
}

int plan_table(struct buf *out, struct planned *p, infer_error *err)
{
	int all = p->o->machine && !strcmp(p->o->machine, "all");

	put_head(out, p);
	if (all)
		return put_machine_rows(out, p, err);
	put_type_rows(out, p);
	return INFER_OK;
}
