/* hub/tree.c - parse JSON of the hub's API. */
#include "hub/tree.h"
#include "base/err.h"
#include "base/jread.h"

#include <string.h>

static const char what[] = "the hub's answer";

int hub_revision_read(char commit[HUB_COMMIT], const char *text, size_t n, infer_error *err)
{
	const struct json *v, *sha;
	struct arena mem;
	int rc;

	arena_init(&mem, MEM_HUB);
	rc = jread(&v, &mem, text, n, what, err);
	sha = json_get(v, "sha");
	*commit = 0;
	if (!rc && json_bytes(sha) == HUB_COMMIT - 1) {
		memcpy(commit, sha->s, HUB_COMMIT - 1);
		commit[HUB_COMMIT - 1] = 0;
	}
	if (!rc && !hub_is_hex(commit, HUB_COMMIT - 1))
		rc = err_set(err, INFER_EFORMAT, "%s: \"sha\" must be a commit of 40 digits", what);
	arena_fini(&mem);
	return rc;
}

static int grow_tree(struct hub_tree *t, infer_error *err)
{
	size_t cap = t->cap ? 2 * t->cap : 256;
	struct hub_entry *more;

	if (t->n < t->cap)
		return INFER_OK;
	if (t->n >= HUB_FILES)
		return err_set(err, INFER_EUNSUP, "a repository of more than %d files", HUB_FILES);
	more = arena_alloc(t->mem, cap, sizeof *more);
	if (!more)
		return err_set(err, INFER_ENOMEM, "out of memory for a list of files");
	if (t->n)
		memcpy(more, t->at, t->n * sizeof *more);
	t->at = more;
	t->cap = cap;
	return INFER_OK;
}

static int add_file(struct hub_tree *t, const struct json *v, infer_error *err)
{
	const struct json *path = json_get(v, "path"), *lfs = json_get(v, "lfs"), *size;

	if (!json_is_string(path) || !hub_path_ok(path->s, path->n))
		return err_set(err, INFER_EFORMAT,
		               "%s: \"path\" must be a path of the repository: '%.*s'", what,
		               json_bytes(path) > 80 ? 80 : (int)json_bytes(path), json_str(path));
	size = json_is_object(lfs) ? json_get(lfs, "size") : json_get(v, "size");
	if (!json_is(size, JSON_INT) || size->i < 0)
		return err_set(err, INFER_EFORMAT,
		               "%s: \"size\" of '%.*s' must be a number of bytes", what,
		               path->n > 80 ? 80 : (int)path->n, path->s);
	TRY(grow_tree(t, err));
	t->at[t->n].path = arena_strndup(t->mem, path->s, path->n);
	t->at[t->n].bytes = (uint64_t)size->i;
	return t->at[t->n++].path ? INFER_OK
	                          : err_set(err, INFER_ENOMEM, "out of memory for a list of files");
}

int hub_tree_add(struct hub_tree *t, const char *text, size_t n, infer_error *err)
{
	const struct json *all;
	struct arena mem;
	int rc;

	arena_init(&mem, MEM_HUB);
	rc = jread(&all, &mem, text, n, what, err);
	if (!rc && !json_is_array(all))
		rc = err_set(err, INFER_EFORMAT, "%s: the files of a repository must be an array",
		             what);
	for (const struct json *v = json_first(all); !rc && v; v = v->next)
		if (json_equals(json_get(v, "type"), "file"))
			rc = add_file(t, v, err);
	arena_fini(&mem);
	return rc;
}
