/* common/model.h - options for a model and an engine, the same in all programs. */
#ifndef COMMON_MODEL_H
#define COMMON_MODEL_H
#include <stdint.h>
#include <infer/engine.h>
#include <infer/hub.h>
#include <infer/kvtype.h>
#include <infer/model.h>
#include "common/opt.h"

/* Rows for the table of a program. T: the type of its options, m: the member that receives the values. */

/* clang-format off */
#define MODEL_ROW(T, m) \
	{ OPT_STR, 'm', "model", "MODEL", \
	  "file, directory, hf:ORG/REPO, demo (INFER_MODEL)", offsetof(T, m), \
	  .marks = OPT_COMMON | OPT_SERVER, .values = "@model", .modes = OPT_ALL_MODES }
/* clang-format on */

/* Action if no model is named. */
enum model_default {
	MODEL_NAMED, /* fail with INFER_EINVAL */
	MODEL_DEMO,  /* use the built-in model, with a warning */
};

/* Set *path to the file of a model reference. A reference of a hub or store (infer/hub.h: hf:ORG/REPO and
 * others) is resolved, with a download if needed; any other is the path itself, or "demo", the built-in
 * model. *path is borrowed from ref or lives as long as the process. Call it before the sandbox, which
 * forbids connections.
 * INFER_EINVAL  there is no reference, and otherwise is MODEL_NAMED
 * INFER_EIO     ref is a name in another program's notation
 * and the errors of infer_hub_get */
int model_path(const char **path, const char *ref, enum model_default otherwise, infer_error *err);
/* Like model_path, but use only the cache and the stores: no connection is made. */
int model_path_cached(const char **path, const char *ref, infer_error *err);
/* Set *path to the config.json of a model of the hub, ORG/REPO with or without hf:, downloading no other
 * file. Errors as infer_hub_config. */
int model_config(const char **path, const char *ref, infer_error *err);
/* Return the directory of the hub's cache, or NULL before model_hub_opts() was called. */
const char *model_cache(void);
/* Return the options for functions of infer/hub.h, from the environment and the limits of this process;
 * messages go to stderr. *o lives as long as the process. Errors: those of env_hub. */
int model_hub_opts(const struct infer_hub_opts **o, infer_error *err);

/* Check that the model generates text. what: the feature that needs it, for the message.
 * INFER_EUNSUP  the model is an encoder or a reranker */
int model_generates(const infer_model *m, const char *what, infer_error *err);

/* Shows the progress of unpacking or repacking a model; pass it to functions that open one. */
extern const struct infer_watch model_watch;

/* Names of the KV cache types: KV_NAMES separated by commas, KV_WORDS by spaces. */
#define KV_NAME(type, name) name
#define KV_NAME_COMMA(type, name) ", " name
#define KV_NAME_SPACE(type, name) " " name
#define KV_NAMES INFER_KV_TYPES(KV_NAME, KV_NAME_COMMA, KV_NAME_COMMA)
#define KV_WORDS INFER_KV_TYPES(KV_NAME, KV_NAME_SPACE, KV_NAME_SPACE)

/* Options of an engine; NULL or 0: not given. */
struct engine_args {
	const char *isa, *kv_type, *act_type, *device, *gpu_layers, *split;
	int64_t threads, ctx, prefill_chunk, step_ms;
	uint64_t kv_bytes, swap_bytes;
	int no_prefix_cache, deterministic, cpu_experts;
};
/* clang-format off */
#define DEVICE_ROW(offset, marked) \
	{ OPT_STR, 0, "device", "auto|cpu|cuda[:N]", "what computes: the CPU, GPU N (auto)", \
	  (offset), .marks = (marked), .values = "auto cpu cuda" }
