/* infer-bench/targets.h - serve: the adapters that requests use in turn (--adapters). */
#ifndef INFER_BENCH_TARGETS_H
#define INFER_BENCH_TARGETS_H
#include "load.h"
#include "base/json.h"

/* Results of the requests for one adapter. */
struct target_counts {
	int64_t completed, failed, prompt_tokens, completion_tokens;
};
/* Request i has the model names[i % n]. */
struct targets {
	const char **names;           /* [n], no two the same; n = 0: requests use no adapter */
	struct target_counts *counts; /* [n] */
	size_t n;
};
/* Read the adapters of `list` from /v1/models, where they have `base` as their parent. list: names, separated
 * by commas, of adapters, "base" or the name of the base; or "all". *t is allocated in mem.
 * INFER_EINVAL  the server has no such adapter; a name is given twice
 * INFER_EUNSUP  the server lists no adapters; INFER_ENET, INFER_ENOMEM */
int targets_read(struct targets *t, struct client *h, const char *base, const char *list,
                 struct arena *mem, infer_error *err);
/* The same from the list of models, `data` of /v1/models. */
int targets_choose(struct targets *t, const struct json *models, const char *base, const char *list,
                   struct arena *mem, infer_error *err);
/* Add the result of request i to the counts of its adapter. */
void targets_count(struct targets *t, int64_t i, const struct load_done *d);
/* Append a line of at most 80 columns with the names. */
void targets_show(const struct targets *t, struct buf *to);
#endif
