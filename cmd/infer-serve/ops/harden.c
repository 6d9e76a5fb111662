/* infer-serve/ops/harden.c - drop privileges that the server does not need. Without kernel support the
 * server runs unrestricted, and -v prints a note. */
#include "infer-serve/ops/harden.h"
#include "infer-serve/ops/lora.h"
#include "infer-serve/ops/server.h"
#include "common/lora.h"
#include "common/model.h"
#include "common/say.h"
#include "base/err.h"
#include "base/sandbox.h"

#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Append a copy of path (NULL: nothing).  paths: char *[] */
static void add_path(struct buf *paths, const char *path)
{
	char *copy;

	if (!path)
		return;
	copy = mem_strndup(MEM_BASE, path, strlen(path));
	paths->bad |= !copy;
	buf_put(paths, &copy, sizeof copy);
	if (paths->bad)
		mem_free(copy);
}

/* Add the folder of a file that is read again later, and the folder of its link target. */
static void add_folder(struct buf *p, const char *file)
{
	char *real, *copy;

	if (!file)
		return;
	copy = mem_strndup(MEM_BASE, file, strlen(file));
	p->bad |= !copy;
	if (!copy)
		return;
	add_path(p, dirname(copy));
	mem_free(copy);
	real = realpath(file, NULL);
	if (real)
		add_path(p, dirname(real));
	free(real);
}

/* Add the directory of a model and the folders of the link targets in it (the hub's cache uses links). */
static void add_directory(struct buf *p, const char *path, DIR *dir)
{
	char last[PATH_MAX] = "", real[PATH_MAX], name[PATH_MAX];
	const struct dirent *e;

	add_path(p, path);
	while ((e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    snprintf(name, sizeof name, "%s/%s", path, e->d_name) >= (int)sizeof name ||
		    !realpath(name, real))
			continue;
		const char *folder = dirname(real);
		if (strcmp(folder, last) != 0)
			add_path(p, folder);
		snprintf(last, sizeof last, "%s", folder);
	}
}

static void add_model(struct buf *p, const char *path)
{
	DIR *dir = path ? opendir(path) : NULL;

	if (!dir) {
		add_folder(p, path);
		return;
	}
	add_directory(p, path, dir);
	closedir(dir);
}

/* True if an engine uses a GPU: its driver opens files and loads programs at any time. */
static int has_gpu(const struct server *s)
{
	for (const struct served *m = s->models; m; m = m->next)
		if (m->engine && engine_has_gpu(m->engine))
			return 1;
	return 0;
}

/* Add the folders in which the access log is created again after it was renamed. */
static void add_log(struct buf *p, const struct server *s)
{
	const char *path = s->o->access_log;
	struct stat st;

	if (path && strcmp(path, "-") != 0 && !stat(path, &st) && S_ISREG(st.st_mode))
		add_folder(p, path);
}

static void free_paths(struct buf *paths)
{
	char *const *at = (char *const *)(const void *)paths->at;

	for (size_t i = 0; i < paths->len / sizeof *at; i++)
		mem_free(at[i]);
	buf_fini(paths);
}

/* Add the files of the adapters of m, which is loaded again after it was unloaded. */
static void add_loras(struct buf *p, const struct served *m)
{
	infer_error err;
	float scale;
	char *path;

	for (int i = 0; i < m->o.loras.n; i++) {
		if (lora_split(&path, &scale, m->o.loras.at[i], &err))
			continue;
		add_model(p, path);
		mem_free(path);
	}
	for (const struct named_lora *l = m->loras; l; l = l->next)
		add_model(p, l->path);
	add_path(p, m->o.lora_dir);
}

int harden_files(const struct server *s, infer_error *err)
{
	/* /proc: counters of the process; the others: time zones, for templates */
	static const char *const always[] = { "/proc", "/etc", "/usr/share/zoneinfo", "/dev/null" };
	const char *const *at, *const *logged;
	infer_error why;
	struct buf p, logs;
	int bad;

	if (has_gpu(s)) {
		say_note(1, "all files stay in reach: the driver of the GPU opens some");
		return INFER_OK;
	}
	buf_init(&p, MEM_BASE);
	buf_init(&logs, MEM_BASE);
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		add_path(&p, always[i]);
	for (const struct served *m = s->models; m; m = m->next) {
		add_model(&p, m->model ? infer_file_path(infer_model_file(m->model)) : m->o.model);
		add_folder(&p, m->o.chat.template);
		add_folder(&p, m->o.api_key_file);
		add_loras(&p, m);
	}
	if (s->o->config) {
		/* needed when a model is loaded later */
		add_path(&p, "/sys/devices/system");
		add_path(&p, "/sys/fs/cgroup");
		add_folder(&p, s->o->config);
		add_path(&p, model_cache()); /* searched for hub references after SIGHUP */
		for (size_t i = 0; i < s->folders.len; i += strlen(s->folders.at + i) + 1)
			add_path(&p, s->folders.at + i);
	}
	add_folder(&p, s->o->api_key_file);
	add_path(&p, s->o->files_dir);
	add_log(&logs, s);
	at = (const char *const *)(const void *)p.at;
	logged = (const char *const *)(const void *)logs.at;
	bad = p.bad || logs.bad;
	if (!bad &&
	    sandbox_paths(at, (int)(p.len / sizeof *at), &s->o->files_dir, s->o->files_dir != NULL,
	                  logged, (int)(logs.len / sizeof *logged), &why))
		say_note(1, "all files stay in reach: %s", why.message);
	free_paths(&p);
	free_paths(&logs);
	return bad ? err_set(err, INFER_ENOMEM, "no memory for the names of folders") : INFER_OK;
}

int harden_removals(const struct server *s, const char *path, infer_error *err)
{
	const char *folders[2];
	char *copy = NULL;
	infer_error why;
	int n = 0;

	if (has_gpu(s))
		return INFER_OK;
	if (s->o->files_dir)
		folders[n++] = s->o->files_dir;
	if (path) {
		copy = mem_strndup(MEM_BASE, path, strlen(path));
		if (!copy)
			return err_set(err, INFER_ENOMEM, "no memory for the name of a folder");
		folders[n++] = dirname(copy);
	}
	if (sandbox_removals(folders, n, &why))
		say_note(1, "files can be removed everywhere: %s", why.message);
	mem_free(copy);
	return INFER_OK;
}

void harden(const struct server *s)
{
	infer_error err;

	if (has_gpu(s))
		say_note(1, "all system calls stay in reach: the driver of the GPU makes some");
	else if (sandbox_serve(&err))
		say_note(1, "all system calls stay in reach: %s", err.message);
}
