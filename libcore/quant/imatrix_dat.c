/* quant/imatrix_dat.c - read the older format of importance matrices, .dat: i32 number of
 * entries; for each, i32 length, name, i32 calls, i32 n, f32 values [n]; at the end, i32 number
 * of the last chunk, i32 length, name of the text. */
#include "quant/imatrix_dat.h"
#include "base/err.h"
#include "base/num.h"

enum { ENTRIES_MAX = 1 << 20, NAME_MOST = 1 << 16 };

static const unsigned char *take_bytes(struct dat *d, size_t n)
{
	const size_t from = d->pos;

	/* checked before computing the address: an empty file has none */
	if (n > d->n - from)
		return NULL;
	d->pos += n;
	return d->at + from;
}

static int read_i32(struct dat *d, int64_t lo, int64_t hi, int64_t *v, infer_error *err)
{
	const unsigned char *p = take_bytes(d, 4);

	*v = p ? (int32_t)num_u32(p) : 0;
	return p && *v >= lo && *v <= hi
	               ? INFER_OK
	               : err_set(err, INFER_EFORMAT, "is neither GGUF nor .dat: byte %zu", d->pos);
}

static int read_name(struct dat *d, struct infer_str *s, infer_error *err)
{
	int64_t n;

	TRY(read_i32(d, 0, NAME_MOST, &n, err));
	s->at = (const char *)take_bytes(d, (size_t)n);
	s->len = (size_t)n;
	return s->at ? INFER_OK : err_set(err, INFER_EFORMAT, "ends inside a name");
}

int dat_begin(struct dat *d, const unsigned char *at, size_t n, infer_error *err)
{
	int64_t entries;

	*d = (struct dat){ .at = at, .n = n, .dataset = { "", 0 } };
	TRY(read_i32(d, 1, ENTRIES_MAX, &entries, err));
	d->left = (uint32_t)entries;
	return INFER_OK;
}

int dat_next(struct dat *d, struct dat_entry *e, infer_error *err)
{
	int64_t calls, n;

	TRY(read_name(d, &e->name, err));
	TRY(read_i32(d, 0, INT32_MAX, &calls, err));
	TRY(read_i32(d, 1, INT32_MAX, &n, err));
	e->calls = (uint32_t)calls;
	e->n = (size_t)n;
	e->values = take_bytes(d, 4 * e->n);
	d->left--;
	return e->values ? INFER_OK
	                 : err_set(err, INFER_EFORMAT, "ends inside the values of %.*s",
	                           (int)num_min((int64_t)e->name.len, 80), e->name.at);
}

int dat_end(struct dat *d, infer_error *err)
{
	int64_t n;

	if (d->pos == d->n)
		return INFER_OK;
	TRY(read_i32(d, 0, INT32_MAX, &n, err));
	d->chunks = (uint32_t)n;
	return read_name(d, &d->dataset, err);
}

float dat_value(const struct dat_entry *e, size_t i)
{
	return num_float(num_u32(e->values + 4 * i));
}
