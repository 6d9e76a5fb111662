/* infer-serve/http/admit.c - check the API key of a request, and limit the number of waiting requests. */
#include "infer-serve/http/admit.h"
#include "base/err.h"

#include <string.h>

#define SECOND INT64_C(1000000000)
enum { RETRY_MOST = 60 };

/* Return the user with this id, added if missing; NULL: no memory. Caller holds the lock. */
static struct fair_user *find_or_add_user(struct server *s, uint64_t id)
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

/* Find a key of n bytes among those of the server and of all models; NULL: none.  Caller holds the
 * lock. */
static const struct key *find_key(struct server *s, const char *key, size_t n)
{
	size_t i = keys_match(&s->keys, key, n);
	const struct key *k = i ? &s->keys.at[i - 1] : NULL;

	for (const struct served *m = s->models; m; m = m->next) {
		i = m->retired ? 0 : keys_match(&m->keys, key, n);
		k = !k && i ? &m->keys.at[i - 1] : k;
	}
	return k;
}

int admit_key(struct http_request *r, const char *authorization, const char *api_key)
{
	struct server *s = r->api.server;
	struct fair_user *u;
	const struct key *k;
	uint64_t id = 0;
	size_t n = 0;
	int ok;
	const char *key = keys_bearer(authorization, &n);

	if (!key && (key = api_key))
		n = strlen(key);
	pthread_mutex_lock(&s->lock);
	k = key ? find_key(s, key, n) : NULL;
	if (k) {
		memcpy(&id, k->digest, sizeof id);
		keys_name(r->api.caller.key, k);
		keys_group(r->api.caller.group, k);
		r->api.caller.is_operator = k->is_operator;
	}
	u = find_or_add_user(s, id);
	if (u && k) {
		u->weight = k->weight;
		u->priority = k->priority;
	}
	r->api.caller.user = u;
	/* a model's own keys are checked when the request is assigned to it */
	ok = (k || !s->keys.n) && u;
	pthread_mutex_unlock(&s->lock);
	return ok;
}

/* Estimate the seconds that the requests in the queue take. */
static int estimate_retry_s(const struct server *s)
{
	int64_t ns = 0;

	for (const struct served *m = s->models; m; m = m->next)
		ns = m->service_ns > ns ? m->service_ns : ns;
	ns *= 1 + s->n_admitted / s->o->parallel;
	return ns < SECOND                ? 1
	       : ns > RETRY_MOST * SECOND ? RETRY_MOST
	                                  : (int)((ns + SECOND - 1) / SECOND);
}

int admit_full(struct http_request *r)
{
	struct server *s = r->api.server;
	int64_t most = s->o->parallel + s->o->max_queue, users = 1;

	if (s->n_admitted < most)
		return 0;
	for (const struct fair_user *u = s->users; u; u = u->next)
		users += u != r->api.caller.user && u->admitted;
	r->api.retry_s = estimate_retry_s(s);
	return r->api.caller.user->admitted >= most / users;
}
