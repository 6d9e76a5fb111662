/* infer-inspect/plan_json.c - a plan as a record, which infer-bench run reads to measure it. */
#include "plan.h"

static void put_step(struct jwrite *w, const char *name, const struct infer_step_time *t)
{
	jw_object(w, name);
	jw_num(w, "weight_bytes", t->weight_bytes);
	jw_num(w, "kv_bytes", t->kv_bytes);
	jw_num(w, "ops", t->ops);
	jw_num(w, "limit_ms", t->limit * 1e3);
	jw_str(w, "limit_by", infer_bound_name(t->limit_by));
	if (t->total > 0) {
		jw_num(w, "predicted_ms", t->total * 1e3);
		jw_str(w, "predicted_by", infer_bound_name(t->total_by));
		jw_object(w, "parts_ms");
		for (int i = 0; i < INFER_BOUND_COUNT; i++)
			if (t->part[i] > 0)
				jw_num(w, infer_bound_name(i), t->part[i] * 1e3);
		jw_end(w);
	}
	jw_end(w);
}

static void put_if_known(struct jwrite *w, const char *name, double v)
{
	if (v > 0)
		jw_num(w, name, v);
	else
		jw_null(w, name);
}

static void put_memory(struct jwrite *w, const struct infer_plan_need *n)
{
	jw_object(w, "memory");
	jw_bool(w, "fits", n->fits);
	jw_num(w, "weight_bytes", n->weights);
	jw_num(w, "kv_bytes", n->kv);
	jw_num(w, "workspace_bytes", n->workspace);
	jw_num(w, "process_bytes", n->process);
	jw_num(w, "host_bytes", n->host);
	put_if_known(w, "peak_bytes", n->peak);
	jw_num(w, "gpu_bytes", n->gpu);
	jw_num(w, "host_there_bytes", n->host_there);
	jw_num(w, "gpu_there_bytes", n->gpu_there);
	jw_end(w);
}

static void put_device(struct jwrite *w, const struct planned *p)
{
	const struct infer_engine_need *n = &p->on_gpu;

	if (!n->ctx)
		return;
	jw_object(w, "device");
	jw_str(w, "name", p->o->plan.device);
	jw_uint(w, "weight_bytes", n->device_weight_bytes);
	jw_uint(w, "kv_bytes", n->device_kv_bytes);
	jw_uint(w, "workspace_bytes", n->device_workspace_bytes);
	jw_uint(w, "host_bytes", n->weight_bytes + n->kv_bytes + n->workspace_bytes);
	jw_end(w);
}

static void put_line(struct jwrite *w, const char *name, struct buf *line)
{
	size_t from = 0;

	while (from < line->len && line->at[from] == ' ')
		from++;
	if (line->len && !line->bad)
		jw_strn(w, name, line->at + from, line->len - from - 1);
	buf_clear(line);
}

static void put_lines(struct jwrite *w, const struct planned *p, const struct strategy *s)
{
	struct buf line;

	buf_init(&line, MEM_BASE);
	plan_quant_line(&line, p, s);
	put_line(w, "quant", &line);
	if (s->runs != RUNS_OTHER) {
		plan_run_line(&line, p, s);
		put_line(w, "run_line", &line);
		plan_serve_line(&line, p, s);
		put_line(w, "serve_line", &line);
	}
	buf_fini(&line);
}

