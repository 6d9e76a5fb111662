/* infer-serve/endpoints/lora.c - the adapters of a model: GET and POST /lora-adapters as in llama.cpp's
 * server, POST /v1/load_lora_adapter and /v1/unload_lora_adapter as in vLLM. */
#include <infer/adapters.h>
#include "infer-serve/http/request.h"
#include "infer-serve/ops/lora.h"
#include "infer-serve/ops/server.h"
#include "infer-serve/ops/tenant.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <math.h>
#include <string.h>

endpoint_fn ep_loras, ep_loras_apply, ep_lora_load, ep_lora_unload;

static const char plain[] = "text/plain; charset=utf-8";

/* Refuse r unless its key is an operator's. Returns 1 if it may change what others are answered. */
static int is_allowed(struct http_request *r)
{
	struct server *s = r->api.server;
	int all;

	pthread_mutex_lock(&s->lock);
	all = tenant_sees_all(&r->api);
	pthread_mutex_unlock(&s->lock);
	if (!all)
		api_refuse(&r->api, INFER_FAULT_FORBIDDEN, NULL,
		           "adapters are changed for all: the key must be an operator's");
	return all;
}

/* Answer that a request is wrong. param: the field at fault, or NULL */
static void refuse(struct http_request *r, int rc, const char *param, const infer_error *err)
{
	struct infer_fault f = { .error = *err, .param = param, .kind = infer_fault_kind(rc) };

	api_fault(&r->api, &f);
}

/* ---- GET and POST /lora-adapters ---- */

void ep_loras(struct http_request *r)
{
	struct infer_lora_info info;
	struct infer_adapter *list;
	struct jwrite w;
	infer_error err;
	size_t n;

	if (infer_adapters_copy(&list, &n, r->api.model->adapters, &err)) {
		refuse(r, INFER_ENOMEM, NULL, &err);
		return;
	}
	jw_init(&w, &r->out);
	jw_array(&w, NULL);
	for (size_t i = 0; i < n; i++) {
		infer_lora_info(list[i].lora, &info);
		jw_object(&w, NULL);
		jw_int(&w, "id", list[i].id);
		jw_str(&w, "name", list[i].name);
		jw_str(&w, "path", info.path);
		jw_num(&w, "scale", (double)list[i].applied);
		jw_strn(&w, "task_name", info.task.at ? info.task.at : "", info.task.len);
		jw_strn(&w, "prompt_prefix", info.prefix.at ? info.prefix.at : "", info.prefix.len);
		jw_end(&w);
	}
	jw_end(&w);
	infer_adapters_release(list, n);
	http_answer(r, 200, http_json);
}

/* Read one {id, scale}. */
static int read_scale(int64_t *id, float *scale, const struct json *o, infer_error *err)
{
	const struct json *i = json_get(o, "id"), *v = json_get(o, "scale");

	if (!json_is_object(o))
		return err_set(err, INFER_EINVAL, "an entry must be an object with id and scale");
	if (!json_is(i, JSON_INT))
		return err_set(err, INFER_EINVAL, "id must be an integer");
	if (!json_is_number(v))
		return err_set(err, INFER_EINVAL, "scale must be a number");
	if (o->n != 2)
		return err_set(err, INFER_EINVAL, "an entry has only id and scale");
	*id = i->i;
	*scale = (float)json_double(v);
	return INFER_OK;
}

static int apply_scales(struct served *m, const struct json *body, struct arena *mem,
                        infer_error *err)
{
	size_t n = json_is_array(body) ? json_count(body) : 0, k = 0;
	int64_t *id = arena_alloc(mem, n, sizeof *id);
	float *scale = arena_alloc(mem, n, sizeof *scale);

	if (!id || !scale)
		return err_nomem(err);
	if (!json_is_array(body))
		return err_set(err, INFER_EINVAL, "the body must be an array of {id, scale}");
	json_each(o, body) {
		TRY(read_scale(&id[k], &scale[k], o, err));
		k++;
	}
	if (m->adapters)
		return infer_adapters_apply(m->adapters, id, scale, n, err);
	return n ? err_set(err, INFER_EINVAL, "there is no adapter with id %lld", (long long)*id)
	         : INFER_OK;
}

