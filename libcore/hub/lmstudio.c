/* hub/lmstudio.c - models of LM Studio: each is a folder ORG/REPO in its folder of models. */
#include "base/err.h"
#include "base/jread.h"
#include "file/file.h"
#include "hub/choose.h"
#include "hub/ref.h"
#include "hub/similar.h"
#include "hub/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_ROOM = 4096, FILES_MOST = 4096, TEXT_MOST = 1 << 20, ROOTS = 4, DEPTH = 2 };

/* Folders of models, in the order of the search. */
struct roots {
	char at[ROOTS][PATH_ROOM];
	int n;
};

static void add_root(struct roots *r, const char *home, const char *below)
{
	if (r->n < ROOTS &&
	    snprintf(r->at[r->n], PATH_ROOM, "%s%s", home, below) < PATH_ROOM - HUB_PATH_MOST)
		r->n++;
}

/* Add downloadsFolder of HOME/settings.json, if there is one. */
static int add_setting(struct roots *r, const char *home, infer_error *err)
{
	char path[PATH_ROOM], folder[PATH_ROOM];
	const struct json *j;
	struct arena mem;
	struct buf text;
	int absent;

	snprintf(path, sizeof path, "%s/settings.json", home);
	buf_init(&text, MEM_HUB);
	arena_init(&mem, MEM_HUB);
	int rc = hub_store_read(&text, path, TEXT_MOST, &absent, err);

	if (!rc && !absent)
		rc = jread(&j, &mem, text.at ? text.at : "", text.len, file_label(path), err);
	if (!rc && !absent) {
		const struct json *v = json_get(j, "downloadsFolder");
		size_t n = json_bytes(v);
		if (n && n < PATH_ROOM && *json_str(v) == '/' && !memchr(json_str(v), 0, n)) {
			memcpy(folder, json_str(v), n);
			folder[n] = 0;
			add_root(r, folder, "");
		}
	}
	arena_fini(&mem);
	buf_fini(&text);
	return rc;
}

/* Add the folders below the home of LM Studio that ~/.lmstudio-home-pointer names. */
static int add_pointer(struct roots *r, const char *home, infer_error *err)
{
	char path[PATH_ROOM];
	struct buf text;
	int absent;

	snprintf(path, sizeof path, "%s/.lmstudio-home-pointer", home);
	buf_init(&text, MEM_HUB);
	int rc = hub_store_read(&text, path, PATH_ROOM / 2, &absent, err);

	while (text.len && (text.at[text.len - 1] == '\n' || text.at[text.len - 1] == '\r'))
		text.at[--text.len] = 0;
	if (!rc && !absent && text.len && *text.at == '/' && !memchr(text.at, 0, text.len)) {
		rc = add_setting(r, text.at, err);
		add_root(r, text.at, "/models");
	}
	buf_fini(&text);
	return rc;
}

static int find_roots(struct roots *r, const struct infer_hub_opts *o, infer_error *err)
{
	char own[PATH_ROOM];

	r->n = 0;
	if (!o->home || strlen(o->home) > PATH_ROOM / 2)
		return err_set(err, INFER_EIO, "lmstudio: HOME does not name a directory");
	TRY(add_pointer(r, o->home, err));
	if (!r->n) {
		snprintf(own, sizeof own, "%s/.lmstudio", o->home);
		TRY(add_setting(r, own, err));
	}
	add_root(r, o->home, "/.lmstudio/models");
	add_root(r, o->home, "/.cache/lm-studio/models");
	return INFER_OK;
}

/* ---- names of all models ---- */

static void add_repos(struct hub_names *l, const char *root)
{
	DIR *d = opendir(root), *in;
	const struct dirent *e, *f;
	char path[PATH_ROOM + 256], name[600];

	while (d && (e = readdir(d)) && l->n < HUB_NAMES_MOST) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", root, e->d_name);
		in = opendir(path);
		while (in && (f = readdir(in)) && l->n < HUB_NAMES_MOST)
			if (f->d_name[0] != '.') {
				int n = snprintf(name, sizeof name, "%s/%s", e->d_name, f->d_name);
				hub_names_add(l, name, (size_t)n);
			}
		if (in)
			closedir(in);
	}
	if (d)
		closedir(d);
}

static int fail_missing_repo(const struct hub_ref *ref, const struct roots *r, infer_error *err)
{
	char similar[160] = "";
	struct arena mem;
	struct hub_names l = { .mem = &mem };

	arena_init(&mem, MEM_HUB);
	for (int i = 0; i < r->n; i++)
		add_repos(&l, r->at[i]);
	hub_names_say(similar, sizeof similar, &l, ref->repo, "lmstudio:");
	arena_fini(&mem);
	if (!*similar)
		return err_set(err, INFER_EIO, "lmstudio:%.80s: %s has no models of LM Studio",
		               ref->repo, file_label(r->at[0]));
	return err_set(err, INFER_EIO, "lmstudio:%.80s: is not in the store of LM Studio%s",
	               ref->repo, similar);
}

