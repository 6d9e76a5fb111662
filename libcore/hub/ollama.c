/* hub/ollama.c - models of Ollama: the manifest manifests/HOST/USER/NAME/TAG names
 * blobs/sha256-HEX, a GGUF file. */
#include "base/err.h"
#include "file/file.h"
#include "hub/similar.h"
#include "hub/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_MOST = 4 << 20, TEMPLATE_MOST = 1 << 20, PATH_ROOM = 4096 };

/* Write the i-th folder that may contain models.  Returns 0 if there are no more.
 * out: [PATH_ROOM] */
static int model_folder_at(char *out, int i, const struct infer_hub_opts *o)
{
	static const char *const service[] = { "/usr/share/ollama/.ollama/models",
		                               "/var/lib/ollama/.ollama/models",
		                               "/var/lib/ollama/models",
		                               "/var/snap/ollama/common/models" };

	if (o->ollama) {
		snprintf(out, PATH_ROOM, "%s", o->ollama);
		return i == 0;
	}
	if (i == 0)
		snprintf(out, PATH_ROOM, "%s%s", o->home ? o->home : "",
		         o->home ? "/.ollama/models" : service[0]);
	else if (i <= (int)(sizeof service / sizeof *service))
		snprintf(out, PATH_ROOM, "%s", service[i - 1]);
	else
		return 0;
	return 1;
}

/* ---- names of all models ---- */

static const char *shown_name(const char *path)
{
	static const char *const defaults[] = { "registry.ollama.ai/", "library/" };

	for (int i = 0; i < 2; i++)
		if (!strncmp(path, defaults[i], strlen(defaults[i])))
			path += strlen(defaults[i]);
	return path;
}

/* Add the names of the manifests `left` levels below the directory path[0 .. n). */
static void add_names(struct hub_names *l, char *path, size_t n, size_t head, int left)
{
	path[n] = 0;
	DIR *d = opendir(path);
	const struct dirent *e;

	while (d && (e = readdir(d)) && l->n < HUB_NAMES_MOST) {
		size_t k = strlen(e->d_name);

		if (e->d_name[0] == '.' || n + k + 2 > PATH_ROOM)
			continue;
		path[n] = left ? '/' : ':';
		memcpy(path + n + 1, e->d_name, k + 1);
		if (left) {
			add_names(l, path, n + 1 + k, head, left - 1);
		} else {
			const char *name = shown_name(path + head);
			hub_names_add(l, name, strlen(name));
		}
	}
	if (d)
		closedir(d);
}

/* Return INFER_EIO for a name without a manifest.  The message lists similar names, or all. */
static int fail_missing_manifest(const struct ollama_name *name, const struct infer_hub_opts *o,
                                 infer_error *err)
{
	char path[PATH_ROOM], similar[160] = "";
	struct arena mem;
	struct hub_names l = { .mem = &mem };

	arena_init(&mem, MEM_HUB);
	for (int i = 0; model_folder_at(path, i, o); i++) {
		size_t n = strlen(path);

		if (n + 16 > PATH_ROOM)
			continue;
		memcpy(path + n, "/manifests", 11);
		add_names(&l, path, n + 10, n + 11, 3);
	}
	size_t untagged = strcspn(name->shown, ":");
	char typed[OLLAMA_NAME];

	memcpy(typed, name->shown, sizeof typed);
	if (!strcmp(typed + untagged, ":latest"))
		typed[untagged] = 0;
	hub_names_say(similar, sizeof similar, &l, typed, "ollama:");
	arena_fini(&mem);
	model_folder_at(path, 0, o);
	if (!*similar)
		return err_set(
			err, INFER_EIO, "ollama:%.60s: %s has no models of Ollama%s", typed,
			file_label(path),
			o->ollama ? ""
				  : ", nor has its service; OLLAMA_MODELS names another folder");
	return err_set(err, INFER_EIO, "ollama:%.60s: is not in the store of Ollama%s", typed,
	               similar);
}

/* ---- one model ---- */

struct found {
	char folder[PATH_ROOM], path[PATH_ROOM + OLLAMA_NAME + 16];
	struct buf manifest;
};

static int find_manifest(struct found *f, const struct ollama_name *name,
                         const struct infer_hub_opts *o, infer_error *err)
{
	infer_error denied = { 0 };
	int absent = 1, rc = INFER_OK;

	for (int i = 0; absent && model_folder_at(f->folder, i, o); i++) {
		snprintf(f->path, sizeof f->path, "%s/manifests/%s", f->folder, name->path);
		rc = hub_store_read(&f->manifest, f->path, MANIFEST_MOST, &absent, err);
		if (rc == INFER_EIO && !denied.code) { /* not readable: try the other folders */
			denied = err ? *err : (infer_error){ .code = rc };
			absent = 1;
		} else if (rc) {
			return rc;
		}
	}
	if (!absent)
		return INFER_OK;
	if (denied.code)
		return err_set(err, denied.code, "%s", denied.message);
	return fail_missing_manifest(name, o, err);
}

