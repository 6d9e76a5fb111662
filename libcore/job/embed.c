/* job/embed.c - jobs that ask for embeddings: pooling, and the length of their texts */
#include "job/job.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int infer_embed_of(int *embed, const infer_model *m, infer_error *err)
{
	static const int of_file[] = { INFER_EMBED_MEAN, INFER_EMBED_MEAN, INFER_EMBED_CLS,
		                       INFER_EMBED_LAST, INFER_EMBED_RANK };
	struct infer_model_info info;
	uint64_t pooling = 0;
	char key[128];

	infer_model_info(m, &info);
	snprintf(key, sizeof key, "%s.pooling_type", info.arch);
	if (info.n_ranks) /* rank: the default of models with rank outputs */
		pooling = 4;
	TRY(infer_meta_u64(infer_model_file(m), key, &pooling, NULL, err));
	if (pooling >= sizeof of_file / sizeof *of_file)
		return err_set(err, INFER_EUNSUP, "%s is %llu: must be from 0 to 4", key,
		               (unsigned long long)pooling);
	*embed = of_file[pooling];
	return INFER_OK;
}

int embed_begin(struct job *j, infer_error *err)
{
	j->j.n = 1;
	j->j.logprobs = -1;
	j->j.request = (struct infer_request){ .embed = j->o->embed, .flags = INFER_REQ_NO_TEXT };
	j->j.no_normalize = j->o->no_normalize;
	return j->o->embed ? INFER_OK : infer_embed_of(&j->j.request.embed, j->o->model, err);
}

void embed_set_prompts(struct job *j, const struct infer_prompt *p, size_t n)
{
	j->j.prompts = p;
	j->j.n = j->j.n_prompts = (int32_t)n;
	j->j.request.prompt = p->ids;
	j->j.request.n_prompt = p->n;
}

int embed_most(const struct job *j, size_t *n, infer_error *err)
{
	const int32_t most = j->extras.most;

	*n = most > 0 ? (size_t)most : most || j->truncates ? (size_t)j->o->ctx : 0;
	if (most && !j->o->ctx)
		return err_set(err, INFER_EUNSUP,
		               "truncate_prompt_tokens needs a server, because the size of the "
		               "context");
	return most <= j->o->ctx
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL,
	                         "truncate_prompt_tokens is %d: the context has %d tokens",
	                         (int)most, (int)j->o->ctx);
}

/* Truncate a text to n tokens, at its end or its beginning.  ends [n_ends]: the tokens of an empty
 * text, whose first and last tokens are kept. */
static int truncate_text(struct job *j, struct infer_prompt *p, size_t n, const int32_t *ends,
                         size_t n_ends, infer_error *err)
{
	const int keeps_last = j->extras.keeps_last;
	int32_t *ids;

	if (p->n <= n)
		return INFER_OK;
	ids = arena_alloc(&j->mem, n, sizeof *ids);
	if (!ids)
		return err_nomem(err);
	memcpy(ids, p->ids + (keeps_last ? p->n - n : 0), n * sizeof *ids);
	if (keeps_last && n_ends && n > 1 && p->ids[0] == ends[0])
		ids[0] = ends[0];
	if (n_ends > 1 && p->ids[p->n - 1] == ends[n_ends - 1])
		ids[n - 1] = ends[n_ends - 1];
	p->ids = ids;
	p->n = n;
	return INFER_OK;
}

int embed_truncate(struct job *j, infer_error *err)
{
	struct infer_prompt *in = arena_alloc(&j->mem, (size_t)j->j.n, sizeof *in);
	int32_t *ends;
	size_t n_ends, n;
	int rc = INFER_OK;

	if (!in)
		return err_nomem(err);
	memcpy(in, j->j.prompts, (size_t)j->j.n * sizeof *in);
	TRY(embed_most(j, &n, err));
	TRY(infer_encode(infer_model_tokenizer(j->o->model), "", 0, INFER_ENCODE_ADD, &ends,
	                 &n_ends, err));
	for (int32_t i = 0; !rc && n && i < j->j.n; i++)
		rc = truncate_text(j, &in[i], n, ends, n_ends, err);
	infer_ids_free(ends);
	embed_set_prompts(j, in, (size_t)j->j.n);
	return rc;
}
