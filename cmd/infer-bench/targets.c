/* infer-bench/targets.c - serve: the adapters that requests use in turn (--adapters). */
#include "targets.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

enum { COLUMNS = 80, MORE = 16 }; /* MORE: columns of " and 12345 more" */

static int is_adapter(const struct json *m, const char *base)
{
	return json_is_string(json_get(m, "id")) && json_equals(json_get(m, "parent"), base);
}

static int has_adapter(const struct json *models, const char *base, const char *name)
{
	json_each(m, models)
		if (is_adapter(m, base) && json_equals(json_get(m, "id"), name))
			return 1;
	return 0;
}

static int add_target(struct targets *t, const char *name, infer_error *err)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->names[i], name))
			return err_set(err, INFER_EINVAL, "--adapters: '%.120s' is given twice",
			               name);
	t->names[t->n++] = name;
	return INFER_OK;
}

/* Return an error that names the adapters of the server. */
static int refuse_name(const struct json *models, const char *base, const char *name,
                       infer_error *err)
{
	struct buf has;
	int rc;

	buf_init(&has, MEM_BASE);
	json_each(m, models)
		if (is_adapter(m, base))
			buf_printf(&has, "%s%.*s", has.len ? ", " : "",
			           (int)json_bytes(json_get(m, "id")), json_str(json_get(m, "id")));
	buf_putc(&has, 0);
	rc = has.bad ? err_nomem(err)
	             : err_set(err, INFER_EINVAL,
	                       "--adapters: the server has no adapter '%.120s'; it has %.120s%s",
	                       name, has.at, has.len > 121 ? " ..." : "");
	buf_fini(&has);
	return rc;
}

/* Add the adapters of a list of names, with the base under its own name. */
static int add_names(struct targets *t, const struct json *models, const char *base,
                     const char *list, struct arena *mem, infer_error *err)
{
	for (size_t n; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		const char *name = arena_strndup(mem, list, n);

		if (!name)
			return err_nomem(err);
		if (!has_adapter(models, base, name)) {
			if (strcmp(name, "base") && strcmp(name, base))
				return refuse_name(models, base, name, err);
			name = base;
		}
		TRY(add_target(t, name, err));
	}
	return INFER_OK;
}

static int add_all(struct targets *t, const struct json *models, const char *base,
                   struct arena *mem, infer_error *err)
{
	json_each(m, models) {
		const struct json *id = json_get(m, "id");

		if (!is_adapter(m, base))
			continue;
		const char *name = arena_strndup(mem, json_str(id), json_bytes(id));

		if (!name)
			return err_nomem(err);
		TRY(add_target(t, name, err));
	}
	return INFER_OK;
}

int targets_choose(struct targets *t, const struct json *models, const char *base, const char *list,
                   struct arena *mem, infer_error *err)
{
	size_t adapters = 0, most = 1;

	*t = (struct targets){ .n = 0 };
	json_each(m, models)
		adapters += (size_t)is_adapter(m, base);
	for (const char *p = list; *p; p++)
		most += *p == ',';
	most = adapters > most ? adapters : most;
	t->names = arena_alloc(mem, most, sizeof *t->names);
	t->counts = arena_alloc(mem, most, sizeof *t->counts);
	if (!t->names || !t->counts)
		return err_nomem(err);
	if (!adapters && strcmp(list, "base") && strcmp(list, base))
		return err_set(err, INFER_EUNSUP,
		               "--adapters: the server lists no adapters of '%.120s': models with "
		               "it as their parent in /v1/models",
		               base);
	if (!strcmp(list, "all"))
		return add_all(t, models, base, mem, err);
	TRY(add_names(t, models, base, list, mem, err));
	if (t->n == 1 && t->names[0] == base)
		t->n = 0;
	return INFER_OK;
}

int targets_read(struct targets *t, struct client *h, const char *base, const char *list,
                 struct arena *mem, infer_error *err)
{
	struct buf text;
	struct arena of_json;
	const struct json *v = NULL;
	int64_t status;
	int rc;

	*t = (struct targets){ .n = 0 };
	buf_init(&text, MEM_BASE);
	arena_init(&of_json, MEM_BASE);
	rc = client_ask(h, "/v1/models", NULL, &status, &text, err);
	if (!rc && status == 200 && jread(&v, &of_json, text.at, text.len - 1, "models", NULL))
		v = NULL;
	if (!rc)
		rc = targets_choose(t, json_get(v, "data"), base, list, mem, err);
	arena_fini(&of_json);
	buf_fini(&text);
	return rc;
}

void targets_count(struct targets *t, int64_t i, const struct load_done *d)
{
	struct target_counts *c = t->n ? &t->counts[(size_t)i % t->n] : NULL;

	if (!c)
		return;
	if (d->failed) {
		c->failed++;
		return;
	}
	c->completed++;
	c->prompt_tokens += d->prompt_tokens;
	c->completion_tokens += d->completion_tokens;
}

void targets_show(const struct targets *t, struct buf *to)
{
	size_t start = to->len, i = 0;

	buf_puts(to, "models in turn:");
	for (; i < t->n; i++) {
		size_t room = COLUMNS - (i + 1 < t->n ? MORE : 0);

		if (i && to->len - start + strlen(", ") + strlen(t->names[i]) > room)
			break;
		buf_printf(to, "%s %.48s", i ? "," : "", t->names[i]);
	}
	if (i < t->n)
		buf_printf(to, " and %zu more", t->n - i);
	buf_puts(to, "\n");
}
