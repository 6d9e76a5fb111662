/* quant/pack.h - (private) a finished file, compressed with zstd. */
#ifndef QUANT_PACK_H
#define QUANT_PACK_H
#include <infer/watch.h>
#include "base/pool.h"
#include "quant/partial.h"

struct pack_opts {
	int level;  /* 1 ... 22 */
	int verify; /* 1: read the compressed file back, unpack it, and compare it */
	const struct infer_watch *watch; /* of bytes of the unpacked files, after `done` of `all` */
	uint64_t done, all;
};
/* Compress each PATH.part into PATH.part.zst, which then gets the name.  A frame for every FRAME
 * bytes, so the result does not depend on the number of threads.
 * *bytes: of all compressed files.  INFER_EIO INFER_ENOMEM */
int pack_files(struct partial *p, struct pool *pool, const struct pack_opts *o, uint64_t *bytes,
               infer_error *err);
#endif
