/* probe/machine_text.c - write a machine as members of a JSON object, and read it from JSON or
 * YAML.  In YAML a figure may be a list [figure, source]. */
#include <infer/machine.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/jwrite.h"
#include "probe/probe.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

enum kind { TEXT, WHOLE, BYTES, REAL };
struct field {
	const char *name;
	enum kind kind;
	size_t at, size;
	double most;
};
#define FIELD(of, kind, name, most) \
	{ \
#name, kind, offsetof(struct of, name), sizeof(((struct of *)0)->name), most \
	}
#define HOST(kind, name, most) FIELD(infer_machine, kind, name, most)
#define GPU(kind, name, most) FIELD(infer_gpu, kind, name, most)

static const struct field host_fields[] = {
	HOST(TEXT, name, 0),
	HOST(TEXT, kernels, 0),
	HOST(WHOLE, measured, 1),
	HOST(WHOLE, threads, 4096),
	HOST(WHOLE, nodes, 1024),
	HOST(BYTES, memory_bytes, 0),
	HOST(BYTES, l1d_bytes, 0),
	HOST(BYTES, l2_bytes, 0),
	HOST(BYTES, l3_bytes, 0),
	HOST(BYTES, page_bytes, 0),
	HOST(REAL, memory_gb_s, 1e6),
	HOST(REAL, huge_gb_s, 1e6),
	HOST(REAL, cached_gb_s, 1e6),
	HOST(REAL, disk_gb_s, 1e6),
	HOST(REAL, f32_gflop_s, 1e9),
	HOST(REAL, f32_one_gflop_s, 1e9),
	HOST(REAL, i8_gop_s, 1e9),
	HOST(REAL, i8_one_gop_s, 1e9),
	HOST(REAL, bf16_gflop_s, 1e9),
	HOST(REAL, tile_i8_gop_s, 1e9),
	HOST(REAL, tile_bf16_gflop_s, 1e9),
	HOST(REAL, barrier_ns, 1e9),
	HOST(REAL, step_ns, 1e12),
	HOST(REAL, batch_ns, 1e12),
	HOST(REAL, prompt_ns, 1e12),
	HOST(REAL, node_ns, 1e12),
	HOST(REAL, seq_ns, 1e12),
	HOST(REAL, row_ns, 1e12),
	HOST(REAL, sample_ns, 1e9),
	HOST(REAL, decode_part, 1),
	HOST(REAL, prefill_part, 1),
	HOST(REAL, watts, 1e6),
};
static const struct field gpu_fields[] = {
	GPU(TEXT, name, 0),          GPU(WHOLE, count, 1024),     GPU(BYTES, memory_bytes, 0),
	GPU(REAL, memory_gb_s, 1e6), GPU(REAL, f32_tflop_s, 1e6), GPU(REAL, f16_tflop_s, 1e6),
	GPU(REAL, f8_tflop_s, 1e6),  GPU(REAL, i8_top_s, 1e6),    GPU(REAL, link_gb_s, 1e6),
	GPU(REAL, host_gb_s, 1e6),   GPU(REAL, link_us, 1e6),     GPU(WHOLE, unified, 1),
	GPU(REAL, decode_part, 1),   GPU(REAL, prefill_part, 1),
};
enum {
	N_HOST = sizeof host_fields / sizeof *host_fields,
	N_GPU = sizeof gpu_fields / sizeof *gpu_fields
};

/* Members that are lists of n numbers, in the rates of kernels and of attention. */
struct list {
	const char *name;
	size_t at;
	int n;
};
#define LIST(of, name, n) \
	{ \
#name, offsetof(struct of, name), n \
	}
static const struct list loop_lists[] = {
	LIST(infer_loop_rate, rows, 4),  LIST(infer_loop_rate, cached, 4),
	LIST(infer_loop_rate, few, 3),   LIST(infer_loop_rate, tile, 3),
	LIST(infer_loop_rate, quant, 1),
};
static const struct list attn_lists[] = {
	LIST(infer_attn_rate, cached, INFER_MACHINE_HEADS),
	LIST(infer_attn_rate, prefill, INFER_MACHINE_HEADS),
	LIST(infer_attn_rate, one_ns, INFER_MACHINE_HEADS),
	LIST(infer_attn_rate, block_ns, INFER_MACHINE_HEADS),
	LIST(infer_attn_rate, put, 1),
};
enum {
	N_LOOP = sizeof loop_lists / sizeof *loop_lists,
	N_ATTN = sizeof attn_lists / sizeof *attn_lists
};

