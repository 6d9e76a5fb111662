/* infer/machine.h - capabilities of a machine, measured or described.   floor: probe
 *
 * 0 means unknown.  Rates are those of all threads together; 1 GB/s is 1e9 bytes a second, 1 GOP/s
 * 1e9 operations a second, and an fma counts as two. */
#ifndef INFER_MACHINE_H
#define INFER_MACHINE_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/type.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum {
	INFER_MACHINE_COUNTS = 12,
	INFER_MACHINE_SOURCES = 24,
	INFER_MACHINE_HEADS = 3,
	INFER_MACHINE_SLOTS = 20
};

/* Rates of the kernels of one weight type, in 1e9 weights a second: weights that a matrix product
 * processes, for any number of rows of x. */
struct infer_loop_rate {
	double rows[4];   /* used in place, from memory, for 1, 2, 4, 8 rows of x */
	double cached[4]; /* the same from caches */
	double few[3];    /* from memory, for 8, 16 and 32 rows of x; 0: no such kernel */
	double tile[3];   /* GOP/s, packed from memory into panels, for 16, 64 and 512 rows of x */
	double quant;     /* 1e9 activations a second, quantised for products */
};
/* Attention over a KV cache of one type, for heads of 32, 64 and 128. */
struct infer_attn_rate {
	/* GOP/s over pages in the processor's caches: one row; blocks of rows */
	double cached[INFER_MACHINE_HEADS], prefill[INFER_MACHINE_HEADS];
	/* overhead per row and head, ns of one thread, for any context: one row; blocks of rows */
	double one_ns[INFER_MACHINE_HEADS], block_ns[INFER_MACHINE_HEADS];
	double put; /* 1e9 elements a second that one thread stores */
};
/* Accelerators of one kind.  Peaks are for dense matrices, in 1e12 operations a second. */
struct infer_gpu {
	char name[80];
	int32_t count;
	uint64_t memory_bytes; /* of each */
	double memory_gb_s;
	double f32_tflop_s, f16_tflop_s, f8_tflop_s, i8_top_s;
	double link_gb_s; /* of each to its peers, one direction */
	double host_gb_s; /* of each to the host, one direction */
	double link_us;   /* latency of an exchange between them; 0: a usual one */
	int32_t unified;  /* 1: shares the memory of the host */
	/* fraction of the limit that published measurements reach: for one row; for many */
	double decode_part, prefill_part;
};
struct infer_machine {
	char name[80];
	int32_t measured;       /* 1: the rates below were measured; 0: the maker's peaks */
	char kernels[128];      /* kernel sets, "ref+avx2" */
	int32_t threads, nodes; /* nodes: of memory (NUMA) */
	uint64_t memory_bytes, l1d_bytes, l2_bytes, l3_bytes, page_bytes;
	/* reading memory in pages of the normal size, by number of threads */
	struct {
		int32_t threads;
		double gb_s;
	} read[INFER_MACHINE_COUNTS];
	int32_t n_read;
	double memory_gb_s;     /* reading memory with all threads, or as described */
	double huge_gb_s;       /* in huge pages */
	double cached_gb_s;     /* from caches */
	double disk_gb_s;       /* reading a file without the page cache */
	double f32_gflop_s;     /* fma of f32 */
	double f32_one_gflop_s; /* of one thread */
	double i8_gop_s;        /* products of bytes, by the widest kernel set */
	double i8_one_gop_s;
	double bf16_gflop_s;                     /* products of bf16 matrices by many rows */
	double tile_i8_gop_s, tile_bf16_gflop_s; /* in tile registers; 0: there are none */
	double barrier_ns;                       /* of one parallel region of all threads */
	/* times of the engine with its built-in model: one token of one sequence; one token of each
	 * of 8 sequences; a prompt of 256 tokens */
	double step_ns, batch_ns, prompt_ns;
	/* overhead of a node of the graph; of a sequence in a step; of a prompt row in each region */
	double node_ns, seq_ns, row_ns;
	double sample_ns; /* sampling a token of 1000 logits with the default options */
	double slots
		[INFER_MACHINE_SLOTS]; /* row operations, 1e9 elements a second of one thread: probe/elem.c */
	struct infer_loop_rate loops[INFER_TYPE_COUNT];
	struct infer_attn_rate attn[INFER_TYPE_COUNT]; /* by the type of the cache */
	double decode_part, prefill_part;              /* of the host, as for infer_gpu */
	double watts;
	struct infer_gpu gpu; /* count 0: none */
	/* sources of described figures */
	struct {
		char figure[24], from[176];
	} sources[INFER_MACHINE_SOURCES];
	int32_t n_sources;
};

/* Measure this machine with all cores that the process may use.  It takes less than a second; with
 * INFER_MACHINE_LOOPS, which predictions need, less than three.  dir: a directory for a temporary
 * file; NULL, or not writable: the disk is not measured.
 * INFER_ENOMEM.  INFER_EIO: a thread cannot be started. */
enum { INFER_MACHINE_LOOPS = 1 << 0 };
int infer_machine_measure(struct infer_machine *m, uint32_t flags, const char *dir,
                          infer_error *err);

/* Read a description: YAML, or a record of infer-inspect hw.  name: for messages.
 * INFER_EFORMAT: malformed; names line and column.  INFER_ENOMEM */
int infer_machine_read(struct infer_machine *m, const char *text, size_t bytes, const char *name,
                       infer_error *err);
/* Get a machine of the built-in library: "h100"; several of one part: "h100*8"; a host with
 * accelerators: "epyc-9654+rtx-4090*2".  Case, separators and the maker's words do not matter, and
 * the last words of a name suffice if they have a number: "RTX 4090", "rtx4090", "4090".
 * INFER_EINVAL: no part has the name, or several do; suggests some.  Or the parts do not combine.
 * INFER_ENOMEM */
int infer_machine_find(struct infer_machine *m, const char *name, infer_error *err);
/* Get the name of part i of the library.  1: name is filled; 0: there is no part i. */
int infer_machine_name(int i, char name[32]);
/* Write the figures as members of the JSON object that is open in w (base/jwrite.h); out of memory:
 * the buffer of w is marked bad. */
struct jwrite;
void infer_machine_write(const struct infer_machine *m, struct jwrite *w);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
