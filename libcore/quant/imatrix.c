/* quant/imatrix.c - importance matrices: sums of squares of the inputs of weight matrices,
 * measured on a text, merged, written and read */
#include <infer/imatrix.h>
#include <infer/meta.h>
#include <infer/type.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "file/gguf_write.h"
#include "quant/imatrix_dat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 512, MOST = 1 << 16, NAME_MOST = 52 };

struct entry {
	const char *name;
	int64_t columns, matrices;
	double *sums, *counts;
	int loose; /* 1: only read from .dat files, which lack the number of matrices */
};
struct infer_imatrix {
	struct arena mem; /* memory of the entries' names and numbers */
	struct entry *at; /* sorted by name */
	size_t n, cap;
	uint64_t windows;
	int32_t window;
	const char *dataset; /* name of the text; NULL: none */
	infer_error err;     /* error found by the observer callback, which cannot return it */
	/* last input observed, as the parts of a product report the same input */
	struct infer_inputs last;
};

int infer_imatrix_new(infer_imatrix **out, infer_error *err)
{
	infer_imatrix *m = *out = mem_zalloc(MEM_QUANT, 1, sizeof *m);

	if (!m)
		return err_nomem(err);
	arena_init(&m->mem, MEM_QUANT);
	return INFER_OK;
}

void infer_imatrix_free(infer_imatrix *m)
{
	if (!m)
		return;
	arena_fini(&m->mem);
	mem_free(m->at);
	mem_free(m);
}

/* Divide an entry that was read as one matrix into several. */
static int reshape(infer_imatrix *m, struct entry *e, int64_t columns, int64_t matrices,
                   infer_error *err)
{
	double *counts = arena_alloc(&m->mem, (size_t)matrices, sizeof *counts);

	if (!counts)
		return err_nomem(err);
	for (int64_t i = 0; i < matrices; i++)
		counts[i] = *e->counts;
	e->counts = counts;
	e->columns = columns;
	e->matrices = matrices;
	e->loose = 0;
	return INFER_OK;
}

static int check_shape(infer_imatrix *m, struct entry *e, int64_t columns, int64_t matrices,
                       infer_error *err)
{
	if (e->columns == columns && e->matrices == matrices)
		return INFER_OK;
	if (e->loose && e->columns == columns * matrices)
		return reshape(m, e, columns, matrices, err);
	return err_set(err, INFER_EFORMAT,
	               "%s has %lld columns of %lld matrices, and %lld of %lld before", e->name,
	               (long long)columns, (long long)matrices, (long long)e->columns,
	               (long long)e->matrices);
}

/* Find the entry of a name, or add it.  INFER_EFORMAT: its shape differs, the name is too long, or
 * there are too many entries. */
static int get_entry(infer_imatrix *m, struct infer_str name, int64_t columns, int64_t matrices,
                     struct entry **out, infer_error *err)
{
	size_t lo = 0, hi = m->n;
	struct entry *e;

	while (lo < hi) {
		size_t i = (lo + hi) / 2;
		int c = strncmp(m->at[i].name, name.at, name.len);

		if (!c && !m->at[i].name[name.len]) {
			*out = &m->at[i];
			return check_shape(m, *out, columns, matrices, err);
		}
		if (c < 0)
			lo = i + 1;
		else
			hi = i;
	}
	if (m->n == MOST || name.len > NAME_MOST)
		return err_set(err, INFER_EFORMAT, "more than %d tensors, or a name of %zu bytes",
		               MOST, name.len);
	if (m->n == m->cap) {
		e = mem_realloc(MEM_QUANT, m->at, m->cap + 256, sizeof *e);
		if (!e)
			return err_nomem(err);
		m->at = e;
		m->cap += 256;
	}
	struct entry made = { .name = arena_strndup(&m->mem, name.at, name.len),
		              .columns = columns,
		              .matrices = matrices,
		              .sums = arena_alloc(&m->mem, (size_t)(columns * matrices),
		                                  sizeof(double)),
		              .counts = arena_alloc(&m->mem, (size_t)matrices, sizeof(double)) };

	if (m->mem.bad)
		return err_nomem(err);
	memmove(m->at + lo + 1, m->at + lo, (m->n - lo) * sizeof *m->at);
	m->n++;
	m->at[lo] = made;
	*out = &m->at[lo];
	return INFER_OK;
}

