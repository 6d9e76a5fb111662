/* engine/engine.h (private) - inside the engine: requests from the queue through steps to events.
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
	struct arena arena; /* holds the copies of everything the caller passed */
	uint64_t *ids;      /* [cap] keys of the cache: prompt, then what was drawn */
	int32_t n, n_prompt, cap;
	int32_t top, priority, told; /* told: tokens of the prompt, plus 1, by READ events */
	uint32_t flags;
	int64_t deadline_ns;
	uint64_t root; /* of the prefix tree */
	int32_t *stop_tokens, n_stop_tokens;
	struct stop stop;
	infer_sampler *sampler;
	infer_detok *detok;    /* NULL without text */
	struct follow *follow; /* NULL: without a constraint */
	int cancelled;         /* under the lock */
	int ended;             /* DONE is out; to be freed */
	int admitted;          /* has been active before: its first times are kept */
	struct kv_seq *seq;    /* NULL while queued; its length: positions computed */
	struct kv_seq *aside;  /* preempted: a copy of what it had, or NULL */
	/* the rows of the prompt from scored - 1 to before scored_end - 1 are wanted, for the scores
	 * of the tokens behind them or for the embedding; those before have given theirs */
	int32_t scored, scored_end;
	double *pool;     /* [n_embd] the sum of the states so far; NULL: no embedding */
	float *embedding; /* the caller's */
	int embed, whole; /* enum infer_embed; rows see later ones, so that all are of one step */
	int32_t states, second, rows; /* of it; where a second part begins; of the step that runs */
	int32_t rows_due;             /* rows of its prompt that are due; prompts.c */
	int64_t submit_ns, admitted_ns, first_ns, last_ns;
	uint64_t digest;
	struct infer_usage usage;
};

struct event_slot {
	struct infer_event ev;
	size_t text_at, top_at, message_at;
	uint64_t step; /* that computed its logits */
};
struct events {
	struct event_slot *slots;
	struct infer_top *tops;
	size_t n, cap, read, n_tops, cap_tops;
	uint64_t step; /* the last one that was computed, or tried */
	struct buf text;
};
int events_init(struct events *q, size_t slots, size_t tops, infer_error *err);
void events_fini(struct events *q);
/* Make room for that many more. */
int events_reserve(struct events *q, size_t slots, size_t tops, infer_error *err);
struct event_slot *events_add(struct events *q, const struct request *r, int kind);

/* What may come next, guessed: a request that decodes gets a row for each guess, and all of them
 * draw in one step (Leviathan+ 2023, arXiv:2211.17192).  The draw is the request's own at every
 * position, so a wrong guess costs its row and changes no byte. */
struct engine_draft {
	/* Put at most cap tokens behind ids[0 .. n) at next; returns how many.  NULL: no
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
	struct constraints *constraints; /* NULL until a request has one; under the lock */
	struct engine_draft draft;
	struct infer_watch watch, parts; /* parts: of a step, for the backend */
	int32_t n_vocab, n_outputs, threads, threads_wanted, ctx;
	int32_t top; /* most tokens of a row that the last device finds; 0: logits are fetched */
	int k_type, v_type, act_type, lock_made;
	int32_t chunk, score_rows, max_seqs, max_queue;
	uint32_t flags;
	struct infer_observer observer;
	uint64_t workspace_bytes; /* of all devices, and between them */
	int64_t step_ns, now_ns;  /* now: when this step began */
	/* running means: a step that only decodes, a prompt row, copying a MiB of the cache */
	int64_t decode_ns, row_ns, copy_ns;
	uint64_t digest, prompts_done, prompts_all; /* tokens of prompts, before the step */
	struct infer_engine_stats now;              /* counted by the thread that steps */
	int stopped, held;       /* a new request cancelled the last step; a prompt had it alone */
	atomic_int newcomer;     /* a request was submitted since this step began */
	struct request **active; /* [max_seqs] in rank: priority, then age */
	int32_t n_active, n_queued;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct request *queue; /* in rank */
	uint64_t last_id;
	struct infer_engine_stats stats; /* published at the end of a step */
};

/* request.c */
int request_new(struct request **out, infer_engine *e, const struct infer_request *r,
                infer_error *err);
void request_free(struct request *r);
int request_before(const struct request *a, const struct request *b); /* a ranks before b */
static inline int32_t request_pending(const struct request *r)        /* not computed yet */
{
	return r->n - kv_seq_len(r->seq);
}
/* End a request: queue its DONE event and release its pages; sched_reap or the caller frees it. */
void request_end(infer_engine *e, struct request *r, int finish, int code, const char *message);

/* sched.c; the lock is held.  ending: reads the clock, counts those that sweep will end */
size_t sched_ending(infer_engine *e);
/* end requests that were cancelled or have missed their deadline */
void sched_sweep(infer_engine *e);
void sched_admit(infer_engine *e);
void sched_compose(infer_engine *e);
void sched_reap(infer_engine *e);
void sched_queue(infer_engine *e, struct request *r);
void sched_measure(infer_engine *e, int64_t ns);
size_t sched_reuse(const struct request *r); /* ids that may be taken from the cache */
/* Preempt the last in rank: it gives up its pages and goes back to the queue. */
void sched_preempt_last(infer_engine *e);

/* prompts.c */
int32_t prompts_above(const infer_engine *e); /* sequences of lower priority do not decode */
void prompts_compose(infer_engine *e);        /* adds prompt rows behind the decoding rows */

/* embed.c */
int embed_check(const infer_engine *e, const struct infer_request *r, infer_error *err);
int embed_new(struct request *q, const infer_engine *e, const struct infer_request *r,
              infer_error *err);
/* Take the state of the next position; the last one makes the vector.  INFER_ENAN */
int embed_row(const infer_engine *e, struct request *r, const struct row_job *j, infer_error *err);
/* as infer_engine_open, on these devices */
int engine_open(infer_engine **out, const infer_model *model, const struct infer_engine_opts *o,
                const struct stages_device *devices, int n, infer_error *err);

/* stats.c */
uint64_t stats_digest(uint64_t digest, int32_t token, float logprob);
void stats_publish(infer_engine *e);
#endif
