/* infer-serve/endpoints/responses.c - OpenAI's /v1/responses: answers that are kept and continued with
 * --files-dir. */
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/request.h"
#include "infer-serve/ops/kept.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>

endpoint_fn ep_generate, ep_count, ep_responses, ep_response_tokens, ep_response,
	ep_response_delete;

enum { ITEMS_USUAL = 20, ITEMS_MOST = 100 };

/* ---- items ---- */

static void set_text(struct arena *a, struct json *o, const char *key, const char *text)
{
	const struct json *v = json_get(o, key);

	if (!v || json_is_null(v))
		json_set(o, key, json_new_str(a, text));
}

static void set_list(struct arena *a, struct json *o, const char *key)
{
	const struct json *v = json_get(o, key);

	if (!v || json_is_null(v))
		json_set(o, key, json_new(a, JSON_ARRAY));
}

/* Complete the content of a message: a list of parts, those of the assistant with annotations. */
static void complete_content(struct arena *a, struct json *message)
{
	const int own = json_equals(json_get(message, "role"), "assistant");
	struct json *content = json_get(message, "content"), *list, *part;

	if (json_is_string(content)) {
		list = json_new(a, JSON_ARRAY);
		part = json_new(a, JSON_OBJECT);
		json_set(part, "type", json_new_str(a, own ? "output_text" : "input_text"));
		json_set(part, "text", json_share(a, content));
		json_append(list, part);
		json_set(message, "content", list);
		content = list;
	}
	for (part = json_first(content); part; part = part->next)
		if (json_equals(json_get(part, "type"), "output_text")) {
			set_list(a, part, "annotations");
			set_list(a, part, "logprobs");
		}
}

/* Return an item of a request with all the members that OpenAI's items have. seed: hash for its id */
static struct json *complete_item(struct arena *a, const struct json *item, uint64_t seed, size_t i)
{
	static const char *const ids[][2] = { { "message", "msg_" },
		                              { "reasoning", "rs_" },
		                              { "function_call", "fc_" },
		                              { "function_call_output", "fco_" } };
	struct json *o = json_copy(a, item);
	const char *kind = "item_";
	char id[40];

	if (!json_is_object(o))
		return o;
	set_text(a, o, "type", "message");
	for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
		if (json_equals(json_get(o, "type"), ids[k][0]))
			kind = ids[k][1];
	snprintf(id, sizeof id, "%s%016llx", kind,
	         (unsigned long long)rng_hash(seed, &i, sizeof i));
	set_text(a, o, "id", arena_strndup(a, id, strlen(id)));
	set_text(a, o, "status", "completed");
	if (json_equals(json_get(o, "type"), "message"))
		complete_content(a, o);
	if (json_equals(json_get(o, "type"), "reasoning"))
		set_list(a, o, "summary");
	return o;
}

/* Return `input` as a list of items: a text is a message of the user. input NULL: none */
static struct json *list_input(struct arena *a, const struct json *input)
{
	struct json *list = json_new(a, JSON_ARRAY), *message;

	if (json_is_array(input))
		return json_share(a, input);
	if (!input)
		return list;
	message = json_new(a, JSON_OBJECT);
	json_set(message, "role", json_new_str(a, "user"));
	json_set(message, "content", json_share(a, input));
	json_append(list, message);
	return list;
}

static void append_items(struct arena *a, struct json *to, const struct json *items)
{
	json_each(item, items)
		json_append(to, json_share(a, item));
}

static void write_value(struct buf *to, const struct json *v)
{
	struct jwrite w;

	jw_init(&w, to);
	jw_value(&w, NULL, v);
}

/* ---- requests ---- */

/* A request while it is prepared. */
struct preparing {
	struct http_request *r;
	struct arena mem;
	const struct json *body, *before; /* before: items of earlier responses; NULL: none */
	struct kept *kept;
};

/* Read the earlier response, and set p->before to all items up to its end. */
static int read_before(struct preparing *p, const char *id, infer_error *err)
{
	const struct json *record;
	struct json *all;
	struct buf text;
	char *copy;
	int rc;

	buf_init(&text, MEM_BASE);
	rc = kept_read(p->r->api.server, id, p->r->api.caller.group, &text, err);
	copy = rc ? NULL : arena_strndup(&p->mem, text.at, text.len);
	rc = rc ? rc : copy ? jread(&record, &p->mem, copy, text.len, id, err) : err_nomem(err);
	buf_fini(&text);
	TRY(rc);
	all = json_new(&p->mem, JSON_ARRAY);
	append_items(&p->mem, all, json_get(record, "before"));
	append_items(&p->mem, all, json_get(record, "input"));
	append_items(&p->mem, all, json_get(json_get(record, "response"), "output"));
	p->before = all;
	p->kept->previous = mem_strndup(MEM_BASE, id, strlen(id));
	write_value(&p->kept->before, all);
	return p->mem.bad || !p->kept->previous || p->kept->before.bad ? err_nomem(err) : INFER_OK;
}

