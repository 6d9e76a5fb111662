/* infer/hub.h - find and download models by name: Hugging Face hub, Ollama, LM Studio.   floor: hub
 *
 * The cache is that of huggingface_hub, shared with other tools:
 * https://huggingface.co/docs/huggingface_hub/guides/manage-cache
 * All functions may be called from any thread, and call the callbacks on it. */
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

/* Options; {0} is valid.  Strings are borrowed during the call; nothing below cmd/ reads the environment. */
struct infer_hub_opts {
	const char *endpoint; /* HF_ENDPOINT; NULL: https://huggingface.co */
	/* HF_HUB_CACHE, or HF_HOME/hub, or ~/.cache/huggingface/hub; NULL: no cache, references hf: fail */
	const char *cache;
	/* HF_TOKEN, or the content of the token file; NULL: none.  Sent only to the host of the endpoint */
	const char *token;
	const char *ca_file; /* certificates; NULL: the system's */
	const char *ollama;  /* OLLAMA_MODELS; NULL: the default folders */
	const char *home;    /* HOME; NULL: none */
	int offline;         /* 1: use only the cache, without a connection */
	/* Memory for a model, 0: no limit.  Decides which file is chosen if the reference names none */
	uint64_t memory_bytes;
	void (*say)(void *user, const char *sentence);  /* called for each choice; may be NULL */
	void (*note)(void *user, const char *sentence); /* details, for -v; may be NULL */
	/* Receives Jinja source for a model of Ollama whose file may have no chat template; free it with
	 * infer_hub_free.  "": Ollama's template is of an unknown family.  May be NULL */
	char **chat;
	struct infer_watch watch; /* progress in bytes; see infer/watch.h */
	void *user;               /* argument of say and note */
	const int *cancel;        /* *cancel != 0: stop (volatile sig_atomic_t); may be NULL */
};

/* True if ref begins with hf:, ollama: or lmstudio:. */
int infer_hub_is_ref(const char *ref);
/* Find a model on this machine, or download it to the cache.
 *   hf:ORG/REPO[@REV][:FILE-OR-QUANT]   ollama:NAME[:TAG]   lmstudio:ORG/REPO[:FILE]
 * path: of the GGUF file or the directory; the caller frees it with infer_hub_free.
 * INFER_EINVAL  not such a reference
 * INFER_ENET    no connection, or the hub refuses: the message has the way out
 * INFER_EIO     not in the store or (offline) in the cache; no disk space, or an unwritable folder
 * INFER_EFORMAT a damaged answer or manifest; a file whose hash differs
 * INFER_EUNSUP  nothing in the repository can be run; no libcurl
 * INFER_ENOMEM  no file fits memory_bytes; out of memory
 * INFER_ECANCEL *cancel was set */
int infer_hub_get(char **path, const char *ref, const struct infer_hub_opts *o, infer_error *err);

/* Find the config.json of hf:ORG/REPO[@REV], or download it alone.  Errors as infer_hub_get; INFER_EINVAL
 * also: the repository has none. */
int infer_hub_config(char **path, const char *ref, const struct infer_hub_opts *o,
                     infer_error *err);

/* A snapshot of the cache and its files.  Valid during the callback only. */
struct infer_hub_file {
	const char *path; /* in the repository */
	uint64_t bytes;
};
struct infer_hub_model {
	const char *repo, *commit; /* ORG/REPO, 40 digits */
	const char *refs;          /* branches and tags of the commit: "main, v1"; "" if none */
	const char *quants;        /* quantisations of its GGUF files: "Q4_K_M, Q8_0", or their
	                            * names; "" if none */
	const struct infer_hub_file *files;
	size_t n_files;
	uint64_t bytes;
	int64_t used_s; /* time of the last read of a file, seconds since 1970 */
};
/* Called for one snapshot.  A result other than INFER_OK ends the listing and is returned. */
typedef int infer_hub_list_fn(void *user, const struct infer_hub_model *m, infer_error *err);
/* Call fn for each snapshot of the cache, ordered by name.  Damaged folders are reported to o->say
 * and skipped.
 * INFER_EIO INFER_ENOMEM; errors of fn */
int infer_hub_list(const struct infer_hub_opts *o, infer_hub_list_fn *fn, void *user,
                   infer_error *err);
/* Remove snapshots, or some of their files, and the blobs that no other snapshot uses.
 * ref: [hf:]ORG/REPO[@REV][:FILE-OR-QUANT]; without REV: all snapshots
 * freed: bytes on disk that were freed
 * INFER_EINVAL: not such a reference; INFER_EIO: not in the cache, or another process downloads it;
 * INFER_ENOMEM */
int infer_hub_remove(uint64_t *freed, const char *ref, const struct infer_hub_opts *o,
                     infer_error *err);

void infer_hub_free(void *p); /* free a string of infer_hub_get or opts->chat; NULL is fine */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
