/* common/env.h - environment variables. No other file reads them; libcore receives them as options. */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H
#include <infer/hub.h>
#include <infer/status.h>
#include "common/opt.h"

/* Set options from variables: INFER_MODEL (--model), INFER_THREADS (--threads), INFER_ISA (--isa),
 * INFER_SERVER (--server), each if `rows` has the option. Call it before opt_parse, so that options take
 * precedence. An empty variable counts as unset.
 * INFER_EINVAL  a value is malformed; err names the variable */
int env_read(const struct opt *rows, void *into, struct arena *mem, infer_error *err);

/* Return the name of the variable that env_read took this string from (same address), or NULL. */
const char *env_name(const char *value);

/* Return what the terminal fd supports according to TERM and NO_COLOR; 0 if fd is not a terminal. */
enum { ENV_ESCAPES = 1 << 0, ENV_COLOURS = 1 << 1 };
unsigned env_terminal(int fd);

/* Return the number of listening sockets from systemd (LISTEN_FDS, LISTEN_PID), descriptors 3, 4 ... */
int env_listen_fds(void);

/* Set *path to the user's directory for state, XDG_STATE_HOME/inferutils or ~/.local/state/inferutils,
 * and create it if it is missing. The caller initialises *path and frees it with buf_fini.
 * INFER_EIO  HOME is not set, or the directory cannot be created; INFER_ENOMEM */
int env_state_dir(struct buf *path, infer_error *err);
/* Like env_state_dir, for caches: XDG_CACHE_HOME/inferutils or ~/.cache/inferutils. */
int env_cache_dir(struct buf *path, infer_error *err);

/* Set the download options of *o from these variables, with the rules of huggingface_hub:
 *   cache     HF_HUB_CACHE, or HF_HOME/hub, or XDG_CACHE_HOME/huggingface/hub, or ~/.cache/huggingface/hub
 *   token     HF_TOKEN, or the file HF_TOKEN_PATH or HF_HOME/token unless HF_HUB_DISABLE_IMPLICIT_TOKEN
 *   others    HF_ENDPOINT, HF_HUB_OFFLINE, SSL_CERT_FILE, OLLAMA_MODELS, HOME
 * mem: the strings are allocated in it
 * INFER_EINVAL  the token is malformed; the message does not contain it
 * INFER_EIO     the token file cannot be read; INFER_ENOMEM */
int env_hub(struct infer_hub_opts *o, struct arena *mem, infer_error *err);
#endif
