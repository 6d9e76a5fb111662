/* infer/stats.h - counters and configuration of an engine.   floor: engine */
#ifndef INFER_STATS_H
#define INFER_STATS_H
#include <stdint.h>

/* Counters of one request. */
struct infer_usage {
	int64_t prompt_tokens, completion_tokens, cached_tokens, preemptions;
	int64_t chunks; /* steps that computed prompt rows */
	int64_t queue_ns, prefill_ns;
	int64_t first_token_ns; /* from submit to the first token */
	int64_t decode_ns;      /* from the first token to the last */
	int64_t constraint_ns;  /* computing its token masks, and advancing its grammar state */
};
struct infer_engine_stats {
	uint64_t steps, rows, rows_max, prefill_rows, decode_rows; /* rows_max: of one step */
	/* preempted sequences that were resumed: by copying from host memory; by computing again */
	uint64_t swaps, recomputes;
	/* copied to host memory, copied back, and stored there now */
	uint64_t swap_out_bytes, swap_in_bytes, swap_bytes;
	/* chunks: prefill parts of requests; preemptions: sequences whose pages were taken */
	uint64_t chunks, preemptions, cached_tokens, evicted_pages;
	/* pages: 32 positions of all layers; idle: cached for later requests, evictable */
	uint64_t kv_pages, kv_pages_used, kv_pages_idle, kv_page_bytes;
	uint64_t barriers;      /* how often the threads waited for each other in steps */
	uint64_t decode_allocs; /* heap calls of the process during steps that only decode */
	uint64_t workspace_bytes, kv_reserved_bytes;
	int64_t compute_ns, open_ns;
	uint64_t digest; /* of (ids, log-probs) of ended requests, in whatever order they end */
};

/* The configuration, as run records describe it. */
struct infer_engine_info {
	char isa[128];       /* overlays in use, '+'-joined: "ref+avx2+avx512vnni" */
	char placement[320]; /* where layers run: "cpu:0-31", "cuda/sm_90:0-31+cpu-experts" */
	int32_t threads, ctx;
	int k_type, v_type, act_type;
	int32_t prefill_chunk; /* most prefill rows of a step */
};
#endif
