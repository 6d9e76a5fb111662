/* infer-bench/load.h - send a workload to a server and time each request. */
#ifndef INFER_BENCH_LOAD_H
#define INFER_BENCH_LOAD_H
#include "common/client.h"
#include "workload.h"

/* The result of one request. Times are those of clock_now_ns; 0: the event did not happen. */
struct load_done {
	/* The time at which the request was to be sent. Latencies count from here, so that waiting for a free
	 * connection counts too. */
	int64_t due_ns;
	int64_t sent_ns, first_ns, last_ns, end_ns;              /* first_ns, last_ns: of tokens */
	int64_t prompt_tokens, completion_tokens, cached_tokens; /* counted by the server */
	int32_t chunks;                                          /* pieces of text received */
	/* Pieces that were all there at the first read, and reads with text: pieces are read together if the
	 * server or the network sent them so, or if the client was late. */
	int32_t first_chunks, reads;
	double decode_ms; /* time from the first token to the last by the server's timings; 0: none */
	int has_usage, failed;
	char why[160]; /* why the request failed */
};
struct load {
	struct client *http;
	const struct workload *work;
	const char *path, *model; /* path of the endpoint; name of the model, NULL: none */
	/* [n_models]: request i has the model models[i % n_models]. n_models 0: all have `model` */
	const char *const *models;
	size_t n_models;
	int chat, may_stop;
	int has_timings; /* 1: the server's answers have "timings", as those of llama.cpp; set by load_once */
	int64_t clients; /* most parallel requests; 0: no limit */
	int closed; /* 1: closed loop, a client sends a request when its previous one has ended */
	struct load_done *done; /* [work->n] */
	struct buf gaps;        /* f64 [], ms: times between two pieces of text */
	int64_t start_ns, end_ns;
	int64_t most_at_once;
};
/* Send requests [from, from + n) of the workload, wait for their answers, and write the results to
 * done[from ...]. from = -1: n warm-up requests, whose results are written to done[0 ...].
 * INFER_ENET INFER_EINVAL INFER_ENOMEM */
int load_run(struct load *l, int64_t from, int64_t n, infer_error *err);
/* Send one request of this many words, not streamed. *prompt_tokens: from the usage in the answer.
 * INFER_ENET  the server refused it, or did not answer in JSON; INFER_ENOMEM */
int load_once(struct load *l, int32_t words, int64_t *prompt_tokens, infer_error *err);
#endif
