/* hub/get.c - resolve a reference to a path: search the cache, list the hub's files, choose,
 * download. */
#include "hub/get.h"
#include "base/buf.h"
#include "base/err.h"
#include "hub/choose_inner.h"
#include "hub/net.h"
#include "hub/similar.h"
#include "hub/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int infer_hub_is_ref(const char *ref)
{
	static const char *const forms[] = { "hf:", "ollama:", "lmstudio:" };

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strncmp(ref, forms[i], strlen(forms[i])))
			return 1;
	return 0;
}

void infer_hub_free(void *p) { mem_free(p); }

void hub_say(const struct infer_hub_opts *o, const char *fmt, ...)
{
	char line[400];
	va_list ap;

	if (!o->say)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	o->say(o->user, line);
}

/* ---- the cache ---- */

/* True if FILE-OR-QUANT is a file name and not a quantisation. */
static int names_file(const char *what)
{
	const char *dot = what ? strrchr(what, '.') : NULL;

	return dot && dot[1] && !strchr(dot, '/');
}

/* Choose config.json alone.  INFER_EINVAL: the repository has none. */
static int choose_config(struct hub_get *g, const struct hub_entry *e, size_t n, infer_error *err)
{
	size_t *at = arena_alloc(&g->mem, sizeof *at, _Alignof(size_t));

	if (!at)
		return err_nomem(err);
	for (*at = 0; *at < n; ++*at)
		if (!strcmp(e[*at].path, g->ref.what)) {
			g->choice = (struct hub_choice){
				.at = at, .n = 1, .bytes = e[*at].bytes, .first = e[*at].path
			};
			return INFER_OK;
		}
	return err_set(err, INFER_EINVAL, "%s has no %s", g->ref.base, g->ref.what);
}

/* Choose the wanted files among n.  Errors as hub_choose. */
static int choose_wanted(struct hub_get *g, const struct hub_entry *e, size_t n, infer_error *err)
{
	return g->config ? choose_config(g, e, n, err)
	                 : hub_choose(&g->choice, &g->mem, e, n, g->ref.what, g->o->memory_bytes,
	                              g->ref.base, err);
}

/* Find the model in the snapshot of g->commit.  *path NULL: the cache lacks some of its files. */
static int find_cached(struct hub_get *g, char **path, infer_error *err)
{
	struct hub_entry *list;
	infer_error why;
	size_t n;

	*path = NULL;
	if (!*g->commit)
		return INFER_OK;
	TRY(hub_snapshot_list(&list, &n, &g->mem, &g->cache, g->commit, err));
	int rc = n ? choose_wanted(g, list, n, &why) : INFER_EINVAL;

	if (rc == INFER_ENOMEM)
		return err_set(err, rc, "%s", why.message);
	if (rc)
		return INFER_OK;
	for (size_t i = 0; i < g->choice.n; i++) {
		uint64_t bytes;
		int has;

		TRY(hub_snapshot_has(&has, &bytes, &g->cache, g->commit, list[g->choice.at[i]].path,
		                     err));
		if (!has)
			return INFER_OK;
	}
	return hub_snapshot_path(path, &g->cache, g->commit, g->choice.first, err);
}

/* Write the end of the message "... is not in the cache": the models of the snapshot, or similar
 * repositories. */
static void describe_alternatives(struct hub_get *g, char *out, size_t room)
{
	struct hub_entry *list;
	char quants[120];
	size_t n = 0;

	if (*g->commit && !hub_snapshot_list(&list, &n, &g->mem, &g->cache, g->commit, NULL) && n &&
	    !hub_quants(quants, sizeof quants, &g->mem, list, n, NULL))
		snprintf(out, room, "; the cache has %s", *quants ? quants : "other files of it");
	else
		hub_similar(out, room, g->ref.repo, g->o);
}

/* Find the model in the cache without asking the hub.  why: the reason, for the message. */
static int use_cache(struct hub_get *g, char **path, const char *why, infer_error *err)
{
	char instead[160];

	if (!*g->commit && !g->ref.is_commit)
		TRY(hub_ref_read(g->commit, &g->cache, g->ref.rev, err));
	TRY(find_cached(g, path, err));
	if (*path)
		return INFER_OK;
	describe_alternatives(g, instead, sizeof instead);
	return err_set(err, INFER_EIO, "%s%s%.60s is not in the cache, and %s%s", g->ref.base,
	               g->ref.what ? ":" : "", g->ref.what ? g->ref.what : "", why, instead);
}

/* ---- the hub ---- */

/* Append a revision as one segment of a URL.  Its characters have been checked. */
static void put_rev(struct buf *b, const char *rev)
{
	for (; *rev; rev++)
		if (*rev == '/' || *rev == '+')
			buf_puts(b, *rev == '/' ? "%2F" : "%2B");
		else
			buf_putc(b, *rev);
}

static int ask_commit(struct hub_get *g, infer_error *err)
{
	struct buf path, body;
	infer_error why;
	char similar[120];

	buf_init(&path, MEM_HUB);
	buf_init(&body, MEM_HUB);
	buf_printf(&path, "/api/models/%s/revision/", g->ref.repo);
	put_rev(&path, g->ref.rev);
	int rc = path.bad ? err_set(&why, INFER_ENOMEM, "out of memory for a request")
	                  : hub_net_get(g->net, path.at, HUB_PAGE_BYTES, &body, &why);

	if (!rc)
		rc = hub_revision_read(g->commit, body.at ? body.at : "", body.len, &why);
	buf_fini(&path);
	buf_fini(&body);
	if (!rc && g->ref.is_commit && strcmp(g->commit, g->ref.rev) != 0)
		rc = err_set(&why, INFER_EFORMAT, "the hub's answer: another commit than %s",
		             g->ref.rev);
	if (!rc)
		return INFER_OK;
	*similar = 0;
	if (rc == INFER_ENET &&
	    (hub_net_why(g->net) == HUB_WHY_NO_REPO || hub_net_why(g->net) == HUB_WHY_DENIED))
		hub_similar(similar, sizeof similar, g->ref.repo, g->o);
	return err_set(err, rc, "%.90s: %s%s", g->ref.base, why.message, similar);
}