/* Replace the body by one that has the earlier items too, and does not name the earlier response. */
static int replace_body(struct preparing *p)
{
	struct json *body = json_new(&p->mem, JSON_OBJECT), *input = json_new(&p->mem, JSON_ARRAY);
	struct buf text;

	append_items(&p->mem, input, p->before);
	append_items(&p->mem, input, list_input(&p->mem, json_get(p->body, "input")));
	json_each(v, p->body) {
		const char *key = arena_strndup(&p->mem, v->key, v->key_n);

		if (!key)
			return INFER_ENOMEM;
		if (strcmp(key, "previous_response_id") != 0)
			json_set(body, key, strcmp(key, "input") ? json_share(&p->mem, v) : input);
	}
	buf_init(&text, MEM_BASE);
	write_value(&text, body);
	if (p->mem.bad || text.bad) {
		buf_fini(&text);
		return INFER_ENOMEM;
	}
	buf_fini(&p->r->api.body);
	p->r->api.body = text;
	return INFER_OK;
}

/* Continue from the response that previous_response_id names. Returns 0 if r was refused. */
static int continue_response(struct preparing *p)
{
	const struct json *v = json_get(p->body, "previous_response_id");
	struct api_request *r = &p->r->api;
	const char *id = json_cstr(&p->mem, v);
	infer_error err = { .code = INFER_ENOMEM };
	int rc;

	if (!v || json_is_null(v))
		return 1;
	if (!json_is_string(v) || !id) {
		api_refuse(r, INFER_FAULT_INVALID, "previous_response_id",
		           "previous_response_id must be a string");
		return 0;
	}
	rc = read_before(p, id, &err);
	if (rc == INFER_EINVAL)
		api_refuse(r, INFER_FAULT_NOT_FOUND, "previous_response_id", "%s", err.message);
	else if (rc || replace_body(p))
		api_refuse(r, INFER_FAULT_SERVER, NULL, "the earlier response: %s",
		           rc ? err.message : "out of memory");
	else if (r->body.len > r->server->o->max_body)
		api_refuse(r, INFER_FAULT_TOO_LARGE, "previous_response_id",
		           "with all earlier items the request has %zu bytes; at most %llu are "
		           "taken",
		           r->body.len, (unsigned long long)r->server->o->max_body);
	else
		return 1;
	return 0;
}

/* Store the items of the request, complete, for input_items and later requests. */
static void keep_input(struct preparing *p)
{
	const struct json *v = json_get(p->body, "store");
	struct json *items = json_new(&p->mem, JSON_ARRAY);
	const char *name = p->r->api.name;
	size_t i = 0;

	p->kept->stores = !v || json_is_null(v) || json_is(v, JSON_TRUE);
	json_each(item, list_input(&p->mem, json_get(p->body, "input")))
		json_append(items,
		            complete_item(&p->mem, item, rng_hash(1, name, strlen(name)), i++));
	write_value(&p->kept->input, items);
	p->kept->input.bad |= p->mem.bad;
}

/* Prepare r. Returns 0 if r was refused. *kept: kept_free; NULL if nothing is kept or continued. */
static int prepare_request(struct http_request *r, struct kept **kept)
{
	const struct buf *text = &r->api.body;
	struct preparing p = { .r = r };
	int ok = 1;

	*kept = NULL;
	if (!r->api.server->o->files_dir)
		return 1;
	arena_init(&p.mem, MEM_BASE);
	/* a body that is not an object is refused when the request is read */
	if (!jread(&p.body, &p.mem, text->at ? text->at : "", text->len, "request", NULL) &&
	    json_is_object(p.body)) {
		p.kept = kept_new();
		if (p.kept)
			keep_input(&p);
		if (!p.kept || p.kept->input.bad) {
			api_refuse(&r->api, INFER_FAULT_SERVER, NULL,
			           "out of memory for a request");
			ok = 0;
		} else {
			ok = continue_response(&p);
		}
	}
	arena_fini(&p.mem);
	if (ok)
		*kept = p.kept;
	else
		kept_free(p.kept);
	return ok;
}

void ep_responses(struct http_request *r)
{
	struct kept *kept;

	if (!prepare_request(r, &kept))
		return;
	ep_generate(r);
	if (!r->api.gen.job || !kept) {
		kept_free(kept);
		return;
	}
	r->api.gen.job->store = kept->stores;
	r->api.gen.job->previous = kept->previous;
	r->api.gen.kept = kept;
}

void ep_response_tokens(struct http_request *r)
{
	struct kept *kept;

	if (prepare_request(r, &kept)) {
		kept_free(kept);
		ep_count(r);
	}
}

/* ---- kept responses ---- */

