/* probe/probe.h - inside the probe: threads that take turns, and what they do in them. */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H
#include <infer/probe.h>
#include "kern/kern.h"
#include "kern/dispatch.h"

enum { PROBE_ATTN_HEADS = 4 };
enum { PROBE_SETS = 16, PROBE_THREADS = 1024, PROBE_TURNS = 1000 };
/* beside the flags of infer_probe_opts: loops are not compared with those of ref */
enum { PROBE_UNCHECKED = 1 << 16 };

enum probe_kind {
	PROBE_ROWS,
	PROBE_SKINNY,
	PROBE_TILE,
	PROBE_PACK,
	PROBE_PANEL, /* packing and multiplying, as an engine does: for predictions alone */
	PROBE_QUANT,
	PROBE_ATTN,
	PROBE_ELEM
};
struct probe_case {
	uint8_t kind, set, slot;
	uint8_t bf16; /* activations are rounded to bf16 */
	int type;
	const char *shape;
	int32_t n, k, m;
};

/* The loops of a case. */
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
	size_t bytes;          /* in a file's pages */
	int fill_type, fill_k; /* the matrix in it; -1: none yet */
	int fill_cache;        /* or the cache, by type and head size; 0: none */
	float *fx, *y; /* of all matrix cases, as large as the largest came to need: floats */
	size_t n_fx, n_y;
	size_t runs;   /* turns begin where others did not just read */
	size_t now_at; /* of a file, where its rate is measured next */
	struct infer_ceilings ceilings;
	int has_ceilings;
	double *rates; /* [2][repeat + 1][threads] */
};

/* One thread of a measurement: its part of a memory, and where it is in it. */
struct probe_worker {
	const infer_probe *p;
	int32_t id;
	const unsigned char *from, *to, *at;
	int32_t row;  /* of the matrix at `at` */
	uint64_t sum; /* what was read, so that it is read */
	float sink[4];
	void *job;
};
/* A piece of some 10 to 1000 us; returns its units: bytes or operations. */
typedef double probe_fn(struct probe_worker *w);

/* crew.c: all threads do `repeat` turns of each fn, the second may be NULL.
 * job     of the second's workers
 * mem     [from, from + bytes) of each fn, cut evenly for its workers by multiples of `grain`
 * rates   [n][repeat] units a second of all threads together */
struct probe_memory {
	const unsigned char *from;
	size_t bytes, grain;
};
int probe_run(infer_probe *p, probe_fn *const fn[2], const struct probe_memory mem[2], void *job,
              double *rates[2], infer_error *err);
struct infer_rate probe_rate(double *of, int32_t n, double times); /* sorts */

probe_fn probe_read, probe_fma, probe_dot, probe_tile_bf16; /* ceiling.c */

/* cases.c */
int probe_cases(infer_probe *p, infer_error *err);
const char *probe_elem_name(int slot);
double probe_elem_ops(int slot); /* operations of one element */
int probe_elem_same(int slot, const struct kern *a, const struct kern *b); /* the same function */

/* A case ready to be measured.  It owns the memory below, freed by probe_job_fini. */
struct probe_job {
	const infer_probe *p;
	const struct kern *k;
	const struct probe_case *c;
	size_t row_bytes;
	int block; /* weight rows of a call */
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
	int borrows; /* fx and y of the probe */
};
/* cases.c: set up what j->c says; whatever comes of it, probe_job_fini */
int probe_make(struct probe_job *j, infer_probe *p, infer_error *err);
void probe_job_fini(struct probe_job *j);
/* mm.c: rows, skinny, tile, pack */
int probe_mm(struct probe_job *j, infer_probe *p, infer_error *err);
void probe_forget(infer_probe *p); /* the memory that matrix cases share */
int probe_quant(struct probe_job *j, infer_probe *p, infer_error *err);
int probe_attn(struct probe_job *j, infer_probe *p, infer_error *err); /* attn.c */
int probe_elem(struct probe_job *j, infer_probe *p, infer_error *err); /* elem.c */
/* n floats from seed, 64-aligned; NULL: no memory */
float *probe_floats(size_t n, uint64_t seed);
/* Weights of a type and row length all over p->weights. */
void probe_fill(infer_probe *p, int type, int k);
/* The first `have` bytes of p->weights over the rest. */
void probe_spread(infer_probe *p, size_t have);
/* ceiling.c: the rate of fn, in 1e9 units a second */
int probe_alone(infer_probe *p, probe_fn *fn, struct probe_memory mem, struct infer_rate *r,
                infer_error *err);
probe_fn probe_tile_i8;
int probe_weights(infer_probe *p, infer_error *err); /* p->weights, if they are not there yet */
/* machine_loops.c: into m the rates of the loops of the widest set; all 0: of bf16 alone */
struct infer_machine;
int probe_machine_loops(struct infer_machine *m, infer_probe *p, int all, infer_error *err);
/* machine_text.c: the figures of a map.  INFER_EFORMAT names the place */
struct ytree;
int probe_machine_take(struct infer_machine *m, const struct ytree *y, const char *what,
                       infer_error *err);
#endif