static int ask_files(struct hub_get *g, infer_error *err)
{
	struct buf path, body;
	infer_error why;
	int rc = INFER_OK;

	g->tree = (struct hub_tree){ .mem = &g->mem };
	buf_init(&path, MEM_HUB);
	buf_init(&body, MEM_HUB);
	buf_printf(&path, "/api/models/%s/tree/%s?recursive=true", g->ref.repo, g->commit);
	for (int page = 0; !rc; page++) {
		if (path.bad)
			rc = err_set(&why, INFER_ENOMEM, "out of memory for a request");
		else if (page == HUB_PAGES)
			rc = err_set(&why, INFER_EUNSUP, "a list of files of more than %d pages",
			             HUB_PAGES);
		buf_clear(&body);
		if (!rc)
			rc = hub_net_get(g->net, path.at, HUB_PAGE_BYTES, &body, &why);
		if (!rc)
			rc = hub_tree_add(&g->tree, body.at ? body.at : "", body.len, &why);
		const char *next = rc ? NULL : hub_net_next(g->net);

		if (!next)
			break;
		buf_clear(&path);
		buf_puts(&path, next);
	}
	buf_fini(&path);
	buf_fini(&body);
	return rc ? err_set(err, rc, "%.90s: %s", g->ref.base, why.message) : INFER_OK;
}

static int choose_files(struct hub_get *g, infer_error *err)
{
	int rc = choose_wanted(g, g->tree.at, g->tree.n, err);

	if (rc == INFER_EINVAL && names_file(g->ref.what))
		hub_no_exist_write(&g->cache, g->commit, g->ref.what);
	return rc;
}

/* Download the files that the cache lacks.  Creates nothing if none is missing. */
static int download_missing(struct hub_get *g, infer_error *err)
{
	unsigned char *missing = arena_alloc(&g->mem, g->choice.n + 1, 1);
	uint64_t bytes;
	size_t n;

	if (!missing)
		return err_set(err, INFER_ENOMEM, "out of memory for %zu files", g->choice.n);
	TRY(hub_find_missing(g, missing, &n, &bytes, err));
	if (!n)
		return INFER_OK;
	hub_cache_close(&g->cache);
	TRY(hub_cache_open(&g->cache, g->o, g->ref.folder, 1, err));
	TRY(hub_snapshot_make(&g->cache, g->commit, err));
	return hub_download(g, missing, bytes, err);
}

static int ask_hub(struct hub_get *g, char **path, infer_error *err)
{
	int rc = hub_net_open(&g->net, g->o, err);

	if (!rc)
		rc = ask_commit(g, err);
	if (rc) {
		infer_error none;
		int gone = !g->net || rc == INFER_EUNSUP || hub_net_why(g->net) == HUB_WHY_OFFLINE;

		if (!gone || use_cache(g, path, "", &none))
			return rc;
		hub_say(g->o, "%s; the cache has the model", err ? err->message : "no connection");
		return INFER_OK;
	}
	if (names_file(g->ref.what)) /* otherwise ask the hub, which may have several matches */
		TRY(find_cached(g, path, err));
	if (!*path) {
		TRY(ask_files(g, err));
		TRY(choose_files(g, err));
		if (*g->choice.note)
			hub_say(g->o, "%s", g->choice.note);
		TRY(download_missing(g, err));
		TRY(hub_snapshot_path(path, &g->cache, g->commit, g->choice.first, err));
	}
	/* a read-only cache is not an error if it has the model */
	if (!g->ref.is_commit)
		(void)hub_ref_write(&g->cache, g->ref.rev, g->commit, NULL);
	return INFER_OK;
}

static int get_hf(char **path, const char *text, int config, const struct infer_hub_opts *o,
                  infer_error *err)
{
	struct hub_get g = { .o = o, .config = config };

	*path = NULL;
	TRY(hub_ref_parse(&g.ref, text, err));
	if (config)
		g.ref.what = "config.json";
	arena_init(&g.mem, MEM_HUB);
	int rc = hub_cache_open(&g.cache, o, g.ref.folder, 0, err);

	if (!rc && g.ref.is_commit)
		memcpy(g.commit, g.ref.rev, HUB_COMMIT);
	if (!rc && o->offline)
		rc = use_cache(&g, path, "HF_HUB_OFFLINE is set", err);
	else if (!rc && g.ref.is_commit &&
	         names_file(g.ref.what)) /* a commit's files never change: do not ask the hub */
		rc = find_cached(&g, path, err);
	if (!rc && !*path)
		rc = ask_hub(&g, path, err);
	hub_net_close(g.net);
	hub_cache_close(&g.cache);
	arena_fini(&g.mem);
	return rc;
}

int infer_hub_get(char **path, const char *ref, const struct infer_hub_opts *o, infer_error *err)
{
	*path = NULL;
	if (!strncmp(ref, "ollama:", 7))
		return hub_ollama_get(path, ref, o, err);
	if (!strncmp(ref, "lmstudio:", 9))
		return hub_lmstudio_get(path, ref, o, err);
	return get_hf(path, ref, 0, o, err);
}

int infer_hub_config(char **path, const char *ref, const struct infer_hub_opts *o, infer_error *err)
{
	return get_hf(path, ref, 1, o, err);
}
