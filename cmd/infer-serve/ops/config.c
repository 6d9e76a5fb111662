/* infer-serve/ops/config.c - read the models of --config (YAML). The keys of a model are options of the
 * command line and are parsed with the same rows. */
#include "infer-serve/ops/lora.h"
#include "infer-serve/ops/server.h"
#include "common/file.h"
#include "common/say.h"
#include "base/err.h"
#include "base/os.h"
#include "base/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 1, UNLOAD_S = 300, UNLOAD_MOST = 1 << 30, NAME_LONGEST = 256 };

/* The state of reading the file. */
struct config {
	struct server *s;
	const char *what; /* path of the file, for messages */
	struct opt rows[OPT_ROWS_MAX];
	struct served *models, *last;
	uint64_t memory;
	infer_error *err;
};
/* The state of reading one model. */
struct model_reader {
	struct config *c;
	struct served *m;
	struct buf text; /* its configuration as text */
};

/* ---- options ---- */

/* True if a model, too, may have this option of the server. */
static int is_limit(const char *name)
{
	return !strcmp(name, "max-tokens") || !strcmp(name, "max-queue") ||
	       !strcmp(name, "api-key-file");
}

/* Return the row of the option with this name that a model may have; NULL: none. */
static const struct opt *find_option(const struct config *c, const char *name)
{
	int of_model = 0;

	for (const struct opt *o = c->rows; o->kind != OPT_END; o++) {
		if (o->kind == OPT_GROUP)
			of_model = !strcmp(o->name, "model") || !strcmp(o->name, "sampling");
		else if (o->name && !strcmp(o->name, name) && (of_model || is_limit(name)))
			return o;
	}
	return NULL;
}

static int set_option(struct model_reader *r, const struct opt *o, const struct ytree *v)
{
	const struct config *c = r->c;
	infer_error why;
	const char *text;

	TRY(ytree_text(&text, v, c->what, c->err));
	text = arena_strndup(&r->m->mem, text, v->n);
	if (!text)
		return err_nomem(c->err);
	if (o->kind == OPT_FLAG) {
		if (!ytree_is(v, "true") && !ytree_is(v, "false"))
			return ytree_fail(v, c->what, c->err, INFER_EFORMAT,
			                  "%s must be true or false", o->name);
		if (ytree_is(v, "false"))
			return INFER_OK;
		text = NULL;
	}
	int rc = opt_value(o, &r->m->o, text, o->name, &r->m->mem, &why);

	return rc ? ytree_fail(v, c->what, c->err, rc == INFER_ENOMEM ? rc : INFER_EFORMAT, "%s",
	                       why.message)
	          : INFER_OK;
}

/* Set an option to one value, or to a list if it may be given more than once. */
static int set_options(struct model_reader *r, const struct opt *o, const struct ytree *v)
{
	if (o->kind == OPT_LIST) {
		/* the list replaces that of the command line */
		struct opt_list *l = (void *)((char *)&r->m->o + o->at);

		*l = (struct opt_list){ .n = 0 };
	}
	if (o->kind != OPT_LIST || v->kind != YTREE_LIST)
		return set_option(r, o, v);
	for (const struct ytree *i = v->first; i; i = i->next)
		TRY(set_option(r, o, i));
	return INFER_OK;
}

/* ---- names ---- */

static int check_name(struct config *c, const struct ytree *y, const char *name)
{
	for (struct served *m = c->models; m; m = m->next) {
		int same = !strcmp(m->name, name);

		for (int i = 0; i < m->aliases.n; i++)
			same |= !strcmp(m->aliases.at[i], name);
		same |= served_has_lora(m, name, y->n);
		if (same)
			return ytree_fail(y, c->what, c->err, INFER_EFORMAT,
			                  "two models are called '%.80s'", name);
	}
	return y->n <= NAME_LONGEST ? INFER_OK
	                            : ytree_fail(y, c->what, c->err, INFER_EFORMAT,
	                                         "a name is longer than %d bytes", NAME_LONGEST);
}

