/* infer-bench/load.h - a workload sent to a server, and what came of each request. */
#ifndef INFER_BENCH_LOAD_H
#define INFER_BENCH_LOAD_H
#include "common/client.h"
#include "workload.h"

/* One request.  Times are of clock_now_ns; 0: it did not happen. */
struct load_done {
	/* when the plan wanted it sent: latencies count from here, so that a request that had to
	 * wait for the client or for a free connection is late too */
	int64_t due_ns;
	int64_t sent_ns, first_ns, last_ns, end_ns;              /* first, last: token */
	int64_t prompt_tokens, completion_tokens, cached_tokens; /* by the server */
	int32_t chunks;                                          /* pieces of text that came */
	int has_usage, failed;
	char why[160]; /* that it failed */
};
struct load {
	struct client *http;
	const struct workload *work;
	const char *path, *model; /* of the server; NULL: requests name none */
	int chat, may_stop;
	int64_t clients;        /* at once; 0: as many as are due */
	int closed;             /* 1: a client sends its next request when its last has ended */
	struct load_done *done; /* [work->n] */
	struct buf gaps;        /* doubles, ms: between two pieces of text */
	int64_t start_ns, end_ns;
	int64_t most_at_once;
};
/* Send requests [from, from + n) of the workload; from below 0: requests of warming up. */
int load_run(struct load *l, int64_t from, int64_t n, infer_error *err);
/* One request that is not streamed, of so many words; its usage.  INFER_ENET: refused, and why */
int load_once(struct load *l, int32_t words, int64_t *prompt_tokens, infer_error *err);
#endif
