/* job/sampling.c - complete the sampling options of a job, after all fields are read */
#include "job/bad_words.h"
#include "base/err.h"
#include "sample/param.h"

#include <math.h>
#include <string.h>

int job_sampling_end(struct job *j, infer_error *err)
{
	struct infer_sample_opts *o = &j->j.request.sample;

	infer_sample_resolve(o);
	o->dry_breakers = NULL;
	o->n_dry_breaker = NULL;
	o->n_dry_breakers = 0;
	if (!(o->dry_multiplier > 0))
		return INFER_OK;
	if (j->j.breaker_texts != j->o->breaker_texts)
		TRY(infer_breakers_new(&j->breakers, infer_model_tokenizer(j->o->model),
		                       j->j.breaker_texts, j->j.n_breaker_texts, err));
	if (j->breakers || j->reader->breakers)
		infer_breakers_use(j->breakers ? j->breakers : j->reader->breakers, o);
	return INFER_OK;
}

/* Forbid all tokens that allowed_token_ids does not list. */
static int forbid_others(struct job *j, infer_error *err)
{
	struct infer_sample_opts *o = &j->j.request.sample;
	const int32_t n_vocab = job_vocabulary(j);
	struct infer_logit_bias *bias;
	int32_t n = o->n_bias;

	bias = arena_alloc(&j->mem, (size_t)n + (size_t)n_vocab, sizeof *bias);
	if (!bias)
		return err_nomem(err);
	if (n)
		memcpy(bias, o->bias, (size_t)n * sizeof *bias);
	for (int32_t i = 0; i < n_vocab; i++)
		if (!j->extras.allowed[i])
			bias[n++] = (struct infer_logit_bias){ i, -INFINITY };
	o->bias = bias;
	o->n_bias = n;
	return INFER_OK;
}

int job_extras_end(struct job *j, const char **param, infer_error *err)
{
	*param = "prompt_logprobs";
	if (j->j.prompt_logprobs && j->j.stream)
		return err_set(err, INFER_EINVAL, "prompt_logprobs are not in streams");
	if (j->j.prompt_logprobs - 1 > j->j.request.top)
		j->j.request.top = j->j.prompt_logprobs - 1;
	*param = "allowed_token_ids";
	if (j->extras.allowed)
		TRY(forbid_others(j, err));
	*param = "bad_words";
	return job_ban_words(j, err);
}