/* ---- writing ---- */

static void put_fields(struct jwrite *w, const void *from, const struct field *f, int n)
{
	for (int i = 0; i < n; i++) {
		const char *at = (const char *)from + f[i].at;
		int32_t whole;
		uint64_t bytes;
		double real;

		switch (f[i].kind) {
		case TEXT:
			if (*at)
				jw_str(w, f[i].name, at);
			break;
		case WHOLE:
			memcpy(&whole, at, sizeof whole);
			if (whole)
				jw_int(w, f[i].name, whole);
			break;
		case BYTES:
			memcpy(&bytes, at, sizeof bytes);
			if (bytes)
				jw_uint(w, f[i].name, bytes);
			break;
		case REAL:
			memcpy(&real, at, sizeof real);
			if (real > 0)
				jw_num(w, f[i].name, real);
			break;
		}
	}
}

static void put_lists(struct jwrite *w, const void *from, const struct list *l, int n)
{
	for (int i = 0; i < n; i++) {
		double v[4];
		memcpy(v, (const char *)from + l[i].at, (size_t)l[i].n * sizeof *v);
		jw_array(w, l[i].name);
		for (int k = 0; k < l[i].n; k++)
			jw_num(w, NULL, v[k]);
		jw_end(w);
	}
}

static void put_types(struct jwrite *w, const struct infer_machine *m)
{
	jw_array(w, "loops");
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		if (!(m->loops[t].rows[0] > 0))
			continue;
		jw_object(w, NULL);
		jw_str(w, "type", infer_type_info(t)->name);
		put_lists(w, &m->loops[t], loop_lists, N_LOOP);
		jw_end(w);
	}
	jw_end(w);
	jw_array(w, "attn");
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		if (!(m->attn[t].cached[0] > 0))
			continue;
		jw_object(w, NULL);
		jw_str(w, "type", infer_type_info(t)->name);
		put_lists(w, &m->attn[t], attn_lists, N_ATTN);
		jw_end(w);
	}
	jw_end(w);
	jw_object(w, "slots");
	for (int i = 0; i < INFER_MACHINE_SLOTS && probe_elem_name(i); i++)
		jw_num(w, probe_elem_name(i), m->slots[i]);
	jw_end(w);
}

void infer_machine_write(const struct infer_machine *m, struct jwrite *w)
{
	put_fields(w, m, host_fields, N_HOST);
	if (m->n_read) {
		jw_array(w, "read");
		for (int i = 0; i < m->n_read; i++) {
			jw_object(w, NULL);
			jw_int(w, "threads", m->read[i].threads);
			jw_num(w, "gb_s", m->read[i].gb_s);
			jw_end(w);
		}
		jw_end(w);
	}
	if (m->measured)
		put_types(w, m);
	if (m->gpu.count) {
		jw_object(w, "gpu");
		put_fields(w, &m->gpu, gpu_fields, N_GPU);
		jw_end(w);
	}
	if (!m->n_sources)
		return;
	jw_object(w, "sources");
	for (int i = 0; i < m->n_sources; i++)
		jw_str(w, m->sources[i].figure, m->sources[i].from);
	jw_end(w);
}

/* ---- reading ---- */

struct reader {
	struct infer_machine *m;
	const char *what;
	infer_error *err;
};

static int fail_unknown(const struct reader *r, const struct ytree *y, const char *key)
{
	return ytree_fail(y, r->what, r->err, INFER_EFORMAT, "'%.60s' is not a figure of a machine",
	                  key);
}

static int note_source(struct reader *r, const char *figure, const struct ytree *y)
{
	struct infer_machine *m = r->m;
	const char *from;

	TRY(ytree_text(&from, y, r->what, r->err));
	if (m->n_sources == INFER_MACHINE_SOURCES || y->n >= sizeof m->sources->from)
		return ytree_fail(
			y, r->what, r->err, INFER_EFORMAT,
			"a source must have less than %zu bytes, and a machine at most %d of them",
			sizeof m->sources->from, INFER_MACHINE_SOURCES);
	snprintf(m->sources[m->n_sources].figure, sizeof m->sources->figure, "%s", figure);
	snprintf(m->sources[m->n_sources++].from, sizeof m->sources->from, "%s", from);
	return INFER_OK;
}

