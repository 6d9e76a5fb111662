/* api/fields.c - the fields of requests that are neither sampling nor conversation */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

enum { TIMEOUT_MOST = 1000000 };

int job_pass(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j, (void)key, (void)v, (void)err;
	return INFER_OK;
}

/* Fields without an effect are only checked for their type. */
int job_pass_text(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	return json_is_string(v) ? INFER_OK
	                         : err_set(err, INFER_EINVAL, "%s must be a string", key);
}

int job_pass_bool(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int any;

	(void)j;
	return job_take_bool(&any, key, v, err);
}

int job_pass_object(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	(void)j;
	return json_is_object(v) ? INFER_OK
	                         : err_set(err, INFER_EINVAL, "%s must be an object", key);
}

int job_take_prompt(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_string(v) && !json_is_array(v) && (j->is_own || !json_is_object(v)))
		return err_set(err, INFER_EINVAL, "%s must be a string or a list of token ids",
		               key);
	j->prompt_value = v;
	return INFER_OK;
}

int job_take_raw(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(job_take_bool(&j->raw, key, v, err));
	j->raw_given = j->raw;
	return INFER_OK;
}

int job_take_max_tokens(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	/* in order of precedence */
	static const char *const names[] = { "n_predict", "max_completion_tokens", "max_tokens" };
	enum { NAMES = sizeof names / sizeof *names };
	int rank = 0;
	int32_t most;

	while (rank < NAMES && strcmp(key, names[rank]) != 0)
		rank++;
	TRY(job_whole(&most, key, v, -1, INT32_MAX, err));
	if (!most && j->j.api->flags & API_TALKS)
		return err_set(err, INFER_EINVAL, "%s is 0: must be at least 1", key);
	if (j->limit_rank && rank > j->limit_rank - 1)
		return INFER_OK;
	j->limit_rank = rank + 1;
	j->j.request.max_tokens = most;
	return INFER_OK;
}

int job_take_echo(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.echo, key, v, err);
}

int job_take_logprobs(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.logprobs, key, v, 0, INFER_MAX_TOP, err);
}

static int take_n(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.n, key, v, 1, INFER_JOB_MOST, err);
}

int job_take_stop(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	const struct json *s = json_is_array(v) ? v->first : v;
	size_t n = json_is_array(v) ? v->n : 1;
	struct infer_str *stop = arena_alloc(&j->mem, n, sizeof *stop);

	if (!stop || n > INT32_MAX)
		return err_nomem(err);
	for (size_t i = 0; i < n; i++, s = s->next) {
		if (!json_bytes(s))
			return err_set(err, INFER_EINVAL,
			               "%s: %s must be a string that is not empty", key,
			               n > 1 ? "an entry" : "it");
		stop[i] = (struct infer_str){ s->s, s->n };
	}
	j->j.request.stop = stop;
	j->j.request.n_stop = (int32_t)n;
	return INFER_OK;
}

static int take_ids(struct job *j, int32_t **ids, const char *key, const struct json *v,
                    infer_error *err)
{
	size_t n = json_count(v), i = 0;

	*ids = arena_alloc(&j->mem, n, sizeof **ids);
	if (!*ids || n > INT32_MAX)
		return err_nomem(err);
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be a list of token ids", key);
	json_each(id, v) {
		if (!json_is_whole(id))
			return err_set(err, INFER_EINVAL, "%s: entry %zu must be a token id", key,
			               i);
		TRY(job_take_id(&(*ids)[i++], j, key, id, err));
	}
	return INFER_OK;
}

static int take_stop_ids(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int32_t *ids;

	TRY(take_ids(j, &ids, key, v, err));
	j->j.request.stop_tokens = ids;
	j->j.request.n_stop_tokens = (int32_t)json_count(v);
	return INFER_OK;
}

static int take_min_tokens(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.request.min_tokens, key, v, 0, INT32_MAX, err);
}

static void put_min_tokens(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->request.min_tokens)
		jw_int(w, key, a->j->request.min_tokens);
}

static int take_ignore_eos(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int ignore;

	TRY(job_take_bool(&ignore, key, v, err));
	j->j.request.flags &= ~(uint32_t)INFER_REQ_IGNORE_EOS;
	j->j.request.flags |= ignore ? INFER_REQ_IGNORE_EOS : 0;
	return INFER_OK;
}

static int take_timings(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.each_timings, key, v, err);
}

static int take_keep_stop(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	int keep;

	TRY(job_take_bool(&keep, key, v, err));
	j->j.request.flags |= keep ? INFER_REQ_KEEP_STOP : 0;
	return INFER_OK;
}

static void put_keep_stop(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->request.flags & INFER_REQ_KEEP_STOP)
		jw_bool(w, key, 1);
}

static int take_priority(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	TRY(job_whole(&j->j.priority, key, v, -INFER_JOB_PRIORITY, INFER_JOB_PRIORITY, err));
	j->j.request.priority = -j->j.priority; /* of the engine: greater values first */
	return INFER_OK;
}

static void put_priority(struct jwrite *w, const char *key, const struct job_asked *a)
{
	if (a->j->priority)
		jw_int(w, key, a->j->priority);
}

const struct job_field job_common[] = {
	{ "max_tokens", job_take_max_tokens, job_put_max_tokens },
	{ "min_tokens", take_min_tokens, put_min_tokens },
	{ "n", take_n, job_put_n },
	{ "priority", take_priority, put_priority },
	{ "lora", job_take_lora, job_put_lora },
	{ "stop", job_take_stop, job_put_stop },
	{ "stop_token_ids", take_stop_ids, job_put_stop_ids },
	{ "ignore_eos", take_ignore_eos, job_put_ignore_eos },
	{ "timings_per_token", take_timings, job_put_nothing },
	{ "include_stop_str_in_output", take_keep_stop, put_keep_stop },
	{ NULL, NULL, NULL },
};

const struct job_refused job_refused_common[] = {
	{ "tfs_z", 1 },
	{ NULL, 0 },
};

int job_take_timeout(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	double s = json_is_number(v) ? json_double(v) : 0;

	if (!(s > 0) || s > TIMEOUT_MOST)
		return err_set(err, INFER_EINVAL,
		               "%s must be a number of seconds, above 0 and at most %d", key,
		               TIMEOUT_MOST);
	j->j.timeout_s = s;
	return INFER_OK;
}

static int take_stream(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.stream, key, v, err);
}

/* Read which chunks have the usage; include_obfuscation has no effect on the answer. */
static int take_stream_options(struct job *j, const char *key, const struct json *v,
                               infer_error *err)
{
	const struct json *usage = json_get(v, "include_usage"),
			  *each = json_get(v, "continuous_usage_stats");

	j->stream_options = 1;
	if (!json_is_object(v))
		return err_set(err, INFER_EINVAL, "%s must be an object", key);
	if (each && !json_is_null(each))
		TRY(job_take_bool(&j->j.each_usage, "stream_options: continuous_usage_stats", each,
		                  err));
	if (usage && !json_is_null(usage))
		TRY(job_take_bool(&j->j.include_usage, "stream_options: include_usage", usage,
		                  err));
	j->j.each_usage &= j->j.include_usage;
	return INFER_OK;
}

static int take_progress(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.progress, key, v, err);
}

const struct job_field job_streamed[] = {
	{ "return_progress", take_progress },
	{ "stream", take_stream },
	{ "stream_options", take_stream_options },
	{ "timeout", job_take_timeout },
	{ NULL, NULL },
};
