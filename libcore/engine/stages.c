/* engine/stages.c - the devices of an engine: open them, give each its part of the model, and run
 * them in turn */
#include "engine/stages.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>

static int name_failed_device(const struct stages *s, int i, int rc, infer_error *err)
{
	const struct backend_device *on = &s->at[i].on;

	return rc && (s->n > 1 || on->name[0]) ? backend_blame(rc, on, err) : rc;
}

static int has_twin(const struct stages_device *d, int n, int i)
{
	for (int k = 0; k < n; k++)
		if (k != i && d[k].kind == d[i].kind)
			return 1;
	return 0;
}

/* Name the device; with its number if the kind alone is ambiguous. */
static void name_device(struct backend_device *on, const struct stages_device *d, int n, int i)
{
	if (d[i].number > 0 || has_twin(d, n, i))
		snprintf(on->name, sizeof on->name, "%.8s%d", d[i].kind->name, d[i].number);
}

/* Add the description of an open device to its name.  A single device gets no number, so that a record of
 * it can be replayed on any that computes the same bits. */
static void describe_device(struct backend_device *on, const struct stages_device *d, int n, int i)
{
	char what[8] = "", number[12] = "";

	if (!on->kind->describe)
		return;
	on->kind->describe(on->b, what, sizeof what);
	if (!what[0])
		return;
	if (has_twin(d, n, i))
		snprintf(number, sizeof number, "%d", d[i].number);
	snprintf(on->name, sizeof on->name, "%.5s%.2s/%.7s", on->kind->name, number, what);
}

static int open_device(struct stages *s, const struct stages_device *d, int n, int i,
                       const struct host *host, infer_error *err)
{
	struct backend_device *on = &s->at[i].on;
	const struct backend_opts o = { .device = d[i].number,
		                        .loading = s->loading.fn ? &s->upload : NULL };
	int rc;

	on->kind = d[i].kind;
	name_device(on, d, n, i);
	s->n = i + 1;
	rc = on->kind->open(&on->b, host, &o, err);
	rc = backend_blame(rc, on, err);
	if (rc == INFER_EINVAL) { /* the option is well formed, but there is no such device */
		rc = INFER_EDEVICE;
		if (err)
			err->code = rc;
	}
	if (!rc)
		describe_device(on, d, n, i);
	return rc;
}

/* Report the bytes of all weights copied so far; done: those of the current device. */
static void on_upload(void *user, uint64_t done, uint64_t all)
{
	const struct stages *s = user;

	(void)all;
	s->loading.fn(s->loading.user, s->loaded_bytes + done, s->load_bytes);
}

int stages_open(struct stages *s, const struct stages_device *d, int n, const struct host *host,
                const struct infer_watch *loading, infer_error *err)
{
	*s = (struct stages){ .upload = { on_upload, s } };
	if (loading)
		s->loading = *loading;
	if (n < 1 || n > KV_DEVICES)
		return err_set(err, INFER_EINVAL, "%d devices: must be from 1 to %d", n,
		               KV_DEVICES);
	for (int i = 0; i < n; i++)
		TRY(open_device(s, d, n, i, host, err));
	return INFER_OK;
}

static int alloc_edges(struct stages *s, const struct place_plan *p,
                       const struct backend_size *size, infer_error *err)
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

/* Return the bytes of a part's weights that are copied to its device. */
static uint64_t load_bytes(const struct place_part *part)
{
	const struct backend_model *m = &part->model;

	return part->weights ? weights_bytes(m->weights, m->n_weights) -
	                               weights_host_bytes(m->weights, m->n_weights)
	                     : 0;
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
	TRY(name_failed_device(
		s, i, st->on.kind->load(&st->weights, st->on.b, m->weights, m->n_weights, err),
		err));
	s->loaded_bytes += load_bytes(part);
	return name_failed_device(
		s, i, st->on.kind->plan(&st->plan, st->on.b, st->weights, m, size, err), err);
}

int stages_make(struct stages *s, const struct place_plan *p, const struct kv *kv,
                const struct backend_size *size, infer_error *err)
{
	must(s->n == p->n_parts);
	if (s->n > 1)
		TRY(alloc_edges(s, p, size, err));
	for (int i = 0; i < s->n; i++)
		s->load_bytes += load_bytes(&p->parts[i]);
	for (int i = 0, first = 0; i < s->n; first += p->parts[i++].n_groups) {
		s->at[i].first = first;
		s->at[i].nodes = p->parts[i].model.graph->n;
		s->nodes += s->at[i].nodes;
		TRY(make_stage(s, i, &p->parts[i], kv, size, err));
	}
	return INFER_OK;
}

/* Report progress of a step: the current device has computed done / all of its part. */
static void report_part(void *user, uint64_t done, uint64_t all)
{
	const struct stages *s = user;
	double nodes = s->before + s->here * ((double)done / (double)all);

	s->watch->fn(s->watch->user, (uint64_t)(1000 * nodes), 1000 * (uint64_t)s->nodes);
}

int stages_run(struct stages *s, const struct backend_step *step, struct backend_result *r,
               infer_error *err)
{
	const struct infer_watch watch = { report_part, s };
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
			/* only the last stage has outputs */
			part.want = i + 1 < s->n ? NULL : step->want;
		}
		TRY(name_failed_device(s, i, backend_compute(st->on.kind, st->plan, &part, r, err),
		                       err));
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
