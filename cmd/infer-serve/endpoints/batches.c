/* infer-serve/endpoints/batches.c - OpenAI's /v1/batches. */
#include "infer-serve/batch/batches.h"
#include "infer-serve/batch/files.h"
#include "infer-serve/http/request.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

endpoint_fn ep_batch_create, ep_batches, ep_batch, ep_batch_cancel;

enum { LIST_MOST = 20, METADATA = 16 };

static int is_string(const struct json *v, const char *want)
{
	return json_is_string(v) && json_equals(v, want);
}

/* Return the first error of the body and set *param to its field; NULL: no error. */
static const char *check_batch(const struct http_request *r, const struct json *o,
                               const char **param)
{
	const struct json *in = json_get(o, "input_file_id"), *to = json_get(o, "endpoint"),
			  *meta = json_get(o, "metadata");
	char name[STORE_NAME] = "", path[BATCH_ENDPOINT] = "";

	*param = "input_file_id";
	if (!json_is_string(in))
		return "input_file_id must be the id of a file";
	if (in->n < sizeof name)
		snprintf(name, sizeof name, "%.*s", (int)in->n, in->s);
	if (!files_has(&r->api.server->store, name, r->api.caller.group))
		return "input_file_id: there is no such file";
	*param = "endpoint";
	if (json_is_string(to) && to->n < sizeof path)
		snprintf(path, sizeof path, "%.*s", (int)to->n, to->s);
	if (!infer_api_at(path))
		return "endpoint must be one that a batch can have";
	*param = "completion_window";
	if (!is_string(json_get(o, "completion_window"), "24h"))
		return "completion_window must be 24h";
	*param = "metadata";
	if (!meta || json_is_null(meta))
		return NULL;
	if (!json_is_object(meta) || meta->n > METADATA)
		return "metadata must be an object of at most 16 members";
	json_each(v, meta)
		if (!json_is_string(v) || v->n > 512 || v->key_n > 64)
			return "metadata must have keys of at most 64 and strings of at most 512 "
			       "bytes";
	return NULL;
}

static struct batch *batch_of_request(struct http_request *r, const struct json *o)
{
	struct batch *b = mem_zalloc(MEM_BASE, 1, sizeof *b);
	const struct json *meta = json_get(o, "metadata"), *in = json_get(o, "input_file_id"),
			  *to = json_get(o, "endpoint");
	struct jwrite w;
	struct buf text;

	if (!b)
		return NULL;
	store_name(&r->api.server->store, b->id, "batch_");
	snprintf(b->input, sizeof b->input, "%.*s", (int)in->n, in->s);
	snprintf(b->endpoint, sizeof b->endpoint, "%.*s", (int)to->n, to->s);
	snprintf(b->owner, sizeof b->owner, "%s", r->api.caller.group);
	snprintf(b->key, sizeof b->key, "%s", r->api.caller.key);
	b->created = (int64_t)time(NULL);
	if (json_is_object(meta)) {
		buf_init(&text, MEM_BASE);
		jw_init(&w, &text);
		jw_value(&w, NULL, meta);
		b->metadata = text.bad ? NULL : mem_strndup(MEM_BASE, text.at, text.len);
		buf_fini(&text);
	}
	return b;
}

static void create_batch(struct http_request *r, const struct json *o)
{
	struct server *s = r->api.server;
	struct batch *b = batch_of_request(r, o);
	infer_error err;

	int rc = b ? batch_save(s, b, &err) : INFER_ENOMEM;

	if (rc) {
		api_refuse(&r->api,
		           rc == INFER_EAGAIN ? INFER_FAULT_UNAVAILABLE : INFER_FAULT_SERVER, NULL,
		           "%s", b ? err.message : "out of memory for a batch");
		batch_free(b);
		return;
	}
	pthread_mutex_lock(&s->lock);
	b->next = s->batches->first;
	s->batches->first = b;
	batch_put(&r->out, b);
	pthread_cond_signal(&s->batches->wake);
	pthread_mutex_unlock(&s->lock);
	http_answer(r, 200, http_json);
}

