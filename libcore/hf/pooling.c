/* hf/pooling.c - read modules.json, the list of steps that sentence-transformers applies to a text. */
#include "base/err.h"
#include "hf/keys.h"

#include <stdio.h>
#include <string.h>

enum { MEAN = 1, FIRST = 2, LAST = 3 }; /* values of the key pooling_type */

/* True if the string ends with `end`: "sentence_transformers.models.Pooling". */
static int has_class_suffix(const struct json *v, const char *end)
{
	size_t n = strlen(end), all = json_bytes(v);

	return all >= n && !memcmp(json_str(v) + all - n, end, n);
}

static int fail_pooling(const struct hf_dir *d, const char *file, infer_error *err)
{
	return hf_fail(d, file, INFER_EUNSUP, err,
	               "one of mean, first token (cls) and last token must be the pooling");
}

/* Set *way to the pooling mode; fail unless exactly one is set. */
static int find_pooling_mode(const struct hf_dir *d, const struct json *config, const char *file,
                             int *way, infer_error *err)
{
	static const struct {
		const char *flag, *name;
		int way;
	} ways[] = { { "pooling_mode_mean_tokens", "mean", MEAN },
		     { "pooling_mode_cls_token", "cls", FIRST },
		     { "pooling_mode_lasttoken", "lasttoken", LAST } };
	const struct json *name = json_get(config, "pooling_mode");

	*way = 0;
	if (json_is(json_get(config, "include_prompt"), JSON_FALSE))
		return hf_fail(d, file, INFER_EUNSUP, err,
		               "key include_prompt: false is not supported");
	json_each(v, config) {
		int known = 0;
		if (v->key_n < 13 || memcmp(v->key, "pooling_mode_", 13) != 0 ||
		    v->kind != JSON_TRUE)
			continue;
		for (int i = 0; i < 3; i++)
			if (strlen(ways[i].flag) == v->key_n &&
			    !memcmp(ways[i].flag, v->key, v->key_n))
				known = ways[i].way;
		if (!known || *way)
			return fail_pooling(d, file, err);
		*way = known;
	}
	for (int i = 0; i < 3 && !*way; i++)
		if (json_equals(name, ways[i].name))
			*way = ways[i].way;
	return *way ? INFER_OK : fail_pooling(d, file, err);
}

/* Return the path of a file in the folder of a module, in d->arena: the shard refers to it. */
static const char *module_file(struct hf_dir *d, const struct json *path)
{
	char name[256];

	snprintf(name, sizeof name, "%.*s/config.json", (int)json_bytes(path), json_str(path));
	return arena_strndup(&d->arena, name, strlen(name));
}

static int read_pooling(struct hf_dir *d, const struct json *path, infer_error *err)
{
	const char *file = module_file(d, path);
	const struct json *config = NULL;
	struct hf_text text = { 0 };
	char key[KEY_NAME];
	int way;

	if (!file)
		return err_set(err, INFER_ENOMEM, "%s: no memory for its modules", d->path);
	TRY(hf_text_read(d, file, &text, err));
	TRY(hf_json_read(d, &text, &config, err));
	if (!json_is_object(config))
		return hf_fail(d, file, INFER_EFORMAT, err, "%s",
		               text.at ? "must be a JSON object"
		                       : "missing, but modules.json names it");
	TRY(find_pooling_mode(d, config, file, &way, err));
	hf_key_name(d, K_POOLING, key);
	gguf_write_u32(d->keys, key, (uint32_t)way);
	return INFER_OK;
}

/* True if the path names a folder in the directory itself. */
static int is_folder(const struct json *path)
{
	size_t n = json_bytes(path);

	return n && n < 64 && !memchr(json_str(path), '/', n) && !memchr(json_str(path), 0, n) &&
	       json_str(path)[0] != '.';
}

static int read_module(struct hf_dir *d, const struct json *module, infer_error *err)
{
	const struct json *type = json_get(module, "type"), *path = json_get(module, "path");
	char folder[64];

	if (!json_is_string(type) || !json_is_string(path))
		return hf_fail(d, "modules.json", INFER_EFORMAT, err,
		               "a module must have a type and a path");
	if (has_class_suffix(type, ".Normalize") ||
	    (has_class_suffix(type, ".Transformer") && !json_bytes(path)))
		return INFER_OK;
	if (!is_folder(path))
		return hf_fail(d, "modules.json", INFER_EUNSUP, err,
		               "key path: %.*s is not a folder of the directory",
		               (int)(json_bytes(path) < 64 ? json_bytes(path) : 64),
		               json_str(path));
	if (has_class_suffix(type, ".Pooling"))
		return read_pooling(d, path, err);
	if (!has_class_suffix(type, ".Dense"))
		return hf_fail(d, "modules.json", INFER_EUNSUP, err, "module %.*s is not supported",
		               (int)(json_bytes(type) < 80 ? json_bytes(type) : 80),
		               json_str(type));
	snprintf(folder, sizeof folder, "%.*s", (int)json_bytes(path), json_str(path));
	return hf_dense(d, folder, err);
}

int hf_pooling(struct hf_dir *d, int *embeds, infer_error *err)
{
	struct hf_text text = { 0 };
	const struct json *modules = NULL;

	TRY(hf_text_read(d, "modules.json", &text, err));
	*embeds = text.at != NULL;
	if (!text.at)
		return INFER_OK;
	TRY(hf_json_read(d, &text, &modules, err));
	if (!json_is_array(modules))
		return hf_fail(d, "modules.json", INFER_EFORMAT, err, "must be a JSON list");
	json_each(v, modules)
		TRY(read_module(d, v, err));
	return INFER_OK;
}
