/* quant/imatrix_dat.h - (private) read importance matrices of the older format, .dat.  Confined. */
#ifndef QUANT_IMATRIX_DAT_H
#define QUANT_IMATRIX_DAT_H
#include <infer/file.h>

struct dat {
	const unsigned char *at;
	size_t n, pos;
	uint32_t left;            /* entries not read yet */
	uint32_t chunks;          /* after dat_end: windows of the text; 0: unknown */
	struct infer_str dataset; /* after dat_end; len 0: unknown */
};
struct dat_entry {
	struct infer_str name; /* name of the tensor */
	uint32_t calls;        /* number of windows measured */
	size_t n;              /* values: number of columns times matrices */
	const unsigned char *values;
};
/* Begin to read the n bytes at `at`, borrowed.  This and the functions below return INFER_EFORMAT
 * if the data ends early or a number is out of range. */
int dat_begin(struct dat *d, const unsigned char *at, size_t n, infer_error *err);
/* Read the next entry; call it d->left times. */
int dat_next(struct dat *d, struct dat_entry *e, infer_error *err);
/* Read chunks and dataset.  Call it after the last entry. */
int dat_end(struct dat *d, infer_error *err);
/* Return value i: the mean square of column i, times calls. */
float dat_value(const struct dat_entry *e, size_t i);
#endif