void ep_loras_apply(struct http_request *r)
{
	const struct buf *b = &r->api.body;
	const struct json *body;
	struct arena mem;
	infer_error err;
	struct jwrite w;

	if (!is_allowed(r))
		return;
	arena_init(&mem, MEM_BASE);
	int rc = jread(&body, &mem, b->at ? b->at : "", b->len, "request", &err);

	if (!rc)
		rc = apply_scales(r->api.model, body, &mem, &err);
	arena_fini(&mem);
	if (rc) {
		refuse(r, rc, NULL, &err);
		return;
	}
	jw_init(&w, &r->out);
	jw_object(&w, NULL);
	jw_bool(&w, "success", 1);
	jw_end(&w);
	http_answer(r, 200, http_json);
}

/* ---- POST /v1/load_lora_adapter and /v1/unload_lora_adapter ---- */

/* The members of the body; NULL: not given. */
struct members {
	const char *name, *path;
	int replaces;
};

static int read_lora_text(const char **to, const struct json *v, const char *key, struct arena *mem,
                          infer_error *err)
{
	*to = json_is_string(v) && v->n && v->n <= 4096 ? json_cstr(mem, v) : NULL;
	return *to ? INFER_OK
	           : err_set(err, INFER_EINVAL, "%s must be a string that is not empty", key);
}

/* Read the body. loads 1: of a request to load. *param: the field at fault */
static int read_lora_members(struct members *a, const struct json *body, int loads,
                             struct arena *mem, const char **param, infer_error *err)
{
	if (!json_is_object(body))
		return err_set(err, INFER_EINVAL, "the body must be an object");
	json_each(v, body) {
		*param = arena_strndup(mem, v->key, v->key_n);
		if (!*param)
			return err_nomem(err);
		if (!strcmp(*param, "lora_name")) {
			TRY(read_lora_text(&a->name, v, *param, mem, err));
		} else if (!strcmp(*param, "lora_path") && loads) {
			TRY(read_lora_text(&a->path, v, *param, mem, err));
		} else if (!strcmp(*param, "load_inplace") && loads) {
			a->replaces = json_is(v, JSON_TRUE);
			if (!json_is_bool(v))
				return err_set(err, INFER_EINVAL,
				               "load_inplace must be true or false");
		} else if (strcmp(*param, "model") != 0 && !json_is_null(v)) {
			return err_set(err, INFER_EINVAL, "'%.80s' is not a field of this request",
			               *param);
		}
	}
	*param = a->name ? "lora_path" : "lora_name";
	if (!a->name || (loads && !a->path))
		return err_set(err, INFER_EINVAL, "%s is missing", *param);
	return INFER_OK;
}

/* Handle the body of r, which was read into mem. */
static void change_adapters(struct http_request *r, int loads, struct arena *mem)
{
	const struct buf *b = &r->api.body;
	struct members a = { .name = NULL };
	const struct json *body;
	const char *param = NULL;
	infer_error err;
	int rc = jread(&body, mem, b->at ? b->at : "", b->len, "request", &err);

	if (!rc)
		rc = read_lora_members(&a, body, loads, mem, &param, &err);
	if (rc) {
		refuse(r, rc, param, &err);
		return;
	}
	if (!loads && served_unload_lora(r->api.model, a.name, &err)) {
		api_refuse(&r->api, INFER_FAULT_NOT_FOUND, "lora_name", "%s", err.message);
		return;
	}
	rc = loads ? served_load_lora(r->api.model,
	                              &(struct lora_ask){ a.name, a.path, a.replaces }, &err)
	           : INFER_OK;
	if (rc) {
		/* a file that cannot be read or used is a fault of the request */
		api_refuse(&r->api,
		           rc == INFER_ENOMEM ? INFER_FAULT_UNAVAILABLE : INFER_FAULT_INVALID,
		           strncmp(err.message, "lora_name", 9) ? "lora_path" : "lora_name", "%s",
		           err.message);
		return;
	}
	buf_printf(&r->out, "adapter '%s' is %s\n", a.name, loads ? "loaded" : "unloaded");
	http_answer(r, 200, plain);
}

static void load_adapter(struct api_request *a)
{
	struct arena mem;

	arena_init(&mem, MEM_BASE);
	change_adapters((struct http_request *)(void *)a, 1, &mem);
	arena_fini(&mem);
	api_done(a);
}

void ep_lora_load(struct http_request *r)
{
	if (is_allowed(r))
		r->api.continues = load_adapter;
}

void ep_lora_unload(struct http_request *r)
{
	struct arena mem;

	if (!is_allowed(r))
		return;
	arena_init(&mem, MEM_BASE);
	change_adapters(r, 0, &mem);
	arena_fini(&mem);
}