static int add_alias(struct model_reader *r, const struct ytree *y)
{
	struct served *m = r->m;
	const char *name;

	TRY(ytree_text(&name, y, r->c->what, r->c->err));
	TRY(check_name(r->c, y, name));
	m->aliases.at[m->aliases.n] = arena_strndup(&m->mem, name, y->n);
	return m->aliases.at[m->aliases.n++] ? INFER_OK : err_nomem(r->c->err);
}

static int read_aliases(struct model_reader *r, const struct ytree *y)
{
	size_t n = y->kind == YTREE_LIST ? y->n : 1;

	r->m->aliases.at = arena_alloc(&r->m->mem, n, sizeof *r->m->aliases.at);
	if (!r->m->aliases.at)
		return err_nomem(r->c->err);
	if (y->kind != YTREE_LIST)
		return add_alias(r, y);
	for (const struct ytree *i = y->first; i; i = i->next)
		TRY(add_alias(r, i));
	return INFER_OK;
}

/* After the start, refuse a file that the sandbox forbids to read (harden.c). */
static int check_readable(const struct config *c, const struct ytree *y, const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1, why = errno;

	if (fd >= 0)
		close(fd);
	if (!path || fd >= 0 || why != EACCES || !c->s->models)
		return INFER_OK;
	return ytree_fail(y, c->what, c->err, INFER_EFORMAT,
	                  "%s cannot be read, nor could its folder at the start: name it under "
	                  "folders, and start again",
	                  path);
}

/* Refuse a model file or directory that does not exist. */
static int check_exists(const struct config *c, const struct ytree *y, const char *path)
{
	if (!strcmp(path, "demo") || !access(path, F_OK) || (errno != ENOENT && errno != ENOTDIR))
		return INFER_OK;
	return ytree_fail(y, c->what, c->err, INFER_EIO, "%s: %s", path, strerror(errno));
}

/* ---- adapters ---- */

/* Set *scale to the number of a key. */
static int read_scale(struct config *c, float *scale, const struct ytree *y)
{
	static const struct opt row = { OPT_NUM, .name = "scale", .lo = -1e6, .hi = 1e6 };
	infer_error why;
	const char *text;
	double v;

	TRY(ytree_text(&text, y, c->what, c->err));
	if (opt_value(&row, &v, text, row.name, NULL, &why))
		return ytree_fail(y, c->what, c->err, INFER_EFORMAT, "%s", why.message);
	*scale = (float)v;
	return INFER_OK;
}

/* Read an adapter: path, name and scale. */
static int add_adapter(struct model_reader *r, const struct ytree *y)
{
	struct config *c = r->c;
	const struct ytree *path = NULL, *name = NULL;
	struct named_lora l = { .scale = 1 };
	const char *text;

	TRY(ytree_map(y, c->what, c->err));
	for (const struct ytree *v = y->first; v; v = v->next) {
		if (!strcmp(v->key->at, "path"))
			path = v;
		else if (!strcmp(v->key->at, "name"))
			name = v;
		else if (!strcmp(v->key->at, "scale"))
			TRY(read_scale(c, &l.scale, v));
		else
			return ytree_fail(v->key, c->what, c->err, INFER_EFORMAT,
			                  "no key of an adapter is called '%.60s'", v->key->at);
	}
	if (!path || !name)
		return ytree_fail(y, c->what, c->err, INFER_EFORMAT, "an adapter needs the key %s",
		                  path ? "name" : "path");
	TRY(ytree_text(&text, path, c->what, c->err));
	l.path = (char *)(uintptr_t)text;
	TRY(ytree_text(&text, name, c->what, c->err));
	l.name = (char *)(uintptr_t)text;
	TRY(check_name(c, name, text));
	TRY(check_exists(c, path, l.path));
	TRY(check_readable(c, path, l.path));
	return named_lora_add(r->m, &l, c->err);
}

