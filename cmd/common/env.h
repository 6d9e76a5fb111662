/* common/env.h - the environment, which is read only here and passed on as options.  Nothing
 * below cmd/ reads it. */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H
#include <infer/hub.h>
#include <infer/status.h>
#include "common/opt.h"

/* For each row of `rows` that has a variable (INFER_MODEL: --model, INFER_THREADS: --threads,
 * INFER_ISA: --isa), take the value of the variable by the rules of the row.  Called before
 * opt_parse, so that options take precedence.  An empty variable counts as unset.
 * INFER_EINVAL  names the variable */
int env_read(const struct opt *rows, void *into, struct arena *mem, infer_error *err);

/* The name of the variable that env_read took this value from, by its address; NULL: of none. */
const char *env_name(const char *value);

/* Whether fd is a terminal that understands colours and other escape sequences (TERM); for colours,
 * NO_COLOR must not be set either. */
enum { ENV_ESCAPES = 1 << 0, ENV_COLOURS = 1 << 1 };
unsigned env_terminal(int fd);

/* The sockets that whoever started the process opened for it, from descriptor 3 on (systemd's
 * LISTEN_FDS and LISTEN_PID); 0: there are none, or they are another process's. */
int env_listen_fds(void);

/* The directory of the user's state, created if it is missing: inferutils/ below XDG_STATE_HOME, or
 * else below ~/.local/state.  path: initialised by the caller, who also frees it with buf_fini.
 * INFER_EIO  there is no home, or a directory cannot be created */
int env_state_dir(struct buf *path, infer_error *err);
/* The same of what can be made again: below XDG_CACHE_HOME, or else below ~/.cache. */
int env_cache_dir(struct buf *path, infer_error *err);

/* Fill the members of *o that say where models are, by the rules of huggingface_hub: HF_HUB_CACHE or HF_HOME/hub or
 * XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub; HF_ENDPOINT; HF_HUB_OFFLINE; HF_TOKEN or the file
 * HF_TOKEN_PATH or HF_HOME/token, unless HF_HUB_DISABLE_IMPLICIT_TOKEN is set; SSL_CERT_FILE; OLLAMA_MODELS; HOME.
 * mem: of the strings.
 * INFER_EINVAL  a token with characters that no token has; the message does not contain it
 * INFER_EIO     the token file cannot be read; INFER_ENOMEM */
int env_hub(struct infer_hub_opts *o, struct arena *mem, infer_error *err);
#endif
