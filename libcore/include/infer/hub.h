/* infer/hub.h - models by name: the Hugging Face hub and its cache, and the stores of other programs.   floor: hub
 *
 * The cache is that of huggingface_hub, shared with other tools:
 * https://huggingface.co/docs/huggingface_hub/guides/manage-cache */
#ifndef INFER_HUB_H
#define INFER_HUB_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/watch.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* Where to look, and what to allow.  Strings are borrowed during the call; nothing below cmd/ reads the environment. */
struct infer_hub_opts {
	const char *endpoint; /* HF_ENDPOINT; NULL: https://huggingface.co */
	const char *cache;    /* HF_HUB_CACHE, or HF_HOME/hub, or ~/.cache/huggingface/hub */
	const char *
		token; /* HF_TOKEN, or the content of the token file; NULL: none.  Sent to the endpoint's host only */
	const char *ca_file; /* NULL: the system's certificates */
	const char *ollama;  /* OLLAMA_MODELS; NULL: the usual folders */
	const char *home;    /* HOME; NULL: none */
	int offline;         /* use what the cache has, without a connection */
	uint64_t
		memory_bytes; /* that a model may use; 0: any.  A file is chosen by it if the reference names none */
	void (*say)(void *user, const char *sentence);  /* choices that were made; NULL: nobody */
	void (*note)(void *user, const char *sentence); /* details, for -v; NULL: nobody */
	/* Set to Jinja source for a model file of Ollama that may have no chat template of its own: infer_hub_free; "" if
	 * Ollama's template is of no known family.  NULL: not wanted */
	char **chat;
	struct infer_watch watch; /* bytes done, of all; see infer/watch.h */
	void *user;
	const int *cancel; /* *cancel != 0: stop (volatile sig_atomic_t); NULL */
};

/* True if ref has a form that infer_hub_get takes: hf:, ollama: or lmstudio: and more. */
int infer_hub_is_ref(const char *ref);
/* The path of a model on this machine, downloaded if it is not in the cache.
 *   hf:ORG/REPO[@REV][:FILE-OR-QUANT]   ollama:NAME[:TAG]   lmstudio:ORG/REPO[:FILE]
 * path: the caller frees it.
 * INFER_EINVAL  not such a reference
 * INFER_ENET    no connection, or the hub refuses: the message says what to do
 * INFER_EIO     not in the store or the cache (offline), no disk space, a folder that cannot be written
 * INFER_EFORMAT an answer or a manifest that is damaged; a file whose hash differs
 * INFER_EUNSUP  nothing in the repository can be run; no libcurl
 * INFER_ENOMEM  no file fits memory_bytes; out of memory.  INFER_ECANCEL */
int infer_hub_get(char **path, const char *ref, const struct infer_hub_opts *o, infer_error *err);

/* One snapshot of the cache.  Strings live during the call. */
struct infer_hub_file {
	const char *path; /* in the repository */
	uint64_t bytes;
};
struct infer_hub_model {
	const char *repo, *commit; /* ORG/REPO, 40 digits */
	const char *refs;          /* branches and tags of the commit: "main, v1"; "" */
	const char *quants;        /* of its GGUF files: "Q4_K_M, Q8_0", or their names; "" */
	const struct infer_hub_file *files;
	size_t n_files;
	uint64_t bytes;
	int64_t used_s; /* the last time that a file was read, in seconds since 1970 */
};
/* Not INFER_OK: stop, and return it. */
typedef int infer_hub_list_fn(void *user, const struct infer_hub_model *m, infer_error *err);
/* Call fn for each snapshot of the cache, ordered by name.  A folder that is damaged is left out, and o->say is told.
 * INFER_EIO INFER_ENOMEM; those of fn */
int infer_hub_list(const struct infer_hub_opts *o, infer_hub_list_fn *fn, void *user,
                   infer_error *err);
/* Remove snapshots, or some of their files, and the contents that no other snapshot has.
 * ref: [hf:]ORG/REPO[@REV][:FILE-OR-QUANT]; without REV: of all snapshots
 * freed: bytes on disk
 * INFER_EINVAL; INFER_EIO: not in the cache, or another process downloads it; INFER_ENOMEM */
int infer_hub_remove(uint64_t *freed, const char *ref, const struct infer_hub_opts *o,
                     infer_error *err);

void infer_hub_free(void *p); /* what infer_hub_get returned; NULL is fine */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
