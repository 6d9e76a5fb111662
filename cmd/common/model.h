/* common/model.h - options for a model, an engine and a sampler, spelled alike in all programs, and what they become. */
#ifndef COMMON_MODEL_H
#define COMMON_MODEL_H
#include <math.h>
#include <stdint.h>
#include <infer/engine.h>
#include <infer/model.h>
#include <infer/sample.h>
#include "common/opt.h"

/* Each *_ROWS stands in a program's table with the type of its options and the member that takes the values. */

#define MODEL_ROW(T, m) \
	{ OPT_STR, 'm', "model", "MODEL", "GGUF file, any part of a split one; demo: built in (INFER_MODEL)", offsetof(T, m) }

/* What no reference stands for: nothing, or the built-in model with one line that says so. */
enum model_default { MODEL_NAMED, MODEL_DEMO };

/* The path that a reference stands for, borrowed from it; "demo" is the built-in model.
 * INFER_EINVAL  no reference, and none is assumed
 * INFER_EUNSUP  a form that is not supported: hf:..., a compressed file */
int model_path(const char **path, const char *ref, enum model_default otherwise, infer_error *err);

struct engine_args {
	const char *isa, *kv_type;
	int64_t threads, ctx, prefill_chunk, step_ms;
	uint64_t kv_bytes;
	int no_prefix_cache;
};
#define ENGINE_ROWS(T, m) \
	{ OPT_INT, 't', "threads", "N", "threads (the cores this process may use; INFER_THREADS)", offsetof(T, m.threads), 1, 1024, .marks = OPT_RECORDED }, \
	{ OPT_INT, 'c', "ctx", "N", "largest context in tokens (the model's own, or what fits)", offsetof(T, m.ctx), 1, INT32_MAX, .marks = OPT_RECORDED }, \
	{ OPT_STR, 0, "kv-type", "TYPE[,TYPE]", "type of the cache, f16 or f32; of V after a comma (f16)", offsetof(T, m.kv_type), .marks = OPT_RECORDED }, \
	{ OPT_SIZE, 0, "kv-bytes", "SIZE", "most memory for the cache: 512M, 4G (what -c needs)", offsetof(T, m.kv_bytes), 1, 1e18, .marks = OPT_RECORDED }, \
	{ OPT_INT, 0, "prefill-chunk", "N", "most prompt tokens in a step (512)", offsetof(T, m.prefill_chunk), 1, 65536, .marks = OPT_RECORDED }, \
	{ OPT_INT, 0, "step-ms", "N", "time a step with prompt tokens may take (50)", offsetof(T, m.step_ms), 1, 1 << 20, .marks = OPT_RECORDED }, \
	{ OPT_FLAG, 0, "no-prefix-cache", NULL, "compute every prompt from its start", offsetof(T, m.no_prefix_cache), .value = 1, .marks = OPT_RECORDED }, \
	{ OPT_STR, 0, "isa", "NAME", "widest kernel set: infer-inspect hw lists them (INFER_ISA)", offsetof(T, m.isa), .marks = OPT_RECORDED }

/* INFER_EINVAL  a kernel set that the build or the processor lacks, an unknown cache type */
int engine_args_take(struct infer_engine_opts *out, const struct engine_args *a, infer_error *err);

/* NAN and -1: not given. */
struct sampling_args { double temp, top_p, min_p; int64_t top_k; struct opt_bits seed; };
#define SAMPLING_ARGS { NAN, NAN, NAN, -1, { 0, 0 } }
#define SAMPLING_ROWS(T, m) \
	{ OPT_NUM, 0, "temp", "X", "temperature; 0 takes the likeliest token (0.8)", offsetof(T, m.temp), 0, 100 }, \
	{ OPT_INT, 0, "top-k", "N", "keep the N likeliest tokens; 0: all (40)", offsetof(T, m.top_k), 0, INT32_MAX }, \
	{ OPT_NUM, 0, "top-p", "X", "keep the least set of mass X; 1: all (0.95)", offsetof(T, m.top_p), 0, 1, .marks = OPT_ABOVE_LO }, \
	{ OPT_NUM, 0, "min-p", "X", "keep tokens at least X times as likely as the likeliest (0.05)", offsetof(T, m.min_p), 0, 1 }, \
	{ OPT_BITS, 0, "seed", "N", "begin the random numbers at N (random, and reported)", offsetof(T, m.seed) }

/* What was given, else what the file recommends (general.sampling.*), else temperature 0.8, top-k 40, top-p 0.95 and
 * min-p 0.05, the rest off.
 * INFER_EFORMAT  a general.sampling key of another type or out of its range
 * INFER_EUNSUP   a stage in general.sampling.sequence that is not known, by name
 * INFER_EIO      the system gives no random seed */
int sampling_take(struct infer_sample_opts *out, const struct sampling_args *a, const infer_file *file, infer_error *err);
#endif
