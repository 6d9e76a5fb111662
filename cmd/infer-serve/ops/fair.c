/* infer-serve/ops/fair.c - choose the request that an engine runs next. */
#include "infer-serve/ops/fair.h"

#include <stddef.h>

static void add_busy(struct fair *f, struct fair_user *u)
{
	double least = 0;
	int any = 0;

	if (u->is_busy)
		return;
	for (const struct fair_user *o = f->busy; o; o = o->next_busy) {
		least = !any || o->served < least ? o->served : least;
		any = 1;
	}
	/* if no other user is busy, start again from 0: the numbers stay small */
	u->served = any && u->served < least ? least : any ? u->served : 0;
	u->is_busy = 1;
	u->next_busy = f->busy;
	f->busy = u;
}

static void update_idle(struct fair *f, struct fair_user *u)
{
	struct fair_user **at = &f->busy;

	if (u->first || u->samples)
		return;
	while (*at != u)
		at = &(*at)->next_busy;
	*at = u->next_busy;
	u->is_busy = 0;
}

void fair_put(struct fair *f, struct fair_item *i)
{
	struct fair_user *u = i->user;
	struct fair_item **at;

	add_busy(f, u);
	i->turn = f->turns++;
	at = u->last && u->last->priority <= i->priority ? &u->last->next : &u->first;
	while (*at && (*at)->priority <= i->priority)
		at = &(*at)->next;
	i->next = *at;
	*at = i;
	if (!i->next)
		u->last = i;
}

void fair_drop(struct fair *f, struct fair_item *i)
{
	struct fair_user *u = i->user;
	struct fair_item *before = NULL;

	for (struct fair_item *k = u->first; k != i; k = k->next)
		before = k;
	if (before)
		before->next = i->next;
	else
		u->first = i->next;
	if (u->last == i)
		u->last = before;
	update_idle(f, u);
}

void fair_end(struct fair *f, struct fair_item *i)
{
	i->user->samples -= i->samples;
	update_idle(f, i->user);
}

void fair_charge(struct fair_user *u, int64_t tokens)
{
	u->served += (double)tokens / (double)u->weight;
}

/* True if the first request of a runs before that of b. */
static int goes_before(const struct fair_user *a, const struct fair_user *b)
{
	int32_t pa = a->priority, pb = b->priority;

	return pa != pb                 ? pa > pb
	       : a->served != b->served ? a->served < b->served
	                                : a->first->turn < b->first->turn;
}

/* Return how far a user is below its share of the engine, counting its next request: 0 at or above the
 * share, else 1 + the number of times that its samples could double within the share. */
static int32_t rank_level(const struct fair *f, const struct fair_user *u)
{
	int64_t weights = 0, held = u->samples + 1;
	int32_t n = 0, users = 0;

	for (const struct fair_user *o = f->busy; o; o = o->next_busy) {
		weights += o->weight;
		users++;
	}
	if (users < 2)
		return 0;
	for (; n < FAIR_LEVELS - 1 && held * weights <= (int64_t)f->room * u->weight; held *= 2)
		n++;
	return n;
}

/* Return the rank of the first request of a user. */
static int32_t rank_first(const struct fair *f, const struct fair_user *u)
{
	const int alone = f->busy == u && !u->next_busy;
	const int32_t level = u->priority * FAIR_LEVELS + rank_level(f, u);

	return level * (2 * FAIR_PRIORITY + 1) - (alone ? u->first->priority : 0);
}

struct fair_item *fair_take(struct fair *f, int64_t samples, int32_t lowest)
{
	struct fair_user *best = NULL;
	struct fair_item *i;
	int32_t rank = 0, r;

	for (struct fair_user *u = f->busy; u; u = u->next_busy) {
		if (!u->first)
			continue;
		r = rank_first(f, u);
		/* if the engine is full, the request needs one of lower rank to preempt */
		if ((samples >= f->room && r <= lowest) || (best && !goes_before(u, best)))
			continue;
		best = u;
		rank = r;
	}
	if (!best)
		return NULL;
	i = best->first;
	best->first = i->next;
	if (!best->first)
		best->last = NULL;
	best->samples += i->samples;
	i->rank = rank;
	return i;
}
