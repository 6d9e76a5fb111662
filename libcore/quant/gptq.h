/* quant/gptq.h - (private) GPTQ: round rows of a matrix column by column, and compensate each
 * error in the columns after it. */
#ifndef QUANT_GPTQ_H
#define QUANT_GPTQ_H
#include "quant/hessian.h"

enum { GPTQ_ROWS = 16, GPTQ_SPAN = 256 };

/* Some rows of a matrix, restricted to the k columns of one Hessian. */
struct gptq_rows {
	int type;                /* enum infer_type, see gptq_takes */
	int how;                 /* register width of the encoder, ENCODE_128, _256 or 0 */
	int64_t k;               /* number of columns, a multiple of the block size */
	const float *u;          /* [k * k], as in struct hessian */
	const float *importance; /* [k] mean squares of the columns, for the search of scales */
	int rows;                /* number of rows, at most GPTQ_ROWS */
	float *w;                /* [rows * k] weights; overwritten */
	float *lost;             /* [rows * GPTQ_SPAN] scratch */
	unsigned char *out;      /* blocks of row r begin at out + r * stride */
	size_t stride;
};
/* Round the rows.  The bytes of a row do not depend on the machine or on the other rows.  Any
 * thread. */
void gptq_round(const struct gptq_rows *r);
/* True if GPTQ can round to the type (enum infer_type). */
int gptq_takes(int type);
#endif