static int read_adapters(struct model_reader *r, const struct ytree *y)
{
	if (y->kind != YTREE_LIST)
		return ytree_fail(y, r->c->what, r->c->err, INFER_EFORMAT,
		                  "adapters must be a list");
	for (const struct ytree *i = y->first; i; i = i->next)
		TRY(add_adapter(r, i));
	return INFER_OK;
}

/* ---- a model ---- */

static int read_load(struct model_reader *r, const struct ytree *y)
{
	r->m->loads_at_start = ytree_is(y, "start");
	if (r->m->loads_at_start || ytree_is(y, "demand"))
		return INFER_OK;
	return ytree_fail(y, r->c->what, r->c->err, INFER_EFORMAT, "load must be start or demand");
}

static int read_unload(struct model_reader *r, const struct ytree *y)
{
	uint64_t v;

	TRY(ytree_u64(&v, y, 0, UNLOAD_MOST, r->c->what, r->c->err));
	r->m->unload_s = (int64_t)v;
	return INFER_OK;
}

static int read_model_key(struct model_reader *r, const struct ytree *v)
{
	const char *key = v->key->at;
	const struct opt *o;

	if (!strcmp(key, "aliases"))
		return read_aliases(r, v);
	if (!strcmp(key, "adapters"))
		return read_adapters(r, v);
	if (!strcmp(key, "load"))
		return read_load(r, v);
	if (!strcmp(key, "unload"))
		return read_unload(r, v);
	o = find_option(r->c, key);
	if (!o)
		return ytree_fail(v->key, r->c->what, r->c->err, INFER_EFORMAT,
		                  "no key is called '%.60s' here", key);
	return set_options(r, o, v);
}

/* Append a value to the text that configurations are compared by. */
static void append_tree(struct buf *to, const struct ytree *v)
{
	buf_printf(to, "%d %zu ", v->kind, (size_t)v->n);
	if (v->kind == YTREE_SCALAR)
		buf_put(to, v->at, v->n);
	for (const struct ytree *i = v->first; i; i = i->next) {
		if (i->key)
			append_tree(to, i->key);
		append_tree(to, i);
	}
}

/* Append all keys of a model but its adapters, which change without the model. */
static void append_options(struct buf *to, const struct ytree *y)
{
	for (const struct ytree *i = y->first; i; i = i->next)
		if (strcmp(i->key->at, "adapters")) {
			append_tree(to, i->key);
			append_tree(to, i);
		}
}

/* Replace a hub reference by the path of its file.  At the start the model is downloaded; after
 * that the sandbox forbids connections, and only the cache is searched. */
static int find_model(const struct config *c, const struct ytree *y, struct served *m)
{
	infer_error why;
	const char *path;
	int rc = c->s->models ? model_path_cached(&path, m->o.model, &why)
	                      : model_path(&path, m->o.model, MODEL_NAMED, &why);

	if (!rc) {
		m->ref = m->o.model;
		m->o.model = path;
	}
	return rc ? ytree_fail(y, c->what, c->err, rc, "%s", why.message) : INFER_OK;
}

static int check_model_device(const struct config *c, const struct ytree *y, const struct served *m)
{
	const struct engine_args device = { .device = m->o.engine.device,
		                            .gpu_layers = m->o.engine.gpu_layers,
		                            .split = m->o.engine.split,
		                            .cpu_experts = m->o.engine.cpu_experts };
	struct infer_engine_opts eo;
	infer_error why;
	int rc = engine_args_take(&eo, &device, &why);

	if (!rc)
		rc = engine_keep_cpu(&eo, "a model of a configuration", &why);
	return rc ? ytree_fail(y, c->what, c->err, INFER_EFORMAT, "%s", why.message) : INFER_OK;
}

