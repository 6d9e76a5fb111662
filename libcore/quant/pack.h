/* quant/pack.h - (private) compress finished files with zstd. */
#ifndef QUANT_PACK_H
#define QUANT_PACK_H
#include <infer/watch.h>
#include "base/pool.h"
#include "quant/partial.h"

struct pack_opts {
	int level;  /* 1 ... 22 */
	int verify; /* 1: read the compressed file back, decompress it and compare */
	const struct infer_watch *watch; /* progress, counted in uncompressed bytes */
	uint64_t done, all;
};
/* Compress each PATH.part into PATH.part.zst, which partial_end then renames to PATH.  Frames
 * have a fixed size, so the result does not depend on the number of threads. *bytes: total size of
 * the compressed files.  INFER_EIO INFER_ENOMEM */
int pack_files(struct partial *p, struct pool *pool, const struct pack_opts *o, uint64_t *bytes,
               infer_error *err);
#endif
