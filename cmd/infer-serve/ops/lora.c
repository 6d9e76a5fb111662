/* infer-serve/ops/lora.c - open, load and unload the adapters of a model. */
#include "infer-serve/ops/lora.h"
#include "infer-serve/ops/server.h"
#include "common/lora.h"
#include "common/say.h"
#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_USUAL = 64 };

/* ---- names ---- */

static void free_named(struct named_lora *l)
{
	mem_free(l->name);
	mem_free(l->path);
	mem_free(l);
}

int named_lora_add(struct served *m, const struct named_lora *of, infer_error *err)
{
	struct named_lora *l = mem_zalloc(MEM_BASE, 1, sizeof *l), **at = &m->loras;

	if (!l)
		return err_nomem(err);
	*l = *of;
	l->next = NULL;
	l->name = mem_strndup(MEM_BASE, of->name, strlen(of->name));
	l->path = mem_strndup(MEM_BASE, of->path, strlen(of->path));
	if (!l->name || !l->path) {
		free_named(l);
		return err_nomem(err);
	}
	while (*at)
		at = &(*at)->next;
	*at = l;
	return INFER_OK;
}

static struct named_lora **find_named(struct served *m, const char *name)
{
	struct named_lora **at = &m->loras;

	while (*at && strcmp((*at)->name, name))
		at = &(*at)->next;
	return at;
}

int named_lora_remove(struct served *m, const char *name)
{
	struct named_lora **at = find_named(m, name), *l = *at;

	if (!l)
		return 0;
	*at = l->next;
	free_named(l);
	return 1;
}

void named_lora_free_all(struct served *m)
{
	while (m->loras) {
		struct named_lora *l = m->loras;

		m->loras = l->next;
		free_named(l);
	}
}

/* True if m->loras has this name. */
static int served_names_lora(const struct served *m, const char *name)
{
	const struct named_lora *l = m->loras;

	while (l && strcmp(l->name, name))
		l = l->next;
	return l != NULL;
}

int served_has_lora(const struct served *m, const char *name, size_t n)
{
	for (const struct named_lora *l = m->loras; l; l = l->next)
		if (strlen(l->name) == n && !memcmp(l->name, name, n))
			return 1;
	return m->state == SERVED_LOADED && infer_adapters_have(m->adapters, name, n);
}

int served_each_lora(const struct served *m, lora_visit *visit, void *user)
{
	struct infer_adapter *list = NULL;
	struct infer_lora_info info;
	size_t n = 0;

	if (m->state != SERVED_LOADED) {
		for (const struct named_lora *l = m->loras; l; l = l->next)
			visit(user, l->name, l->path, NULL);
		return INFER_OK;
	}
	TRY(infer_adapters_copy(&list, &n, m->adapters, NULL));
	for (size_t i = 0; i < n; i++) {
		infer_lora_info(list[i].lora, &info);
		visit(user, list[i].name, info.path, list[i].lora);
	}
	infer_adapters_release(list, n);
	return INFER_OK;
}

/* ---- opening a model ---- */

static int open_lora(struct served *m, const char *path, struct infer_adapter *a, infer_error *err)
{
	TRY(infer_lora_open(&a->lora, m->model, path, say_log, NULL, err));
	int rc = infer_adapters_add(m->adapters, a, err);

	infer_lora_close(&a->lora);
	return rc;
}

/* Open the adapters of --lora. */
static int open_given(struct served *m, infer_error *err)
{
	for (int i = 0; i < m->o.loras.n; i++) {
		struct infer_adapter a = { .name = NULL };
		char *path;

		TRY(lora_split(&path, &a.scale, m->o.loras.at[i], err));
		a.applied = m->o.lora_init_without_apply ? 0 : a.scale;
		int rc = open_lora(m, path, &a, err);

		mem_free(path);
		if (rc)
			return rc;
	}
	return INFER_OK;
}

static int open_named(struct served *m, infer_error *err)
{
	for (const struct named_lora *l = m->loras; l; l = l->next) {
		struct infer_adapter a = { .name = l->name, .scale = l->scale };

		TRY(open_lora(m, l->path, &a, err));
	}
	return INFER_OK;
}

/* Set *rank to the largest rank of an adapter, and *bytes to the memory of all. */
static int measure_loras(const struct served *m, int32_t *rank, uint64_t *bytes, infer_error *err)
{
	struct infer_adapter *list;
	struct infer_lora_info info;
	size_t n;

	*rank = 0;
	*bytes = 0;
	TRY(infer_adapters_copy(&list, &n, m->adapters, err));
	for (size_t i = 0; i < n; i++) {
		infer_lora_info(list[i].lora, &info);
		*bytes += info.bytes;
		*rank = info.max_rank > *rank ? info.max_rank : *rank;
	}
	infer_adapters_release(list, n);
	return INFER_OK;
}

