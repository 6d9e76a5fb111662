/* engine/engine.h (private) - the state of an engine: requests, from the queue through steps to events.
 *
 * One lock guards the queue, the active requests, the cancel flags and the published counters.
 * Everything else belongs to the thread that steps.  Memory for a request is allocated at submit,
 * memory for steps at open. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H
#include <pthread.h>
#include <infer/engine.h>
#include "arch/arch.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "engine/batch.h"
#include "engine/constrain.h"
#include "engine/stages.h"
#include "engine/stop.h"
#include "kv/kv.h"

struct request {
	struct request *next; /* in the queue */
	uint64_t id;
	void *user;
	struct arena arena; /* copies of everything the caller passed */
	uint64_t *ids;      /* [cap] cache keys: prompt, then drawn tokens */
	int32_t n, n_prompt, cap;
	int32_t top, priority, told; /* the last one: 1 + prompt tokens in the last READ event */
	uint32_t flags;
	int64_t deadline_ns;
	uint64_t root;      /* salt of the prefix tree, hashed with the adapters */
	infer_lora **loras; /* [n_uses] a reference to each */
	struct backend_use *uses;
	int32_t n_uses;
	int32_t *stop_tokens, n_stop_tokens;
	struct stop stop;
	infer_sampler *sampler;
	infer_detok *detok;                  /* NULL: no text is decoded */
	struct grammar_state *grammar_state; /* NULL: no constraint */
	int cancelled;                       /* guarded by the lock */
	int ended;                           /* 1: its DONE event is queued; sched_reap frees it */
	int admitted;                        /* 1: was active before; admitted_ns is set */
	struct kv_seq *seq;                  /* NULL while queued; kv_seq_len: positions computed */
	struct kv_seq *swapped; /* swapped copy of its sequence after preemption, or NULL */
	/* Prompt rows [scored - 1, scored_end - 1) must still give scores of the next tokens or states to
	 * pool. */
	int32_t scored, scored_end;
	double *pool;     /* [n_embd] sum of the states so far; NULL: no embedding */
	float *embedding; /* output, the caller's */
	int embed,
		whole; /* enum infer_embed; whole: attention is bidirectional, so one step has all rows */
	int32_t states, second,
		rows;     /* states pooled; position of a second segment; rows in this step */
	int32_t rows_due; /* prompt rows due in this step; prompts.c */
	int64_t submit_ns, admitted_ns, first_ns, last_ns;
	uint64_t digest;
	struct infer_usage usage;
};

struct event_slot {
	struct infer_event ev;
	size_t text_at, top_at, message_at;
	uint64_t step; /* number of the step that computed ev's logits */
};
struct events {
	struct event_slot *slots;
	struct infer_top *tops;
	size_t n, cap, read, n_tops, cap_tops;
	uint64_t step; /* steps begun so far */
	struct buf text;
};
int events_init(struct events *q, size_t slots, size_t tops, infer_error *err);
void events_fini(struct events *q);
/* Reserve memory for `slots` more events with `tops` more alternatives. */
int events_reserve(struct events *q, size_t slots, size_t tops, infer_error *err);
struct event_slot *events_add(struct events *q, const struct request *r, int kind);

/* Speculative decoding (Leviathan+ 2023, arXiv:2211.17192): a decoding request gets a row for each guessed
 * token, and all of them draw in one step.  Each position draws as without guesses, so a wrong guess costs
 * its row and changes no byte. */
struct engine_draft {
	/* Guess at most cap tokens that follow ids[0 .. n), into next; returns how many.  NULL: no
		 * guesses. */
	int32_t (*guess)(void *user, const uint64_t *ids, int32_t n, uint64_t *next, int32_t cap);
	void *user;
};

