/* probe/ceiling.c - open and close a probe, and measure ceilings: reading memory, fma, int8
 * products */
#include "probe/probe.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/os.h"
#include "file/file.h"

#include <string.h>
#include <sys/mman.h>

enum { PIECE = 8 << 20, QUICK_PIECE = 1 << 20, TURNS = 2000 };
/* BYTES: memory to read, larger than the caches */
enum { BYTES = 256 << 20, QUICK_BYTES = 32 << 20, SHARE = 4 << 20, LEAST = 64 << 10 };
enum { NOW_BYTES = 64 << 20 }; /* per thread, more than one turn reads */

double probe_read(struct probe_worker *w)
{
	size_t left = (size_t)(w->to - w->at), all = (size_t)(w->to - w->from),
	       piece = all / 8 < QUICK_PIECE ? all
	               : all / 8 < PIECE     ? all / 8
	                                     : PIECE;

	uint32_t sum;

	piece -= piece % 512;
	if (left < piece)
		w->at = w->from;
	w->p->widest.peak_read(&sum, w->at, piece);
	w->at += piece;
	w->sum += sum;
	return (double)piece;
}

double probe_fma(struct probe_worker *w)
{
	const infer_probe *p = w->p;
	double ops;

	p->widest.peak_fma(&ops, w->sink, TURNS);
	return ops;
}

double probe_dot(struct probe_worker *w)
{
	const infer_probe *p = w->p;
	double ops;
	int32_t sink;

	p->widest.peak_dot(&ops, &sink, TURNS);
	w->sum += (uint32_t)sink;
	return ops;
}

static double tile_rate(const infer_probe *p, int bf16)
{
	double ops;

	p->widest.peak_tile(&ops, bf16, TURNS);
	return ops;
}
double probe_tile_i8(struct probe_worker *w) { return tile_rate(w->p, 0); }
double probe_tile_bf16(struct probe_worker *w) { return tile_rate(w->p, 1); }

int probe_alone(infer_probe *p, probe_fn *fn, struct probe_memory mem, struct infer_rate *r,
                infer_error *err)
{
	double rates[PROBE_TURNS], *at[2] = { rates, NULL };
	probe_fn *const fns[2] = { fn, NULL };
	const struct probe_memory mems[2] = { mem, { .grain = 1 } };

	TRY(probe_run(p, fns, mems, NULL, at, err));
	*r = probe_rate(rates, p->repeat, 1e-9);
	return INFER_OK;
}

/* Return the memory from the first to the last tensor of the first shard that has tensors. */
static struct probe_memory file_memory(const infer_file *f)
{
	const unsigned char *from = NULL, *to = NULL;
	const struct infer_tensor *t;
	int shard = -1;

	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		const unsigned char *at = t->data;
		/* skip experts stored as separate tensors, which have no data, and copies, which
		 * are scattered except in a compressed file */
		if (!at || (file_is_copy(f, t) && !f->shards[t->shard].own))
			continue;
		if (shard < 0)
			shard = t->shard;
		if (t->shard != shard)
			continue;
		if (!from || at < from)
			from = at;
		if (!to || at + t->bytes > to)
			to = at + t->bytes;
	}
	/* begin at a cache line */
	size_t off = (size_t)(-(uintptr_t)from % 64);
	if (!from || (size_t)(to - from) < off)
		return (struct probe_memory){ .grain = 1 };
	return (struct probe_memory){ from + off, (size_t)(to - from) - off, 512 };
}

static int measure_memory(infer_probe *p, struct infer_rate *r, infer_error *err)
{
	void *at;

	TRY(os_reserve(&at, p->bytes, err));
	madvise(at, p->bytes, MADV_HUGEPAGE);
	for (size_t i = 0; i < p->bytes; i += 4096)
		((unsigned char *)at)[i] = 1;
	int rc = probe_alone(p, probe_read, (struct probe_memory){ at, p->bytes, 512 }, r, err);

	os_release(at, p->bytes);
	return rc;
}

int probe_weights(infer_probe *p, infer_error *err)
{
	void *at;

	if (p->weights)
		return INFER_OK;
	TRY(os_file_memory(&at, p->bytes, err));
	p->weights = at;
	probe_fill(p, INFER_F16, 2048);
	return INFER_OK;
}

int infer_probe_ceilings(infer_probe *p, const infer_file *file, struct infer_ceilings *c,
                         infer_error *err)
{
	struct infer_ceilings out = { .mapped = { 0 } };
	struct probe_memory mem = { .grain = 1 };

	if (file)
		mem = file_memory(file);
	if (mem.bytes < (size_t)p->threads * LEAST) { /* no file, or a tiny one */
		TRY(probe_weights(p, err));
		mem = (struct probe_memory){ p->weights, p->bytes, 512 };
	}
	TRY(probe_alone(p, probe_read, mem, &out.mapped, err));
	if (!file)
		TRY(measure_memory(p, &out.memory, err));
	TRY(probe_alone(p, probe_fma, (struct probe_memory){ .grain = 1 }, &out.fma, err));
	TRY(probe_alone(p, probe_dot, (struct probe_memory){ .grain = 1 }, &out.dot, err));
	if (p->widest.peak_tile && !file)
		TRY(probe_alone(p, probe_tile_i8, (struct probe_memory){ .grain = 1 }, &out.tile_i8,
		                err));
	if (p->widest.peak_tile && (!file || p->flags & INFER_PROBE_BF16))
		TRY(probe_alone(p, probe_tile_bf16, (struct probe_memory){ .grain = 1 },
		                &out.tile_bf16, err));
	p->ceilings = *c = out;
	p->has_ceilings = 1;
	return INFER_OK;
}

