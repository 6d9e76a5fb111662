/* probe/probe.h - measurements: cases (what to measure), jobs (prepared cases), turns (timed
 * runs). */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H
#include <infer/probe.h>
#include "kern/kern.h"
#include "kern/dispatch.h"

enum { PROBE_ATTN_HEADS = 4 };
enum { PROBE_SETS = 16, PROBE_THREADS = 1024, PROBE_TURNS = 1000 };
/* internal flag next to those of infer_probe_opts: do not compare kernels with the set ref */
enum { PROBE_UNCHECKED = 1 << 16 };

enum probe_kind {
	PROBE_ROWS,
	PROBE_SKINNY,
	PROBE_TILE,
	PROBE_PACK,
	PROBE_PANEL, /* packing and multiplying, as in an engine; for predictions only */
	PROBE_QUANT,
	PROBE_ATTN,
	PROBE_ELEM
};
struct probe_case {
	uint8_t kind, set, slot;
	uint8_t bf16; /* 1: activations are rounded to bf16 */
	int type;
	const char *shape;
	int32_t n, k, m;
};

/* Return the product kernels of set k for the case's type and activations. */
static inline const struct kern_mm *probe_loops(const struct kern *k, const struct probe_case *c)
{
	return c->bf16 ? &k->mm_bf16[c->type] : &k->mm[c->type];
}

struct infer_probe {
	int32_t threads, repeat;
	uint32_t flags;
	int64_t turn_ns;
	struct kern ref, widest;
	struct kern sets[PROBE_SETS];
	int n_sets;
	struct probe_case *cases;
	int n_cases, cap;
	unsigned char *weights;
	size_t bytes;          /* bytes of weights, which are pages of a file */
	int fill_type, fill_k; /* type and row length of matrices in weights; -1: none */
	int fill_cache;        /* type << 16 | head size of the KV splits in weights; 0: none */
	float *fx, *y;         /* shared by all matrix cases, enlarged as needed */
	size_t n_fx, n_y;      /* number of floats of fx and y */
	size_t runs;           /* number of measurements so far: each begins at another offset */
	size_t now_at;         /* offset in the file that infer_probe_now reads next */
	struct infer_ceilings ceilings;
	int has_ceilings;
	double *rates; /* [2][repeat + 1][threads] */
};

/* One thread of a measurement, with its share [from, to) of the memory and its position `at`. */
struct probe_worker {
	const infer_probe *p;
	int32_t id;
	const unsigned char *from, *to, *at;
	int32_t row;  /* row of the matrix at `at` */
	uint64_t sum; /* sum of the bytes read, so that the compiler keeps the reads */
	float sink[4];
	void *job;
};
/* Do work of about 10 to 1000 us.  Returns the number of units (bytes or operations) done. */
typedef double probe_fn(struct probe_worker *w);

/* Run `repeat` turns of fn[0] and fn[1] (may be NULL), alternating, on all threads (crew.c).
 * mem   memory of each fn, divided evenly among the workers in multiples of `grain`
 * job   passed to the workers
 * rates  [2][repeat]: units per second of all threads together
 * INFER_ENOMEM; INFER_EIO: a thread cannot be started. */
struct probe_memory {
	const unsigned char *from;
	size_t bytes, grain;
};
int probe_run(infer_probe *p, probe_fn *const fn[2], const struct probe_memory mem[2], void *job,
              double *rates[2], infer_error *err);
/* Return median, minimum and maximum of n values, multiplied by `times`.  Sorts `of`. */
struct infer_rate probe_rate(double *of, int32_t n, double times);

probe_fn probe_read, probe_fma, probe_dot, probe_tile_bf16; /* ceiling.c */

/* Create the list of cases (cases.c).  INFER_ENOMEM */
int probe_cases(infer_probe *p, infer_error *err);
const char *probe_elem_name(int slot);
double probe_elem_ops(int slot); /* operations per element */
int probe_elem_same(int slot, const struct kern *a, const struct kern *b); /* 1: same function */

/* A case that is ready to be measured.  Owns x, panels and, unless `borrows`, fx and y. */
struct probe_job {
	const infer_probe *p;
	const struct kern *k;
	const struct probe_case *c;
	size_t row_bytes;
	int block; /* weight rows per kernel call */
	struct kern_act x;
	float *fx; /* [m][k] */
	float *y;  /* [threads][y_floats] */
	size_t y_floats;
	unsigned char *panels; /* [threads][panel_bytes * KERN_PANELS] */
	size_t panel_bytes;
	probe_fn *fn;
	double bytes_per_op;
	int limit;
	struct probe_memory mem;
	int same;
	int borrows; /* 1: fx and y belong to the probe */
};
/* Set up the job of case j->c (cases.c).  Call probe_job_fini even if it fails.  INFER_ENOMEM */
int probe_make(struct probe_job *j, infer_probe *p, infer_error *err);
void probe_job_fini(struct probe_job *j);
/* Set up the job of a case of one kind; errors as probe_make.  probe_mm (mm.c): kinds rows, skinny,
 * tile, pack and panel. */
int probe_mm(struct probe_job *j, infer_probe *p, infer_error *err);
void probe_forget(infer_probe *p); /* free the memory shared by matrix cases */
int probe_quant(struct probe_job *j, infer_probe *p, infer_error *err);
int probe_attn(struct probe_job *j, infer_probe *p, infer_error *err); /* attn.c */
int probe_elem(struct probe_job *j, infer_probe *p, infer_error *err); /* elem.c */
/* Return n random floats, 64-byte aligned, to free with mem_free.  NULL: out of memory. */
float *probe_floats(size_t n, uint64_t seed);
/* Fill p->weights with copies of some random rows of a type and length, unless it has them. */
void probe_fill(infer_probe *p, int type, int k);
/* Repeat the first `have` bytes of p->weights over the rest. */
void probe_spread(infer_probe *p, size_t have);
/* Measure the rate of fn alone, in 1e9 units per second (ceiling.c).  Errors as probe_run. */
int probe_alone(infer_probe *p, probe_fn *fn, struct probe_memory mem, struct infer_rate *r,
                infer_error *err);
probe_fn probe_tile_i8;
/* Allocate and fill p->weights if it is NULL.  INFER_ENOMEM INFER_EIO */
int probe_weights(infer_probe *p, infer_error *err);
/* Measure the kernels of the widest set into *m (machine_loops.c).  all 0: only bf16.
 * Errors as probe_run. */
struct infer_machine;
int probe_machine_loops(struct infer_machine *m, infer_probe *p, int all, infer_error *err);
/* Read the figures of YAML map y into *m (machine_text.c).  what: name of the file for messages.
 * INFER_EFORMAT: the message gives line and column. */
struct ytree;
int probe_machine_take(struct infer_machine *m, const struct ytree *y, const char *what,
                       infer_error *err);

/* Compare a name as a person typed it with a part.  Returns 2 if they are the same without case, separators and the
 * maker's words, or if the name is the part's title; 1 for its last words with a number; 0 for another part. */
int probe_name_rank(const char *asked, size_t n, const char *name, const char *title);
/* Return how similar a typed name is to a part's for a suggestion: letters that the two have in common if the one
 * begins with the other, or contains it as whole words; 0: not similar. */
int probe_name_likeness(const char *asked, size_t n, const char *name);
#endif
