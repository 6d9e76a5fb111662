/* infer-serve/ops/fair.h - whose request the engine gets next.
 *
 * Users, one for each API key, share the engine by weight: the next request is that of the user who
 * has been served the least, counted in tokens divided by the weight (start-time fair queueing,
 * Goyal+ 1996).  A user who was idle has no claim on the past.  A user with fewer samples in the
 * engine than its share ranks above those with more, so that the engine may preempt theirs. */
#ifndef INFER_SERVE_OPS_FAIR_H
#define INFER_SERVE_OPS_FAIR_H
#include <stdint.h>

struct fair_user {
	struct fair_user *next;
	uint64_t id;                      /* of the key; 0: of requests without one */
	_Atomic int32_t weight, priority; /* 1 ... FAIR_MOST, -FAIR_MOST ... FAIR_MOST */
	int64_t admitted;                 /* requests that wait or run; under the server's lock */
	/* of the engine's thread */
	struct fair_user *next_busy;
	int is_busy;
	double served;   /* tokens by weight */
	int64_t samples; /* in the engine */
	struct fair_item *first, *last;
};
enum { FAIR_MOST = 100, FAIR_LEVELS = 8 };
/* A request that waits, or runs. */
struct fair_item {
	struct fair_item *next;
	struct fair_user *user;
	int32_t samples, rank; /* rank: in the engine; greater goes first */
	uint64_t turn;
	void *of;
};
struct fair {
	struct fair_user *busy; /* with requests that wait or run */
	uint64_t turns;
	int32_t room; /* sequences of the engine */
};

/* A request waits.  Its user, samples and `of` are set. */
void fair_put(struct fair *f, struct fair_item *i);
/* The next one, which then runs, with its rank; NULL: none waits, or the engine, which has `samples`
 * of which `lowest` is the lowest rank, has no room for it. */
struct fair_item *fair_take(struct fair *f, int64_t samples, int32_t lowest);
/* One that waits does so no more. */
void fair_drop(struct fair *f, struct fair_item *i);
/* One that ran has ended. */
void fair_end(struct fair *f, struct fair_item *i);
void fair_charge(struct fair_user *u, int64_t tokens);
#endif