static void on_inputs(void *user, const struct infer_inputs *in)
{
	infer_imatrix *m = user;
	const struct infer_inputs *l = &m->last;
	int64_t matrices = in->tensor->n_dims > 2 ? in->tensor->ne[2] : 1;
	struct entry *e;

	if (in->tensor->name.len < 4 || memcmp(in->tensor->name.at, "blk.", 4))
		return; /* the output matrix, which other programs leave out too */
	if (m->err.code || (l->tensor == in->tensor && l->matrix == in->matrix && l->x == in->x))
		return;
	m->last = *in;
	if (get_entry(m, in->tensor->name, in->k, matrices, &e, &m->err))
		return;
	double *sums = e->sums + in->matrix * e->columns;

	for (int32_t i = 0; i < in->n; i++) {
		const float *row = in->x + (size_t)(in->at ? in->at[i] : i) * in->ld;

		for (int32_t c = 0; c < in->k; c++)
			sums[c] += (double)row[c] * (double)row[c];
	}
	e->counts[in->matrix] += in->n;
}

struct infer_observer infer_imatrix_observer(infer_imatrix *m)
{
	return (struct infer_observer){ on_inputs, m };
}

/* ---- running a text ---- */

static int run_window(infer_imatrix *m, infer_engine *e, const int32_t *ids, int32_t n,
                      infer_error *err)
{
	const struct infer_request q = { .prompt = ids,
		                         .n_prompt = (size_t)n,
		                         .flags = INFER_REQ_NO_TEXT | INFER_REQ_SCORE };
	struct infer_event ev;

	TRY(infer_engine_submit(e, &q, NULL, err));
	while (infer_engine_busy(e)) {
		/* forget the last input: the next step may have other rows at its address */
		m->last = (struct infer_inputs){ 0 };
		TRY(infer_engine_step(e, err));
		while (infer_engine_next(e, &ev))
			if (ev.kind == INFER_EVENT_DONE && ev.code)
				return err_set(err, ev.code, "%s", ev.message);
	}
	return m->err.code ? err_set(err, m->err.code, "%s", m->err.message) : INFER_OK;
}

static int all_finite(const infer_imatrix *m, infer_error *err)
{
	for (size_t i = 0; i < m->n; i++)
		for (int64_t k = 0; k < m->at[i].columns * m->at[i].matrices; k++)
			if (!isfinite(m->at[i].sums[k]))
				return err_set(err, INFER_ENAN,
				               "the input of column %lld of %s is not finite",
				               (long long)(k % m->at[i].columns), m->at[i].name);
	return INFER_OK;
}

int infer_imatrix_read(infer_imatrix *m, const infer_model *model, infer_engine *e,
                       const struct infer_imatrix_text *t, infer_error *err)
{
	size_t size = t->window ? (size_t)t->window : WINDOW, all = t->n_ids / size;
	int32_t *ids;
	int rc = INFER_OK;

	if (!all)
		return err_set(err, INFER_EINVAL, "the text has %zu tokens; a window has %zu",
		               t->n_ids, size);
	ids = mem_alloc(MEM_QUANT, size, sizeof *ids);
	if (!ids)
		return err_nomem(err);
	m->window = (int32_t)size;
	for (size_t w = t->from; !rc && w < all; w++) {
		memcpy(ids, t->ids + w * size, size * sizeof *ids);
		if (infer_model_adds_bos(model))
			ids[0] = infer_token_special(infer_model_tokenizer(model), INFER_BOS);
		rc = run_window(m, e, ids, (int32_t)size, err);
		if (!rc)
			rc = all_finite(m, err);
		m->windows += !rc;
		if (!rc && t->done)
			rc = t->done(t->user, w + 1, all, err);
	}
	mem_free(ids);
	return rc;
}

/* ---- files ---- */

static double number_at(const struct infer_tensor *t, int64_t i)
{
	double d;
	float f;

	if (t->type == INFER_F64) {
		memcpy(&d, (const char *)t->data + 8 * i, 8);
		return d;
	}
	memcpy(&f, (const char *)t->data + 4 * i, 4);
	return (double)f;
}

static int is_numbers(const struct infer_tensor *t)
{
	return t && (t->type == INFER_F32 || t->type == INFER_F64);
}

static int add_entry(infer_imatrix *m, const infer_file *f, const struct infer_tensor *sums,
                     struct infer_str name, infer_error *err)
{
	char other[NAME_MOST + 16];
	struct entry *e;

	if (name.len > NAME_MOST)
		return err_set(err, INFER_EFORMAT, "a name of %zu bytes", name.len);
	snprintf(other, sizeof other, "%.*s.counts", (int)name.len, name.at);
	const struct infer_tensor *counts = infer_file_tensor(f, other);

