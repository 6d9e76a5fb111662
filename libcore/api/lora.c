/* api/lora.c - the adapters that a request chooses: by its field lora, or by its model. */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

/* The adapters of the server, and the state of choosing among them. */
struct choice {
	struct job *j;
	struct infer_adapter *list; /* [n] */
	size_t n;
	struct infer_lora_use *uses; /* [INFER_LORA_USES], in the memory of the job */
	const char **names;
	int32_t n_uses;
};

/* Add list[i] to the request, which takes its reference. */
static int use_adapter(struct choice *c, size_t i, float factor, infer_error *err)
{
	struct infer_adapter *a = &c->list[i];

	if (factor == 0)
		return INFER_OK;
	if (c->n_uses == INFER_LORA_USES)
		return err_set(err, INFER_EINVAL, "lora: a request can have at most %d adapters",
		               INFER_LORA_USES);
	c->names[c->n_uses] = arena_strndup(&c->j->mem, a->name, strlen(a->name));
	if (!c->names[c->n_uses])
		return err_nomem(err);
	c->uses[c->n_uses++] =
		(struct infer_lora_use){ .lora = infer_lora_ref(a->lora), .factor = factor };
	c->j->j.request.n_loras = c->n_uses;
	return INFER_OK;
}

/* ---- the field lora ---- */

int job_take_lora(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (!json_is_array(v))
		return err_set(err, INFER_EINVAL, "%s must be an array", key);
	j->lora = v;
	return INFER_OK;
}

/* The members of an entry; NULL: not given. */
struct entry {
	const struct json *id, *name, *sha256, *scale;
};

static int read_entry(struct entry *e, const struct json *o, infer_error *err)
{
	const struct {
		const char *key;
		const struct json **to;
	} rows[] = { { "id", &e->id },
		     { "name", &e->name },
		     { "sha256", &e->sha256 },
		     { "scale", &e->scale } };
	enum { ROWS = sizeof rows / sizeof *rows };

	if (!json_is_object(o))
		return err_set(err, INFER_EINVAL, "lora: an entry must be an object");
	json_each(v, o) {
		size_t i = 0;

		while (i < ROWS &&
		       (v->key_n != strlen(rows[i].key) || memcmp(v->key, rows[i].key, v->key_n)))
			i++;
		if (i == ROWS)
			return err_set(err, INFER_EINVAL, "lora: an entry has no '%.*s'",
			               v->key_n < 80 ? (int)v->key_n : 80, v->key);
		*rows[i].to = v;
	}
	if (!e->id == !(e->name || e->sha256))
		return err_set(err, INFER_EINVAL, "lora: an entry must have an id or a name");
	if (e->id && !json_is(e->id, JSON_INT))
		return err_set(err, INFER_EINVAL, "lora: id must be an integer");
	if (e->name && !json_is_string(e->name))
		return err_set(err, INFER_EINVAL, "lora: name must be a string");
	if (e->sha256 && !json_is_string(e->sha256))
		return err_set(err, INFER_EINVAL, "lora: sha256 must be a string");
	return json_is_number(e->scale)
	               ? INFER_OK
	               : err_set(err, INFER_EINVAL, "lora: scale must be a number");
}

static int is_entry(const struct entry *e, const struct infer_adapter *a)
{
	struct infer_lora_info info;

	if (e->id)
		return a->id == e->id->i;
	if (!e->sha256)
		return json_equals(e->name, a->name);
	infer_lora_info(a->lora, &info);
	return json_equals(e->sha256, info.sha256);
}

/* Set *i to the adapter of an entry.  A sha256 counts more than a name. */
static int find_entry(size_t *i, const struct choice *c, const struct entry *e, infer_error *err)
{
	const struct json *name = e->name ? e->name : e->sha256;

	for (*i = 0; *i < c->n; ++*i)
		if (is_entry(e, &c->list[*i]))
			return INFER_OK;
	if (e->id)
		return err_set(err, INFER_EINVAL, "lora: there is no adapter with id %lld",
		               (long long)e->id->i);
	return err_set(err, INFER_EINVAL, "lora: there is no adapter '%.*s'%s%.*s",
	               name->n < 120 ? (int)name->n : 120, name->s,
	               e->name && e->sha256 ? " with sha256 " : "",
	               e->name && e->sha256 && e->sha256->n <= 64 ? (int)e->sha256->n : 0,
	               e->sha256 ? e->sha256->s : "");
}

