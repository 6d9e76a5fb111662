/* record/run.c - the object `run`: how an answer was computed */
#include "record/record.h"
#include <infer/kvtype.h>
#include <infer/param.h>
#include "base/err.h"
#include "base/sha256.h"
#include "chat/tools.h"

#include <stdio.h>
#include <string.h>

/* Write the effective sampling options, under the names of request fields. */
static void put_sampler(struct jwrite *w, const struct infer_run_info *run)
{
	struct infer_sample_opts o = *run->sample;
	const struct infer_sample_param *p;

	infer_sample_resolve(&o);
	jw_object(w, "sampler");
	for (int i = 0; (p = infer_sample_param(i)); i++) {
		part_number(w, p, &o);
		if (p->at == offsetof(struct infer_sample_opts, dry_window) && o.dry_multiplier > 0)
			part_texts(w, "dry_sequence_breakers", run->breakers, run->n_breakers);
	}
	part_stages(w, "samplers", &o);
	part_bias(w, "logit_bias", &o, 0);
	if (run->n_bad_words)
		part_texts(w, "bad_words", run->bad_words, run->n_bad_words);
	jw_end(w);
}

void record_model(infer_records *out, const char *key, const infer_model *m)
{
	const infer_file *f = infer_model_file(m);
	struct infer_file_info file;
	struct jwrite *w = &out->w;

	struct infer_str name = infer_model_called(m);
	const char *path = infer_file_path(f);
	char id[65];

	infer_file_info(f, &file);
	infer_file_id(f, id);
	jw_object(w, key);
	jw_strn(w, "name", name.at, name.len);
	jw_str(w, "path", path);
	jw_uint(w, "file_bytes", file.file_bytes);
	jw_str(w, "id", id);
	jw_end(w);
}

/* Write kernel sets such as "ref+avx2" as a list. */
static void put_kernels(struct jwrite *w, const char *isa)
{
	jw_array(w, "kernels");
	while (*isa) {
		size_t n = strcspn(isa, "+");

		jw_strn(w, NULL, isa, n);
		isa += n + (isa[n] == '+');
	}
	jw_end(w);
}

/* Write "f16", or "f16,f32" if K and V differ, as in --kv-type. */
static void put_kv_type(struct jwrite *w, int k_type, int v_type)
{
	char text[64];

	snprintf(text, sizeof text, k_type == v_type ? "%s" : "%s,%s", infer_kv_name(k_type),
	         infer_kv_name(v_type));
	jw_str(w, "kv_type", text);
}

static const char *act_name(int type) { return type == INFER_BF16 ? "bf16" : "f32"; }

/* Write the adapters that changed the model; nothing if there are none. */
static void put_adapters(struct jwrite *w, const struct infer_run_info *run)
{
	struct infer_lora_info info;

	if (!run->n_loras)
		return;
	jw_array(w, "adapters");
	for (int32_t i = 0; i < run->n_loras; i++) {
		infer_lora_info(run->loras[i].lora, &info);
		jw_object(w, NULL);
		jw_str(w, "name", run->lora_names[i]);
		jw_str(w, "sha256", info.sha256);
		jw_num(w, "scale", (double)run->loras[i].factor);
		jw_end(w);
	}
	jw_end(w);
}

void record_run(infer_records *out, const struct infer_run_info *run)
{
	struct infer_engine_info info;
	struct jwrite *w = &out->w;

	infer_engine_info(run->engine, &info);
	jw_object(w, "run");
	jw_str(w, "version", infer_version());
	record_model(out, "model", run->model);
	put_adapters(w, run);
	put_kernels(w, info.isa);
	jw_str(w, "placement", info.placement);
	put_kv_type(w, info.k_type, info.v_type);
	jw_str(w, "act_type", act_name(info.act_type));
	jw_int(w, "ctx", info.ctx);
	put_sampler(w, run);
	jw_int(w, "seed", (int64_t)run->sample->seed);
	if (run->seed_random)
		jw_bool(w, "seed_random", 1);
	jw_array(w, "flags");
	for (int i = 0; i < run->n_flags; i++)
		jw_str(w, NULL, run->flags[i]);
	jw_end(w);
	if (run->options_sha256)
		jw_str(w, "options_sha256", run->options_sha256);
	jw_end(w);
}

