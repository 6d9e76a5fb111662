/* infer/stats.h - what an engine counts, and what it is.   floor: engine */
#ifndef INFER_STATS_H
#define INFER_STATS_H
#include <stdint.h>

struct infer_engine_stats {
	uint64_t steps, rows, rows_max, prefill_rows, decode_rows;
	/* sequences that went on after they had lost their place: from a copy beside the cache, or
	 * computed again */
	uint64_t swaps, recomputes;
	/* copied to memory beside the cache, copied back, and there now */
	uint64_t swap_out_bytes, swap_in_bytes, swap_bytes;
	uint64_t chunks, preemptions, cached_tokens, evicted_pages;
	/* 32 positions of all layers; idle: used, but only as prefixes for later */
	uint64_t kv_pages, kv_pages_used, kv_pages_idle, kv_page_bytes;
	uint64_t barriers;      /* how often the threads waited for each other in steps */
	uint64_t decode_allocs; /* heap calls of the process during steps that only decode */
	uint64_t workspace_bytes, kv_reserved_bytes;
	int64_t compute_ns, open_ns;
	uint64_t digest; /* of (ids, log-probs) of ended requests, in the order of submission */
};

/* The part of a run's record that describes the machine. */
struct infer_engine_info {
	char isa[128];       /* overlays in use, '+'-joined: "ref+avx2+avx512vnni" */
	char placement[320]; /* where layers run: "cpu:0-31", "cuda/sm_90:0-31+cpu-experts" */
	int32_t threads, ctx;
	int k_type, v_type, act_type;
	int32_t prefill_chunk; /* most prefill rows of a step */
};
#endif
