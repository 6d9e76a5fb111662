/* common/model.h - options for a model and an engine, with the same names in all programs, and
 * their results. */
#ifndef COMMON_MODEL_H
#define COMMON_MODEL_H
#include <stdint.h>
#include <infer/engine.h>
#include <infer/hub.h>
#include <infer/kvtype.h>
#include <infer/model.h>
#include "common/opt.h"

/* Each *_ROWS is used in the table of a program, with the type of its options and the member that
 * receives the values. */

/* clang-format off */
#define MODEL_ROW(T, m) \
	{ OPT_STR, 'm', "model", "MODEL", \
	  "file, directory, hf:ORG/REPO, demo (INFER_MODEL)", offsetof(T, m), \
	  .marks = OPT_COMMON | OPT_SERVER, .values = "@model", .modes = OPT_ALL_MODES }
/* clang-format on */

/* The meaning of no reference: an error, or the built-in model with a line that says so. */
enum model_default { MODEL_NAMED, MODEL_DEMO };

/* The path of a reference: hf:ORG/REPO and the like (infer/hub.h), downloaded if need be; otherwise the reference itself,
 * "demo" for the built-in model.  The path lives as long as the reference and the process.  Call it before the sandbox,
 * which forbids connections.
 * INFER_EINVAL  no reference, and no default; INFER_EIO: no file, but a name in the form of another program
 * The others are those of infer_hub_get. */
int model_path(const char **path, const char *ref, enum model_default otherwise, infer_error *err);
/* The same with what the cache and the stores have, without a connection. */
int model_path_cached(const char **path, const char *ref, infer_error *err);
/* The cache of the hub, once a model was found by name; NULL before. */
const char *model_cache(void);
/* The options of infer_hub_get and its siblings, from the environment and the limits of this process; what is said goes to
 * stderr.  They live as long as the process. */
int model_hub_opts(const struct infer_hub_opts **o, infer_error *err);

/* INFER_EUNSUP: the model is an encoder, or ranks texts, and `what` is of models that generate. */
int model_generates(const infer_model *m, const char *what, infer_error *err);

/* Shows how much of a compressed model is unpacked, for the functions that open one. */
extern const struct infer_watch model_watch;

/* The cache types as part of a sentence, and as a list of words. */
#define KV_NAME(type, name) name
#define KV_NAME_COMMA(type, name) ", " name
#define KV_NAME_SPACE(type, name) " " name
#define KV_NAMES INFER_KV_TYPES(KV_NAME, KV_NAME_COMMA, KV_NAME_COMMA)
#define KV_WORDS INFER_KV_TYPES(KV_NAME, KV_NAME_SPACE, KV_NAME_SPACE)

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

/* INFER_EINVAL  a kernel set that the build or the processor lacks */
int isa_check(const char *name, infer_error *err);
/* INFER_EINVAL  a kernel set that the build or the processor lacks, an unknown type of the cache or
 * of activations, a malformed device, number of layers or split, or layers or experts of no GPU */
int engine_args_take(struct infer_engine_opts *out, const struct engine_args *a, infer_error *err);
int engine_has_gpu(const infer_engine *e); /* True if a GPU computes any layers. */
/* True if the options name a GPU. */
int engine_wants_gpu(const struct infer_engine_opts *o);
/* Let the CPU compute; `why` names what needs that.  INFER_EINVAL: a GPU is asked for. */
int engine_keep_cpu(struct infer_engine_opts *o, const char *why, infer_error *err);
/* Ask for the devices of a record's placement, and for its experts on the CPU, unless options name some.
 * text: storage of the number of layers and the split. */
enum { ENGINE_LAYERS = 16, ENGINE_SPLIT = INFER_SPLIT_MOST * ENGINE_LAYERS };
struct engine_place {
	char layers[ENGINE_LAYERS], split[ENGINE_SPLIT];
};
void engine_args_place(struct engine_args *a, const char *placement, struct engine_place *text);
/* infer_engine_open, which shows how much of the weights is copied to GPUs.  For the main thread, while
 * no other progress is shown. */
int engine_open_shown(infer_engine **out, const infer_model *m, struct infer_engine_opts *o,
                      infer_error *err);
#endif
