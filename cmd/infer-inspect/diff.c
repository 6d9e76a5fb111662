/* infer-inspect/diff.c - compare two model files: keys, tensors, types, and the error between
 * the values of each tensor. */
#include "inspect.h"
#include <infer/certificate.h>
#include "common/progress.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 4096 }; /* elements decoded at once, a multiple of every block size */

/* Sums of squares: of the tensors a and b, and of b - a (error). */
struct tensor_error {
	double a, b, error, most;
	uint64_t elements;
};
struct diff {
	const struct inspect_opts *o;
	const infer_file *a, *b;
	struct buf *out, name;
	struct tensor_error all; /* sums over tensors with the same name and shape */
	uint64_t keys_same, keys_passed, tensors_same, differences, a_bytes, b_bytes;
	uint64_t done, to_do; /* bytes of a's tensors that are compared */
};

static uint64_t tensor_elements(const struct infer_tensor *t)
{
	return (uint64_t)t->ne[0] * (uint64_t)t->ne[1] * (uint64_t)t->ne[2] * (uint64_t)t->ne[3];
}

/* True if the strings, which are not NUL-terminated, are equal. */
static int is_same(struct infer_str a, struct infer_str b)
{
	return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

/* ---- metadata: keys that record how a file was made and measured are not compared ---- */

/* Set *m to the key of f with that name, or NULL.  A name with a NUL byte is never found. */
static int find_key(struct diff *d, const infer_file *f, struct infer_str key,
                    const struct infer_meta **m, infer_error *err)
{
	d->name.len = 0;
	buf_put(&d->name, key.at, key.len);
	buf_putc(&d->name, 0);
	if (d->name.bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a name");
	*m = infer_file_meta(f, d->name.at);
	if (*m && !is_same((*m)->key, key))
		*m = NULL;
	return INFER_OK;
}

static int same_strings(const struct infer_meta *a, const struct infer_meta *b, int *same)
{
	size_t at_a = 0, at_b = 0;
	struct infer_str s, t;

	*same = 1;
	for (uint64_t i = 0; *same && i < a->count; i++) {
		TRY(infer_meta_next_str(a, &at_a, &s));
		TRY(infer_meta_next_str(b, &at_b, &t));
		*same = is_same(s, t);
	}
	return INFER_OK;
}

static int same_meta(const struct diff *d, const struct infer_meta *a, const struct infer_meta *b,
                     int *same, infer_error *err)
{
	static const unsigned char sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
	int type = a->elem_type;

	*same = a->type == b->type && type == b->elem_type && a->count == b->count;
	if (*same && type == INFER_META_STR)
		return same_strings(a, b, same);
	for (uint64_t i = 0; *same && i < a->count; i++) {
		uint64_t room_a, room_b;
		const void *at_a, *at_b;
		TRY(infer_meta_array(d->a, a, type, i, 1, &room_a, &at_a, err));
		TRY(infer_meta_array(d->b, b, type, i, 1, &room_b, &at_b, err));
		*same = !memcmp(at_a, at_b, sizes[type]);
	}
	return INFER_OK;
}

/* Write a line with the value of a key in `file`.  mark: prefix that names the file. */
static int put_meta_line(struct diff *d, const char *mark, const infer_file *file,
                         const struct infer_meta *m, infer_error *err)
{
	enum { SHOWN = 8, BYTES = 200 };
	size_t cursor = 0;
	uint64_t i = 0;

	buf_puts(d->out, mark);
	put_plain(d->out, m->key, SIZE_MAX);
	buf_puts(d->out, "  ");
	put_meta_type(d->out, m);
	for (; i < m->count && i < SHOWN; i++) {
		buf_puts(d->out, i ? ", " : "  ");
		TRY(put_meta_element(d->out, NULL, file, m, i, &cursor, BYTES, err));
	}
	buf_puts(d->out, m->count > i ? ", ...\n" : "\n");
	return INFER_OK;
}

static int put_meta_side(struct jwrite *w, const char *side, const infer_file *file,
                         const struct infer_meta *m, infer_error *err)
{
	if (!m) {
		jw_null(w, side);
		return INFER_OK;
	}
	jw_object(w, side);
	int rc = put_meta_fields(w, file, m, err);
	jw_end(w);
	return rc;
}

/* Report a key that differs.  a or b is NULL if its file does not have the key. */
static int put_meta(struct diff *d, const struct infer_meta *a, const struct infer_meta *b,
                    infer_error *err)
{
	struct jwrite w;

	d->differences++;
	if (!d->o->json) {
		if (a)
			TRY(put_meta_line(d, "- ", d->a, a, err));
		return b ? put_meta_line(d, "+ ", d->b, b, err) : INFER_OK;
	}
	infer_record_open(&w, d->out, INFER_KIND_DIFF, d->differences > 1 ? 0 : INFER_RECORD_FIRST);
	jw_str(&w, "of", "meta");
	jw_strn(&w, "name", (a ? a : b)->key.at, (a ? a : b)->key.len);
	int rc = put_meta_side(&w, "a", d->a, a, err);
	if (!rc)
		rc = put_meta_side(&w, "b", d->b, b, err);
	infer_record_close(&w);
	return rc;
}

static int diff_keys(struct diff *d, infer_error *err)
{
	const struct infer_meta *m, *other;
	int same;

	for (uint64_t i = 0; (m = infer_file_meta_at(d->a, i)); i++) {
		TRY(find_key(d, d->b, m->key, &other, err));
		same = 0;
		if (other)
			TRY(same_meta(d, m, other, &same, err));
		d->keys_same += (uint64_t)same;
		if (!same && infer_certificate_is(m->key))
			d->keys_passed++;
		else if (!same)
			TRY(put_meta(d, m, other, err));
	}
	for (uint64_t i = 0; (m = infer_file_meta_at(d->b, i)); i++) {
		TRY(find_key(d, d->a, m->key, &other, err));
		if (!other && infer_certificate_is(m->key))
			d->keys_passed++;
		else if (!other)
			TRY(put_meta(d, NULL, m, err));
	}
	return INFER_OK;
}

/* ---- tensors ---- */

/* Return the scale of the matrix of t that contains element i. */
double scale_of(const struct infer_tensor *t, uint64_t i)
{
	const struct infer_tensor *s = t->aux[INFER_AUX_SCALE];
	uint64_t matrix = i / ((uint64_t)t->ne[0] * (uint64_t)t->ne[1]);
	float v;

	if (!s || s->type != INFER_F32)
		return 1;
	memcpy(&v, (const char *)s->data + (matrix < tensor_elements(s) ? matrix : 0) * sizeof v,
	       sizeof v);
	return v;
}

/* Return the address of the block that begins with element i. */
static const void *value_at(const struct infer_tensor *t, uint64_t i)
{
	const struct infer_type_info *type = infer_type_info(t->type);

	return (const char *)t->data + i / (uint64_t)type->block * (uint64_t)type->block_bytes;
}

/* Compute the sums of squares of two tensors of the same shape.  No piece crosses a matrix, since each matrix
 * has its own scale. */
static int add_errors(struct diff *d, const struct infer_tensor *a, const struct infer_tensor *b,
                      struct tensor_error *sum, infer_error *err)
{
	uint64_t n = tensor_elements(a), row = (uint64_t)a->ne[0], k;
	float x[PIECE], y[PIECE];

	*sum = (struct tensor_error){ .elements = n };
	for (uint64_t i = 0; i < n; i += k) {
		k = row - i % row < PIECE ? row - i % row : PIECE;
		TRY(infer_type_decode(a->type, x, value_at(a, i), k, err));
		TRY(infer_type_decode(b->type, y, value_at(b, i), k, err));
		double p = scale_of(a, i), q = scale_of(b, i);
		for (uint64_t j = 0; j < k; j++) {
			double u = p * x[j], v = q * y[j], e = u - v;
			sum->a += u * u;
			sum->b += v * v;
			sum->error += e * e;
			sum->most = fabs(e) > sum->most || isnan(e) ? fabs(e) : sum->most;
		}
		progress_at(
			NULL,
			d->done + (uint64_t)((const char *)value_at(a, i) - (const char *)a->data),
			d->to_do);
	}
	d->done += a->bytes;
	return INFER_OK;
}

/* Return rms(b - a) / rms(a); 0 if both are 0. */
static double relative_error(const struct tensor_error *s)
{
	return s->error == 0 ? 0 : sqrt(s->error / s->a);
}

static void put_shape(struct buf *out, const struct infer_tensor *t)
{
	for (int i = 0; i < t->n_dims; i++)
		buf_printf(out, "%s%lld", i ? " x " : "", (long long)t->ne[i]);
}

static void put_tensor_line(struct diff *d, const char *mark, const struct infer_tensor *t)
{
	buf_puts(d->out, mark);
	put_plain(d->out, t->name, SIZE_MAX);
	buf_printf(d->out, "  %s  ", infer_type_info(t->type)->name);
	put_shape(d->out, t);
	buf_putc(d->out, '\n');
}

static void put_tensor_side(struct jwrite *w, const char *side, const struct infer_tensor *t)
{
	if (!t) {
		jw_null(w, side);
		return;
	}
	jw_object(w, side);
	jw_str(w, "type", infer_type_info(t->type)->name);
	jw_array(w, "shape");
	for (int i = 0; i < t->n_dims; i++)
		jw_int(w, NULL, t->ne[i]);
	jw_end(w);
	jw_uint(w, "size_bytes", t->bytes);
	jw_end(w);
}

static void put_errors(struct jwrite *w, const struct tensor_error *s)
{
	double n = s->elements ? (double)s->elements : 1;

	jw_num(w, "rms", sqrt(s->a / n));
	jw_num(w, "error_rms", sqrt(s->error / n));
	jw_num(w, "error_relative", relative_error(s));
	jw_num(w, "error_max", s->most);
}

/* Report a tensor that differs.  s: NULL if its values were not compared. */
static void put_tensor(struct diff *d, const struct infer_tensor *a, const struct infer_tensor *b,
                       const struct tensor_error *s)
{
	struct jwrite w;

	d->differences++;
	if (d->o->json) {
		infer_record_open(&w, d->out, INFER_KIND_DIFF,
		                  d->differences > 1 ? 0 : INFER_RECORD_FIRST);
		jw_str(&w, "of", "tensor");
		jw_strn(&w, "name", (a ? a : b)->name.at, (a ? a : b)->name.len);
		put_tensor_side(&w, "a", a);
		put_tensor_side(&w, "b", b);
		if (s)
			put_errors(&w, s);
		infer_record_close(&w);
		return;
	}
	if (!s) {
		if (a)
			put_tensor_line(d, "- ", a);
		if (b)
			put_tensor_line(d, "+ ", b);
		return;
	}
	buf_puts(d->out, "~ ");
	put_plain(d->out, a->name, SIZE_MAX);
	buf_printf(d->out, "  %s", infer_type_info(a->type)->name);
	if (a->type != b->type)
		buf_printf(d->out, " -> %s", infer_type_info(b->type)->name);
	buf_puts(d->out, "  ");
	put_shape(d->out, a);
	buf_printf(d->out, "  error %.3g, largest %.3g\n", relative_error(s), s->most);
}

/* Compare two tensors of the same name. */
static int diff_tensor(struct diff *d, const struct infer_tensor *a, const struct infer_tensor *b,
                       infer_error *err)
{
	struct tensor_error s;

	if (memcmp(a->ne, b->ne, sizeof a->ne)) {
		put_tensor(d, a, b, NULL);
		return INFER_OK;
	}
	TRY(add_errors(d, a, b, &s, err));
	int same = a->type == b->type && !memcmp(a->data, b->data, a->bytes) && !(s.error > 0);
	if (same)
		s.error = s.most = 0; /* they are NaN if equal weights are not finite */
	d->all.a += s.a;
	d->all.b += s.b;
	d->all.error += s.error;
	d->all.elements += s.elements;
	d->all.most = s.most > d->all.most || isnan(s.most) ? s.most : d->all.most;
	d->a_bytes += a->bytes;
	d->b_bytes += b->bytes;
	d->tensors_same += (uint64_t)same;
	if (!same)
		put_tensor(d, a, b, &s);
	return INFER_OK;
}

static const struct infer_tensor *find_tensor(const infer_file *f, const struct infer_tensor *t)
{
	char name[256];

	if (t->name.len >= sizeof name)
		return NULL;
	memcpy(name, t->name.at, t->name.len);
	name[t->name.len] = 0;
	return infer_file_tensor(f, name);
}

static int diff_tensors(struct diff *d, infer_error *err)
{
	const struct infer_tensor *t, *other;

	for (uint64_t i = 0; (t = infer_file_tensor_at(d->a, i)); i++)
		if ((other = find_tensor(d->b, t)) && !memcmp(t->ne, other->ne, sizeof t->ne))
			d->to_do += t->bytes;
	progress_begin("comparing", PROGRESS_BYTES, d->to_do);
	for (uint64_t i = 0; (t = infer_file_tensor_at(d->a, i)); i++) {
		other = find_tensor(d->b, t);
		if (other)
			TRY(diff_tensor(d, t, other, err));
		else
			put_tensor(d, t, NULL, NULL);
	}
	for (uint64_t i = 0; (t = infer_file_tensor_at(d->b, i)); i++)
		if (!find_tensor(d->a, t))
			put_tensor(d, NULL, t, NULL);
	progress_end();
	return INFER_OK;
}

/* ---- the whole files ---- */

static double bits_per_weight(uint64_t bytes, uint64_t n)
{
	return n ? 8 * (double)bytes / (double)n : 0;
}

static void put_totals(struct diff *d)
{
	const struct tensor_error *s = &d->all;
	struct jwrite w;

	if (d->o->json) {
		infer_record_open(&w, d->out, INFER_KIND_DIFF,
		                  d->differences ? 0 : INFER_RECORD_FIRST);
		jw_str(&w, "of", "file");
		jw_str(&w, "a", infer_file_path(d->a));
		jw_str(&w, "b", infer_file_path(d->b));
		jw_uint(&w, "differences", d->differences);
		jw_uint(&w, "metas_same", d->keys_same);
		if (d->keys_passed)
			jw_uint(&w, "metas_passed", d->keys_passed);
		jw_uint(&w, "tensors_same", d->tensors_same);
		jw_uint(&w, "elements", s->elements);
		jw_num(&w, "a_bits_per_weight", bits_per_weight(d->a_bytes, s->elements));
		jw_num(&w, "b_bits_per_weight", bits_per_weight(d->b_bytes, s->elements));
		put_errors(&w, s);
		infer_record_close(&w);
		return;
	}
	buf_printf(d->out, "%llu differences; %llu keys and %llu tensors are the same\n",
	           (unsigned long long)d->differences, (unsigned long long)d->keys_same,
	           (unsigned long long)d->tensors_same);
	if (d->keys_passed)
		buf_printf(d->out,
		           "not compared: %llu keys that say how a file was made and measured\n",
		           (unsigned long long)d->keys_passed);
	if (s->elements)
		buf_printf(
			d->out,
			"%llu values in both: %.3f and %.3f bits each, error %.3g, largest %.3g\n",
			(unsigned long long)s->elements, bits_per_weight(d->a_bytes, s->elements),
			bits_per_weight(d->b_bytes, s->elements), relative_error(s), s->most);
}

int diff(struct buf *out, const struct inspect_opts *o, const infer_file *a, const infer_file *b,
         int *differs, infer_error *err)
{
	struct diff d = { .o = o, .a = a, .b = b, .out = out };

	buf_init(&d.name, MEM_BASE);
	int rc = diff_keys(&d, err);
	buf_fini(&d.name);
	TRY(rc);
	TRY(diff_tensors(&d, err));
	put_totals(&d);
	*differs = d.differences > 0;
	return INFER_OK;
}
