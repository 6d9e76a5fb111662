/* infer-serve/endpoints/batches.c - OpenAI's /v1/batches. */
#include "infer-serve/batch/batches.h"
#include "infer-serve/batch/files.h"
#include "infer-serve/serve.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

endpoint_fn ep_batch_create, ep_batches, ep_batch, ep_batch_cancel;

enum { LIST_MOST = 20, METADATA = 16 };

static int text_is(const struct json *v, const char *want)
{
	return json_is_string(v) && json_equals(v, want);
}

/* The first thing that is wrong with the body; *param: the field.  NULL: nothing. */
static const char *wrong(const struct exchange *x, const struct json *o, const char **param)
{
	const struct json *in = json_get(o, "input_file_id"), *to = json_get(o, "endpoint"),
			  *meta = json_get(o, "metadata");
	char name[STORE_NAME] = "", path[BATCH_ENDPOINT] = "";

	*param = "input_file_id";
	if (!json_is_string(in))
		return "input_file_id is not the name of a file";
	if (in->n < sizeof name)
		snprintf(name, sizeof name, "%.*s", (int)in->n, in->s);
	if (!files_of(x, name))
		return "input_file_id: there is no such file";
	*param = "endpoint";
	if (json_is_string(to) && to->n < sizeof path)
		snprintf(path, sizeof path, "%.*s", (int)to->n, to->s);
	if (!infer_api_at(path))
		return "endpoint is none of those that a batch can have";
	*param = "completion_window";
	if (!text_is(json_get(o, "completion_window"), "24h"))
		return "completion_window is not 24h";
	*param = "metadata";
	if (!meta || json_is_null(meta))
		return NULL;
	if (!json_is_object(meta) || meta->n > METADATA)
		return "metadata is not an object of at most 16 texts";
	json_each(v, meta)
		if (!json_is_string(v) || v->n > 512 || v->key_n > 64)
			return "metadata has other values than short texts";
	return NULL;
}

static struct batch *make(struct exchange *x, const struct json *o)
{
	struct batch *b = mem_zalloc(MEM_BASE, 1, sizeof *b);
	const struct json *meta = json_get(o, "metadata"), *in = json_get(o, "input_file_id"),
			  *to = json_get(o, "endpoint");
	struct jwrite w;
	struct buf text;

	if (!b)
		return NULL;
	store_name(&x->server->store, b->id, "batch_");
	snprintf(b->input, sizeof b->input, "%.*s", (int)in->n, in->s);
	snprintf(b->endpoint, sizeof b->endpoint, "%.*s", (int)to->n, to->s);
	snprintf(b->owner, sizeof b->owner, "%s", x->owner);
	snprintf(b->key, sizeof b->key, "%s", x->key);
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

static void create(struct exchange *x, const struct json *o)
{
	struct server *s = x->server;
	struct batch *b = make(x, o);
	infer_error err;

	int rc = b ? batch_save(s, b, &err) : INFER_ENOMEM;

	if (rc) {
		exchange_refuse(x,
		                rc == INFER_EAGAIN ? INFER_FAULT_UNAVAILABLE : INFER_FAULT_SERVER,
		                NULL, "%s", b ? err.message : "out of memory for a batch");
		batch_free(b);
		return;
	}
	pthread_mutex_lock(&s->lock);
	b->next = s->batches.first;
	s->batches.first = b;
	batch_put(&x->out, b);
	pthread_cond_signal(&s->batches.wake);
	pthread_mutex_unlock(&s->lock);
	exchange_answer(x, 200, exchange_json);
}

void ep_batch_create(struct exchange *x)
{
	const struct json *o;
	const char *why, *param = NULL;
	struct arena mem;
	infer_error err;
	int rc;

	arena_init(&mem, MEM_BASE);
	rc = jread(&o, &mem, x->body.at ? x->body.at : "", x->body.len, "request", &err);
	why = rc                   ? err.message
	      : !json_is_object(o) ? "the body is not an object"
	                           : wrong(x, o, &param);
	if (why)
		exchange_refuse(x, rc == INFER_ENOMEM ? INFER_FAULT_SERVER : INFER_FAULT_INVALID,
		                param, "%s", why);
	else
		create(x, o);
	arena_fini(&mem);
	exchange_done(x);
}

/* The first from b on that belongs to the key of x. */
static const struct batch *owned(const struct batch *b, const struct exchange *x)
{
	while (b && strcmp(b->owner, x->owner))
		b = b->next;
	return b;
}

void ep_batches(struct exchange *x)
{
	struct server *s = x->server;
	const struct batch *b, *last = NULL, *first = NULL;
	int64_t left = x->query.limit ? x->query.limit : LIST_MOST;
	struct buf text;
	struct jwrite w;

	jw_init(&w, &x->out);
	jw_object(&w, NULL);
	jw_str(&w, "object", "list");
	jw_array(&w, "data");
	buf_init(&text, MEM_BASE);
	pthread_mutex_lock(&s->lock);
	b = s->batches.first;
	if (x->query.after) {
		b = batch_find(s, x->query.after, x->owner);
		b = b ? b->next : NULL;
	}
	for (; (b = owned(b, x)) && left; b = b->next, left--) {
		buf_clear(&text);
		batch_put(&text, b);
		jw_raw(&w, NULL, text.at, text.len);
		last = b;
		first = first ? first : b;
	}
	pthread_mutex_unlock(&s->lock);
	x->out.bad |= text.bad;
	buf_fini(&text);
	jw_end(&w);
	/* batches are never forgotten while the server runs */
	jw_str(&w, "first_id", last ? first->id : NULL);
	jw_str(&w, "last_id", last ? last->id : NULL);
	jw_bool(&w, "has_more", b != NULL);
	jw_end(&w);
	exchange_answer(x, 200, exchange_json);
	exchange_done(x);
}

static void show(struct exchange *x, struct batch *b, const char *id)
{
	if (b)
		exchange_answer(x, 200, exchange_json);
	else
		exchange_refuse(x, INFER_FAULT_NOT_FOUND, "batch_id", "there is no batch %.80s",
		                id);
	exchange_done(x);
}

void ep_batch(struct exchange *x)
{
	struct server *s = x->server;
	struct batch *b;

	pthread_mutex_lock(&s->lock);
	b = batch_find(s, x->rest, x->owner);
	if (b)
		batch_put(&x->out, b);
	pthread_mutex_unlock(&s->lock);
	show(x, b, x->rest);
}

void ep_batch_cancel(struct exchange *x)
{
	static const char tail[] = "/cancel";
	struct server *s = x->server;
	size_t n = strlen(x->rest), k = sizeof tail - 1;
	int changed = 0;
	char id[STORE_NAME] = "";
	struct batch *b;
	infer_error err;

	if (n > k && n - k < sizeof id && !strcmp(x->rest + n - k, tail))
		snprintf(id, sizeof id, "%.*s", (int)(n - k), x->rest);
	pthread_mutex_lock(&s->lock);
	b = batch_find(s, id, x->owner);
	if (b && !batch_is_over(b) && b->status != BATCH_FINALIZING) {
		changed = b->status != BATCH_CANCELLING;
		batch_set(b, BATCH_CANCELLING);
	}
	if (b)
		batch_put(&x->out, b);
	pthread_cond_signal(&s->batches.wake);
	pthread_mutex_unlock(&s->lock);
	if (changed && batch_save(s, b, &err)) {
		exchange_refuse(x, INFER_FAULT_SERVER, NULL, "%s", err.message);
		exchange_done(x);
		return;
	}
	show(x, b, x->rest);
}
