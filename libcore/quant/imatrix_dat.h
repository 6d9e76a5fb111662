/* quant/imatrix_dat.h - (private) importance matrices in the older form, .dat, entry by entry.  Confined. */
#ifndef QUANT_IMATRIX_DAT_H
#define QUANT_IMATRIX_DAT_H
#include <infer/file.h>

struct dat {
	const unsigned char *at;
	size_t n, pos;
	uint32_t left;            /* entries that come */
	uint32_t chunks;          /* after dat_end: windows of the text; 0: not known */
	struct infer_str dataset; /* after dat_end; len 0: not known */
};
struct dat_entry {
	struct infer_str name; /* of the tensor */
	uint32_t calls;        /* windows */
	size_t n;              /* columns of all its matrices */
	const unsigned char *values;
};
/* Bytes at [n], borrowed.  INFER_EFORMAT, here and below: it ends early, or a number is out of
 * range. */
int dat_begin(struct dat *d, const unsigned char *at, size_t n, infer_error *err);
int dat_next(struct dat *d, struct dat_entry *e, infer_error *err);
/* After the last entry. */
int dat_end(struct dat *d, infer_error *err);
/* The mean square of a column, times calls. */
float dat_value(const struct dat_entry *e, size_t i);
#endif