	if (!is_numbers(sums) || !is_numbers(counts) || counts->ne[0] != 1 ||
	    counts->ne[1] != sums->ne[1] || sums->ne[2] != 1 || counts->ne[2] != 1 ||
	    sums->ne[3] != 1 || counts->ne[3] != 1)
		return err_set(err, INFER_EFORMAT, "importances of %.*s: no counts fit the sums",
		               (int)name.len, name.at);
	TRY(get_entry(m, name, sums->ne[0], sums->ne[1], &e, err));
	for (int64_t i = 0; i < sums->ne[0] * sums->ne[1]; i++) {
		double x = number_at(sums, i);

		if (!(x >= 0 && isfinite(x)))
			return err_set(err, INFER_EFORMAT, "importances of %s: %g", e->name, x);
		e->sums[i] += x;
	}
	for (int64_t i = 0; i < sums->ne[1]; i++) {
		double x = number_at(counts, i);

		if (!(x >= 0 && isfinite(x)))
			return err_set(err, INFER_EFORMAT, "counts of %s: %g", e->name, x);
		e->counts[i] += x;
	}
	return INFER_OK;
}

static int add_gguf(infer_imatrix *m, const infer_file *f, infer_error *err)
{
	static const char end[] = ".in_sum2";
	struct infer_str type = { "", 0 };
	const struct infer_tensor *t;
	uint64_t windows = 0, window = 0;

	TRY(infer_meta_str(f, "general.type", &type, NULL, err));
	if (type.len != 7 || memcmp(type.at, "imatrix", 7))
		return err_set(err, INFER_EFORMAT, "general.type is not imatrix");
	TRY(infer_meta_u64(f, "imatrix.chunk_count", &windows, NULL, err));
	TRY(infer_meta_u64(f, "imatrix.chunk_size", &window, NULL, err));
	const struct infer_meta *sets = infer_file_meta(f, "imatrix.datasets");
	struct infer_str set;

	if (!m->dataset && sets && sets->elem_type == INFER_META_STR && sets->count) {
		TRY(infer_meta_str_at(f, sets, 0, &set, err));
		m->dataset = arena_strndup(&m->mem, set.at, set.len);
		if (!m->dataset)
			return err_nomem(err);
	}
	m->windows += windows;
	m->window = (int32_t)num_min((int64_t)window, INT32_MAX);
	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		struct infer_str name = t->name;

		if (name.len < sizeof end ||
		    memcmp(name.at + name.len - (sizeof end - 1), end, sizeof end - 1))
			continue;
		name.len -= sizeof end - 1;
		TRY(add_entry(m, f, t, name, err));
	}
	return m->n ? INFER_OK : err_set(err, INFER_EFORMAT, "no importances");
}

/* Add an entry of a .dat file.  The file has means over windows, but not the window size; like
 * other programs, assume WINDOW tokens. */
static int add_dat_entry(infer_imatrix *m, const struct dat_entry *d, infer_error *err)
{
	double size = m->window ? (double)m->window : WINDOW;
	int64_t n = (int64_t)d->n;
	struct entry *e = NULL;
	infer_error why;
	size_t was = m->n;
	int rc = get_entry(m, d->name, n, 1, &e, &why);

	if (rc && !(e && e->columns * e->matrices == n))
		return err_set(err, rc, "%s", why.message);
	e->loose |= m->n > was;
	for (int64_t i = 0; i < n; i++) {
		double x = (double)dat_value(d, (size_t)i);

		if (!(x >= 0 && isfinite(x)))
			return err_set(err, INFER_EFORMAT, "importances of %s: %g", e->name, x);
		e->sums[i] += x * size;
	}
	for (int64_t i = 0; i < e->matrices; i++)
		e->counts[i] += (double)(d->calls ? d->calls : 1) * size;
	return INFER_OK;
}

static int add_dat(infer_imatrix *m, const struct os_file *map, infer_error *err)
{
	struct dat_entry e;
	struct dat d;

	TRY(dat_begin(&d, map->at, map->bytes, err));
	while (d.left) {
		TRY(dat_next(&d, &e, err));
		TRY(add_dat_entry(m, &e, err));
	}
	TRY(dat_end(&d, err));
	m->windows += d.chunks;
	m->window = m->window ? m->window : WINDOW;
	if (!m->dataset && d.dataset.len) {
		m->dataset = arena_strndup(&m->mem, d.dataset.at, d.dataset.len);
		if (!m->dataset)
			return err_nomem(err);
	}
	return INFER_OK;
}

static int add_file(infer_imatrix *m, const char *path, int *named, infer_error *err)
{
	struct os_file map = { 0 };
	infer_file *f = NULL;
	int rc;

	*named = 1;
	TRY(os_file_map(&map, path, err));
	if (map.bytes >= 4 && memcmp(map.at, "GGUF", 4)) {
		*named = 0;
		rc = add_dat(m, &map, err);
	} else {
		rc = infer_file_open(&f, path, err);
		*named = rc != INFER_OK;
		if (!rc)
			rc = add_gguf(m, f, err);
		infer_file_close(&f);
	}
	os_file_unmap(&map);
	return rc;
}

