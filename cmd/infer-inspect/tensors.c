/* infer-inspect/tensors.c - the tensor table: filtered, sorted, with statistics of the values. */
#include "tensors.h"
#include "common/progress.h"
#include "base/err.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t count_elements(const struct infer_tensor *t)
{
	return (uint64_t)t->ne[0] * (uint64_t)t->ne[1] * (uint64_t)t->ne[2] * (uint64_t)t->ne[3];
}

/* Return the bits per element, scales and minima included. */
static double element_bits(const struct infer_tensor *t)
{
	return count_elements(t) ? 8 * (double)t->bytes / (double)count_elements(t) : 0;
}

/* ---- filter and sort ---- */

/* True if the name of t matches the glob, or contains a pattern without wildcards. */
static int name_matches(const struct infer_tensor *t, const char *pattern, struct buf *name)
{
	buf_clear(name);
	buf_put(name, t->name.at, t->name.len);
	buf_putc(name, 0);
	if (name->bad)
		return 0;
	return pattern[strcspn(pattern, "*?[")] ? !fnmatch(pattern, name->at, 0)
	                                        : strstr(name->at, pattern) != NULL;
}

static int by_name(const struct row *a, const struct row *b)
{
	const struct infer_str *x = &a->t->name, *y = &b->t->name;
	int c = memcmp(x->at, y->at, x->len < y->len ? x->len : y->len);

	return c ? c : (x->len > y->len) - (x->len < y->len);
}

static int by_type(const struct row *a, const struct row *b)
{
	return strcmp(infer_type_info(a->t->type)->name, infer_type_info(b->t->type)->name);
}

static int descending(double a, double b) { return (a < b) - (a > b); }
static int by_offset(const struct row *a, const struct row *b)
{
	return a->t->shard != b->t->shard
	               ? a->t->shard - b->t->shard
	               : (a->t->offset > b->t->offset) - (a->t->offset < b->t->offset);
}
static int by_bytes(const struct row *a, const struct row *b)
{
	return descending((double)a->t->bytes, (double)b->t->bytes);
}
static int by_bits(const struct row *a, const struct row *b)
{
	return descending(element_bits(a->t), element_bits(b->t));
}
static int by_elements(const struct row *a, const struct row *b)
{
	return descending((double)count_elements(a->t), (double)count_elements(b->t));
}
static int by_rms(const struct row *a, const struct row *b)
{
	return descending(tensor_rms(&a->s), tensor_rms(&b->s));
}
static int by_range(const struct row *a, const struct row *b)
{
	return descending(a->s.most - a->s.least, b->s.most - b->s.least);
}
static int by_outliers(const struct row *a, const struct row *b)
{
	return descending(a->s.n ? (double)a->s.outliers / (double)a->s.n : 0,
	                  b->s.n ? (double)b->s.outliers / (double)b->s.n : 0);
}

static const struct {
	const char *name;
	int (*by)(const struct row *a, const struct row *b);
	int stats;
} columns[] = {
	{ "offset", by_offset, 0 }, { "bytes", by_bytes, 0 },       { "type", by_type, 0 },
	{ "bits", by_bits, 0 },     { "elements", by_elements, 0 }, { "name", by_name, 0 },
	{ "rms", by_rms, 1 },       { "range", by_range, 1 },       { "outliers", by_outliers, 1 },
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* Sort rows by bottom-up merge sort, which keeps the order of equal rows. */
static int sort_rows(struct row *rows, size_t n, int (*by)(const struct row *, const struct row *),
                     infer_error *err)
{
	struct row *other = mem_alloc(MEM_BASE, n ? n : 1, sizeof *other), *from = rows,
		   *to = other;

	if (!other)
		return err_set(err, INFER_ENOMEM, "out of memory to sort %zu tensors", n);
	for (size_t run = 1; run < n; run *= 2) {
		for (size_t at = 0; at < n; at += 2 * run) {
			size_t a = at, a1 = at + run < n ? at + run : n, b = a1,
			       b1 = at + 2 * run < n ? at + 2 * run : n;
			for (size_t k = at; k < b1; k++)
				to[k] = a < a1 && (b == b1 || by(&from[a], &from[b]) <= 0)
				                ? from[a++]
				                : from[b++];
		}
		struct row *swap = from;
		from = to;
		to = swap;
	}
	if (from != rows)
		memcpy(rows, from, n * sizeof *rows);
	mem_free(other);
	return INFER_OK;
}

/* ---- rows ---- */

static void put_tensor_json(struct buf *out, const struct row *r, const struct inspect_opts *o,
                            uint64_t i)
{
	const struct infer_tensor *t = r->t;
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_TENSOR, i ? 0 : INFER_RECORD_FIRST);
	jw_strn(&w, "name", t->name.at, t->name.len);
	jw_str(&w, "type", infer_type_info(t->type)->name);
	jw_array(&w, "shape");
	for (int d = 0; d < t->n_dims; d++)
		jw_int(&w, NULL, t->ne[d]);
	jw_end(&w);
	jw_int(&w, "shard", t->shard);
	jw_uint(&w, "offset_bytes", t->offset);
	jw_uint(&w, "size_bytes", t->bytes);
	jw_num(&w, "bits_per_weight", element_bits(t));
	if (o->stats)
		tensor_stats_json(&w, &r->s);
	infer_record_close(&w);
}

