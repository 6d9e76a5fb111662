/* infer/probe.h - measure kernels against the limits of the machine.   floor: probe
 *
 * A measurement alternates between the kernel and the ceiling that limits it, for equally long
 * turns, so that other load on the machine affects both.  Rates are sums over threads; by default a
 * thread's time is its processor time.  Confined. */
#ifndef INFER_PROBE_H
#define INFER_PROBE_H
#include <stdint.h>
#include <infer/status.h>
#include <infer/file.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_probe infer_probe;

enum {
	INFER_PROBE_QUICK = 1 << 0, /* less memory, fewer shapes, shorter turns: rough figures */
	INFER_PROBE_WALL = 1 << 1,  /* wall-clock time instead of processor time */
	INFER_PROBE_LONG = 1 << 2,  /* turns of about 30 ms, for a small number of turns */
	INFER_PROBE_BF16 = 1 << 3, /* measure the ceiling of bf16 tile registers even with a file */
};
struct infer_probe_opts {
	int32_t threads; /* 0: the cores the process may use */
	int32_t repeat;  /* turns; 0: 5 */
	const char *isa; /* the kernel set to measure; NULL: every one that runs here */
	uint32_t flags;
};
/* Create a probe.  INFER_EINVAL: a field is out of its range.
 * INFER_EUNSUP: a kernel set that the build or the processor lacks.
 * INFER_ENOMEM */
int infer_probe_open(infer_probe **out, const struct infer_probe_opts *o, infer_error *err);
void infer_probe_close(infer_probe **p);
int32_t infer_probe_threads(const infer_probe *p); /* threads used */

/* A rate over the turns, of all threads together.  1 GB/s is 1e9 bytes per second, 1 GOP/s 1e9
 * operations per second. */
struct infer_rate {
	double median, least, most;
};
struct infer_ceilings {
	struct infer_rate mapped; /* GB/s, reading a mapped file in pages of the normal size */
	/* GB/s, reading anonymous memory, in huge pages if possible */
	struct infer_rate memory;
	struct infer_rate fma; /* GFLOP/s of f32 fma, which counts as two operations */
	/* GOP/s of products of bytes, by the widest kernel set of the machine */
	struct infer_rate dot;
	/* GOP/s of products of bytes in tile registers; 0: none here, or a file was given */
	struct infer_rate tile_i8;
	struct infer_rate tile_bf16; /* of bf16, GFLOP/s; with a file: only if INFER_PROBE_BF16 */
};
/* Measure the ceilings.  file: the mapped file to read, and `memory` is not measured; NULL: a file
 * created for the purpose.  INFER_ENOMEM INFER_EIO */
int infer_probe_ceilings(infer_probe *p, const infer_file *file, struct infer_ceilings *c,
                         infer_error *err);

/* Measure the current rates, with turns of about a millisecond.  gb_s: of reading the file, each
 * time its next part, 0 if it is too small; NULL: not measured, and file is not used.
 * INFER_ENOMEM INFER_EIO */
int infer_probe_now(infer_probe *p, const infer_file *file, double *gb_s, double *i8_gop_s,
                    infer_error *err);

/* One case to measure.  The strings are valid as long as the probe. */
struct infer_probe_case {
	const char *isa; /* the kernel set of the kernel */
	/* "rows", "few", "tile", "pack", "quant"; the same with bf16 activations: "rows-bf16" ...;
	 * "attn"; or a slot of struct kern: "rms_norm" */
	const char *kernel;
	const char *type;  /* of the weights, "Q8_0", or of the cache; for other kernels "F32" */
	const char *shape; /* the role of the product in a model: "ffn", "output", "expert" */
	/* weight rows, their length, rows of x; attn: positions, head size, rows; other kernels: 1,
	 * floats, rows */
	int32_t n, k, m;
	int32_t at; /* index of the case */
};
/* Get case i.  1: *c is filled; 0: there is no case i. */
int infer_probe_case(const infer_probe *p, int i, struct infer_probe_case *c);

enum infer_probe_limit {
	INFER_LIMIT_MEMORY,
	INFER_LIMIT_FMA,
	INFER_LIMIT_DOT,
	INFER_LIMIT_KV,
	INFER_LIMIT_COMPUTE,
	INFER_LIMIT_TILE
};
struct infer_probe_result {
	/* GB/s of weights or cache; for other kernels, of all data read and written */
	struct infer_rate bytes;
	struct infer_rate ops; /* GOP/s */
	/* the ceiling that limits the kernel, measured in the same turns; GB/s or GOP/s */
	struct infer_rate ceiling;
	struct infer_rate fraction; /* of the ceiling, turn by turn */
	int limit;                  /* MEMORY, FMA, DOT, or TILE (bf16) */
	int same;                   /* 1: results are bit-identical to those of kernel set ref */
};
/* Measure a case.  The process aborts if infer_probe_ceilings was not called before.  INFER_ENOMEM.
 * INFER_EIO: a thread cannot be started. */
int infer_probe_measure(infer_probe *p, const struct infer_probe_case *c,
                        struct infer_probe_result *r, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
