/* record/bench.c - measured rates, and the ceilings of the machine */
#include "record/record.h"
#include <infer/hw.h>
#include <infer/statistic.h>
#include <infer/type.h>
#include "base/cpu.h"

#include <string.h>

static void put_spread(struct jwrite *w, const char *key, const struct infer_rate *r)
{
	jw_object(w, key);
	jw_num(w, "median", r->median);
	jw_num(w, "min", r->least);
	jw_num(w, "max", r->most);
	jw_end(w);
}

/* Write the fields of the machine into the open object. */
static void put_machine(struct jwrite *w, int32_t threads)
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
	put_machine(w, threads);
	jw_end(w);
}

static void put_ceilings(struct jwrite *w, const struct infer_ceilings *c)
{
	put_spread(w, "mapped_gb_s", &c->mapped);
	if (c->memory.median > 0)
		put_spread(w, "memory_gb_s", &c->memory);
	put_spread(w, "fma_gflop_s", &c->fma);
	put_spread(w, "dot_gop_s", &c->dot);
	if (c->tile_i8.median > 0)
		put_spread(w, "tile_i8_gop_s", &c->tile_i8);
	if (c->tile_bf16.median > 0)
		put_spread(w, "tile_bf16_gflop_s", &c->tile_bf16);
}

int infer_write_ceilings(infer_records *out, const infer_probe *p, const struct infer_ceilings *c,
                         infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", "ceilings");
	put_ceilings(w, c);
	put_run(w, infer_probe_threads(p));
	return infer_records_end(out, err);
}

int infer_write_probe(infer_records *out, const infer_probe *p, const struct infer_probe_case *c,
                      const struct infer_probe_result *r, infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", "kernel");
	jw_str(w, "kernel", c->kernel);
	jw_str(w, "type", c->type);
	jw_str(w, "shape", c->shape);
	jw_int(w, "n", c->n);
	jw_int(w, "k", c->k);
	jw_int(w, "m", c->m);
	jw_str(w, "isa", c->isa);
	put_spread(w, "gb_s", &r->bytes);
	put_spread(w, "gop_s", &r->ops);
	jw_str(w, "limit", limit_name(r->limit));
	put_spread(w, "ceiling", &r->ceiling);
	put_spread(w, "fraction", &r->fraction);
	jw_bool(w, "same", r->same);
	put_run(w, infer_probe_threads(p));
	return infer_records_end(out, err);
}

void infer_put_machine(struct jwrite *w, int32_t threads)
{
	jw_object(w, "machine");
	put_machine(w, threads);
	jw_end(w);
}

/* True if t has the weights of experts: a token uses only some of them. */
static int is_expert(const struct infer_tensor *t)
{
	return t->name.len > 5 && memmem(t->name.at, t->name.len, "_exps", 5);
}

/* Write the bytes of each tensor type, in the order of the enum. */
static void put_types(struct jwrite *w, const infer_file *f)
{
	uint64_t bytes[INFER_TYPE_COUNT] = { 0 }, all = 0;
	double weights = 0;
	const struct infer_tensor *t;

	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		if (t->of)
			continue;
		bytes[t->type] += t->bytes;
		all += t->bytes;
		weights +=
			(double)t->ne[0] * (double)t->ne[1] * (double)t->ne[2] * (double)t->ne[3];
	}
	jw_num(w, "bits_per_weight", weights > 0 ? 8 * (double)all / weights : 0);
	jw_object(w, "types");
	for (int i = 0; i < INFER_TYPE_COUNT; i++)
		if (bytes[i])
			jw_uint(w, infer_type_info(i)->name, bytes[i]);
	jw_end(w);
}