int infer_imatrix_add(infer_imatrix *m, const char *path, infer_error *err)
{
	infer_error why = { 0 };
	int named, rc = add_file(m, path, &named, &why);

	if (!rc)
		return INFER_OK;
	return named ? err_set(err, rc, "%s", why.message)
	             : err_set(err, rc, "%s: %s", path, why.message);
}

int infer_imatrix_name(infer_imatrix *m, const char *dataset, infer_error *err)
{
	m->dataset = arena_strndup(&m->mem, dataset, strlen(dataset));
	return m->dataset ? INFER_OK : err_nomem(err);
}

/* Numbers of an entry, written in rows of n. */
struct numbers {
	const double *at;
	int64_t n;
	int exact;
};

static int write_numbers(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct numbers *x = user;

	(void)err;
	for (int64_t i = 0; i < n * x->n; i++) {
		double d = x->at[row * x->n + i];
		float f = (float)d;

		if (x->exact)
			memcpy((char *)dst + 8 * i, &d, 8);
		else
			memcpy((char *)dst + 4 * i, &f, 4);
	}
	return INFER_OK;
}

static int write_entry(struct gguf_write *w, const struct entry *e, int exact, struct numbers at[2],
                       infer_error *err)
{
	const int type = exact ? INFER_F64 : INFER_F32;
	char name[NAME_MOST + 16];

	at[0] = (struct numbers){ e->sums, e->columns, exact };
	at[1] = (struct numbers){ e->counts, 1, exact };
	snprintf(name, sizeof name, "%s.in_sum2", e->name);
	TRY(gguf_write_tensor(w, name, type, 2, (int64_t[]){ e->columns, e->matrices },
	                      write_numbers, &at[0], err));
	snprintf(name, sizeof name, "%s.counts", e->name);
	return gguf_write_tensor(w, name, type, 2, (int64_t[]){ 1, e->matrices }, write_numbers,
	                         &at[1], err);
}

static int write_entries(const infer_imatrix *m, struct gguf_write *w, int exact,
                         struct numbers *at, infer_error *err)
{
	struct buf set;

	gguf_write_str(w, "general.type", "imatrix", 7);
	buf_init(&set, MEM_QUANT);
	if (m->dataset) {
		gguf_put_str(&set, m->dataset, strlen(m->dataset));
		gguf_write_array(w, "imatrix.datasets", INFER_META_STR, 1, set.at, set.len);
	}
	int bad = set.bad;

	buf_fini(&set);
	if (bad)
		return err_nomem(err);
	gguf_write_u32(w, "imatrix.chunk_count",
	               (uint32_t)num_min((int64_t)m->windows, UINT32_MAX));
	gguf_write_u32(w, "imatrix.chunk_size", (uint32_t)m->window);
	for (size_t i = 0; i < m->n; i++)
		TRY(write_entry(w, &m->at[i], exact, at + 2 * i, err));
	return gguf_write_end(w, err);
}

int infer_imatrix_write(const infer_imatrix *m, const char *path, int exact, infer_error *err)
{
	struct gguf_write *w = NULL;
	struct numbers *at = mem_alloc(MEM_QUANT, 2 * m->n, sizeof *at);
	int rc = at ? gguf_write_new(&w, path, err) : err_nomem(err);

	if (!rc && exact)
		gguf_write_temporary(w);
	if (!rc)
		rc = write_entries(m, w, exact, at, err);
	gguf_write_free(w);
	mem_free(at);
	return rc;
}

int infer_imatrix_entry(const infer_imatrix *m, size_t i, struct infer_imatrix_entry *e)
{
	if (i >= m->n)
		return 0;
	*e = (struct infer_imatrix_entry){ m->at[i].name, m->at[i].columns, m->at[i].matrices,
		                           m->at[i].sums, m->at[i].counts };
	return 1;
}

void infer_imatrix_sum(struct infer_imatrix_sum *s, const struct infer_imatrix_entry *e)
{
	double rows = 0, all = 0, top = 0;

	*s = (struct infer_imatrix_sum){ .least = e->counts[0], .most = e->counts[0] };
	for (int64_t m = 0; m < e->matrices; m++) {
		s->least = e->counts[m] < s->least ? e->counts[m] : s->least;
		s->most = e->counts[m] > s->most ? e->counts[m] : s->most;
		rows += e->counts[m];
		for (int64_t c = 0; c < e->columns; c++) {
			double x = e->sums[m * e->columns + c];

			all += x;
			top = x > top ? x : top;
		}
	}
	s->mean_square = rows > 0 ? all / rows / (double)e->columns : 0;
	s->largest = all > 0 ? top / all : 0;
}

uint64_t infer_imatrix_windows(const infer_imatrix *m, int32_t *window_size)
{
	*window_size = m->window;
	return m->windows;
}

const char *infer_imatrix_dataset(const infer_imatrix *m) { return m->dataset ? m->dataset : ""; }
