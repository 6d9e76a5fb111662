/* infer-serve/ops/fair.h - choose the request that an engine runs next.
 *
 * Users, one for each API key, share the engine by weight: the next request is that of the user who has
 * been served the least, counted in tokens divided by the weight (start-time fair queueing, Goyal+ 1996).
 * Idle time gives a user no credit. A user with fewer samples in the engine than its share ranks above
 * those with more, so that the engine may preempt theirs.
 *
 * The priorities of requests order those of one user.  They reach the engine only while no other user is
 * busy, so that no user can delay another. */
#ifndef INFER_SERVE_OPS_FAIR_H
#define INFER_SERVE_OPS_FAIR_H
#include <stdint.h>

struct fair_user {
	struct fair_user *next;
	uint64_t id; /* id of the API key; 0: requests without a key */
	/* weight 1 ... FAIR_MOST; priority -FAIR_MOST ... FAIR_MOST */
	_Atomic int32_t weight, priority;
	int64_t admitted; /* requests that wait or run; guarded by the server's lock */
	/* used only by the thread that steps engines */
	struct fair_user *next_busy;
	int is_busy;
	double served;                  /* tokens served, divided by the weight */
	int64_t samples;                /* samples in the engine */
	struct fair_item *first, *last; /* requests that wait */
};
enum { FAIR_MOST = 100, FAIR_LEVELS = 8, FAIR_PRIORITY = 1000000 };
/* A request that waits or runs. */
struct fair_item {
	struct fair_item *next;
	struct fair_user *user;
	int32_t samples, rank; /* of the request; its priority in the engine, greatest first */
	/* the field of the request: lower values first, among requests of the same user */
	int32_t priority;
	uint64_t turn; /* number in the order of arrival */
	void *of;      /* the request; not used in this file */
};
struct fair {
	struct fair_user *busy; /* users with requests that wait or run */
	uint64_t turns;         /* requests added so far */
	int32_t room;           /* sequences that the engine computes at once */
};

/* Add a request that waits; its user, samples, priority (-FAIR_PRIORITY ... FAIR_PRIORITY) and `of` are
 * set. */
void fair_put(struct fair *f, struct fair_item *i);
/* Remove and return the request to run next, with its rank set. samples: number in the engine now;
 * lowest: lowest rank of those. NULL: no request waits, or the engine has no room. */
struct fair_item *fair_take(struct fair *f, int64_t samples, int32_t lowest);
/* Remove a request that waits. */
void fair_drop(struct fair *f, struct fair_item *i);
/* Subtract an ended request from the samples in the engine. */
void fair_end(struct fair *f, struct fair_item *i);
/* Count tokens as served to the user. */
void fair_charge(struct fair_user *u, int64_t tokens);
#endif