struct infer_engine {
	const infer_model *model;
	const infer_tokenizer *tok; /* NULL: the model has no vocabulary */
	struct host host;
	struct stages stages;
	struct place_plan place;
	struct kv *kv;
	struct step step;
	struct events events;
	struct constraints *constraints; /* NULL until a request has one; guarded by the lock */
	struct engine_draft draft;
	struct infer_watch watch, parts; /* watch: the caller's; parts: given to the backend */
	int32_t n_vocab, n_outputs, threads, threads_wanted, ctx;
	int32_t top; /* most tokens of a BACKEND_TOP row on the last device; 0: it returns all logits */
	int k_type, v_type, act_type, lock_made;
	int32_t chunk, score_rows, max_seqs, max_queue, lora_rank;
	uint32_t flags;
	struct infer_observer observer;
	uint64_t workspace_bytes; /* of all devices, and of the buffers between them */
	int64_t step_ns, now_ns;  /* step_ns: target of a step; now_ns: start of this step */
	/* running means: a decode-only step, a prompt row, copying a MiB of the cache */
	int64_t decode_ns, row_ns, copy_ns;
	uint64_t digest, prompts_done, prompts_all; /* prompt tokens before this step; in all */
	struct infer_engine_stats now;              /* counters of the thread that steps */
	/* of the last step. stopped: a new request cancelled it; held: a decoding request had no row */
	int stopped, held;
	atomic_int newcomer;     /* a request was submitted since this step began */
	struct request **active; /* [max_seqs] in rank order: priority, then age */
	int32_t n_active, n_queued;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct request *queue; /* in rank order */
	uint64_t last_id;
	struct infer_engine_stats stats; /* published at the end of a step */
};

/* request.c */
int request_new(struct request **out, infer_engine *e, const struct infer_request *r,
                infer_error *err);
void request_free(struct request *r);
int request_before(const struct request *a, const struct request *b); /* true if a ranks higher */
static inline int32_t request_pending(const struct request *r) /* positions not yet computed */
{
	return r->n - kv_seq_len(r->seq);
}
/* End a request: queue its DONE event and release its pages; sched_reap or the caller frees it. */
void request_end(infer_engine *e, struct request *r, int finish, int code, const char *message);

/* sched.c; caller holds the lock.  sched_ending reads the clock and counts the requests that sched_sweep
 * will end: those cancelled or past their deadline */
size_t sched_ending(infer_engine *e);
void sched_sweep(infer_engine *e);
void sched_admit(infer_engine *e);
void sched_compose(infer_engine *e);
void sched_reap(infer_engine *e);
void sched_queue(infer_engine *e, struct request *r);
void sched_measure(infer_engine *e, int64_t ns);
size_t sched_reuse(const struct request *r); /* leading ids that may be taken from the cache */
/* Preempt the active request that ranks last: release its pages and put it back into the queue. */
void sched_preempt_last(infer_engine *e);

/* prompts.c */
/* Return the priority below which sequences do not decode in this step. */
int32_t prompts_above(const infer_engine *e);
void prompts_compose(infer_engine *e); /* add prompt rows after the decoding rows */

/* adapters.c */
/* Check the adapters of a request: see infer_engine_submit. */
int adapters_check(const infer_engine *e, const struct infer_request *r, infer_error *err);
/* Copy them, with a reference to each, and make them part of q->root. */
int adapters_take(struct request *q, const struct infer_request *r, infer_error *err);
void adapters_drop(struct request *q);

/* embed.c */
int embed_check(const infer_engine *e, const struct infer_request *r, infer_error *err);
int embed_new(struct request *q, const infer_engine *e, const struct infer_request *r,
              infer_error *err);
/* Add the state of the next position; the last one completes the vector. INFER_ENAN: the vector is not
 * finite */
int embed_row(const infer_engine *e, struct request *r, const struct row_job *j, infer_error *err);
/* Like infer_engine_open, on these devices. */
int engine_open(infer_engine **out, const infer_model *model, const struct infer_engine_opts *o,
                const struct stages_device *devices, int n, infer_error *err);

/* stats.c */
uint64_t stats_digest(uint64_t digest, int32_t token, float logprob);
void stats_publish(infer_engine *e);
#endif