void ep_batch_create(struct http_request *r)
{
	const struct json *o;
	const char *why, *param = NULL;
	struct arena mem;
	infer_error err;
	int rc;

	arena_init(&mem, MEM_BASE);
	rc = jread(&o, &mem, r->api.body.at ? r->api.body.at : "", r->api.body.len, "request",
	           &err);
	why = rc                   ? err.message
	      : !json_is_object(o) ? "the body must be an object"
	                           : check_batch(r, o, &param);
	if (why)
		api_refuse(&r->api, rc == INFER_ENOMEM ? INFER_FAULT_SERVER : INFER_FAULT_INVALID,
		           param, "%s", why);
	else
		create_batch(r, o);
	arena_fini(&mem);
}

/* Return the first batch from b on that belongs to the group of r; NULL: none. */
static const struct batch *next_owned(const struct batch *b, const struct http_request *r)
{
	while (b && strcmp(b->owner, r->api.caller.group))
		b = b->next;
	return b;
}

void ep_batches(struct http_request *r)
{
	struct server *s = r->api.server;
	const struct batch *b, *last = NULL, *first = NULL;
	int64_t left = r->head.limit ? r->head.limit : LIST_MOST;
	struct buf text;
	struct jwrite w;

	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_str(&w, "object", "list");
	jw_array(&w, "data");
	buf_init(&text, MEM_BASE);
	pthread_mutex_lock(&s->lock);
	b = s->batches->first;
	if (r->head.after) {
		b = batch_find(s, r->head.after, r->api.caller.group);
		b = b ? b->next : NULL;
	}
	for (; (b = next_owned(b, r)) && left; b = b->next, left--) {
		buf_clear(&text);
		batch_put(&text, b);
		jw_raw(&w, NULL, text.at, text.len);
		last = b;
		first = first ? first : b;
	}
	pthread_mutex_unlock(&s->lock);
	r->out.bad |= text.bad;
	buf_fini(&text);
	jw_end(&w);
	/* valid without the lock: no batch is freed while the server runs */
	jw_str(&w, "first_id", last ? first->id : NULL);
	jw_str(&w, "last_id", last ? last->id : NULL);
	jw_bool(&w, "has_more", b != NULL);
	jw_end(&w);
	http_answer(r, 200, http_json);
}

static void answer_batch(struct http_request *r, struct batch *b, const char *id)
{
	if (b)
		http_answer(r, 200, http_json);
	else
		api_refuse(&r->api, INFER_FAULT_NOT_FOUND, "batch_id", "there is no batch %.80s",
		           id);
}

void ep_batch(struct http_request *r)
{
	struct server *s = r->api.server;
	struct batch *b;

	pthread_mutex_lock(&s->lock);
	b = batch_find(s, r->rest, r->api.caller.group);
	if (b)
		batch_put(&r->out, b);
	pthread_mutex_unlock(&s->lock);
	answer_batch(r, b, r->rest);
}

void ep_batch_cancel(struct http_request *r)
{
	static const char tail[] = "/cancel";
	struct server *s = r->api.server;
	size_t n = strlen(r->rest), k = sizeof tail - 1;
	int changed = 0;
	char id[STORE_NAME] = "";
	struct batch *b;
	infer_error err;

	if (n > k && n - k < sizeof id && !strcmp(r->rest + n - k, tail))
		snprintf(id, sizeof id, "%.*s", (int)(n - k), r->rest);
	pthread_mutex_lock(&s->lock);
	b = batch_find(s, id, r->api.caller.group);
	if (b && !batch_is_over(b) && b->status != BATCH_FINALIZING) {
		changed = b->status != BATCH_CANCELLING;
		batch_set(b, BATCH_CANCELLING);
	}
	if (b)
		batch_put(&r->out, b);
	pthread_cond_signal(&s->batches->wake);
	pthread_mutex_unlock(&s->lock);
	if (changed && batch_save(s, b, &err)) {
		api_refuse(&r->api, INFER_FAULT_SERVER, NULL, "%s", err.message);
		return;
	}
	answer_batch(r, b, r->rest);
}
