/* infer-serve/admit.c - who may send requests, and how many of them. */
#include "infer-serve/admit.h"
#include "base/err.h"

#include <string.h>

#define SECOND INT64_C(1000000000)
enum { RETRY_MOST = 60 };

/* The user with this id, made where there is none; NULL: no memory.  Under the lock. */
static struct fair_user *user_of(struct server *s, uint64_t id)
{
	struct fair_user *u = s->users;

	while (u && u->id != id)
		u = u->next;
	if (u)
		return u;
	u = mem_zalloc(MEM_BASE, 1, sizeof *u);
	if (!u)
		return NULL;
	u->id = id;
	u->weight = 1;
	u->next = s->users;
	s->users = u;
	return u;
}

int admit_key(struct exchange *x, const char *authorization, const char *api_key)
{
	struct server *s = x->server;
	struct fair_user *u;
	const struct key *k;
	uint64_t id = 0;
	size_t n = 0, found;
	const char *key = keys_bearer(authorization, &n);

	if (!key && (key = api_key))
		n = strlen(key);
	pthread_mutex_lock(&s->lock);
	found = s->keys.n && key ? keys_match(&s->keys, key, n) : 0;
	k = found ? &s->keys.at[found - 1] : NULL;
	if (k)
		memcpy(&id, k->digest, sizeof id);
	u = user_of(s, id);
	if (u && k) {
		u->weight = k->weight;
		u->priority = k->priority;
	}
	x->turn.user = u;
	found |= !s->keys.n;
	pthread_mutex_unlock(&s->lock);
	return found && u;
}

/* Seconds after which there may be room: as long as the requests before it may take. */
static int retry_s(const struct server *s)
{
	int64_t ns = s->service_ns * (1 + s->n_admitted / SERVE_SEQS);

	return ns < SECOND                ? 1
	       : ns > RETRY_MOST * SECOND ? RETRY_MOST
	                                  : (int)((ns + SECOND - 1) / SECOND);
}

int admit_full(struct exchange *x)
{
	struct server *s = x->server;
	int64_t most = SERVE_SEQS + s->o->max_queue, users = 1;

	if (s->n_admitted < most)
		return 0;
	for (const struct fair_user *u = s->users; u; u = u->next)
		users += u != x->turn.user && u->admitted;
	x->retry_s = retry_s(s);
	return x->turn.user->admitted >= most / users;
}