void infer_put_model(struct jwrite *w, const infer_model *m, const char *const *sha256, int n)
{
	const infer_file *f = infer_model_file(m);
	const struct infer_tensor *t;
	struct infer_model_info info;
	double idle = 0;
	char id[65];

	infer_model_info(m, &info);
	infer_file_id(f, id);
	for (uint64_t i = 0; info.n_expert && (t = infer_file_tensor_at(f, i)); i++)
		if (!t->of && is_expert(t))
			idle += (double)t->ne[0] * (double)t->ne[1] * (double)t->ne[2] *
			        (info.n_expert - info.n_expert_used) / info.n_expert;
	jw_object(w, "model");
	jw_str(w, "architecture", info.arch);
	jw_str(w, "id", id);
	jw_uint(w, "n_params", info.n_params);
	jw_num(w, "active_params", (double)info.n_params - idle);
	put_types(w, f);
	if (n) {
		jw_array(w, "sha256");
		for (int i = 0; i < n; i++)
			jw_str(w, NULL, sha256[i]);
		jw_end(w);
	}
	jw_end(w);
}

static void put_metrics(struct jwrite *w, const struct infer_bench *b)
{
	size_t n = b->turns_tok_s ? (size_t)b->repeat : 0;

	jw_object(w, "metrics");
	infer_metric_put(
		w, &(struct infer_metric){ .name = b->decode ? "decode_tok_s" : "prefill_tok_s",
	                                   .unit = "tok/s",
	                                   .higher = 1,
	                                   .values = b->turns_tok_s,
	                                   .scratch = b->scratch,
	                                   .n = n });
	if (b->limit_tok_s > 0)
		infer_metric_put(w, &(struct infer_metric){ .name = "fraction",
		                                            .unit = "of the limit",
		                                            .higher = 1,
		                                            .values = b->turns_fraction,
		                                            .scratch = b->scratch,
		                                            .n = n });
	infer_metric_put(
		w, &(struct infer_metric){ .name = b->decode ? "decode_cpu_us" : "prefill_cpu_us",
	                                   .unit = "us/tok",
	                                   .values = b->turns_cpu_us,
	                                   .scratch = b->scratch,
	                                   .n = b->turns_cpu_us ? n : 0 });
	jw_end(w);
}

int infer_write_bench(infer_records *out, const struct infer_bench *b,
                      const struct infer_run_info *run, infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_BENCH);

	jw_str(w, "bench", b->decode ? "decode" : "prefill");
	jw_int(w, "tokens", b->tokens);
	jw_int(w, "depth", b->depth);
	jw_int(w, "batch", b->batch);
	jw_int(w, "repeat", b->repeat);
	jw_str(w, "clock", b->cpu_time ? "cpu" : "wall");
	jw_int(w, "created_ms", b->created_ms);
	put_spread(w, "tok_s", &b->tok_s);
	jw_num(w, "weight_bytes", b->weight_bytes);
	jw_num(w, "kv_bytes", b->kv_bytes);
	jw_num(w, "ops", b->ops);
	if (b->limit_tok_s > 0) {
		jw_str(w, "limit", limit_name(b->limit));
		jw_num(w, "limit_tok_s", b->limit_tok_s);
	}
	if (b->predicted_tok_s > 0)
		jw_num(w, "predicted_tok_s", b->predicted_tok_s);
	if (b->adjusted) {
		jw_object(w, "adjusted");
		put_spread(w, "tok_s", &b->adjusted->tok_s);
		put_spread(w, "ratio", &b->adjusted->ratio);
		if (b->adjusted->memory_gb_s.median > 0)
			put_spread(w, "memory_gb_s", &b->adjusted->memory_gb_s);
		put_spread(w, "i8_gop_s", &b->adjusted->i8_gop_s);
		jw_end(w);
	}
	if (b->limit_tok_s > 0) {
		put_spread(w, "fraction", &b->fraction);
		put_ceilings(w, &b->ceilings);
	}
	if (b->core_clock.median > 0)
		put_spread(w, "core_clock", &b->core_clock);
	if (b->core_clock.median > 0 && b->waited.least >= 0)
		put_spread(w, "waited", &b->waited);
	jw_array(w, "sha256");
	for (int i = 0; i < b->n_sha256; i++)
		jw_str(w, NULL, b->sha256[i]);
	jw_end(w);
	put_metrics(w, b);
	infer_put_model(w, run->model, NULL, 0);
	if (b->commit)
		jw_str(w, "commit", b->commit);
	infer_put_machine(w, b->threads);
	record_run(out, run);
	return infer_records_end(out, err);
}