/* ---- one repository ---- */

struct list {
	struct arena mem;
	struct hub_entry *at; /* [n] files */
	size_t n;
};

/* Add the regular files in ROOT/below and its folders, to a depth of `left`.  Links are followed.
 * INFER_EIO INFER_ENOMEM; INFER_EFORMAT: more than FILES_MOST files */
static int list_files(struct list *l, const char *root, const char *below, int left,
                      infer_error *err)
{
	char path[PATH_ROOM + HUB_PATH_MOST], name[HUB_PATH_MOST];
	const struct dirent *e;
	struct stat st;
	int rc = INFER_OK;

	snprintf(path, sizeof path, "%s/%s", root, below);
	DIR *d = opendir(path);

	if (!d)
		return errno == EACCES ? hub_store_denied(path, err)
		                       : err_errno(err, errno, "%s", file_label(path));
	while (!rc && (e = readdir(d))) {
		int n = snprintf(name, sizeof name, "%s%s%s", below, *below ? "/" : "", e->d_name);

		if (e->d_name[0] == '.' || n >= (int)sizeof name || !hub_path_ok(name, (size_t)n))
			continue;
		snprintf(path, sizeof path, "%s/%s", root, name);
		if (stat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode) && left) {
			rc = list_files(l, root, name, left - 1, err);
		} else if (S_ISREG(st.st_mode)) {
			if (l->n == FILES_MOST)
				rc = err_set(err, INFER_EFORMAT, "%s: has more than %d files",
				             file_label(root), FILES_MOST);
			else
				l->at[l->n++] =
					(struct hub_entry){ arena_strndup(&l->mem, name, (size_t)n),
					                    (uint64_t)st.st_size };
		}
	}
	closedir(d);
	return rc || !l->mem.bad
	               ? rc
	               : err_set(err, INFER_ENOMEM, "%s: out of memory", file_label(root));
}

/* Choose a model of the folder ROOT/ORG/REPO and write its path. */
static int choose_model(char **path, const char *folder, const struct hub_ref *ref,
                        const struct infer_hub_opts *o, infer_error *err)
{
	char named[HUB_REPO + 16];
	struct hub_choice c;
	struct list l = { .n = 0 };
	struct buf out;

	arena_init(&l.mem, MEM_HUB);
	buf_init(&out, MEM_HUB);
	l.at = arena_alloc(&l.mem, FILES_MOST, sizeof *l.at);
	int rc = l.at ? list_files(&l, folder, "", DEPTH, err)
	              : err_set(err, INFER_ENOMEM, "%s: out of memory", file_label(folder));

	snprintf(named, sizeof named, "lmstudio:%s", ref->repo);
	if (!rc)
		rc = hub_choose(&c, &l.mem, l.at, l.n, ref->what, o->memory_bytes, named, err);
	if (!rc) {
		buf_printf(&out, "%s%s%s", folder, c.is_dir ? "" : "/", c.is_dir ? "" : c.first);
		*path = buf_take(&out, NULL);
		rc = *path ? INFER_OK
		           : err_set(err, INFER_ENOMEM, "%s: out of memory", file_label(folder));
	}
	if (!rc && *c.note && o->say)
		o->say(o->user, c.note);
	buf_fini(&out);
	arena_fini(&l.mem);
	return rc;
}

int hub_lmstudio_get(char **path, const char *ref, const struct infer_hub_opts *o, infer_error *err)
{
	static const char prefix[] = "lmstudio:";
	char folder[PATH_ROOM];
	struct roots r;
	struct hub_ref parsed;
	struct stat st;

	*path = NULL;
	if (strncmp(ref, prefix, sizeof prefix - 1) ||
	    hub_ref_parse_bare(&parsed, ref + sizeof prefix - 1, NULL) || parsed.has_rev)
		return err_set(err, INFER_EINVAL,
		               "%.80s: must be lmstudio:ORG/REPO[:FILE-OR-QUANT]", ref);
	TRY(find_roots(&r, o, err));
	for (int i = 0; i < r.n; i++) {
		snprintf(folder, sizeof folder, "%s/%s", r.at[i], parsed.repo);
		int absent = stat(folder, &st);

		if (absent && errno == EACCES)
			return hub_store_denied(folder, err);
		if (!absent && S_ISDIR(st.st_mode))
			return choose_model(path, folder, &parsed, o, err);
	}
	return fail_missing_repo(&parsed, &r, err);
}
