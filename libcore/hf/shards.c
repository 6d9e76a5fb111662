/* hf/shards.c - the safetensors files of a directory: model.safetensors, or the files in
 * model.safetensors.index.json.
 *
 *   {"metadata": {"total_size": 8}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors",
 *   ...}} */
#include "base/err.h"
#include "hf/hf.h"

#include <stdlib.h>
#include <string.h>

static const char single[] = "model.safetensors", index_name[] = "model.safetensors.index.json",
		  ending[] = ".safetensors";
enum { SHARDS_MAX = 65536 };

static int is_shard_name(const char *s, size_t n)
{
	size_t end = sizeof ending - 1;

	return n > end && n <= 255 && !memcmp(s + n - end, ending, end);
}

/* True for a file name without a path: the index must not name files outside the directory. */
static int is_plain_name(const char *s, size_t n)
{
	return is_shard_name(s, n) && s[0] != '.' && !memchr(s, '/', n) && !memchr(s, 0, n);
}

/* Map DIR/name and read its table. */
static int add_shard(struct hf_dir *d, const char *name, infer_error *err)
{
	struct hf_text t;

	TRY(hf_text_read(d, name, &t, err));
	if (!t.at)
		return hf_fail(d, name, INFER_EIO, err,
		               "there is no such file, but %s names it (a download that is not "
		               "complete?)",
		               index_name);
	return safetensors_read(&d->raw, d->f, d->f->n_shards - 1, err);
}

static int compare_shard_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* List the distinct values of the weight map, sorted, NUL-terminated, in d->arena. */
static int list_shards(struct hf_dir *d, const struct json *map, const char ***names, int *n,
                       infer_error *err)
{
	char key[FILE_QUOTE], value[FILE_QUOTE];
	struct map seen;
	int rc = INFER_OK, cap = 0;

	if (map_init(&seen, MEM_FILE, 64))
		return hf_nomem(d, err);
	json_each(v, map) {
		if (!json_is_string(v) || !is_plain_name(v->s, v->n)) {
			rc = hf_fail(d, index_name, INFER_EFORMAT, err,
			             "weight_map: %s: \"%.60s\" must be the name of a .safetensors "
			             "file of this directory",
			             file_quote(key, v->key, v->key_n),
			             json_is_string(v) ? file_quote(value, v->s, v->n)
			                               : "the value");
			break;
		}
		if (map_get(&seen, v->s, v->n))
			continue;
		if (*n == cap) {
			const char **more =
				*n < SHARDS_MAX ? arena_alloc(&d->brief, cap ? 2 * (size_t)cap : 64,
			                                      sizeof *more)
						: NULL;
			if (more && *n)
				memcpy(more, *names, (size_t)*n * sizeof *more);
			if (more)
				*names = more;
			cap = !more ? *n : cap ? 2 * cap : 64;
		}
		char *name = arena_strndup(&d->arena, v->s, v->n);
		if (*n == cap || !name || map_put(&seen, name, v->n, (uint32_t)*n)) {
			rc = hf_nomem(d, err);
			break;
		}
		(*names)[(*n)++] = name;
	}
	map_fini(&seen);
	if (!rc && *n)
		qsort(*names, (size_t)*n, sizeof **names, compare_shard_names);
	return rc;
}

/* Return the file name of a shard. */
static const char *shard_name(const struct hf_dir *d, int shard)
{
	return strrchr(d->f->shards[shard].path, '/') + 1;
}

