/* engine/stages.c - the devices of an engine: open them, give each its part of the model, and run
 * them in turn */
#include "engine/stages.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>

static int blame(const struct stages *s, int i, int rc, infer_error *err)
{
	return rc && s->n > 1 ? backend_blame(rc, &s->at[i].on, err) : rc;
}

/* The number is part of the name where the kind alone could be another device. */
static void name(struct backend_device *on, const struct stages_device *d, int n, int i)
{
	int number = d[i].number > 0;

	for (int k = 0; k < n; k++)
		number |= k != i && d[k].kind == d[i].kind;
	if (number)
		snprintf(on->name, sizeof on->name, "%.8s%d", d[i].kind->name, d[i].number);
}

int stages_open(struct stages *s, const struct stages_device *d, int n, const struct host *host,
                infer_error *err)
{
	*s = (struct stages){ 0 };
	if (n < 1 || n > KV_DEVICES)
		return err_set(err, INFER_EINVAL, "%d devices: from 1 to %d", n, KV_DEVICES);
	for (int i = 0; i < n; i++) {
		struct backend_device *on = &s->at[i].on;

		on->kind = d[i].kind;
		name(on, d, n, i);
		s->n = i + 1;
		TRY(on->kind->open(&on->b, host, &(struct backend_opts){ d[i].number }, err));
	}
	return INFER_OK;
}

static int make_edges(struct stages *s, const struct place_plan *p, const struct backend_size *size,
                      infer_error *err)
{
	size_t n = (size_t)p->split.n_edges, bytes, *offset;
	int rc;

	offset = mem_alloc(MEM_ENGINE, n, sizeof *offset);
	s->edges = mem_alloc(MEM_ENGINE, n, sizeof *s->edges);
	rc = offset && s->edges
	             ? graph_split_edges(&p->split, size->rows, size->out, offset, &bytes, err)
	             : err_set(err, INFER_ENOMEM, "no memory for %zu edges", n);
	if (!rc) {
		s->edge_mem = mem_aligned(MEM_ENGINE, 64, bytes);
		if (!s->edge_mem)
			rc = err_set(err, INFER_ENOMEM,
			             "no memory for %zu bytes between the devices", bytes);
	}
	for (size_t i = 0; i < n && !rc; i++)
		s->edges[i] = (float *)(void *)(s->edge_mem + offset[i]);
	mem_free(offset);
	return rc;
}

static int make_stage(struct stages *s, int i, const struct place_part *part, const struct kv *kv,
                      const struct backend_size *size, infer_error *err)
{
	const struct backend_model *m = &part->model;
	struct stage *st = &s->at[i];

	st->kv = kv_view(kv, i);
	if (s->n > 1) {
		st->runs = mem_alloc(MEM_ENGINE, (size_t)size->rows, sizeof *st->runs);
		if (!st->runs)
			return err_set(err, INFER_ENOMEM, "no memory for steps of %d rows",
			               size->rows);
	}
	TRY(blame(s, i, st->on.kind->load(&st->weights, st->on.b, m->weights, m->n_weights, err),
	          err));
	return blame(s, i, st->on.kind->plan(&st->plan, st->on.b, st->weights, m, size, err), err);
}

int stages_make(struct stages *s, const struct place_plan *p, const struct kv *kv,
                const struct backend_size *size, infer_error *err)
{
	must(s->n == p->n_parts);
	if (s->n > 1)
		TRY(make_edges(s, p, size, err));
	for (int i = 0, first = 0; i < s->n; first += p->parts[i++].n_groups) {
		s->at[i].first = first;
		s->at[i].nodes = p->parts[i].model.graph->n;
		s->nodes += s->at[i].nodes;
		TRY(make_stage(s, i, &p->parts[i], kv, size, err));
	}
	return INFER_OK;
}

/* A device has told how much of its part is done. */
static void on_part(void *user, uint64_t done, uint64_t all)
{
	const struct stages *s = user;
	double nodes = s->before + s->here * ((double)done / (double)all);

	s->watch->fn(s->watch->user, (uint64_t)(1000 * nodes), 1000 * (uint64_t)s->nodes);
}

int stages_run(struct stages *s, const struct backend_step *step, struct backend_result *r,
               infer_error *err)
{
	const struct infer_watch watch = { on_part, s };
	struct backend_step part = *step;

	part.observer = s->observer.fn ? &s->observer : NULL;
	s->watch = step->watch;
	s->before = 0;
	for (int i = 0; i < s->n; i++) {
		struct stage *st = &s->at[i];

		part.kv = st->kv;
		if (s->n > 1) {
			for (int32_t k = 0; k < step->n_runs; k++) {
				st->runs[k] = step->runs[k];
				st->runs[k].pages += st->first;
			}
			s->here = st->nodes;
			part.watch = step->watch ? &watch : NULL;
			part.runs = st->runs;
			part.edges = s->edges;
		}
		TRY(blame(s, i, backend_compute(st->on.kind, st->plan, &part, r, err), err));
		s->before += st->nodes;
	}
	return INFER_OK;
}

void stages_close(struct stages *s)
{
	for (int i = 0; i < s->n; i++) {
		struct stage *st = &s->at[i];

		st->on.kind->plan_free(st->plan);
		st->on.kind->unload(st->weights);
		st->on.kind->close(st->on.b);
		mem_free(st->runs);
	}
	mem_free(s->edges);
	mem_free(s->edge_mem);
	*s = (struct stages){ 0 };
}
