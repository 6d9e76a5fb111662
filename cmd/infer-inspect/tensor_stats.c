/* infer-inspect/tensor_stats.c - statistics of a tensor: range, root mean square, outliers,
 * histogram. */
#include "tensors.h"
#include "base/err.h"

#include <math.h>

enum { PIECE = 4096 }; /* elements decoded at once, a multiple of every block size */
#define OUTLIER 6      /* |x| / rms of an outlier; 2 of 1e9 normal values exceed it */

double tensor_rms(const struct tensor_stats *s)
{
	return s->n ? sqrt(s->squares / (double)s->n) : 0;
}

typedef void piece_fn(struct tensor_stats *s, const float *x, size_t n);

static void sums(struct tensor_stats *s, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double v = x[i];
		if (!isfinite(v)) {
			s->bad++;
			continue;
		}
		s->least = s->n && s->least < v ? s->least : v;
		s->most = s->n && s->most > v ? s->most : v;
		s->n++;
		s->zeros += v == 0;
		s->sum += v;
		s->squares += v * v;
	}
}

static void bins(struct tensor_stats *s, const float *x, size_t n)
{
	double rms = tensor_rms(s), unit = rms > 0 ? 2 / rms : 0;

	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]))
			continue;
		double at = floor((double)x[i] * unit) + TENSOR_BINS / 2;
		int bin = at < 0 ? 0 : at > TENSOR_BINS - 1 ? TENSOR_BINS - 1 : (int)at;
		s->bins[bin]++;
		s->outliers += fabs((double)x[i]) > OUTLIER * rms;
	}
}

static int each_piece(struct tensor_stats *s, const struct infer_tensor *t, piece_fn *fn,
                      infer_error *err)
{
	const struct infer_type_info *type = infer_type_info(t->type);
	uint64_t row = (uint64_t)t->ne[0], n,
		 all = row * (uint64_t)t->ne[1] * (uint64_t)t->ne[2] * (uint64_t)t->ne[3];
	float x[PIECE];

	for (uint64_t i = 0; i < all; i += n) {
		const unsigned char *at = t->data;

		n = row - i % row < PIECE ? row - i % row : PIECE;
		at += i / (uint64_t)type->block * (uint64_t)type->block_bytes;
		TRY(infer_type_decode(t->type, x, at, (size_t)n, err));
		float scale = (float)scale_of(t, i);
		for (uint64_t k = 0; scale != 1 && k < n; k++)
			x[k] *= scale;
		fn(s, x, (size_t)n);
	}
	return INFER_OK;
}

int tensor_stats(struct tensor_stats *s, const struct infer_tensor *t, infer_error *err)
{
	*s = (struct tensor_stats){ 0 };
	TRY(each_piece(s, t, sums, err));
	return each_piece(s, t, bins, err);
}

void tensor_stats_json(struct jwrite *w, const struct tensor_stats *s)
{
	jw_num(w, "least", s->least);
	jw_num(w, "most", s->most);
	jw_num(w, "mean", s->n ? s->sum / (double)s->n : 0);
	jw_num(w, "rms", tensor_rms(s));
	jw_uint(w, "zeros", s->zeros);
	jw_uint(w, "outliers", s->outliers);
	jw_uint(w, "not_finite", s->bad);
	jw_array(w, "histogram");
	for (int i = 0; i < TENSOR_BINS; i++)
		jw_uint(w, NULL, s->bins[i]);
	jw_end(w);
}

/* Append the columns of TENSOR_STATS_HEAD.  The histogram has a character for each bin, relative
 * to the largest. */
void tensor_stats_text(struct buf *out, const struct tensor_stats *s)
{
	static const char levels[] = " .:-=+*#";
	uint64_t largest = 1;

	for (int i = 0; i < TENSOR_BINS; i++)
		largest = s->bins[i] > largest ? s->bins[i] : largest;
	buf_printf(out, "%11.4g %11.4g %11.4g %9.2g ", s->least, s->most, tensor_rms(s),
	           s->n ? (double)s->outliers / (double)s->n : 0);
	for (int i = 0; i < TENSOR_BINS; i++) {
		double part = (double)s->bins[i] / (double)largest;
		int level = s->bins[i] ? 1 + (int)(part * 6.0) : 0;
		buf_putc(out, levels[level]);
	}
	buf_puts(out, s->bad ? "! " : "  ");
}
