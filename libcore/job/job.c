/* job/job.c - make, parse and free jobs and their readers; the prompts and seeds of samples */
#include "job/job.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

/* bits removed from a random seed: a double holds the other 53 exactly */
enum { SEED_CUT = 11 };

int infer_job_reader_new(infer_job_reader **out, const struct infer_job_opts *o, infer_error *err)
{
	const infer_tokenizer *t = infer_model_tokenizer(o->model);
	infer_job_reader *r = mem_zalloc(MEM_JOB, 1, sizeof *r);
	int rc;

	*out = NULL;
	if (!r)
		return err_nomem(err);
	r->o = *o;
	r->special = o->chat && infer_reply_special(o->chat, t);
	r->special_tools = o->chat_tools && infer_reply_special(o->chat_tools, t);
	rc = infer_breakers_new(&r->breakers, t, o->breaker_texts, o->n_breaker_texts, err);
	if (!rc)
		rc = infer_grammars_new(&r->grammars, err);
	if (rc)
		infer_job_reader_free(r);
	else
		*out = r;
	return rc;
}

void infer_job_reader_free(infer_job_reader *r)
{
	if (!r)
		return;
	infer_breakers_free(r->breakers);
	infer_grammars_free(r->grammars);
	mem_free(r);
}

int job_fault(struct job *j, const char *param)
{
	struct infer_fault *f = &j->j.fault;

	f->kind = infer_fault_kind(f->error.code);
	f->param = param ? arena_strndup(&j->mem, param, strlen(param)) : NULL;
	return f->error.code;
}

int job_unknown(struct job *j, const char *key, size_t key_n)
{
	err_set(&j->j.fault.error, INFER_EINVAL, "'%.*s' is not a field of a request",
	        key_n < 80 ? (int)key_n : 80, key);
	job_fault(j, NULL);
	j->j.fault.param = arena_strndup(&j->mem, key, key_n);
	return INFER_EINVAL;
}

int job_new(struct job **out, const infer_job_reader *r, infer_error *err)
{
	struct job *j = mem_zalloc(MEM_JOB, 1, sizeof *j);

	*out = NULL;
	if (!j)
		return err_nomem(err);
	arena_init(&j->mem, MEM_JOB);
	buf_init(&j->asked, MEM_JOB);
	j->reader = r;
	j->o = r ? &r->o : NULL;
	*out = j;
	return INFER_OK;
}

int job_read_json(const struct json **out, struct arena *a, const char *text, size_t bytes,
                  const char *what, infer_error *err)
{
	static const char line[] = ": line 1, ";
	enum { N_LINE = sizeof line - 1 };
	int rc = jread(out, a, text, bytes, what, err);
	size_t n = strlen(what);
	infer_error why;

	if (rc != INFER_EFORMAT || !err || memchr(text, '\n', bytes))
		return rc;
	why = *err;
	if (!strncmp(why.message, what, n) && !strncmp(why.message + n, line, N_LINE))
		err_set(err, rc, "%s: %s", what, why.message + n + N_LINE);
	return rc;
}

int job_parse(struct job *j, const char *text, size_t bytes)
{
	char *own = arena_raw(&j->mem, bytes);

	if (own && bytes)
		memcpy(own, text, bytes);
	if (!own)
		return INFER_ENOMEM;
	if (!job_read_json(&j->json, &j->mem, own, bytes, "request", &j->j.fault.error))
		return INFER_OK;
	if (bytes && *text == '[')
		err_set(&j->j.fault.error, INFER_EFORMAT,
		        "request: an array begins here; requests are objects, one a line: jq -c "
		        "'.[]' makes lines of an array");
	return job_fault(j, NULL);
}

int job_end(infer_job **out, struct job *j, infer_error *err)
{
	*out = NULL;
	/* a step that succeeded may have left the error of an earlier attempt */
	if (!j->j.fault.kind && j->j.fault.error.code != INFER_ENOMEM)
		j->j.fault.error = (infer_error){ 0 };
	if ((j->j.fault.error.code == INFER_ENOMEM && !j->too_long) || j->mem.bad) {
		infer_job_free(&j->j);
		return err_nomem(err);
	}
	*out = &j->j;
	return INFER_OK;
}

static void drop_adapters(struct job *j)
{
	for (int32_t i = 0; j->loras && i < j->j.request.n_loras; i++)
		infer_lora_close(&j->loras[i].lora);
}

void infer_job_free(infer_job *job)
{
	struct job *j = (struct job *)(void *)job; /* job is its first member */

	if (!j)
		return;
	drop_adapters(j);
	infer_breakers_free(j->breakers);
	infer_grammar_free(j->grammar);
	infer_ids_free(j->prompt);
	tools_fini(&j->tools);
	buf_fini(&j->asked);
	arena_fini(&j->mem);
	mem_free(j);
}

int32_t infer_job_each(const infer_job *j) { return j->prompts ? j->n / j->n_prompts : j->n; }

struct infer_prompt infer_job_prompt(const infer_job *j, int32_t i)
{
	return j->prompts ? j->prompts[i / infer_job_each(j)]
	                  : (struct infer_prompt){ .ids = j->request.prompt,
		                                   .n = j->request.n_prompt };
}

uint64_t job_salt(const struct job *j) { return rng_hash(1, j->j.id, strlen(j->j.id)) | 1; }

uint64_t infer_job_seed(const infer_job *j, int32_t i)
{
	uint64_t index = (uint64_t)(j->prompts ? i % infer_job_each(j) : i),
		 seed = j->request.sample.seed;

	return index ? rng_hash(seed, &index, sizeof index) >> SEED_CUT : seed;
}

uint64_t job_seed_of_id(const struct job *j)
{
	return rng_hash(j->o->sample.seed, j->j.id, strlen(j->j.id)) >> SEED_CUT;
}
