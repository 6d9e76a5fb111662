/* job/values.c - read numbers, booleans and token ids, and check their range */
#include "job/job.h"
#include "base/err.h"

int job_whole(int32_t *to, const char *key, const struct json *v, int64_t lo, int64_t hi,
              infer_error *err)
{
	if (!json_is_whole(v))
		return err_set(err, INFER_EINVAL, "%s must be an integer", key);
	if (v->kind == JSON_UINT)
		return err_set(err, INFER_EINVAL, "%s is %llu: must be from %lld to %lld", key,
		               (unsigned long long)v->u, (long long)lo, (long long)hi);
	if (v->i < lo || v->i > hi)
		return err_set(err, INFER_EINVAL, "%s is %lld: must be from %lld to %lld", key,
		               (long long)v->i, (long long)lo, (long long)hi);
	*to = (int32_t)v->i;
	return INFER_OK;
}

int job_take_bool(int *to, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_bool(v))
		return err_set(err, INFER_EINVAL, "%s must be true or false", key);
	*to = json_is(v, JSON_TRUE);
	return INFER_OK;
}

int job_take_id(int32_t *to, const struct job *j, const char *key, const struct json *v,
                infer_error *err)
{
	const int32_t n = job_vocabulary(j);

	TRY(job_whole(to, key, v, 0, INT32_MAX, err));
	return *to < n ? INFER_OK
	               : err_set(err, INFER_EINVAL, "%s: token %d is outside the vocabulary of %d",
	                         key, (int)*to, (int)n);
}

int32_t job_vocabulary(const struct job *j)
{
	struct infer_model_info info;

	infer_model_info(j->o->model, &info);
	return info.n_vocab;
}