#define ENGINE_ROWS(T, m) \
	DEVICE_ROW(offsetof(T, m.device), OPT_RECORDED), \
	{ OPT_STR, 0, "gpu-layers", "N|auto", "the last N layers on the GPU; auto: what fits (all)", \
	  offsetof(T, m.gpu_layers), .marks = OPT_RECORDED, .values = "auto" }, \
	{ OPT_STR, 0, "split", "N,N...", "layers of GPU 0, 1, ..., or their shares: 16,16 or 3,1", \
	  offsetof(T, m.split), .marks = OPT_RECORDED }, \
	{ OPT_FLAG, 0, "cpu-experts", NULL, "the CPU computes the experts of layers on a GPU", \
	  offsetof(T, m.cpu_experts), .value = 1, .marks = OPT_RECORDED }, \
	{ OPT_FLAG, 0, "deterministic", NULL, "accepted: answers always are", \
	  offsetof(T, m.deterministic), .value = 1, .marks = OPT_RECORDED, .modes = OPT_ALL_MODES }, \
	{ OPT_INT, 't', "threads", "N", \
	  "threads (the cores this process may use; INFER_THREADS)", offsetof(T, m.threads), 1, 1024, \
	  .marks = OPT_RECORDED, .modes = OPT_ALL_MODES }, \
	{ OPT_INT, 'c', "ctx", "N", \
	  "largest context in tokens (the model's own, or what fits)", offsetof(T, m.ctx), \
	  1, INT32_MAX, .marks = OPT_RECORDED | OPT_KILO }, \
	{ OPT_STR, 0, "kv-type", "TYPE[,TYPE]", \
	  "type of the cache: " KV_NAMES "; of V after a comma (f16)", \
	  offsetof(T, m.kv_type), .marks = OPT_RECORDED, .values = "," KV_WORDS }, \
	{ OPT_STR, 0, "act-type", "f32|bf16", \
	  "type of activations beside F16 and BF16 weights (f32)", \
	  offsetof(T, m.act_type), .marks = OPT_RECORDED, .values = "f32 bf16" }, \
	{ OPT_SIZE, 0, "kv-bytes", "SIZE", "most memory for the cache: 512M, 4G (what -c needs)", \
	  offsetof(T, m.kv_bytes), 1, 1e18, .marks = OPT_RECORDED }, \
	{ OPT_SIZE, 0, "swap-bytes", "SIZE", \
	  "memory for sequences that lose their place in the cache (0)", \
	  offsetof(T, m.swap_bytes), 0, 1e18, .marks = OPT_RECORDED }, \
	{ OPT_INT, 0, "prefill-chunk", "N", "most prompt tokens in a step (512)", \
	  offsetof(T, m.prefill_chunk), 1, 65536, .marks = OPT_RECORDED }, \
	{ OPT_INT, 0, "step-ms", "N", "time a step with prompt tokens may take (50)", \
	  offsetof(T, m.step_ms), 1, 1 << 20, .marks = OPT_RECORDED }, \
	{ OPT_FLAG, 0, "no-prefix-cache", NULL, "compute every prompt from its start", \
	  offsetof(T, m.no_prefix_cache), .value = 1, .marks = OPT_RECORDED }, \
	{ OPT_STR, 0, "isa", "NAME", \
	  "widest kernel set: infer-inspect hw lists them (INFER_ISA)", offsetof(T, m.isa), \
	  .marks = OPT_RECORDED, .modes = OPT_ALL_MODES, .values = "@isa" }
/* clang-format on */

/* Check --isa (NULL: not given).
 * INFER_EINVAL  the build or the processor lacks the kernel set */
int isa_check(const char *name, infer_error *err);
/* Check the options and write them to *out. Strings are borrowed from *a.
 * INFER_EINVAL  an unknown kernel set, cache type or activation type; a malformed device, number of
 *               layers or split; or a GPU option next to --device cpu */
int engine_args_take(struct infer_engine_opts *out, const struct engine_args *a, infer_error *err);
int engine_has_gpu(const infer_engine *e); /* True if a GPU computes any layer. */
/* True if the options ask for a GPU. */
int engine_wants_gpu(const struct infer_engine_opts *o);
/* Set the device to the CPU. why: the option that needs it, for the message.
 * INFER_EINVAL  the options ask for a GPU */
int engine_keep_cpu(struct infer_engine_opts *o, const char *why, infer_error *err);
/* Set the device options from "placement" of a run record, unless one of them is given.
 * text: storage for the values; must outlive *a. */
enum { ENGINE_LAYERS = 16, ENGINE_SPLIT = INFER_SPLIT_MOST * ENGINE_LAYERS };
struct engine_place {
	char layers[ENGINE_LAYERS], split[ENGINE_SPLIT];
};
void engine_args_place(struct engine_args *a, const char *placement, struct engine_place *text);
/* Call infer_engine_open, showing progress while weights are copied to GPUs. Main thread only, while no
 * other progress is shown. */
int engine_open_shown(infer_engine **out, const infer_model *m, struct infer_engine_opts *o,
                      infer_error *err);
#endif