static int read_model_keys(struct model_reader *r, const struct ytree *y)
{
	struct served *m = r->m;
	struct config *c = r->c;

	TRY(ytree_map(y, c->what, c->err));
	for (const struct ytree *v = y->first; v; v = v->next)
		TRY(read_model_key(r, v));
	if (!m->o.model)
		return ytree_fail(y, c->what, c->err, INFER_EFORMAT,
		                  "a model needs the key model, its file");
	if (infer_hub_is_ref(m->o.model))
		TRY(find_model(c, y, m));
	TRY(check_exists(c, y, m->o.model));
	TRY(check_readable(c, y, m->o.model));
	TRY(check_readable(c, y, m->o.chat.template));
	TRY(check_model_device(c, y, m));
	if (m->loads_at_start && !ytree_get(y, "unload"))
		m->unload_s = 0;
	append_options(&r->text, y);
	m->config_text = r->text.bad ? NULL : arena_strndup(&m->mem, r->text.at, r->text.len);
	if (!m->config_text)
		return err_nomem(c->err);
	if (ytree_get(y, "api-key-file"))
		return keys_read(&m->keys, m->o.api_key_file, c->err);
	return INFER_OK;
}

static int read_model_entry(struct config *c, const struct ytree *y)
{
	struct model_reader r = { .c = c, .m = served_new(c->s, c->s->o) };
	int rc;

	if (!r.m)
		return err_nomem(c->err);
	buf_init(&r.text, MEM_BASE);
	r.m->o.model = NULL;
	r.m->unload_s = UNLOAD_S;
	r.m->name = mem_strndup(MEM_BASE, y->key->at, y->key->n);
	rc = r.m->name ? check_name(c, y->key, r.m->name) : err_nomem(c->err);
	if (c->last)
		c->last->next = r.m;
	else
		c->models = r.m;
	c->last = r.m;
	if (!rc)
		rc = read_model_keys(&r, y);
	buf_fini(&r.text);
	return rc;
}

/* ---- the file ---- */

static int check_version(struct config *c, const struct ytree *y)
{
	uint64_t v;

	TRY(ytree_u64(&v, y, 1, INT32_MAX, c->what, c->err));
	return v == VERSION ? INFER_OK
	                    : ytree_fail(y, c->what, c->err, INFER_EUNSUP,
	                                 "version %llu of configurations is not supported",
	                                 (unsigned long long)v);
}

static int read_memory(struct config *c, const struct ytree *y)
{
	static const struct opt row = { OPT_SIZE, .name = "memory", .lo = 1, .hi = 1e18 };
	infer_error why;
	const char *text;

	TRY(ytree_text(&text, y, c->what, c->err));
	if (opt_value(&row, &c->memory, text, row.name, NULL, &why))
		return ytree_fail(y, c->what, c->err, INFER_EFORMAT, "%s", why.message);
	return INFER_OK;
}

static int add_folder(struct config *c, const struct ytree *y)
{
	const char *path;
	struct stat st;

	TRY(ytree_text(&path, y, c->what, c->err));
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return ytree_fail(y, c->what, c->err, INFER_EFORMAT, "'%.200s' is not a folder",
		                  path);
	if (!c->s->models) /* first call: the sandbox is not set up yet */
		buf_put(&c->s->folders, path, strlen(path) + 1);
	return c->s->folders.bad ? err_nomem(c->err) : INFER_OK;
}

static int read_folders(struct config *c, const struct ytree *y)
{
	if (y->kind != YTREE_LIST)
		return add_folder(c, y);
	for (const struct ytree *i = y->first; i; i = i->next)
		TRY(add_folder(c, i));
	return INFER_OK;
}

static int read_models(struct config *c, const struct ytree *y)
{
	TRY(ytree_map(y, c->what, c->err));
	for (const struct ytree *v = y->first; v; v = v->next)
		TRY(read_model_entry(c, v));
	return c->models ? INFER_OK
	                 : ytree_fail(y, c->what, c->err, INFER_EFORMAT,
	                              "models must have at least one entry");
}