static void put_tensor_text(struct buf *out, const struct row *r, const struct inspect_opts *o)
{
	const struct infer_tensor *t = r->t;
	char shape[96];
	size_t n = 0;

	for (int d = 0; d < t->n_dims; d++)
		n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", d ? " x " : "",
		                      (long long)t->ne[d]);
	buf_printf(out, "%5d %12llu %12llu %-8s %8.4f  %-24s ", t->shard,
	           (unsigned long long)t->offset, (unsigned long long)t->bytes,
	           infer_type_info(t->type)->name, element_bits(t), shape);
	if (o->stats)
		tensor_stats_text(out, &r->s);
	put_plain(out, t->name, SIZE_MAX);
	buf_putc(out, '\n');
}

static int find_column(int *c, const struct inspect_opts *o, infer_error *err)
{
	*c = -1;
	for (int i = 0; o->sort && i < N_COLUMNS; i++)
		if (!strcmp(columns[i].name, o->sort))
			*c = i;
	if (o->sort && *c < 0)
		return err_set(
			err, INFER_EINVAL,
			"--sort: '%.40s' is not a column: offset, bytes, type, bits, elements, "
			"name; with --stats rms, range, outliers",
			o->sort);
	if (*c >= 0 && columns[*c].stats && !o->stats)
		return err_set(err, INFER_EINVAL, "--sort %s goes with --stats", o->sort);
	return INFER_OK;
}

static int collect_rows(struct row **rows, size_t *n, const struct inspect_opts *o,
                        const infer_file *file, infer_error *err)
{
	struct infer_file_info info;
	const struct infer_tensor *t;
	struct buf name;

	infer_file_info(file, &info);
	*rows = mem_zalloc(MEM_BASE, info.n_tensors ? (size_t)info.n_tensors : 1, sizeof **rows);
	if (!*rows)
		return err_set(err, INFER_ENOMEM, "out of memory for the table");
	buf_init(&name, MEM_BASE);
	for (uint64_t i = 0; (t = infer_file_tensor_at(file, i)); i++)
		if (!o->filter || name_matches(t, o->filter, &name))
			(*rows)[(*n)++].t = t;
	int bad = name.bad;
	buf_fini(&name);
	return bad ? err_set(err, INFER_ENOMEM, "out of memory for a name") : INFER_OK;
}

static int measure_rows(struct row *rows, size_t n, infer_error *err)
{
	uint64_t all = 0, done = 0;
	int rc = INFER_OK;

	for (size_t i = 0; i < n; i++)
		all += rows[i].t->bytes;
	progress_begin("reading", PROGRESS_BYTES, all);
	for (size_t i = 0; !rc && i < n; i++) {
		rc = tensor_stats(&rows[i].s, rows[i].t, err);
		progress_at(NULL, done += rows[i].t->bytes, all);
	}
	progress_end();
	return rc;
}

int tensors(struct buf *out, const struct inspect_opts *o, const infer_file *file,
            const struct opt_rest *words, infer_error *err)
{
	struct row *rows = NULL;
	size_t n = 0;
	int c, rc;

	(void)words;
	TRY(find_column(&c, o, err));
	rc = collect_rows(&rows, &n, o, file, err);
	if (!rc && o->stats)
		rc = measure_rows(rows, n, err);
	if (!rc && c >= 0)
		rc = sort_rows(rows, n, columns[c].by, err);
	if (!rc && !o->json)
		buf_printf(out, "%5s %12s %12s %-8s %8s  %-24s %s%s\n", "shard", "offset", "bytes",
		           "type", "bits", "shape", o->stats ? TENSOR_STATS_HEAD : "", "name");
	for (size_t i = 0; !rc && i < n; i++) {
		if (o->json)
			put_tensor_json(out, &rows[i], o, i);
		else
			put_tensor_text(out, &rows[i], o);
	}
	mem_free(rows);
	return rc;
}
