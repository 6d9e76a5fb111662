/* hub/ollama_manifest.c - names and manifests of Ollama.  A manifest is that of a container image:
 * a list of layers, each with a media type, a digest and a size. */
#include "base/err.h"
#include "base/jread.h"
#include "hub/ref.h"
#include "hub/store.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MEDIA "application/vnd.ollama.image."

/* True for a component of a name that is safe in a path. */
static int is_part(const char *s, size_t n, const char *marks)
{
	if (!n || n > 150 || (!isalnum((unsigned char)*s) && *s != '_'))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && (!s[i] || !strchr(marks, s[i])))
			return 0;
	return 1;
}

int ollama_name_parse(struct ollama_name *n, const char *text, infer_error *err)
{
	const char *part[3] = { "registry.ollama.ai", "library", NULL };
	int len[3] = { 18, 7, 0 }, slashes = 0, ok = strlen(text) < OLLAMA_NAME / 2;
	const char *given = text;

	for (const char *s = text; ok && *s; s++)
		slashes += *s == '/';
	ok = ok && slashes <= 2;
	for (int i = 2 - slashes; ok && i < 2; i++) {
		part[i] = text;
		len[i] = (int)strcspn(text, "/");
		ok = is_part(text, (size_t)len[i], i ? "_-." : "_-.:");
		text += len[i] + 1;
	}
	if (ok) {
		part[2] = text;
		len[2] = (int)strcspn(text, ":");
		ok = is_part(text, (size_t)len[2], "_-.");
	}
	const char *tag = ok && text[len[2]] ? text + len[2] + 1 : "latest";

	if (!ok || !is_part(tag, strlen(tag), "_-."))
		return err_set(err, INFER_EINVAL,
		               "%.80s: is not a name of Ollama: ollama:NAME[:TAG] or "
		               "ollama:[HOST/]USER/NAME[:TAG]",
		               given);
	snprintf(n->path, sizeof n->path, "%.*s/%.*s/%.*s/%s", len[0], part[0], len[1], part[1],
	         len[2], part[2], tag);
	snprintf(n->shown, sizeof n->shown, "%.*s%s%.*s%s%.*s:%s", slashes == 2 ? len[0] : 0,
	         part[0], slashes == 2 ? "/" : "", slashes ? len[1] : 0, part[1],
	         slashes ? "/" : "", len[2], part[2], tag);
	return INFER_OK;
}

/* Read a digest "sha256:HEX", the only form that is used as a file name. */
static int take_digest(char out[OLLAMA_HEX], const struct json *layer, const char *what,
                       infer_error *err)
{
	static const char head[] = "sha256:";
	const struct json *digest = json_get(layer, "digest");
	const char *s = json_str(digest);
	size_t n = json_bytes(digest), skip = sizeof head - 1;

	if (n == skip + OLLAMA_HEX - 1 && !memcmp(s, head, skip)) {
		memcpy(out, s + skip, OLLAMA_HEX - 1);
		out[OLLAMA_HEX - 1] = 0;
		if (hub_is_hex(out, OLLAMA_HEX - 1))
			return INFER_OK;
	}
	*out = 0;
	return err_set(err, INFER_EFORMAT,
	               "%s: the digest of a layer must be sha256: and 64 digits", what);
}

/* True if the layer's media type is MEDIA followed by `name`. */
static int is_layer(const struct json *layer, const char *name)
{
	const struct json *type = json_get(layer, "mediaType");
	size_t head = sizeof MEDIA - 1, n = strlen(name);

	return json_bytes(type) == head + n && !memcmp(json_str(type), MEDIA, head) &&
	       !memcmp(json_str(type) + head, name, n);
}

/* Add a name to the list of unused layers, once. */
static void add_unused(struct ollama_layers *l, const char *name)
{
	size_t at = strlen(l->unused);

	if (!strstr(l->unused, name))
		snprintf(l->unused + at, sizeof l->unused - at, "%s%s", at ? ", " : "", name);
}

static int take_model(struct ollama_layers *l, const struct json *layer, const char *what,
                      infer_error *err)
{
	int64_t bytes = 0;

	if (*l->model)
		return err_set(err, INFER_EUNSUP, "%s: a model of several files is not supported",
		               what);
	TRY(jread_i64(layer, "size", &bytes, 1, INT64_MAX, what, err));
	if (!bytes)
		return err_set(err, INFER_EFORMAT, "%s: the layer of the model has no size", what);
	l->model_bytes = (uint64_t)bytes;
	return take_digest(l->model, layer, what, err);
}

static int take_layer(struct ollama_layers *l, const struct json *layer, const char *what,
                      infer_error *err)
{
	static const char *const unused[] = { "params", "system", "messages" };
	const struct json *type = json_get(layer, "mediaType");
	size_t n = json_bytes(type);

	if (!json_is_object(layer) || !n)
		return err_set(err, INFER_EFORMAT, "%s: a layer has no mediaType", what);
	for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
		if (is_layer(layer, unused[i])) {
			add_unused(l, unused[i]);
			return INFER_OK;
		}
	if (is_layer(layer, "license"))
		return INFER_OK;
	if (is_layer(layer, "template"))
		return take_digest(l->chat, layer, what, err);
	if (is_layer(layer, "projector"))
		return take_digest(l->projector, layer, what, err);
	if (is_layer(layer, "model"))
		return take_model(l, layer, what, err);
	return err_set(err, INFER_EUNSUP, "%s: a layer of type %.*s is not supported", what,
	               (int)(n < 64 ? n : 64), json_str(type));
}

static int take_layers(struct ollama_layers *l, const struct json *j, const char *what,
                       infer_error *err)
{
	const struct json *layers = json_get(j, "layers");

	if (!json_is_object(j) || !json_is_array(layers))
		return err_set(err, INFER_EFORMAT, "%s: is not a manifest: it has no array layers",
		               what);
	json_each(layer, layers)
		TRY(take_layer(l, layer, what, err));
	if (!*l->model)
		return err_set(err, INFER_EUNSUP,
		               "%s: has no model on this machine (no layer " MEDIA "model)", what);
	return INFER_OK;
}

int ollama_manifest(struct ollama_layers *l, const char *text, size_t n, const char *what,
                    infer_error *err)
{
	const struct json *j;
	struct arena mem;

	*l = (struct ollama_layers){ 0 };
	arena_init(&mem, MEM_HUB);
	int rc = jread(&j, &mem, text, n, what, err);

	if (!rc)
		rc = take_layers(l, j, what, err);
	arena_fini(&mem);
	return rc;
}