int served_open_loras(struct served *m, int32_t *rank, uint64_t *bytes, infer_error *err)
{
	int32_t most, later = 0;

	*rank = 0;
	*bytes = 0;
	if (!m->o.loras.n && !m->loras && !m->o.lora_dir)
		return INFER_OK;
	TRY(infer_adapters_new(&m->adapters, err));
	TRY(open_given(m, err));
	TRY(open_named(m, err));
	TRY(measure_loras(m, &most, bytes, err));
	*rank = infer_adapters_rank(m->adapters);
	if (m->o.lora_dir)
		later = m->o.max_lora_rank ? (int32_t)m->o.max_lora_rank : RANK_USUAL;
	m->max_lora_rank = !later || later > most ? later : most;
	*rank = m->max_lora_rank > *rank ? m->max_lora_rank : *rank;
	m->lora_rank = *rank;
	return INFER_OK;
}

void served_close_loras(struct served *m)
{
	infer_adapters_free(m->adapters);
	m->adapters = NULL;
	m->max_lora_rank = m->lora_rank = 0;
}

/* ---- loading and unloading ---- */

/* Set *real to the path that a client gave, which must be in --lora-dir. *real: free() */
static int find_path(char **real, const struct served *m, const char *path, infer_error *err)
{
	char *dir = realpath(m->o.lora_dir, NULL), whole[PATH_MAX];
	size_t n = dir ? strlen(dir) : 0;
	int rc = INFER_OK;

	*real = NULL;
	if (snprintf(whole, sizeof whole, *path == '/' ? "%.0s%s" : "%s/%s", dir ? dir : "", path) <
	    (int)sizeof whole)
		*real = dir ? realpath(whole, NULL) : NULL;
	if (!dir || !*real || strncmp(*real, dir, n) || (*real)[n] != '/')
		rc = err_set(err, INFER_EINVAL,
		             "lora_path: '%.120s' is not a file or directory in the folder of "
		             "adapters",
		             path);
	free(dir);
	if (rc) {
		free(*real);
		*real = NULL;
	}
	return rc;
}

/* Check that no model and, unless it is replaced, no adapter has the name. Caller holds the lock. */
static int check_lora_name(struct served *m, const struct lora_ask *ask, infer_error *err)
{
	const size_t n = strlen(ask->name);
	struct server *s = m->server;
	const int is_own = served_has_lora(m, ask->name, n);

	for (struct served *k = s->models; k; k = k->next)
		if (!k->retired && (served_is_called(k, ask->name, n) ||
		                    (k != m && served_has_lora(k, ask->name, n))))
			return err_set(err, INFER_EINVAL,
			               "lora_name: a model is called '%.120s' already", ask->name);
	return is_own && !ask->replaces
	               ? err_set(err, INFER_EINVAL,
	                         "lora_name: the adapter '%.120s' is loaded already", ask->name)
	               : INFER_OK;
}

/* Count the bytes of an adapter among those of m, if they fit. Caller holds the lock. */
static int add_bytes(struct served *m, uint64_t bytes, infer_error *err)
{
	struct server *s = m->server;
	uint64_t sum = bytes;

	for (const struct served *k = s->models; k; k = k->next)
		sum += k->bytes;
	if (s->o->config && sum > s->memory)
		return err_set(err, INFER_ENOMEM,
		               "the adapter needs %.1f MiB, and what is loaded leaves less",
		               (double)bytes / (1 << 20));
	m->bytes += bytes;
	return INFER_OK;
}

/* Add an open adapter to m. Caller holds the lock. */
static int add_loaded(struct served *m, const struct lora_ask *ask, const char *path,
                      infer_lora *lora, infer_error *err)
{
	const struct infer_adapter a = { .name = ask->name, .lora = lora, .scale = 1 };
	const struct named_lora named = { NULL, (char *)(uintptr_t)ask->name,
		                          (char *)(uintptr_t)path, 1, 1 };
	struct infer_lora_info info;

	infer_lora_info(lora, &info);
	if (info.max_rank > m->max_lora_rank)
		return err_set(err, INFER_EINVAL,
		               "the rank of the adapter is %d: at most %d, by --max-lora-rank",
		               (int)info.max_rank, (int)m->max_lora_rank);
	TRY(check_lora_name(m, ask, err));
	TRY(add_bytes(m, info.bytes, err));
	if (ask->replaces) {
		(void)named_lora_remove(m, ask->name);
		(void)infer_adapters_remove(m->adapters, ask->name, strlen(ask->name), NULL);
	}
	int rc = named_lora_add(m, &named, err);

	if (!rc && (rc = infer_adapters_add(m->adapters, &a, err)))
		(void)named_lora_remove(m, ask->name);
	if (rc)
		m->bytes -= info.bytes;
	return rc;
}

