/* infer/engine.h - requests in, events out: the one way to run a model.   floor: engine
 *
 * submit, cancel, wait, stats and info: any thread, at any time; step, next and busy: Confined.
 *
 * A step contains a row for every decoding request, and as many prefill rows as keep it under
 * step_ms; at most 128 if nothing decodes and another sequence could be admitted.  A common prefix
 * of prompts is computed once.  Iteration-level batching: Yu+ 2022 (Orca); paged KV: Kwon+ 2023,
 * arXiv:2309.06180; chunked prefill: Agrawal+ 2024, arXiv:2403.02310; prefix tree: Zheng+ 2023,
 * arXiv:2312.07104.
 *
 *	infer_engine_submit(e, &request, &id, &err);
 *	while (infer_engine_step(e, &err) == INFER_OK && infer_engine_busy(e))
 *		while (infer_engine_next(e, &ev))
 *			... */
#ifndef INFER_ENGINE_H
#define INFER_ENGINE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/embed.h>
#include <infer/event.h>
#include <infer/grammar.h>
#include <infer/lora.h>
#include <infer/model.h>
#include <infer/need.h>
#include <infer/observe.h>
#include <infer/sample.h>
#include <infer/stats.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_engine infer_engine;

enum {
	INFER_ENGINE_NO_PREFIX_CACHE = 1 << 0,
	INFER_ENGINE_NO_JUMP = 1 << 1, /* compute tokens that a grammar forces one per step */
	INFER_ENGINE_EVEN = 1 << 2, /* long prompts prolong a step with decoding rows by <= 3/10 */
	INFER_ENGINE_CPU_EXPERTS = 1 << 3, /* experts of GPU layers on the CPU; auto means cuda */
};
enum { INFER_GPU_LAYERS_FIT = -1, INFER_SPLIT_MOST = 8 };
struct infer_engine_opts {
	/* "auto", "cpu", "cuda" or "cuda:N".  auto (NULL): a GPU if the model has 1 GiB of weights,
	 * is supported there, and fits with a context of ctx, or 4096; else the CPU, and the log
	 * says why */
	const char *device;
	/* number of layers on the GPU: the last ones, with the output; the others run on the CPU.
	 * 0: all; N > 0: auto means cuda; INFER_GPU_LAYERS_FIT: as many as fit */
	int32_t gpu_layers;
	/* split[i], at least 1: the share of the GPU layers that GPU i computes.  Shares whose sum
	 * is the number of these layers are numbers of layers.  Each GPU gets at least one layer.
	 * n_split 0: one GPU; with a split, auto means cuda.  Excludes "cuda:N" and
	 * INFER_GPU_LAYERS_FIT */
	int32_t split[INFER_SPLIT_MOST], n_split;
	int32_t threads;    /* 0: the cores the process may use */
	const char *isa;    /* widest kernel set to use ("ref", "avx2", ...); NULL: all */
	int32_t ctx;        /* maximum context; 0: the model's own, or what fits */
	int kv_set;         /* 0: the cache is f16 and the two types below are ignored */
	int k_type, v_type; /* INFER_F32 F16, or Q8_0 Q4_0 if the head size is divisible by 32 */
	/* activations multiplied by F16 and BF16 weights: INFER_F32, or INFER_BF16: faster, less
	 * exact */
	int act_type;
	/* cache budget; 0: enough for max_seqs sequences of ctx, or what fits if that is less */
	uint64_t kv_bytes;
	/* host memory for the cache of preempted sequences; 0: they are computed again */
	uint64_t swap_bytes;
	int32_t prefill_chunk; /* most prefill rows of a step; 0: 512 */
	/* target time of a decoding step with more than 16 prompt rows (with INFER_ENGINE_EVEN:
	 * more than 48 rows in all); 0: 50 */
	int32_t step_ms;
	int32_t max_seqs;  /* concurrent sequences; 0: 1 */
	int32_t max_queue; /* requests waiting; 0: 1024 */
	/* largest sum of ranks over the adapters of a request; 0: requests have no adapters */
	int32_t lora_rank;
	uint32_t flags;
	infer_log_fn *log;
	void *log_user;
	/* receives progress of prefill: prompt tokens computed or cached, of all active requests */
	struct infer_watch watch;
	/* receives progress while weights are copied to a GPU, in bytes */
	struct infer_watch loading;
	struct infer_observer observer; /* receives the inputs of every product with a matrix */
};

/* Open an engine.  model: borrowed, must outlive *out.  o: NULL is all defaults; its functions are
 * called until close.
 * INFER_EINVAL: a field is out of its range.
 * INFER_EUNSUP: isa or cache type, by name; act_type BF16 for a model without F16 and BF16
 *               matrices; an operation, type or option that the requested GPU does not support.
 * INFER_EDEVICE: a GPU is requested, but there is none, or no driver, or no support in this build.
 * INFER_ENOMEM: names the memory needed, the memory there is, and the nearest setting that fits.
 * INFER_EIO: the system refuses a lock. */