static void put_strategy(struct jwrite *w, const struct planned *p, const struct strategy *s,
                         const char *name)
{
	const struct infer_plan *r = &s->plan;
	const struct infer_plan_ask *a = &s->ask;
	static const char *const runs[] = { "here", "cuda", "other" }, *const splits[] = {
		"none", "tensor", "pipeline", "expert"
	};

	jw_object(w, name);
	if (s->aim)
		jw_str(w, "aim", s->aim);
	if (*s->why)
		jw_str(w, "why", s->why);
	jw_str(w, "type", infer_type_info(s->type < 0 ? p->type : s->type)->name);
	jw_int(w, "ctx", a->ctx);
	jw_int(w, "users", a->users);
	jw_int(w, "prompt", a->prompt);
	jw_int(w, "output", a->output);
	jw_str(w, "k_type", infer_type_info(a->how.k_type)->name);
	jw_str(w, "v_type", infer_type_info(a->how.v_type)->name);
	jw_str(w, "runs", runs[s->runs]);
	jw_int(w, "gpus", a->how.gpus);
	jw_num(w, "gpu_part", a->how.gpu_part);
	jw_str(w, "split", splits[a->how.split]);
	put_memory(w, &r->need);
	put_step(w, "prefill", &r->prefill);
	put_step(w, "decode", &r->decode);
	put_if_known(w, "limit_prefill_tok_s", r->prefill.partial ? 0 : r->limit_prefill_tok_s);
	jw_num(w, "limit_decode_tok_s", r->limit_decode_tok_s);
	jw_num(w, "limit_all_tok_s", r->limit_all_tok_s);
	put_if_known(w, "prefill_tok_s", r->prefill_tok_s);
	put_if_known(w, "decode_tok_s", r->decode_tok_s);
	put_if_known(w, "all_tok_s", r->all_tok_s);
	put_if_known(w, "ttft_ms", r->ttft_ms);
	put_if_known(w, "ttft_alone_ms", r->ttft_alone_ms);
	put_if_known(w, "tpot_ms", r->tpot_ms);
	if (r->tpot_ms > 0) {
		jw_num(w, "tpot_prompts_ms", r->tpot_prompts_ms);
		jw_str(w, "tpot_by", infer_bound_name(r->tpot_by));
	}
	put_if_known(w, "request_ms", r->request_ms);
	jw_int(w, "users_memory", r->users_memory);
	if (r->users_latency < 0)
		jw_null(w, "users_latency");
	else
		jw_int(w, "users_latency", r->users_latency);
	put_if_known(w, "prefix_saves_ms", r->prefix_ms);
	put_if_known(w, "prefix_saves_bytes", r->prefix_bytes);
	put_if_known(w, "cost", r->cost);
	if (s->aim)
		put_lines(w, p, s);
	jw_str(w, "slower", r->slower ? "decode" : "prefill");
	jw_end(w);
}

static void put_judgement(struct jwrite *w, const struct planned *p)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	jw_object(w, "verdict");
	jw_str(w, "grade", plan_grade_name(p->grade));
	jw_int(w, "strategy", p->pick);
	plan_verdict(&text, p);
	jw_strn(w, "text", text.len && !text.bad ? text.at : "", text.bad ? 0 : text.len);
	buf_clear(&text);
	plan_command(&text, p);
	jw_strn(w, "command", text.len && !text.bad ? text.at : "", text.bad ? 0 : text.len);
	jw_end(w);
	buf_fini(&text);
}

void plan_json(struct buf *out, const struct planned *p)
{
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_PLAN, INFER_RECORD_FIRST);
	jw_str(&w, "model", p->named);
	jw_str(&w, "machine", p->m->name);
	put_judgement(&w, p);
	if (p->m->measured) { /* the predictions use these rates */
		jw_num(&w, "memory_gb_s", p->m->memory_gb_s);
		jw_num(&w, "i8_gop_s", p->m->i8_gop_s);
	}
	jw_num(&w, "params", p->shape.params);
	jw_num(&w, "active_params", p->shape.active_params);
	if (p->asked.ask.how.decode_times > 0)
		jw_num(&w, "decode_times", p->asked.ask.how.decode_times);
	jw_int(&w, "ctx_train", p->shape.ctx_train);
	if (!p->model)
		jw_str(&w, "assumed", p->dims.name);
	put_strategy(&w, p, &p->asked, "asked");
	if (p->o->plan.loras.n) {
		jw_num(&w, "adapter_bytes", p->lora_bytes);
		jw_int(&w, "adapter_rank", p->asked.ask.lora_rank);
	}
	put_device(&w, p);
	jw_array(&w, "strategies");
	for (int i = 0; i < p->n_best; i++)
		put_strategy(&w, p, &p->best[i], NULL);
	jw_end(&w);
	jw_str(&w, "other_engine", plan_other_engine(p));
	infer_record_close(&w);
}
