/* job/truncate.c - drop the oldest turns of a conversation that exceeds the context */
#include "job/job.h"
#include "base/err.h"

/* True if the prompt leaves room for the answer: one token if max_tokens is not given, otherwise
 * min(max_tokens, context / 2). */
static int fits_context(const struct job *j)
{
	const int64_t ctx = j->o->ctx, asked = j->limit_rank ? j->j.request.max_tokens : 1,
		      room = asked < 1         ? 1
	                     : asked > ctx / 2 ? ctx / 2
	                                       : asked;

	return (int64_t)j->j.request.n_prompt + room <= ctx;
}

static int is_role(const struct json *m, const char *role)
{
	return json_equals(json_get(m, "role"), role);
}

/* Return the turns at which a shorter conversation can begin: all user turns but the first. */
static const struct json **find_starts(struct job *j, const struct json *all, size_t *n)
{
	const struct json **starts = arena_alloc(&j->mem, json_count(all), sizeof *starts);
	int seen = 0;

	*n = 0;
	json_each(m, all) {
		if (!is_role(m, "user") || !starts)
			continue;
		if (seen++)
			starts[(*n)++] = m;
	}
	return starts;
}

/* Return the system turns at the beginning, and all turns from `start` on. */
static const struct json *drop_turns(struct job *j, const struct json *all,
                                     const struct json *start)
{
	struct json *to = json_new(&j->mem, JSON_ARRAY);
	const struct json *m = json_first(all);

	for (; m && (is_role(m, "system") || is_role(m, "developer")); m = m->next)
		json_append(to, json_share(&j->mem, m));
	for (m = start; m; m = m->next)
		json_append(to, json_share(&j->mem, m));
	return to;
}

/* Encode the messages; *ok: 1 if they fit the context. */
static int try_cut(struct job *j, const struct infer_conversation *c, const struct json *messages,
                   int *ok, infer_error *err)
{
	int rc;

	infer_ids_free(j->prompt);
	j->prompt = NULL;
	j->too_long = 0;
	j->messages = messages;
	rc = job_encode(j, c, err);
	*ok = !rc && fits_context(j);
	return rc && !j->too_long ? rc : INFER_OK;
}

int job_truncate(struct job *j, const struct infer_conversation *c, infer_error *err)
{
	const struct json *all = j->messages, **starts;
	size_t n, lo = 0, hi;
	int ok;

	if (!j->o->ctx || (!j->too_long && fits_context(j)))
		return INFER_OK;
	starts = find_starts(j, all, &n);
	if (!starts)
		return err_nomem(err);
	/* drop as few turns as possible; invariant: starts[hi] fits, or hi is n */
	for (hi = n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		TRY(try_cut(j, c, drop_turns(j, all, starts[mid]), &ok, err));
		if (ok)
			hi = mid;
		else
			lo = mid + 1;
	}
	/* if no turns fit, encode all, so that the error contains the full length */
	TRY(try_cut(j, c, lo < n ? drop_turns(j, all, starts[lo]) : all, &ok, err));
	return j->too_long ? err->code : INFER_OK;
}