static int use_entry(struct choice *c, const struct json *o, unsigned char *seen, infer_error *err)
{
	struct entry e = { .id = NULL };
	float factor;
	size_t i;

	TRY(read_entry(&e, o, err));
	TRY(find_entry(&i, c, &e, err));
	factor = (float)json_double(e.scale);
	if (!isfinite(factor))
		return err_set(err, INFER_EINVAL, "lora: scale of adapter '%.120s' is too large",
		               c->list[i].name);
	if (seen[i])
		return err_set(err, INFER_EINVAL, "lora: adapter '%.120s' is given twice",
		               c->list[i].name);
	seen[i] = 1;
	return use_adapter(c, i, factor, err);
}

static int use_entries(struct choice *c, infer_error *err)
{
	unsigned char *seen = arena_alloc(&c->j->mem, c->n + 1, 1);

	if (!seen)
		return err_nomem(err);
	json_each(o, c->j->lora)
		TRY(use_entry(c, o, seen, err));
	return INFER_OK;
}

/* ---- the model ---- */

/* True if `model` is the name, or the name with the tag that Ollama's clients append. */
static int is_called(const struct json *model, const char *name)
{
	static const char tag[] = ":latest";
	const size_t n = strlen(name), t = sizeof tag - 1;

	return json_equals(model, name) ||
	       (json_is_string(model) && model->n == n + t && !memcmp(model->s, name, n) &&
	        !memcmp(model->s + n, tag, t));
}

/* Use the adapter that `model` names.  Returns 1 if there is one; *rc: why it cannot be used. */
static int use_named(struct choice *c, const struct json *model, int *rc, infer_error *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const char *name = c->list[i].name;

		if (!is_called(model, name))
			continue;
		c->j->j.adapter = arena_strndup(&c->j->mem, name, strlen(name));
		*rc = !c->j->j.adapter ? err_nomem(err)
		      : c->j->lora
		              ? err_set(err, INFER_EINVAL,
		                        "model names the adapter '%.120s', and lora others", name)
		              : use_adapter(c, i, c->list[i].scale, err);
		return 1;
	}
	return 0;
}

/* Check the model of a request in our own format. */
static int check_model(const struct job *j, const struct json *model, infer_error *err)
{
	struct infer_str name = infer_model_called(j->o->model);

	if (!j->is_own || !json_is_string(model) ||
	    (model->n == name.len && !memcmp(model->s, name.at, name.len)))
		return INFER_OK;
	return err_set(err, INFER_EINVAL,
	               "model: neither the model nor an adapter is called '%.*s'",
	               model->n < 120 ? (int)model->n : 120, model->s);
}

static int choose(struct choice *c, const struct json *model, const char **param, infer_error *err)
{
	int rc = INFER_OK;

	*param = "model";
	if (use_named(c, model, &rc, err))
		return rc;
	TRY(check_model(c->j, model, err));
	*param = "lora";
	if (c->j->lora)
		return use_entries(c, err);
	for (size_t i = 0; i < c->n; i++)
		TRY(use_adapter(c, i, c->list[i].applied, err));
	return INFER_OK;
}

int job_choose_adapters(struct job *j, const struct json *body, const char **param,
                        infer_error *err)
{
	const struct json *model = json_get(body, "model");
	struct choice c = { .j = j };
	int rc;

	*param = "model";
	if (!j->o->adapters && !(j->lora && j->lora->n))
		return check_model(j, model, err);
	c.uses = arena_alloc(&j->mem, INFER_LORA_USES, sizeof *c.uses);
	c.names = arena_alloc(&j->mem, INFER_LORA_USES, sizeof *c.names);
	if (!c.uses || !c.names)
		return err_nomem(err);
	j->j.request.loras = j->loras = c.uses;
	j->j.request.n_loras = 0;
	j->j.lora_names = c.names;
	TRY(infer_adapters_copy(&c.list, &c.n, j->o->adapters, err));
	rc = choose(&c, model, param, err);
	infer_adapters_release(c.list, c.n);
	return rc;
}

void job_put_lora(struct jwrite *w, const char *key, const struct job_asked *a)
{
	const infer_job *j = a->j;
	struct infer_lora_info info;

	if (!j->request.loras)
		return;
	jw_array(w, key);
	for (int32_t i = 0; i < j->request.n_loras; i++) {
		infer_lora_info(j->request.loras[i].lora, &info);
		jw_object(w, NULL);
		jw_str(w, "name", j->lora_names[i]);
		jw_str(w, "sha256", info.sha256);
		jw_num(w, "scale", (double)j->request.loras[i].factor);
		jw_end(w);
	}
	jw_end(w);
}