static void write_blob_path(char *out, size_t room, const struct found *f, const char *hex)
{
	snprintf(out, room, "%s/blobs/sha256-%s", f->folder, hex);
}

/* Check that the model's blob exists, has the manifest's size and is readable. */
static int check_blob(const char *path, const struct ollama_layers *l,
                      const struct ollama_name *name, infer_error *err)
{
	struct stat st;

	if (stat(path, &st)) {
		if (errno == EACCES)
			return hub_store_denied(path, err);
		if (errno != ENOENT && errno != ENOTDIR)
			return err_errno(err, errno, "%s", file_label(path));
		return err_set(err, INFER_EIO,
		               "ollama:%.60s: its file %.24s... is missing; `ollama pull %.60s` "
		               "gets it again",
		               name->shown, strrchr(path, '/') + 1, name->shown);
	}
	if (!S_ISREG(st.st_mode))
		return err_set(err, INFER_EFORMAT, "%s: is not a regular file", file_label(path));
	if ((uint64_t)st.st_size != l->model_bytes)
		return err_set(err, INFER_EFORMAT,
		               "ollama:%.40s: its file must have %llu bytes, and has %llu; "
		               "`ollama pull %.40s` gets it again",
		               name->shown, (unsigned long long)l->model_bytes,
		               (unsigned long long)st.st_size, name->shown);
	return access(path, R_OK) ? hub_store_denied(path, err) : INFER_OK;
}

/* Set *o->chat to the Jinja source for the template layer. */
static int take_chat(const struct found *f, const struct ollama_layers *l,
                     const struct ollama_name *name, const struct infer_hub_opts *o,
                     infer_error *err)
{
	char path[PATH_ROOM + OLLAMA_HEX + 16], said[256];
	const char *jinja, *family = "";
	struct buf go;
	int absent;

	if (!o->chat || !*l->chat)
		return INFER_OK;
	write_blob_path(path, sizeof path, f, l->chat);
	buf_init(&go, MEM_HUB);
	int rc = hub_store_read(&go, path, TEMPLATE_MOST, &absent, err);

	if (!rc) {
		jinja = go.len ? ollama_template(go.at, go.len, &family) : NULL;
		*o->chat = mem_strndup(MEM_HUB, jinja ? jinja : "", jinja ? strlen(jinja) : 0);
		rc = *o->chat ? INFER_OK : err_set(err, INFER_ENOMEM, "out of memory for a path");
	}
	if (!rc && jinja && o->note) {
		snprintf(said, sizeof said,
		         "ollama:%.60s: its Go template is that of %s; used if the model file has "
		         "no "
		         "chat template",
		         name->shown, family);
		o->note(o->user, said);
	}
	buf_fini(&go);
	return rc;
}

static void say_unused(const struct found *f, const struct ollama_layers *l,
                       const struct ollama_name *name, const struct infer_hub_opts *o)
{
	char said[PATH_ROOM + 256];

	if (*l->unused && o->note) {
		snprintf(said, sizeof said, "ollama:%.60s: %s of Ollama are not used", name->shown,
		         l->unused);
		o->note(o->user, said);
	}
	if (*l->projector && o->say) {
		snprintf(said, sizeof said,
		         "ollama:%.60s: the projector for images is not used: %s/blobs/sha256-%s",
		         name->shown, f->folder, l->projector);
		o->say(o->user, said);
	}
}

int hub_ollama_get(char **path, const char *ref, const struct infer_hub_opts *o, infer_error *err)
{
	static const char prefix[] = "ollama:";
	struct found f = { .folder = "" };
	struct ollama_name name;
	struct ollama_layers l;
	char blob[PATH_ROOM + OLLAMA_HEX + 16];

	*path = NULL;
	if (strncmp(ref, prefix, sizeof prefix - 1))
		return err_set(err, INFER_EINVAL, "%.80s: is not a name of Ollama", ref);
	TRY(ollama_name_parse(&name, ref + sizeof prefix - 1, err));
	buf_init(&f.manifest, MEM_HUB);
	int rc = find_manifest(&f, &name, o, err);

	if (!rc)
		rc = ollama_manifest(&l, f.manifest.at ? f.manifest.at : "", f.manifest.len,
		                     file_label(f.path), err);
	buf_fini(&f.manifest);
	TRY(rc);
	write_blob_path(blob, sizeof blob, &f, l.model);
	TRY(check_blob(blob, &l, &name, err));
	*path = mem_strndup(MEM_HUB, blob, strlen(blob));
	if (!*path)
		return err_set(err, INFER_ENOMEM, "out of memory for a path");
	rc = take_chat(&f, &l, &name, o, err);
	if (rc) {
		mem_free(*path);
		*path = NULL;
		return rc;
	}
	say_unused(&f, &l, &name, o);
	return INFER_OK;
}
