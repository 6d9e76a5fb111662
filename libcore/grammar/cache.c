/* grammar/cache.c - a cache of compiled constraints. */
#include "grammar/shared.h"
#include "base/err.h"

#include <pthread.h>
#include <string.h>

enum { MOST = 64, MOST_BYTES = 256 << 20 };

struct infer_grammars {
	pthread_mutex_t lock;
	size_t n;
	uint64_t bytes;
	struct cached {
		infer_grammar *g;
		uint64_t tenant;
	} at[MOST]; /* most recently used first */
};

int infer_grammars_new(infer_grammars **out, infer_error *err)
{
	infer_grammars *c = mem_zalloc(MEM_GRAMMAR, 1, sizeof *c);
	int rc;

	*out = NULL;
	if (!c)
		return err_set(err, INFER_ENOMEM, "no memory for constraints");
	rc = pthread_mutex_init(&c->lock, NULL);
	if (rc) {
		mem_free(c);
		return err_errno(err, rc, "cannot make a lock");
	}
	*out = c;
	return INFER_OK;
}

void infer_grammars_free(infer_grammars *c)
{
	if (!c)
		return;
	while (c->n)
		infer_grammar_free(c->at[--c->n].g);
	pthread_mutex_destroy(&c->lock);
	mem_free(c);
}

/* Find a constraint by name and tenant, and make it the most recently used.  Returns NULL if there is
 * none. */
static infer_grammar *find_constraint(infer_grammars *c, uint64_t tenant, const char *sha256)
{
	for (size_t i = 0; i < c->n; i++) {
		struct cached k = c->at[i];

		if (k.tenant != tenant || strcmp(k.g->sha256, sha256) != 0)
			continue;
		memmove(c->at + 1, c->at, i * sizeof *c->at);
		c->at[0] = k;
		return infer_grammar_share(k.g);
	}
	return NULL;
}

/* Add a constraint, and evict the least recently used for it. */
static void add_to_cache(infer_grammars *c, uint64_t tenant, infer_grammar *g)
{
	while (c->n && (c->n == MOST || c->bytes + g->bytes > MOST_BYTES)) {
		c->bytes -= c->at[--c->n].g->bytes;
		infer_grammar_free(c->at[c->n].g);
	}
	memmove(c->at + 1, c->at, c->n++ * sizeof *c->at);
	c->at[0] = (struct cached){ infer_grammar_share(g), tenant };
	c->bytes += g->bytes;
}

int infer_grammars_get(infer_grammar **out, infer_grammars *c, uint64_t tenant,
                       const struct infer_grammar_source *s, enum infer_grammar_cause *cause,
                       infer_error *err)
{
	char sha256[65];
	infer_grammar *twin;

	grammar_name(sha256, grammar_kind(s->form), s);
	pthread_mutex_lock(&c->lock);
	*out = find_constraint(c, tenant, sha256);
	pthread_mutex_unlock(&c->lock);
	if (*out) {
		if (cause)
			*cause = INFER_GRAMMAR_ACCEPTED;
		return INFER_OK;
	}
	TRY(infer_grammar_compile(out, s, cause, err)); /* without the lock: it may take long */
	pthread_mutex_lock(&c->lock);
	twin = find_constraint(c, tenant, sha256);
	if (twin) {
		infer_grammar_free(*out);
		*out = twin;
	} else {
		add_to_cache(c, tenant, *out);
	}
	pthread_mutex_unlock(&c->lock);
	return INFER_OK;
}