static int read_root(struct config *c, const struct ytree *y)
{
	static const struct {
		const char *name;
		int (*take)(struct config *c, const struct ytree *y);
		int needed;
	} keys[] = { { "infer-serve", check_version, 1 },
		     { "memory", read_memory, 0 },
		     { "folders", read_folders, 0 },
		     { "models", read_models, 1 } };
	enum { KEYS = sizeof keys / sizeof *keys };

	TRY(ytree_map(y, c->what, c->err));
	for (const struct ytree *v = y->first; v; v = v->next) {
		size_t i = 0;

		while (i < KEYS && strcmp(keys[i].name, v->key->at))
			i++;
		if (i == KEYS)
			return ytree_fail(v->key, c->what, c->err, INFER_EFORMAT,
			                  "no key is called '%.60s' here", v->key->at);
		TRY(keys[i].take(c, v));
	}
	for (size_t i = 0; i < KEYS; i++)
		if (keys[i].needed && !ytree_get(y, keys[i].name))
			return ytree_fail(y, c->what, c->err, INFER_EFORMAT,
			                  "the key %s is missing", keys[i].name);
	return INFER_OK;
}

static int read_config(struct config *c)
{
	struct ytree *root = NULL;
	struct os_limits l;
	struct arena tree;
	struct buf text;
	int rc;

	arena_init(&tree, MEM_BASE);
	buf_init(&text, MEM_BASE);
	rc = file_read(&text, c->what, YTREE_BYTES, c->err);
	if (!rc)
		rc = ytree_read(&root, &tree, text.at ? text.at : "", text.len, c->what, c->err);
	if (!rc && !root)
		rc = err_set(c->err, INFER_EFORMAT, "%s: line 1, column 1: it is empty", c->what);
	if (!rc)
		rc = read_root(c, root);
	if (!rc && !c->memory) {
		os_limits(&l);
		c->memory = l.memory_bytes;
	}
	buf_fini(&text);
	arena_fini(&tree);
	return rc;
}

/* ---- replacing the models ---- */

/* Return the link to the model with the same name and configuration; NULL: none. */
static struct served **find_same_model(struct served **at, const struct served *as)
{
	for (; *at; at = &(*at)->next)
		if (!(*at)->retired && !strcmp((*at)->name, as->name) &&
		    !strcmp((*at)->config_text, as->config_text))
			return at;
	return NULL;
}

/* Replace the server's models by those of c.  Models with the same name and configuration are kept,
 * and their new copies stay in c->models for the caller to free.  Caller holds the lock. */
static void replace_models(struct config *c)
{
	struct server *s = c->s;
	struct served *old = s->models, *first = NULL, **at = &first, *m, *next, **found;

	m = c->models;
	c->models = NULL;
	for (; m; m = next) {
		next = m->next;
		found = find_same_model(&old, m);
		if (found) {
			struct served *kept = *found;
			struct keys keys = kept->keys;

			*found = kept->next;
			kept->keys = m->keys;
			m->keys = keys;
			m->next = c->models;
			c->models = m;
			m = kept;
		}
		m->next = NULL;
		*at = m;
		at = &m->next;
	}
	*at = old;
	for (; old; old = old->next)
		old->retired = 1;
	s->models = first;
	s->memory = c->memory;
}

/* Give the kept model of the same name the adapters of its new copy. */
static void update_kept(struct server *s, const struct served *copy)
{
	struct served *m;

	pthread_mutex_lock(&s->lock);
	m = served_by_name(s, copy->name, strlen(copy->name));
	pthread_mutex_unlock(&s->lock);
	if (m)
		served_update_loras(m, copy);
}

int served_configure(struct server *s, infer_error *err)
{
	struct config c = { .s = s, .what = s->o->config, .err = err };
	struct served *next;
	int rc;

	opt_rows(c.rows, s->rows);
	rc = read_config(&c);
	if (!rc) {
		pthread_mutex_lock(&s->lock);
		replace_models(&c);
		pthread_mutex_unlock(&s->lock);
	}
	for (; c.models; c.models = next) {
		if (!rc)
			update_kept(s, c.models);
		next = c.models->next;
		served_free(c.models);
	}
	return rc ? rc : served_start(s, err);
}