int infer_engine_open(infer_engine **out, const infer_model *model,
                      const struct infer_engine_opts *o, infer_error *err);
void infer_engine_close(infer_engine **e); /* drops its requests; *e becomes NULL */

enum {
	INFER_REQ_IGNORE_EOS = 1 << 0,
	INFER_REQ_SCORE = 1 << 1,        /* a SCORE event for every prompt token except the first */
	INFER_REQ_NO_TEXT = 1 << 2,      /* ids only: no detokenising, no stop strings */
	INFER_REQ_SPECIAL_TEXT = 1 << 3, /* control tokens appear in text */
	INFER_REQ_LOGITS = 1 << 4,       /* with SCORE: its events have the row of logits */
	INFER_REQ_KEEP_STOP = 1 << 5,    /* a stop string that ends the text is part of it */
	INFER_REQ_AFTER = 1 << 6, /* log-probabilities are those after all stages of the sampler */
	INFER_REQ_PROGRESS = 1 << 7, /* READ events: prompt tokens cached or computed */
};
enum { INFER_MAX_TOP = 128 };
struct infer_request {         /* copied at submit, which adds a reference to the grammar */
	const int32_t *prompt; /* [n_prompt] ids */
	size_t n_prompt;       /* at least 1 */
	int32_t max_tokens;    /* -1: until end of turn or context; 0: only compute the prompt */
	int32_t min_tokens;    /* until then, no end token and no stop string ends the answer */
	struct infer_sample_opts sample;
	const struct infer_str *stop;
	int32_t n_stop; /* stop strings: UTF-8, not empty */
	const int32_t *stop_tokens;
	int32_t n_stop_tokens;
	int32_t top;        /* alternatives reported with each token, 0 ... INFER_MAX_TOP */
	int32_t score_from; /* SCORE: index of the first prompt token with an event; 0 counts as 1 */
	uint32_t flags;
	int32_t priority;       /* greater is served first */
	int64_t deadline_ns;    /* on CLOCK_MONOTONIC; after it the request is cancelled; 0: none */
	infer_grammar *grammar; /* constrains the answer; NULL: none */
	struct infer_str free_until; /* the answer is unconstrained up to and including this text */
	/* Tags around reasoning before the answer: the opening one (len 0: the prompt
	 * contains it) and the closing one (len 0: no reasoning), at most 64 bytes each.  Reasoning
	 * of more than reason_limit - 1 tokens is ended (0: of half of the tokens, with a grammar) */
	struct infer_str reason_open, reason_close;
	int32_t reason_limit;
	int embed, second; /* enum infer_embed, instead of an answer; first id of a second text */
	/* embed: f32 [n_embedding], not normalised, the caller's; complete if DONE has code 0 */
	float *embedding;
	/* adapters, at most INFER_LORA_USES, no two the same; submit adds a reference to each.  One
	 * with factor 0 is left out.  Only requests with the same adapters and factors, in the same
	 * order, share the prefix cache */
	const struct infer_lora_use *loras;
	int32_t n_loras;
	uint64_t salt; /* only requests with the same salt share the prefix cache */
	void *user;    /* returned with every event */
};

/* Submit a request.  id: out, or NULL.  A ranker or an encoder accepts requests with embed only.
 * INFER_EINVAL: an id outside the vocabulary, an empty prompt, a field out of range; names it.
 * INFER_ENOMEM: the prompt (+ 1 token) exceeds the context; names the size needed, the size
 *               available, and the nearest size that fits.
 * INFER_EUNSUP: text, or a grammar, is requested from a model without a vocabulary; adapters, from an
 *               engine without lora_rank, or of more than that; adapters that replace one tensor.
 * INFER_EEMPTY: the grammar's budget is exhausted, or no token can begin a text.
 * INFER_EAGAIN: the queue is full. */
int infer_engine_submit(infer_engine *e, const struct infer_request *r, uint64_t *id,
                        infer_error *err);
int infer_engine_cancel(infer_engine *e, uint64_t id); /* INFER_EINVAL: unknown id, or ended */

/* Read the next event.  1: *ev is filled; 0: there is none.  An end-of-turn or stop token is a
 * TOKEN with empty text, followed by DONE.  SCORE events are in prompt order.  Events are kept
 * until read. */
int infer_engine_next(infer_engine *e, struct infer_event *ev);

/* Compute one step, if there is work.  INFER_ENOMEM: no memory for events; nothing was computed.  A
 * NaN logit or a device error is INFER_OK here: it ends the requests concerned, with DONE. */
int infer_engine_step(infer_engine *e, infer_error *err);
int infer_engine_busy(const infer_engine *e); /* 1: requests have not ended, or events are unread */
/* Wait until a request is queued or active, and return 1; or 0 after the timeout (-1: none). */
int infer_engine_wait(infer_engine *e, int64_t timeout_ns);

/* Copy the counters after the last step, and the configuration: infer/stats.h */
void infer_engine_stats(const infer_engine *e, struct infer_engine_stats *s);
void infer_engine_info(const infer_engine *e, struct infer_engine_info *info);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