int served_load_lora(struct served *m, const struct lora_ask *ask, infer_error *err)
{
	struct server *s = m->server;
	infer_lora *lora = NULL;
	char *path;
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = check_lora_name(m, ask, err);
	pthread_mutex_unlock(&s->lock);
	if (rc)
		return rc;
	TRY(find_path(&path, m, ask->path, err));
	rc = infer_lora_open(&lora, m->model, path, say_log, NULL, err);
	if (!rc) {
		pthread_mutex_lock(&s->lock);
		rc = add_loaded(m, ask, path, lora, err);
		pthread_mutex_unlock(&s->lock);
	}
	infer_lora_close(&lora);
	free(path);
	if (!rc)
		say_note(1, "%s: adapter %s loaded", m->name, ask->name);
	return rc;
}

int served_unload_lora(struct served *m, const char *name, infer_error *err)
{
	struct server *s = m->server;
	struct infer_adapter *list;
	struct infer_lora_info info = { .bytes = 0 };
	size_t n;
	int rc;

	TRY(infer_adapters_copy(&list, &n, m->adapters, err));
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			infer_lora_info(list[i].lora, &info);
	const uint64_t bytes = info.bytes;

	infer_adapters_release(list, n);
	if (!m->adapters)
		return err_set(err, INFER_EINVAL, "there is no adapter '%.120s'", name);
	pthread_mutex_lock(&s->lock);
	rc = infer_adapters_remove(m->adapters, name, strlen(name), err);
	if (!rc) {
		(void)named_lora_remove(m, name);
		m->bytes -= bytes < m->bytes ? bytes : m->bytes;
	}
	pthread_mutex_unlock(&s->lock);
	if (!rc)
		say_note(1, "%s: adapter %s unloaded", m->name, name);
	return rc;
}

/* ---- a new configuration ---- */

/* Return the entry of a list that equals l; NULL: none. */
static const struct named_lora *find_same(const struct named_lora *list, const struct named_lora *l)
{
	while (list && (strcmp(list->name, l->name) || strcmp(list->path, l->path) ||
	                list->scale < l->scale || list->scale > l->scale))
		list = list->next;
	return list;
}

/* Remove an adapter from m, and count its bytes no more. Caller holds the lock. */
static void drop_lora(struct served *m, struct named_lora **at)
{
	struct named_lora *l = *at;

	if (m->state == SERVED_LOADED)
		(void)infer_adapters_remove(m->adapters, l->name, strlen(l->name), NULL);
	*at = l->next;
	free_named(l);
}

/* Open an adapter of the configuration for m, which is loaded, and add it. Caller holds the lock, which is
 * released meanwhile. */
static int add_configured(struct served *m, const struct named_lora *l, infer_error *err)
{
	struct server *s = m->server;
	infer_lora *lora = NULL;
	struct infer_lora_info info;
	int rc = INFER_OK;

	pthread_mutex_unlock(&s->lock);
	rc = infer_lora_open(&lora, m->model, l->path, say_log, NULL, err);
	pthread_mutex_lock(&s->lock);
	if (rc)
		return rc;
	infer_lora_info(lora, &info);
	rc = info.max_rank > m->lora_rank
	             ? err_set(err, INFER_EINVAL,
	                       "its rank is %d, and the engine was opened for %d: --max-lora-rank",
	                       (int)info.max_rank, (int)m->lora_rank)
	             : add_bytes(m, info.bytes, err);
	if (!rc) {
		const struct infer_adapter a = { .name = l->name, .lora = lora, .scale = l->scale };

		rc = infer_adapters_add(m->adapters, &a, err);
	}
	infer_lora_close(&lora);
	return rc;
}

void served_update_loras(struct served *m, const struct served *fresh)
{
	struct server *s = m->server;
	infer_error err;

	pthread_mutex_lock(&s->lock);
	while (m->state == SERVED_LOADING || m->state == SERVED_UNLOADING)
		pthread_cond_wait(&s->changed, &s->lock);
	m->refs++; /* so that it is not unloaded meanwhile */
	for (struct named_lora **at = &m->loras; *at;) {
		struct named_lora *l = *at;

		if (l->is_clients ? served_names_lora(fresh, l->name) : !find_same(fresh->loras, l))
			drop_lora(m, at);
		else
			at = &l->next;
	}
	for (const struct named_lora *l = fresh->loras; l; l = l->next) {
		int rc = INFER_OK;

		if (find_same(m->loras, l))
			continue;
		if (m->state == SERVED_LOADED)
			rc = add_configured(m, l, &err);
		if (!rc)
			rc = named_lora_add(m, l, &err);
		if (rc)
			say_warning("%s: the adapter %s is left out: %s", m->name, l->name,
			            err.message);
	}
	m->refs--;
	pthread_mutex_unlock(&s->lock);
}
