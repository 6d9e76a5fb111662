/* record/line.c - the envelope of a batch: request lines and answer lines */
#include "record/record.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "job/job.h"

#include <stdio.h>
#include <string.h>

/* ---- requests ---- */

static int text_is(const struct json *o, const char *key, const char *want)
{
	return json_equals(json_get(o, key), want);
}

/* If an error is set, make it the fault of this key.  Returns the error's code. */
static int set_line_fault(struct job *j, const char *key)
{
	return j->j.fault.error.code ? job_fault(j, key) : INFER_OK;
}

/* Check the envelope around the body: {custom_id, method, url, body}. */
static int check_envelope(struct job *j, const infer_api *api)
{
	static const char *const keys[] = { "custom_id", "method", "url", "body" };
	infer_error *err = &j->j.fault.error;
	const struct json *url = json_get(j->json, "url");

	json_each(v, j->json) {
		size_t i = 0;

		while (i < sizeof keys / sizeof *keys &&
		       (v->key_n != strlen(keys[i]) || memcmp(v->key, keys[i], v->key_n)))
			i++;
		if (i == sizeof keys / sizeof *keys)
			return job_unknown(j, v->key, v->key_n);
	}
	if (!text_is(j->json, "method", "POST"))
		err_set(err, INFER_EINVAL, "method must be POST");
	TRY(set_line_fault(j, "method"));
	if (!api)
		err_set(err, INFER_EUNSUP,
		        "url: '%.*s' is not answered in a batch; /v1/chat/completions, "
		        "/v1/completions and /v1/embeddings are",
		        json_bytes(url) < 80 ? (int)json_bytes(url) : 80, json_str(url));
	TRY(set_line_fault(j, "url"));
	if (!json_is_object(json_get(j->json, "body")))
		err_set(err, INFER_EINVAL, "body must be an object");
	return set_line_fault(j, "body");
}

/* Read the id, which all later faults report. */
static int read_line_id(struct job *j, int own)
{
	const char *key = own ? "id" : "custom_id";
	const struct json *v = json_get(j->json, key);
	const char *id = json_cstr(&j->mem, v);
	char number[24] = "";

	if (own && (!v || json_is_null(v)))
		snprintf(number, sizeof number, "%lld", (long long)j->j.line);
	j->j.id_whole = own && json_is_whole(v);
	if (j->j.id_whole && v->kind == JSON_INT)
		snprintf(number, sizeof number, "%lld", (long long)v->i);
	else if (j->j.id_whole)
		snprintf(number, sizeof number, "%llu", (unsigned long long)v->u);
	if (*number)
		id = arena_strndup(&j->mem, number, strlen(number));
	if (id && *id) {
		j->j.id = id;
		return INFER_OK;
	}
	err_set(&j->j.fault.error, INFER_EINVAL, "%s %s", key,
	        json_is_string(v) ? "is empty, or contains a NUL"
	        : own             ? "must be a string or an integer"
	                          : "must be a string");
	return job_fault(j, key);
}

static void read_line(struct job *j, uint32_t flags)
{
	const struct json *kind = json_get(j->json, "kind"), *url = json_get(j->json, "url");
	int own = !json_get(j->json, "custom_id");
	const infer_api *api = NULL;
	const char *path;

	if (!json_is_object(j->json)) {
		err_set(&j->j.fault.error, INFER_EFORMAT, "the line must be a JSON object");
		job_fault(j, NULL);
		return;
	}
	path = own ? NULL : json_cstr(&j->mem, url);
	api = path ? infer_api_at(path) : NULL;
	/* errors of unknown URLs are written in the text format */
	job_set_api(j, own ? &api_own : api ? api : &api_text);
	j->j.is_other = own && kind &&
	                !text_is(j->json, "kind", infer_record_kind(INFER_KIND_REQUEST)->name);
	if (j->j.is_other || read_line_id(j, own) || flags & INFER_LINE_ID)
		return;
	if (own || !check_envelope(j, api))
		job_read_body(j, own ? j->json : json_get(j->json, "body"));
}

static void name_line(char hex[65], const char *line, size_t n)
{
	while (n && line[n - 1] == '\r')
		n--;
	sha256_name(hex, line, n);
}

/* Use the number of the line as the id. */
static void take_number(struct job *j)
{
	char number[24];

	snprintf(number, sizeof number, "%lld", (long long)j->j.line);
	j->j.id = arena_strndup(&j->mem, number, strlen(number));
}

/* Read a line of text as a request with nothing but a prompt. */
static void read_text(struct job *j, const char *text, size_t n)
{
	infer_error *err = &j->j.fault.error;
	struct json *o = arena_alloc(&j->mem, 1, sizeof *o),
		    *v = arena_alloc(&j->mem, 1, sizeof *v);
	size_t good = j->o->raw ? n : utf8_check(text, n);
	char *own = arena_strndup(&j->mem, text, n);

	take_number(j);
	if (j->mem.bad)
		return;
	if (good < n)
		err_set(err, INFER_EINVAL, "the prompt is not UTF-8 at byte %zu", good);
	else if (!n && j->o->chat && !j->o->raw && !j->o->messages_only)
		err_set(err, INFER_EINVAL, "the prompt is empty");
	else if (n > UINT32_MAX)
		err_set(err, INFER_EINVAL, "the prompt has 4 GiB or more");
	if (set_line_fault(j, "prompt"))
		return;
	*v = (struct json){ .kind = JSON_STRING,
		            .n = (uint32_t)n,
		            .key = "prompt",
		            .key_n = sizeof "prompt" - 1,
		            .s = own };
	*o = (struct json){ .kind = JSON_OBJECT, .n = 1, .first = v, .last = v };
	job_read_body(j, o);
}