int infer_probe_now(infer_probe *p, const infer_file *file, double *gb_s, double *i8_gop_s,
                    infer_error *err)
{
	enum { MEMORY_NS = 700000, DOT_NS = 300000, REPEAT = 2 };
	const infer_probe usual = *p;
	struct probe_memory mem = { .grain = 1 };
	struct infer_rate read = { .median = 0 }, dot = { .median = 0 };
	size_t part = (size_t)p->threads * NOW_BYTES;
	int rc = INFER_OK;

	p->repeat = usual.repeat < REPEAT ? usual.repeat : REPEAT; /* the size of rates[] */
	p->turn_ns = MEMORY_NS;
	if (gb_s)
		mem = file_memory(file);
	if (mem.bytes > part) {
		p->now_at = p->now_at + 2 * part > mem.bytes ? 0 : p->now_at + part;
		mem = (struct probe_memory){ mem.from + p->now_at, part, mem.grain };
	}
	if (gb_s && mem.bytes >= (size_t)p->threads * LEAST)
		rc = probe_alone(p, probe_read, mem, &read, err);
	p->turn_ns = DOT_NS;
	if (!rc)
		rc = probe_alone(p, probe_dot, (struct probe_memory){ .grain = 1 }, &dot, err);
	p->repeat = usual.repeat;
	p->turn_ns = usual.turn_ns;
	if (gb_s)
		*gb_s = read.median;
	*i8_gop_s = dot.median;
	return rc;
}

static int list_sets(infer_probe *p, const char *isa, infer_error *err)
{
	uint64_t all = cpu_permit(cpu_features());

	p->ref = kern_select(0);
	p->widest = kern_select(all);
	for (unsigned i = 0; kern_name(i); i++) {
		uint64_t have = all;
		if ((isa && strcmp(isa, kern_name(i))) ||
		    kern_limit(&have, kern_name(i), isa ? err : NULL))
			continue;
		if (p->n_sets < PROBE_SETS)
			p->sets[p->n_sets++] = kern_select(have);
	}
	if (p->n_sets)
		return INFER_OK;
	return kern_limit(&all, isa, err);
}

int infer_probe_open(infer_probe **out, const struct infer_probe_opts *o, infer_error *err)
{
	struct os_limits l;
	infer_probe *p;
	int rc;

	*out = NULL;
	if (o->threads < 0 || o->threads > PROBE_THREADS || o->repeat < 0 ||
	    o->repeat > PROBE_TURNS)
		return err_set(err, INFER_EINVAL, "%d threads, %d turns: must be at most %d and %d",
		               (int)o->threads, (int)o->repeat, PROBE_THREADS, PROBE_TURNS);
	p = mem_zalloc(MEM_PLAN, 1, sizeof *p);
	if (!p)
		return err_nomem(err);
	os_limits(&l);
	p->threads = o->threads ? o->threads : l.threads;
	p->repeat = o->repeat ? o->repeat : 5;
	p->flags = o->flags;
	p->turn_ns = o->flags & INFER_PROBE_LONG    ? 30000000
	             : o->flags & INFER_PROBE_QUICK ? 1000000
	                                            : 4000000;
	p->bytes = o->flags & INFER_PROBE_QUICK ? QUICK_BYTES : BYTES;
	if (p->bytes < (size_t)p->threads * SHARE)
		p->bytes = (size_t)p->threads * SHARE;
	p->fill_type = -1;
	p->rates = mem_alloc(MEM_PLAN, 2 * ((size_t)p->repeat + 1) * (size_t)p->threads,
	                     sizeof *p->rates);
	rc = p->rates ? list_sets(p, o->isa, err)
	              : err_set(err, INFER_ENOMEM, "no memory for %d turns", (int)p->repeat);
	if (!rc)
		rc = probe_cases(p, err);
	if (rc)
		infer_probe_close(&p);
	*out = p;
	return rc;
}

void infer_probe_close(infer_probe **at)
{
	infer_probe *p = *at;

	*at = NULL;
	if (!p)
		return;
	if (p->weights)
		os_release(p->weights, p->bytes);
	probe_forget(p);
	mem_free(p->cases);
	mem_free(p->rates);
	mem_free(p);
}

int32_t infer_probe_threads(const infer_probe *p) { return p->threads; }
