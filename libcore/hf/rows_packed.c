/* hf/rows_packed.c - copy rows of quantised weights: repacked, in GGUF's order of rows, or decoded
 * to F32 if columns become rows or the tensor is F32 in GGUF. */
#include "hf/packed.h"
#include "hf/rows.h"
#include "type/type.h"

#include <string.h>

/* A piece of work. */
struct piece {
	const struct hf_rows *h;
	const struct hf_packed *p;
	int64_t mat, row, n;    /* rows row ... row + n - 1 of result matrix mat */
	size_t in, out;         /* bytes of a row of the source and of the result */
	unsigned char *to, *at; /* result; scratch */
};

size_t hf_rows_packed_scratch(const struct hf_rows *h, int64_t n)
{
	const struct hf_packed *p = hf_packed_of(h->from[0]);
	size_t row;

	if (!p)
		return 0;
	row = type_row_bytes(p->type, h->src_cols);
	if (h->turned)
		return row + (size_t)h->src_cols * sizeof(float);
	return (size_t)n * row;
}

/* Repack n rows of the source's matrix, from row `first` on. */
static void repack(const struct piece *w, int64_t first, int64_t n, unsigned char *to)
{
	const struct hf_packed *p = w->p;
	int64_t row = first + (w->h->n_from > 1 ? 0 : w->mat * w->h->src_rows);

	/* a matrix of the result is a matrix of p, or a part of one */
	p->how->rows(p, row / p->rows, row % p->rows, n, to);
}

/* Write one row of the result from its repacked row. */
static void put_row(const struct piece *w, unsigned char *to, const unsigned char *row)
{
	const struct hf_rows *h = w->h;
	const struct type *t = type_get(w->p->type);
	int64_t each = t->info.block;

	if (h->how != T_TILED_COLS && h->type == w->p->type) {
		memcpy(to, row, w->in);
		return;
	}
	for (int64_t c = 0; c < h->cols; c += each) { /* a head is a number of whole blocks */
		int64_t from =
			h->how == T_TILED_COLS ? hf_rows_untile(&h->heads, c, h->heads.dv) : c;
		const unsigned char *block = row + (size_t)(from / each * t->info.block_bytes);

		if (h->type == w->p->type) {
			memcpy(to + (size_t)(c / each * t->info.block_bytes), block,
			       (size_t)t->info.block_bytes);
		} else {
			float x[256];
			t->decode(x, block, 1);
			memcpy(to + (size_t)c * sizeof *x, x, (size_t)each * sizeof *x);
		}
	}
}

/* Decode columns of the source into rows. */
static void copy_turned(const struct piece *w)
{
	const struct hf_rows *h = w->h;
	const struct type *t = type_get(w->p->type);
	float *x = (float *)(void *)w->at;
	unsigned char *row = w->at + (size_t)h->src_cols * sizeof *x;

	for (int64_t c = 0; c < h->cols; c++) {
		repack(w, c, 1, row);
		t->decode(x, row, (size_t)(h->src_cols / t->info.block));
		for (int64_t r = 0; r < w->n; r++)
			memcpy(w->to + (size_t)r * w->out + (size_t)c * sizeof *x,
			       x + hf_rows_source(h, w->row + r), sizeof *x);
	}
}

static void copy_repacked_rows(const struct piece *w)
{
	const struct hf_rows *h = w->h;
	int direct = h->type == w->p->type && h->how != T_TILED_COLS;
	int64_t low = INT64_MAX, high = 0, next;

	for (int64_t i = 0; i < w->n; i++) {
		int64_t s = hf_rows_source(h, w->row + i);
		low = s < low ? s : low;
		high = s > high ? s : high;
	}
	if (high - low < w->n && hf_rows_permutes(h->how)) { /* the source rows are permuted */
		repack(w, low, high - low + 1, w->at);
		for (int64_t i = 0; i < w->n; i++)
			put_row(w, w->to + (size_t)i * w->out,
			        w->at + (size_t)(hf_rows_source(h, w->row + i) - low) * w->in);
		return;
	}
	for (int64_t i = 0; i < w->n; i = next) { /* loop over runs of consecutive source rows */
		int64_t s = hf_rows_source(h, w->row + i);
		for (next = i + 1; next < w->n; next++)
			if (hf_rows_source(h, w->row + next) != s + next - i)
				break;
		repack(w, s, next - i, direct ? w->to + (size_t)i * w->out : w->at);
		for (int64_t k = i; k < next && !direct; k++)
			put_row(w, w->to + (size_t)k * w->out, w->at + (size_t)(k - i) * w->in);
	}
}

void hf_rows_packed(const struct hf_rows *h, int64_t mat, int64_t row, int64_t n, unsigned char *to,
                    unsigned char *scratch)
{
	const struct hf_packed *p = hf_packed_of(h->from[h->n_from > 1 ? mat : 0]);
	struct piece w = { .h = h,
		           .p = p,
		           .mat = mat,
		           .row = row,
		           .n = n,
		           .in = type_row_bytes(p->type, h->src_cols),
		           .out = type_row_bytes(h->type, h->cols),
		           .to = to,
		           .at = scratch };
	int64_t real = h->rows - h->zeros - row;

	if (real < n) { /* a block of zero bytes decodes to zeros in every type */
		w.n = real < 0 ? 0 : real;
		memset(to + (size_t)w.n * w.out, 0, (size_t)(n - w.n) * w.out);
	}
	if (h->turned)
		copy_turned(&w);
	else
		copy_repacked_rows(&w);
}
