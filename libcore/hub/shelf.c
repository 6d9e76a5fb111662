/* hub/shelf.c - list the contents of the cache. */
#include "hub/shelf.h"
#include "base/buf.h"
#include "base/err.h"
#include "hub/choose_inner.h"
#include "hub/get.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int compare_dir_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_name(struct hub_dirs *d, size_t *cap, struct arena *mem, const char *name,
                    infer_error *err)
{
	if (d->n == HUB_DIRS_MOST)
		return err_set(err, INFER_EUNSUP, "a directory of the cache has more than %d names",
		               HUB_DIRS_MOST);
	if (d->n == *cap) {
		const char **more = arena_alloc(mem, *cap ? 2 * *cap : 64, sizeof *more);

		if (!more)
			return err_nomem(err);
		if (d->n)
			memcpy(more, d->at, d->n * sizeof *more);
		d->at = more;
		*cap = *cap ? 2 * *cap : 64;
	}
	d->at[d->n] = arena_strndup(mem, name, strlen(name));
	return d->at[d->n++] ? INFER_OK : err_nomem(err);
}

int hub_names(struct hub_dirs *d, struct arena *mem, int dir, const char *path, infer_error *err)
{
	const struct dirent *e;
	const char *name;
	size_t cap = 0;
	int fd = hub_open_parent(dir, *path ? path : "./", 0, &name), rc = INFER_OK;
	DIR *open = fd < 0 ? NULL : fdopendir(fd);

	*d = (struct hub_dirs){ 0 };
	if (!open && fd >= 0)
		close(fd);
	if (!open)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
		               ? INFER_OK
		               : err_errno(err, errno, "%.120s of the cache", path);
	rewinddir(open);
	while (!rc && (e = readdir(open)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = add_name(d, &cap, mem, e->d_name, err);
	closedir(open);
	if (d->n)
		qsort(d->at, d->n, sizeof *d->at, compare_dir_names);
	return rc;
}

/* Add the refs of a folder and its subfolders.  Recursion ends at paths of HUB_REV bytes. */
static int add_refs(struct hub_dirs *all, size_t *cap, struct arena *mem, const struct hub_cache *c,
                    const char *below, infer_error *err)
{
	char path[HUB_REV + 280], commit[HUB_COMMIT];
	struct hub_dirs d;

	snprintf(path, sizeof path, "refs/%s%s", below, *below ? "/" : "");
	TRY(hub_names(&d, mem, c->repo, path, err));
	for (size_t i = 0; i < d.n; i++) {
		snprintf(path, sizeof path, "%s%s%s", below, *below ? "/" : "", d.at[i]);
		if (!hub_rev_ok(path, strlen(path)))
			continue;
		if (!hub_ref_read(commit, c, path, NULL) && *commit)
			TRY(add_name(all, cap, mem, path, err));
		else
			TRY(add_refs(all, cap, mem, c, path, err));
	}
	return INFER_OK;
}

int hub_refs(struct hub_dirs *d, struct arena *mem, const struct hub_cache *c, infer_error *err)
{
	size_t cap = 0;

	*d = (struct hub_dirs){ 0 };
	return add_refs(d, &cap, mem, c, "", err);
}

/* ---- listing ---- */

struct walk {
	const struct infer_hub_opts *o;
	infer_hub_list_fn *fn;
	void *user;
	struct arena mem;
	int stopped; /* fn failed */
};

/* Write the branches and tags of a commit: "main, v1". */
static int name_refs(struct buf *b, struct walk *w, const struct hub_cache *c, const char *commit,
                     infer_error *err)
{
	struct hub_dirs refs;
	char is[HUB_COMMIT];

	TRY(hub_refs(&refs, &w->mem, c, err));
	for (size_t i = 0; i < refs.n; i++)
		if (!hub_ref_read(is, c, refs.at[i], NULL) && !strcmp(is, commit))
			buf_printf(b, "%s%s", b->len ? ", " : "", refs.at[i]);
	return INFER_OK;
}

static void add_entry_bytes(struct infer_hub_model *m, const struct hub_cache *c,
                            const struct hub_entry *e)
{
	char path[HUB_PATH_MOST + HUB_COMMIT + 16];
	struct stat st;

	snprintf(path, sizeof path, "snapshots/%s/%s", m->commit, e->path);
	if (!fstatat(c->repo, path, &st, 0) && st.st_atim.tv_sec > m->used_s)
		m->used_s = st.st_atim.tv_sec;
	m->bytes += e->bytes;
}

static int list_snapshot(struct walk *w, const struct hub_cache *c, const char *repo,
                         const char *commit, infer_error *err)
{
	struct infer_hub_model m = { .repo = repo, .commit = commit };
	struct hub_entry *list;
	struct infer_hub_file *files;
	char quants[400];
	struct buf refs;
	int rc;

	TRY(hub_snapshot_list(&list, &m.n_files, &w->mem, c, commit, err));
	TRY(hub_quants(quants, sizeof quants, &w->mem, list, m.n_files, err));
	files = arena_alloc(&w->mem, m.n_files + 1, sizeof *files);
	if (!files)
		return err_nomem(err);
	for (size_t i = 0; i < m.n_files; i++) {
		files[i] = (struct infer_hub_file){ list[i].path, list[i].bytes };
		add_entry_bytes(&m, c, &list[i]);
	}
	buf_init(&refs, MEM_HUB);
	rc = name_refs(&refs, w, c, commit, err);
	if (!rc && refs.bad)
		rc = err_nomem(err);
	m.files = files;
	m.quants = quants;
	m.refs = refs.len ? refs.at : "";
	if (!rc) {
		rc = w->fn(w->user, &m, err);
		w->stopped = rc != INFER_OK;
	}
	buf_fini(&refs);
	return rc;
}

/* List the snapshots of a repository.  folder: models--ORG--REPO, a folder of the cache */
static int list_repo(struct walk *w, const char *folder, infer_error *err)
{
	char repo[HUB_REPO];
	const char *name = folder + 8, *dash = strstr(name, "--");
	struct hub_dirs commits;
	struct hub_cache c;

	snprintf(repo, sizeof repo, "%.*s/%s", (int)(dash - name), name, dash + 2);
	TRY(hub_cache_open(&c, w->o, folder, 0, err));
	int rc = c.repo < 0 ? INFER_OK : hub_names(&commits, &w->mem, c.repo, "snapshots/", err);

	for (size_t i = 0; !rc && c.repo >= 0 && i < commits.n; i++)
		if (hub_is_hex(commits.at[i], HUB_COMMIT - 1))
			rc = list_snapshot(w, &c, repo, commits.at[i], err);
	hub_cache_close(&c);
	return rc;
}

/* True for models--ORG--REPO with names that the hub allows, which are safe to print. */
static int is_folder(const char *name)
{
	const char *dash = strncmp(name, "models--", 8) != 0 ? NULL : strstr(name + 8, "--");
	char repo[HUB_REPO];

	if (!dash || strlen(name) >= HUB_REPO + 6)
		return 0;
	int n = snprintf(repo, sizeof repo, "%.*s/%s", (int)(dash - name - 8), name + 8, dash + 2);

	return hub_repo_ok(repo, (size_t)n);
}

int infer_hub_list(const struct infer_hub_opts *o, infer_hub_list_fn *fn, void *user,
                   infer_error *err)
{
	struct walk w = { .o = o, .fn = fn, .user = user };
	struct hub_dirs folders = { 0 };
	struct hub_cache c;
	infer_error why;
	int rc;

	TRY(hub_cache_open(&c, o, "", 0, err));
	if (c.root < 0)
		return INFER_OK;
	arena_init(&w.mem, MEM_HUB);
	rc = hub_names(&folders, &w.mem, c.root, "", err);
	hub_cache_close(&c);
	for (size_t i = 0; !rc && i < folders.n; i++) {
		if (!is_folder(folders.at[i]))
			continue;
		rc = list_repo(&w, folders.at[i], &why);
		if ((rc == INFER_EIO || rc == INFER_EUNSUP) && !w.stopped) {
			hub_say(o, "left out: %s%s%s", rc == INFER_EIO ? "" : folders.at[i],
			        rc == INFER_EIO ? "" : ": ", why.message);
			rc = INFER_OK;
		} else if (rc) {
			err_set(err, rc, "%s", why.message);
		}
	}
	arena_fini(&w.mem);
	return rc;
}