/* Read a figure, or a list of a figure and its source. */
static int read_figure(struct reader *r, void *into, const struct field *f, const struct ytree *y)
{
	char *at = (char *)into + f->at;
	const struct ytree *v = y->kind == YTREE_LIST && y->n == 2 ? y->first : y;
	const char *text;
	uint64_t whole;
	int32_t small;
	double real;

	if (v != y)
		TRY(note_source(r, f->name, v->next));
	switch (f->kind) {
	case TEXT:
		TRY(ytree_text(&text, v, r->what, r->err));
		if (v->n >= f->size)
			return ytree_fail(v, r->what, r->err, INFER_EFORMAT,
			                  "%s must have at most %zu bytes", f->name, f->size - 1);
		memcpy(at, text, v->n + 1);
		break;
	case WHOLE:
		TRY(ytree_u64(&whole, v, 0, (uint64_t)f->most, r->what, r->err));
		small = (int32_t)whole;
		memcpy(at, &small, sizeof small);
		break;
	case BYTES:
		TRY(ytree_u64(&whole, v, 0, (uint64_t)1 << 60, r->what, r->err));
		memcpy(at, &whole, sizeof whole);
		break;
	case REAL:
		TRY(ytree_f64(&real, v, 0, f->most, r->what, r->err));
		memcpy(at, &real, sizeof real);
		break;
	}
	return INFER_OK;
}

static const struct field *find_field(const struct field *f, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	return NULL;
}

static int read_lists(struct reader *r, void *into, const struct list *l, int n,
                      const struct ytree *y)
{
	for (int i = 0; i < n; i++) {
		const struct ytree *list = ytree_get(y, l[i].name), *v;
		double of[4] = { 0 };
		int k = 0;

		if (!list)
			continue;
		TRY(ytree_list(list, r->what, r->err));
		for (v = list->first; v && k < l[i].n; v = v->next)
			TRY(ytree_f64(&of[k++], v, 0, 1e9, r->what, r->err));
		if (v || k < l[i].n)
			return ytree_fail(list, r->what, r->err, INFER_EFORMAT,
			                  "%s must be a list of %d numbers", l[i].name, l[i].n);
		memcpy((char *)into + l[i].at, of, (size_t)l[i].n * sizeof *of);
	}
	return INFER_OK;
}

static int read_type(const struct reader *r, const struct ytree *y, int *type)
{
	const struct ytree *v;
	const char *name;

	TRY(ytree_map(y, r->what, r->err));
	v = ytree_get(y, "type");
	if (!v)
		return ytree_fail(y, r->what, r->err, INFER_EFORMAT, "the rates need a type");
	TRY(ytree_text(&name, v, r->what, r->err));
	for (*type = 0; *type < INFER_TYPE_COUNT; ++*type)
		if (!strcmp(infer_type_info(*type)->name, name))
			return INFER_OK;
	return ytree_fail(v, r->what, r->err, INFER_EFORMAT, "'%.20s' is not a type", name);
}

static int read_rates(struct reader *r, const struct ytree *y, int attn)
{
	TRY(ytree_list(y, r->what, r->err));
	for (const struct ytree *v = y->first; v; v = v->next) {
		int type = 0;

		TRY(read_type(r, v, &type));
		if (attn)
			TRY(read_lists(r, &r->m->attn[type], attn_lists, N_ATTN, v));
		else
			TRY(read_lists(r, &r->m->loops[type], loop_lists, N_LOOP, v));
	}
	return INFER_OK;
}

