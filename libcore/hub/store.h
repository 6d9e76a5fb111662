/* hub/store.h (private) - models that other programs have downloaded; read only. */
#ifndef HUB_STORE_H
#define HUB_STORE_H
#include <stdint.h>
#include <infer/hub.h>
#include "base/buf.h"

/* infer_hub_get for ollama:[[HOST/]USER/]NAME[:TAG] and lmstudio:ORG/REPO[:FILE-OR-QUANT]. */
int hub_ollama_get(char **path, const char *ref, const struct infer_hub_opts *o, infer_error *err);
int hub_lmstudio_get(char **path, const char *ref, const struct infer_hub_opts *o,
                     infer_error *err);

/* Append the bytes of a regular file to out.  If there is no such file, sets *missing to 1 and
 * returns INFER_OK.
 * INFER_EIO INFER_ENOMEM; INFER_EFORMAT: more than `most` bytes, or not a regular file */
int hub_store_read(struct buf *out, const char *path, size_t most, int *missing, infer_error *err);
/* Return INFER_EIO for a path without permission.  The message names the group that has it. */
int hub_store_denied(const char *path, infer_error *err);

/* ---- Ollama ---- */

/* A name with its defaults, as a path: HOST/USER/NAME/TAG. */
enum { OLLAMA_NAME = 640 };
struct ollama_name {
	char path[OLLAMA_NAME];
	char shown[OLLAMA_NAME]; /* for messages: without the default host and user */
};
/* Parse a name.  text: after "ollama:".  INFER_EINVAL: not a name */
int ollama_name_parse(struct ollama_name *n, const char *text, infer_error *err);

/* The layers of a model: hexadecimal SHA-256, "" if there is none. */
enum { OLLAMA_HEX = 65 };
struct ollama_layers {
	char model[OLLAMA_HEX], chat[OLLAMA_HEX], projector[OLLAMA_HEX];
	uint64_t model_bytes;
	char unused[96]; /* names of layers that are ignored: "params, system" */
};
/* Read a manifest.  what: its name in messages.
 * INFER_EFORMAT  not a manifest, or an invalid digest
 * INFER_EUNSUP   the manifest has no model, several models, or an adapter; the message names it
 * INFER_ENOMEM */
int ollama_manifest(struct ollama_layers *l, const char *text, size_t n, const char *what,
                    infer_error *err);

/* Return Jinja source with the effect of a Go template, recognised by its special tokens; NULL: the
 * family is unknown.
 * *family: name of the family.  O(n) */
const char *ollama_template(const char *go, size_t n, const char **family);
#endif
