/* job/prompts.c - read prompts: texts, token ids, or lists that mix both */
#include "job/job.h"
#include "base/err.h"

#include <string.h>

/* ---- one prompt ---- */

static int encode_text(struct buf *ids, const struct job *j, const struct json *v, infer_error *err)
{
	const uint32_t add = ids->len || j->extras.bare ? 0 : INFER_ENCODE_ADD;
	int32_t *some;
	size_t n;

	TRY(infer_encode(infer_model_tokenizer(j->o->model), json_str(v), v->n, add | j->o->encode,
	                 &some, &n, err));
	if (n)
		buf_put(ids, some, n * sizeof *some);
	infer_ids_free(some);
	return INFER_OK;
}

static int put_id(struct buf *ids, const struct job *j, const char *key, const struct json *v,
                  infer_error *err)
{
	int32_t id;

	TRY(job_take_id(&id, j, key, v, err));
	buf_put(ids, &id, sizeof id);
	return INFER_OK;
}

static int encode_prompt_part(struct buf *ids, const struct job *j, const char *key,
                              const struct json *v, infer_error *err)
{
	if (json_is_string(v) && !j->is_own)
		return encode_text(ids, j, v, err);
	if (json_is_number(v))
		return put_id(ids, j, key, v, err);
	return err_set(err, INFER_EINVAL, "%s: an entry is %s a token id", key,
	               j->is_own ? "not" : "neither a text nor");
}

/* Encode the joined texts of all parts of a content. */
static int encode_content(struct buf *ids, const struct job *j, const char *key,
                          const struct json *parts, infer_error *err)
{
	struct json all = { .kind = JSON_STRING };
	struct buf text;
	int rc = INFER_OK;

	if (!json_is_array(parts))
		return err_set(err, INFER_EINVAL, "%s: content must be a list of parts", key);
	buf_init(&text, MEM_JOB);
	json_each(p, parts) {
		const struct json *words = json_get(p, "text");

		if (!json_equals(json_get(p, "type"), "text") || !json_is_string(words))
			rc = err_set(err, INFER_EUNSUP, "%s: every part of content must be text",
			             key);
		buf_put(&text, json_str(words), json_bytes(words));
	}
	all.s = text.at ? text.at : "";
	all.n = (uint32_t)text.len;
	rc = rc ? rc : text.bad ? err_nomem(err) : encode_text(ids, j, &all, err);
	buf_fini(&text);
	return rc;
}

/* Encode a prompt of llama.cpp's server: {"prompt_string": text, "multimodal_data": []}, or
 * {"content": parts}. */
static int encode_prompt_object(struct buf *ids, const struct job *j, const char *key,
                                const struct json *v, infer_error *err)
{
	const struct json *text = json_get(v, "prompt_string"), *parts = json_get(v, "content"),
			  *media = json_get(v, "multimodal_data");

	if (!text && parts)
		return encode_content(ids, j, key, parts, err);
	if (!json_is_string(text))
		return err_set(err, INFER_EINVAL, "%s: prompt_string must be a string", key);
	if (media && !json_is_null(media) && !(json_is_array(media) && !media->n))
		return err_set(err, INFER_EUNSUP, "%s: multimodal_data is not supported%s", key,
		               j->o->where ? j->o->where : "");
	return encode_text(ids, j, text, err);
}

static int encode_prompt(struct buf *ids, const struct job *j, const char *key,
                         const struct json *v, infer_error *err)
{
	if (json_is_string(v))
		return encode_text(ids, j, v, err);
	if (json_is_object(v) && !j->is_own)
		return encode_prompt_object(ids, j, key, v, err);
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be a string or a list of token ids",
		               key);
	json_each(part, v)
		TRY(encode_prompt_part(ids, j, key, part, err));
	return INFER_OK;
}

/* Set p->text: the given text, or the decoded ids if there is none or it was truncated. */
static int set_prompt_text(struct infer_prompt *p, struct job *j, const struct json *v,
                           infer_error *err)
{
	const infer_tokenizer *t = infer_model_tokenizer(j->o->model);
	struct buf text;

	if (json_is_string(v) && !j->extras.most) {
		p->text = (struct infer_str){ v->s, v->n };
		return INFER_OK;
	}
	buf_init(&text, MEM_JOB);
	for (size_t i = 0; i < p->n; i++) {
		const char *bytes;
		size_t n;

		if (!infer_token_bytes(t, p->ids[i], i ? 0 : INFER_DECODE_FIRST, &bytes, &n, NULL))
			buf_put(&text, bytes, n);
	}
	p->text = (struct infer_str){
		text.bad ? NULL : arena_strndup(&j->mem, text.at ? text.at : "", text.len), text.len
	};
	buf_fini(&text);
	return p->text.at ? INFER_OK : err_nomem(err);
}