int infer_line_read(infer_job **out, const char *line, size_t bytes, int64_t number, uint32_t flags,
                    const infer_job_reader *r, infer_error *err)
{
	struct job *j;

	*out = NULL;
	TRY(job_new(&j, r, err));
	job_set_api(j, &api_own);
	j->j.line = number;
	if (flags & INFER_LINE_TEXT) {
		sha256_name(j->j.request_sha256, line, bytes);
		read_text(j, line, bytes);
		return job_end(out, j, err);
	}
	name_line(j->j.request_sha256, line, bytes);
	if (!job_parse(j, line, bytes))
		read_line(j, flags);
	return job_end(out, j, err);
}

int infer_line_bad(infer_job **out, int64_t number, uint32_t flags, const infer_error *why,
                   infer_error *err)
{
	struct job *j;

	*out = NULL;
	TRY(job_new(&j, NULL, err));
	job_set_api(j, &api_own);
	j->j.line = number;
	if (flags & INFER_LINE_TEXT)
		take_number(j);
	j->j.fault.error = *why;
	j->j.fault.kind = infer_fault_kind(why->code);
	if (!j->mem.bad) {
		*out = &j->j;
		return INFER_OK;
	}
	infer_job_free(&j->j);
	return err_nomem(err);
}

/* ---- answers ---- */

/* Write the sha256 of the request line, unless it could not be read completely, and the request,
 * if the job kept it. */
static void put_request(struct jwrite *w, const infer_job *j)
{
	if (*j->request_sha256)
		jw_str(w, "request_sha256", j->request_sha256);
	if (j->asked.len)
		jw_raw(w, "request", j->asked.at, j->asked.len);
}

struct more {
	infer_records *out;
	const infer_job *job;
	const struct infer_run_info *run;
};

static void put_more(struct jwrite *w, const void *user)
{
	const struct more *m = user;
	struct infer_run_info run = *m->run;

	run.loras = m->job->request.loras;
	run.n_loras = m->job->request.n_loras;
	run.lora_names = m->job->lora_names;
	put_request(w, m->job);
	record_run(m->out, &run);
}

/* Begin a line in OpenAI's batch format; its body is the open object. */
static struct jwrite *begin_batch_line(infer_records *out, const infer_job *j, int status)
{
	struct jwrite *w = record_begin_bare(out);

	part_name(w, "id", "batch_req_", j);
	jw_str(w, "custom_id", j->id);
	jw_object(w, "response");
	jw_int(w, "status_code", status);
	part_name(w, "request_id", "req_", j);
	jw_object(w, "body");
	return w;
}

static int end_batch_line(infer_records *out, struct jwrite *w, infer_error *err)
{
	jw_end(w); /* body */
	jw_end(w); /* response */
	jw_null(w, "error");
	return infer_records_end(out, err);
}

int infer_write_answer(infer_records *out, const struct infer_answer *a,
                       const struct infer_run_info *run, infer_error *err)
{
	const infer_api *api = api_of(a->job);
	const struct more more = { out, a->job, run };
	struct infer_answer named = *a;
	const struct api_answer f = { &named, put_more, &more };
	struct jwrite *w;

	if (a->job->adapter)
		named.model = (struct infer_str){ a->job->adapter, strlen(a->job->adapter) };
	else if (!a->model.at)
		named.model = infer_model_called(run->model);

	if (api == &api_own) {
		w = infer_records_begin(out, a->job->request.embed ? INFER_KIND_EMBEDDING
		                                                   : INFER_KIND_COMPLETION);
		api->put(w, &f);
		return infer_records_end(out, err);
	}
	w = begin_batch_line(out, a->job, 200);
	api->put(w, &f);
	return end_batch_line(out, w, err);
}

int infer_write_fault(infer_records *out, const infer_job *j, const struct infer_fault *fault,
                      infer_error *err)
{
	/* n_prompt and n_ctx are not written: only clients use them */
	const struct infer_fault said = { fault->error, fault->param, fault->kind, 0, 0 };
	const infer_api *api = j->id ? api_of(j) : &api_own;
	struct jwrite *w;

	if (api != &api_own) {
		w = begin_batch_line(out, j, infer_fault_status(fault->kind));
		api->put_error(w, &said);
		put_request(w, j);
		return end_batch_line(out, w, err);
	}
	w = infer_records_begin(out, INFER_KIND_ERROR);
	part_id(w, j);
	jw_int(w, "line", j->line);
	api->put_error(w, &said);
	put_request(w, j);
	return infer_records_end(out, err);
}
