/* infer-bench/scrape.h - what a server says of itself. */
#ifndef INFER_BENCH_SCRAPE_H
#define INFER_BENCH_SCRAPE_H
#include "common/client.h"

/* Its counters at a time, from /metrics in Prometheus' form; -1: it does not say. */
struct scraped {
	double prompt_tokens, completion_tokens, cached_tokens;
	double cache_usage; /* part of the KV cache that is in use or kept */
	double resident_bytes;
};
/* A server without /metrics says nothing; that is no failure. */
int scrape_metrics(struct scraped *s, struct client *h, infer_error *err);
/* Read the text. */
void scrape_read(struct scraped *s, const char *text);

/* The first model of /v1/models: its name, and its context, 0 if that is not said.   name: to
 * buf_fini.  INFER_ENET  the server does not answer so */
int scrape_model(struct client *h, struct buf *name, int64_t *ctx, infer_error *err);

/* The most memory that process pid has had, and what energy all packages have used, by RAPL; -1:
 * cannot be read. */
double scrape_peak_bytes(int64_t pid);
double scrape_energy_j(void);
#endif