int job_cut_prompt(const struct job *j, struct infer_prompt *p, infer_error *err)
{
	const int64_t most = j->extras.most, answer = j->j.request.max_tokens,
		      left = j->o->ctx - (answer > 1 ? answer : 1);
	size_t n = (size_t)(most > 0 ? most : left > 0 ? left : 0);

	if (!most)
		return INFER_OK;
	if (most == JOB_TO_CONTEXT && !j->o->ctx)
		return err_set(err, INFER_EUNSUP,
		               "truncate_prompt_tokens is -1: needs a server, because the size "
		               "of the context");
	if (!n)
		return err_set(err, INFER_EINVAL,
		               "truncate_prompt_tokens is -1: max_tokens leaves no room");
	if (p->n <= n)
		return INFER_OK;
	p->ids += j->extras.keeps_first ? 0 : p->n - n;
	p->n = n;
	return INFER_OK;
}

int job_read_prompt(struct infer_prompt *p, struct job *j, const char *key, const struct json *v,
                    infer_error *err)
{
	struct buf ids;
	int32_t *kept = NULL;
	int rc;

	buf_init(&ids, MEM_JOB);
	rc = encode_prompt(&ids, j, key, v, err);
	p->n = ids.len / sizeof *kept;
	if (!rc)
		kept = ids.bad ? NULL : arena_alloc(&j->mem, p->n, sizeof *kept);
	if (kept && p->n)
		memcpy(kept, ids.at, ids.len);
	p->ids = kept;
	buf_fini(&ids);
	TRY(rc);
	if (!kept)
		return err_nomem(err);
	TRY(job_cut_prompt(j, p, err));
	return p->n ? INFER_OK : err_set(err, INFER_EINVAL, "the %s is empty", key);
}

/* ---- all of them ---- */

int job_is_prompts(const struct json *v)
{
	if (!json_is_array(v) || !v->n)
		return 0;
	json_each(part, v)
		if (!json_is_string(part) && !json_is_array(part) && !json_is_object(part))
			return 0;
	return 1;
}

static int read_prompt_list(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct infer_prompt *p = arena_alloc(&j->mem, v->n, sizeof *p);
	size_t i = 0;

	if (j->is_own || j->o->reads & INFER_JOB_KEEP)
		return err_set(err, INFER_EUNSUP, "%s: a record has one prompt", key);
	if ((int64_t)v->n * j->j.n > INFER_JOB_MOST)
		return err_set(err, INFER_EINVAL,
		               "%s: %u prompts with n %d: a request has at most %d answers", key,
		               (unsigned)v->n, (int)j->j.n, INFER_JOB_MOST);
	if (!p)
		return err_nomem(err);
	json_each(one, v) {
		p[i] = (struct infer_prompt){ .n = 0 };
		TRY(job_read_prompt(&p[i], j, key, one, err));
		if (j->j.echo)
			TRY(set_prompt_text(&p[i], j, one, err));
		i++;
	}
	j->j.prompts = p;
	j->j.n_prompts = (int32_t)v->n;
	j->j.n *= (int32_t)v->n;
	return INFER_OK;
}

int job_read_prompts(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	struct infer_prompt *p;

	if (job_is_prompts(v)) {
		TRY(read_prompt_list(j, key, v, err));
		j->j.request.prompt = j->j.prompts->ids;
		j->j.request.n_prompt = j->j.prompts->n;
		return INFER_OK;
	}
	p = arena_alloc(&j->mem, 1, sizeof *p);
	if (!p)
		return err_nomem(err);
	*p = (struct infer_prompt){ .n = 0 };
	TRY(job_read_prompt(p, j, key, v, err));
	j->j.request.prompt = p->ids;
	j->j.request.n_prompt = p->n;
	if (!j->j.echo)
		return INFER_OK;
	j->j.prompts = p;
	j->j.n_prompts = 1;
	return set_prompt_text(p, j, v, err);
}
