/* quant/gptq.h - (private) rows of a matrix rounded so that columns to come make up for the errors of
 * those before them. */
#ifndef QUANT_GPTQ_H
#define QUANT_GPTQ_H
#include "quant/hessian.h"

enum { GPTQ_ROWS = 16, GPTQ_SPAN = 256 };

/* The columns of a Hessian, of some rows. */
struct gptq_rows {
	int type;                /* enum infer_type, one with .round */
	int how;                 /* as in struct type: the registers */
	int64_t k;               /* columns: whole blocks */
	const float *u;          /* [k * k]: struct hessian */
	const float *importance; /* [k] mean squares, for the search of scales */
	int rows;                /* up to GPTQ_ROWS */
	float *w;                /* [rows * k]; what is left of them is of no use */
	float *lost;             /* [rows * GPTQ_SPAN], scratch */
	unsigned char *out;      /* the blocks of row r at r * stride */
	size_t stride;
};
/* The same bytes on every machine, whatever the rows beside a row are.  Any thread. */
void gptq_round(const struct gptq_rows *r);
/* Nonzero: tensors of that type can be rounded so. */
int gptq_takes(int type);
#endif