/* Check that the index and the shards list the same tensors. */
static int check_index(const struct hf_dir *d, const struct json *map, infer_error *err)
{
	char name[FILE_QUOTE], value[FILE_QUOTE];
	struct map listed;
	int rc = INFER_OK;

	if (map_init(&listed, MEM_FILE, (uint32_t)json_count(map)))
		return hf_nomem(d, err);
	json_each(v, map) {
		const struct safetensors_tensor *t = safetensors_find(&d->raw, v->key, v->key_n);
		const char *in = t ? shard_name(d, t->shard) : NULL;

		if (!in || strlen(in) != v->n || memcmp(in, v->s, v->n))
			rc = hf_fail(d, index_name, INFER_EFORMAT, err,
			             "weight_map: %s: %.60s has no such tensor",
			             file_quote(name, v->key, v->key_n),
			             file_quote(value, v->s, v->n));
		else if (map_put(&listed, v->key, v->key_n, 0))
			rc = hf_nomem(d, err);
		if (rc)
			break;
	}
	for (uint32_t i = 0; !rc && i < d->raw.n; i++) {
		const struct safetensors_tensor *t = &d->raw.at[i];

		if (!map_get(&listed, t->name.at, t->name.len))
			rc = hf_fail(d, shard_name(d, t->shard), INFER_EFORMAT, err,
			             "tensor %s: %s does not name it",
			             file_quote(name, t->name.at, t->name.len), index_name);
	}
	map_fini(&listed);
	return rc;
}

static int read_index(struct hf_dir *d, const struct json *index, infer_error *err)
{
	const struct json *map = json_get(index, "weight_map"), *meta = json_get(index, "metadata");
	char key[FILE_QUOTE];
	const char **names = NULL;
	int n = 0;

	if (!json_is_object(index) || !json_is_object(map) || !json_count(map))
		return hf_fail(d, index_name, INFER_EFORMAT, err,
		               "\"weight_map\" must be an object with a member for each tensor");
	if (meta && !json_is_object(meta) && !json_is_null(meta))
		return hf_fail(d, index_name, INFER_EFORMAT, err, "\"metadata\" must be an object");
	json_each(v, index)
		if (v != map && v != meta)
			return hf_fail(d, index_name, INFER_EUNSUP, err,
			               "the member \"%.60s\" is not known",
			               file_quote(key, v->key, v->key_n));
	TRY(list_shards(d, map, &names, &n, err));
	for (int i = 0; i < n; i++)
		TRY(add_shard(d, names[i], err));
	return check_index(d, map, err);
}

/* Fail if files named like shards are not in the index: they would be ignored silently. */
static int check_others(struct hf_dir *d, int has_index, int has_single, infer_error *err)
{
	const char *const *names;
	int n;

	TRY(hf_list(d, "", &names, &n, err));
	for (int i = 0; i < n; i++) {
		int used = 0;

		if (strncmp(names[i], "model", 5) || !is_shard_name(names[i], strlen(names[i])))
			continue;
		for (int k = 0; k < d->f->n_shards && !used; k++)
			used = !strcmp(shard_name(d, k), names[i]);
		if (!used && has_index)
			return hf_fail(d, names[i], INFER_EFORMAT, err,
			               "%s does not name this file", index_name);
		if (!used && has_single)
			return hf_fail(d, names[i], INFER_EFORMAT, err,
			               "it is next to %s, without an index that names both: which "
			               "is the model?",
			               single);
		if (!used)
			return hf_fail(d, names[i], INFER_EFORMAT, err,
			               "there is no %s, which names the files of the model",
			               index_name);
	}
	return INFER_OK;
}

int hf_shards(struct hf_dir *d, infer_error *err)
{
	const struct json *index;
	struct hf_text t;

	TRY(hf_text_read(d, index_name, &t, err));
	if (!t.at) {
		TRY(hf_text_read(d, single, &t, err));
		if (t.at)
			TRY(safetensors_read(&d->raw, d->f, d->f->n_shards - 1, err));
		TRY(check_others(d, 0, t.at != NULL, err));
		return t.at ? INFER_OK
		            : hf_fail(d, single, INFER_EUNSUP, err, "there is no such file, nor %s",
		                      index_name);
	}
	TRY(hf_json_read(d, &t, &index, err));
	TRY(read_index(d, index, err));
	return check_others(d, 1, 0, err);
}