static void put_item_list(struct jwrite *w, const struct json *items, const struct http_head *h,
                          int from_last)
{
	size_t n = json_count(items), at = 0, first, put = 0,
	       most = h->limit ? (size_t)h->limit : ITEMS_USUAL;
	const struct json *item = NULL;

	if (h->after) {
		while (at < n &&
		       !json_equals(json_get(json_at(items, from_last ? n - 1 - at : at), "id"),
		                    h->after))
			at++;
		at += at < n;
	}
	first = at;
	jw_str(w, "object", "list");
	jw_array(w, "data");
	for (; at < n && put < most; at++, put++) {
		item = json_at(items, from_last ? n - 1 - at : at);
		jw_value(w, NULL, item);
	}
	jw_end(w);
	if (put) {
		const struct json *begin = json_get(
					  json_at(items, from_last ? n - 1 - first : first), "id"),
				  *end = json_get(item, "id");

		jw_strn(w, "first_id", json_str(begin), json_bytes(begin));
		jw_strn(w, "last_id", json_str(end), json_bytes(end));
	} else {
		jw_null(w, "first_id");
		jw_null(w, "last_id");
	}
	jw_bool(w, "has_more", at < n);
}

/* Check the arguments of a list of items. Returns 0 if r was refused. */
static int check_list(struct http_request *r)
{
	const struct http_head *h = &r->head;

	if (h->order && strcmp(h->order, "asc") && strcmp(h->order, "desc"))
		api_refuse(&r->api, INFER_FAULT_INVALID, "order", "order must be asc or desc");
	else if (h->limit > ITEMS_MOST)
		api_refuse(&r->api, INFER_FAULT_INVALID, "limit", "limit must be at most %d",
		           ITEMS_MOST);
	else
		return 1;
	return 0;
}

/* Copy the id in the path of r, without `tail`; *has_tail: 1 if the path ends with it. */
static void copy_id(char id[STORE_NAME], const struct http_request *r, const char *tail,
                    int *has_tail)
{
	size_t n = strlen(r->rest), k = strlen(tail);

	*has_tail = n > k && !strcmp(r->rest + n - k, tail);
	n -= *has_tail ? k : 0;
	/* an id that is too long is cut, and is none then */
	snprintf(id, STORE_NAME, "%.*s", n < STORE_NAME ? (int)n : STORE_NAME - 1, r->rest);
}

/* Answer with an error of kept_read or kept_remove. */
static void refuse_response(struct http_request *r, int rc, const infer_error *err)
{
	api_refuse(&r->api, rc == INFER_EINVAL ? INFER_FAULT_NOT_FOUND : INFER_FAULT_SERVER,
	           "response_id", "%s", err->message);
}

static void answer_part(struct http_request *r, const struct json *record, int is_list)
{
	struct jwrite w;

	jw_init(&w, &r->out);
	if (is_list) {
		jw_object(&w, NULL);
		put_item_list(&w, json_get(record, "input"), &r->head,
		              !r->head.order || strcmp(r->head.order, "asc"));
		jw_end(&w);
	} else {
		struct json alone = *json_get(record, "response");

		alone.key = NULL;
		alone.next = NULL;
		jw_value(&w, NULL, &alone);
	}
	http_answer(r, 200, http_json);
}

void ep_response(struct http_request *r)
{
	const struct json *record = NULL;
	char id[STORE_NAME];
	struct arena mem;
	struct buf text;
	infer_error err;
	int is_list, rc;

	copy_id(id, r, "/input_items", &is_list);
	if (!r->api.server->o->files_dir) {
		api_refuse(&r->api, INFER_FAULT_NOT_FOUND, "response_id",
		           "there is no response %.80s: without --files-dir none is kept", id);
		return;
	}
	if (r->head.streams) {
		api_refuse(&r->api, INFER_FAULT_INVALID, "stream",
		           "stream is not supported for a response that is kept");
		return;
	}
	if (is_list && !check_list(r))
		return;
	buf_init(&text, MEM_BASE);
	arena_init(&mem, MEM_BASE);
	rc = kept_read(r->api.server, id, r->api.caller.group, &text, &err);
	if (!rc)
		rc = jread(&record, &mem, text.at, text.len, id, &err);
	if (!rc && !json_is_object(json_get(record, "response")))
		rc = err_set(&err, INFER_EIO, "%s is damaged", id);
	if (rc)
		refuse_response(r, rc, &err);
	else
		answer_part(r, record, is_list);
	arena_fini(&mem);
	buf_fini(&text);
}

void ep_response_delete(struct http_request *r)
{
	char id[STORE_NAME];
	struct jwrite w;
	infer_error err;
	int any, rc;

	copy_id(id, r, "", &any);
	rc = r->api.server->o->files_dir
	             ? kept_remove(r->api.server, id, r->api.caller.group, &err)
	             : err_set(&err, INFER_EINVAL,
	                       "there is no response %.80s: without --files-dir none is kept", id);
	if (rc) {
		refuse_response(r, rc, &err);
		return;
	}
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_str(&w, "id", id);
	jw_str(&w, "object", "response");
	jw_bool(&w, "deleted", 1);
	jw_end(&w);
	http_answer(r, 200, http_json);
}