static void put_open(struct jwrite *w, const struct infer_job_opts *o, const infer_engine *e,
                     const struct infer_str *source)
{
	struct infer_engine_info info;

	infer_engine_info(e, &info);
	put_kv_type(w, info.k_type, info.v_type);
	if (info.act_type) /* left out for f32, so that batches begun by older versions resume */
		jw_str(w, "act_type", act_name(info.act_type));
	jw_str(w, "placement", info.placement);
	put_sampler(w, &(struct infer_run_info){ .sample = &o->sample,
	                                         .breakers = o->breaker_texts,
	                                         .n_breakers = o->n_breaker_texts });
	jw_uint(w, "seed", o->sample.seed);
	jw_array(w, "stop");
	for (int32_t i = 0; i < o->n_stop; i++)
		jw_base64(w, NULL, o->stop[i].at, o->stop[i].len);
	jw_end(w);
	jw_array(w, "stop_tokens");
	for (int32_t i = 0; i < o->n_stop_tokens; i++)
		jw_int(w, NULL, o->stop_tokens[i]);
	jw_end(w);
	jw_int(w, "max_tokens", o->max_tokens);
	jw_int(w, "max_tokens_given", o->max_tokens_given);
	jw_int(w, "logprobs", o->logprobs);
	jw_uint(w, "flags", o->flags);
	jw_uint(w, "encode", o->encode);
	jw_int(w, "raw", o->raw);
	if (o->chat && source)
		jw_base64(w, "template", source->at, source->len);
	jw_base64(w, "system", o->conversation.system, o->conversation.system_n);
	jw_base64(w, "tools", o->conversation.tools ? o->conversation.tools->text : NULL,
	          o->conversation.tools ? o->conversation.tools->text_n : 0);
	jw_base64(w, "args", o->conversation.args, o->conversation.args_n);
	if (o->grammar)
		jw_str(w, "constraint", infer_grammar_sha256(o->grammar));
	if (o->constraint.flags || o->constraint.budget) {
		jw_uint(w, "constraint_flags", o->constraint.flags);
		jw_uint(w, "constraint_budget", o->constraint.budget);
	}
	if (o->reads & INFER_JOB_EMBED) {
		jw_int(w, "embed", o->embed);
		jw_int(w, "no_normalize", o->no_normalize);
	}
	jw_int(w, "think", o->conversation.think);
	if (o->reason_limit)
		jw_int(w, "reason_limit", o->reason_limit);
	jw_uint(w, "talk_flags", o->conversation.flags);
}

/* Write the adapters that requests can choose; nothing if there are none. */
static int put_choices(struct jwrite *w, const infer_adapters *s, infer_error *err)
{
	struct infer_adapter *list;
	struct infer_lora_info info;
	size_t n;

	TRY(infer_adapters_copy(&list, &n, s, err));
	for (size_t i = 0; i < n; i++) {
		infer_lora_info(list[i].lora, &info);
		jw_object(w, "adapter");
		jw_int(w, "id", list[i].id);
		jw_str(w, "name", list[i].name);
		jw_str(w, "sha256", info.sha256);
		jw_num(w, "scale", (double)list[i].scale);
		jw_num(w, "applied", (double)list[i].applied);
		jw_end(w);
	}
	infer_adapters_release(list, n);
	return INFER_OK;
}

int infer_job_opts_sha256(char hex[65], const struct infer_job_opts *o, const infer_engine *e,
                          const struct infer_str *source, infer_error *err)
{
	struct buf text;
	struct jwrite w;
	int rc;

	buf_init(&text, MEM_RECORD);
	jw_init(&w, &text);
	jw_object(&w, NULL);
	put_open(&w, o, e, source);
	rc = put_choices(&w, o->adapters, err);
	jw_end(&w);
	if (!rc && text.bad)
		rc = err_nomem(err);
	if (!rc)
		sha256_name(hex, text.at, text.len);
	buf_fini(&text);
	return rc;
}
