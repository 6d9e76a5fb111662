/* infer-bench/scrape.h - counters of a server and of its machine. */
#ifndef INFER_BENCH_SCRAPE_H
#define INFER_BENCH_SCRAPE_H
#include "common/client.h"

/* Counters from /metrics (Prometheus text format); -1: the server does not have the counter. */
struct scraped {
	double prompt_tokens, completion_tokens, cached_tokens;
	double cache_usage; /* fraction of the KV cache in use, cached prefixes included */
	double resident_bytes;
};
/* Read the counters of a server. All are -1 if it has no /metrics, which is not an error.
 * INFER_ENET INFER_ENOMEM */
int scrape_metrics(struct scraped *s, struct client *h, infer_error *err);
/* Read the counters from the text of /metrics. */
void scrape_read(struct scraped *s, const char *text);

/* Read the first model of /v1/models: its name, and its context size in tokens (0: not given). The caller
 * frees name with buf_fini. INFER_ENET: the server has no such list */
int scrape_model(struct client *h, struct buf *name, int64_t *ctx, infer_error *err);

/* scrape_peak_bytes: return the peak resident memory of process pid. scrape_energy_j: return the RAPL energy
 * counter of all processor packages, J. Both: -1 if it cannot be read. */
double scrape_peak_bytes(int64_t pid);
double scrape_energy_j(void);
#endif