static int read_memory_rates(struct reader *r, const struct ytree *y)
{
	TRY(ytree_list(y, r->what, r->err));
	for (const struct ytree *v = y->first; v && r->m->n_read < INFER_MACHINE_COUNTS;
	     v = v->next) {
		const struct ytree *t, *rate;
		uint64_t threads;

		TRY(ytree_map(v, r->what, r->err));
		t = ytree_get(v, "threads");
		rate = ytree_get(v, "gb_s");
		if (!t || !rate)
			return ytree_fail(v, r->what, r->err, INFER_EFORMAT,
			                  "a rate of reading memory needs threads and gb_s");
		TRY(ytree_u64(&threads, t, 1, 4096, r->what, r->err));
		TRY(ytree_f64(&r->m->read[r->m->n_read].gb_s, rate, 0, 1e6, r->what, r->err));
		r->m->read[r->m->n_read++].threads = (int32_t)threads;
	}
	return INFER_OK;
}

static int read_slots(struct reader *r, const struct ytree *y)
{
	TRY(ytree_map(y, r->what, r->err));
	for (int i = 0; i < INFER_MACHINE_SLOTS && probe_elem_name(i); i++) {
		const struct ytree *v = ytree_get(y, probe_elem_name(i));
		if (v)
			TRY(ytree_f64(&r->m->slots[i], v, 0, 1e9, r->what, r->err));
	}
	return INFER_OK;
}

static int read_gpu(struct reader *r, const struct ytree *y)
{
	TRY(ytree_map(y, r->what, r->err));
	r->m->gpu.count = 1;
	for (const struct ytree *v = y->first; v; v = v->next) {
		const struct field *f = find_field(gpu_fields, N_GPU, v->key->at);
		if (!f)
			return fail_unknown(r, v->key, v->key->at);
		TRY(read_figure(r, &r->m->gpu, f, v));
	}
	if (!r->m->gpu.memory_bytes || !(r->m->gpu.memory_gb_s > 0))
		return ytree_fail(y, r->what, r->err, INFER_EFORMAT,
		                  "a gpu needs memory_bytes and memory_gb_s");
	return INFER_OK;
}

static int read_sources(struct reader *r, const struct ytree *y)
{
	TRY(ytree_map(y, r->what, r->err));
	for (const struct ytree *v = y->first; v; v = v->next)
		TRY(note_source(r, v->key->at, v));
	return INFER_OK;
}

int probe_machine_take(struct infer_machine *m, const struct ytree *y, const char *what,
                       infer_error *err)
{
	struct reader r = { m, what, err };

	TRY(ytree_map(y, what, err));
	for (const struct ytree *v = y->first; v; v = v->next) {
		const char *key = v->key->at;
		const struct field *f = find_field(host_fields, N_HOST, key);

		if (f)
			TRY(read_figure(&r, m, f, v));
		else if (!strcmp(key, "read"))
			TRY(read_memory_rates(&r, v));
		else if (!strcmp(key, "loops") || !strcmp(key, "attn"))
			TRY(read_rates(&r, v, *key == 'a'));
		else if (!strcmp(key, "slots"))
			TRY(read_slots(&r, v));
		else if (!strcmp(key, "gpu"))
			TRY(read_gpu(&r, v));
		else if (!strcmp(key, "sources"))
			TRY(read_sources(&r, v));
		else
			return fail_unknown(&r, v->key, key);
	}
	if (!*m->name)
		return ytree_fail(y, what, err, INFER_EFORMAT, "a machine needs the key name");
	if (!m->gpu.count && !(m->memory_gb_s > 0 && m->memory_bytes))
		return ytree_fail(
			y, what, err, INFER_EFORMAT,
			"a machine needs memory_bytes and memory_gb_s, or a gpu that has them");
	return INFER_OK;
}

int infer_machine_read(struct infer_machine *m, const char *text, size_t bytes, const char *name,
                       infer_error *err)
{
	struct ytree *root;
	struct arena tree;
	int rc;

	*m = (struct infer_machine){ .measured = 0 };
	arena_init(&tree, MEM_PLAN);
	rc = ytree_read(&root, &tree, text, bytes, name, err);
	if (!rc && !root)
		rc = err_set(err, INFER_EFORMAT, "%s: line 1, column 1: the description is empty",
		             name);
	if (!rc) {
		const struct ytree *record =
			root->kind == YTREE_MAP ? ytree_get(root, "measured") : NULL;
		rc = probe_machine_take(m, record && record->kind == YTREE_MAP ? record : root,
		                        name, err);
	}
	arena_fini(&tree);
	return rc;
}
