/* record/bench.c - measured rates beside the ceilings of the machine */
#include "record/record.h"
#include <infer/hw.h>
#include "base/cpu.h"

static void put_rate(struct jwrite *w, const char *key, const struct infer_rate *r)
{
	jw_object(w, key);
	jw_num(w, "median", r->median);
	jw_num(w, "min", r->least);
	jw_num(w, "max", r->most);
	jw_end(w);
}

void record_machine(struct jwrite *w, int32_t threads)
{
	struct infer_kernel_set s;
	char cpu[64];

	cpu_model_name(cpu);
	jw_str(w, "version", infer_version());
	jw_str(w, "cpu", cpu);
	jw_array(w, "kernels");
	for (int i = 0; infer_kernel_set(i, &s); i++)
		if (s.usable)
			jw_str(w, NULL, s.name);
	jw_end(w);
	jw_int(w, "threads", threads);
}

static const char *limit_name(int limit)
{
	static const char *const names[] = {
		[INFER_LIMIT_MEMORY] = "memory",   [INFER_LIMIT_FMA] = "fma",
		[INFER_LIMIT_DOT] = "dot",         [INFER_LIMIT_KV] = "kv",
		[INFER_LIMIT_COMPUTE] = "compute", [INFER_LIMIT_TILE] = "tile",
	};

	return names[limit];
}

static void put_run(struct jwrite *w, int32_t threads)
{
	jw_object(w, "run");
	record_machine(w, threads);
	jw_end(w);
}

void record_ceilings(struct jwrite *w, const struct infer_ceilings *c)
{
	put_rate(w, "mapped_gb_s", &c->mapped);
	if (c->memory.median > 0)
		put_rate(w, "memory_gb_s", &c->memory);
	put_rate(w, "fma_gflop_s", &c->fma);
	put_rate(w, "dot_gop_s", &c->dot);
	if (c->tile_i8.median > 0)
		put_rate(w, "tile_i8_gop_s", &c->tile_i8);
	if (c->tile_bf16.median > 0)
		put_rate(w, "tile_bf16_gflop_s", &c->tile_bf16);
}

int infer_write_ceilings(infer_writer *out, const infer_probe *p, const struct infer_ceilings *c,
                         infer_error *err)
{
	struct jwrite *w = record_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", "ceilings");
	record_ceilings(w, c);
	put_run(w, infer_probe_threads(p));
	return record_end(out, err);
}

int infer_write_probe(infer_writer *out, const infer_probe *p, const struct infer_probe_case *c,
                      const struct infer_probe_result *r, infer_error *err)
{
	struct jwrite *w = record_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", "kernel");
	jw_str(w, "kernel", c->kernel);
	jw_str(w, "type", c->type);
	jw_str(w, "shape", c->shape);
	jw_int(w, "n", c->n);
	jw_int(w, "k", c->k);
	jw_int(w, "m", c->m);
	jw_str(w, "isa", c->isa);
	put_rate(w, "gb_s", &r->bytes);
	put_rate(w, "gop_s", &r->ops);
	jw_str(w, "limit", limit_name(r->limit));
	put_rate(w, "ceiling", &r->ceiling);
	put_rate(w, "fraction", &r->fraction);
	jw_bool(w, "same", r->same);
	put_run(w, infer_probe_threads(p));
	return record_end(out, err);
}

int infer_write_bench(infer_writer *out, const struct infer_bench *b,
                      const struct infer_run_info *run, infer_error *err)
{
	struct jwrite *w = record_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", b->decode ? "decode" : "prefill");
	jw_int(w, "tokens", b->tokens);
	jw_int(w, "depth", b->depth);
	jw_int(w, "batch", b->batch);
	jw_int(w, "repeat", b->repeat);
	jw_str(w, "clock", b->cpu_time ? "cpu" : "wall");
	put_rate(w, "tok_s", &b->tok_s);
	jw_num(w, "weight_bytes", b->weight_bytes);
	jw_num(w, "kv_bytes", b->kv_bytes);
	jw_num(w, "ops", b->ops);
	jw_str(w, "limit", limit_name(b->limit));
	jw_num(w, "limit_tok_s", b->limit_tok_s);
	put_rate(w, "fraction", &b->fraction);
	record_ceilings(w, &b->ceilings);
	jw_array(w, "sha256");
	for (int i = 0; i < b->n_sha256; i++)
		jw_str(w, NULL, b->sha256[i]);
	jw_end(w);
	jw_object(w, "machine");
	record_machine(w, b->threads);
	jw_end(w);
	record_run(out, run);
	return record_end(out, err);
}
