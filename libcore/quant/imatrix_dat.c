/* quant/imatrix_dat.c - the older form of importance matrices: i32 entries; each i32 length, name, i32 calls,
 * i32 values, f32 values; then i32 the last chunk, i32 length, name of the text. */
#include "quant/imatrix_dat.h"
#include "base/err.h"
#include "base/num.h"

enum { ENTRIES_MAX = 1 << 20, NAME_MOST = 1 << 16 };

static const unsigned char *bytes(struct dat *d, size_t n)
{
	const size_t from = d->pos;

	/* before an address is made of it: an empty file has none */
	if (n > d->n - from)
		return NULL;
	d->pos += n;
	return d->at + from;
}

static int number(struct dat *d, int64_t lo, int64_t hi, int64_t *v, infer_error *err)
{
	const unsigned char *p = bytes(d, 4);

	*v = p ? (int32_t)num_u32(p) : 0;
	return p && *v >= lo && *v <= hi
	               ? INFER_OK
	               : err_set(err, INFER_EFORMAT, "neither GGUF nor .dat: byte %zu", d->pos);
}

static int text(struct dat *d, struct infer_str *s, infer_error *err)
{
	int64_t n;

	TRY(number(d, 0, NAME_MOST, &n, err));
	s->at = (const char *)bytes(d, (size_t)n);
	s->len = (size_t)n;
	return s->at ? INFER_OK : err_set(err, INFER_EFORMAT, "ends inside a name");
}

int dat_begin(struct dat *d, const unsigned char *at, size_t n, infer_error *err)
{
	int64_t entries;

	*d = (struct dat){ .at = at, .n = n, .dataset = { "", 0 } };
	TRY(number(d, 1, ENTRIES_MAX, &entries, err));
	d->left = (uint32_t)entries;
	return INFER_OK;
}

int dat_next(struct dat *d, struct dat_entry *e, infer_error *err)
{
	int64_t calls, n;

	TRY(text(d, &e->name, err));
	TRY(number(d, 0, INT32_MAX, &calls, err));
	TRY(number(d, 1, INT32_MAX, &n, err));
	e->calls = (uint32_t)calls;
	e->n = (size_t)n;
	e->values = bytes(d, 4 * e->n);
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
	TRY(number(d, 0, INT32_MAX, &n, err));
	d->chunks = (uint32_t)n;
	return text(d, &d->dataset, err);
}

float dat_value(const struct dat_entry *e, size_t i)
{
	return num_float(num_u32(e->values + 4 * i));
}
