/* infer-run/run.c - open and close the model and the engine. */
#include "run.h"
#include "common/confine.h"
#include "common/progress.h"
#include "common/say.h"
#include "common/sig.h"
#include "common/stored.h"
#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static int open_parts(struct run *r, infer_error *err)
{
	struct infer_model_opts mo = { .ctx = (int32_t)r->o->engine.ctx,
		                       .log = say_log,
		                       .watch = model_watch };
	struct infer_engine_opts eo;
	const char *path;

	/* scripts read records and must name the model, so there is no default */
	int records = r->o->score || r->o->batch || r->o->replay || r->o->output == OUTPUT_JSONL,
	    many = r->o->batch || r->o->lines || r->o->replay;

	TRY(constrain_take(&r->constrain, &r->o->constrain, err));
	TRY(model_path(&path, r->o->model, records ? MODEL_NAMED : MODEL_DEMO, err));
	TRY(engine_args_take(&eo, &r->o->engine, err));
	if (r->o->sandbox) /* a GPU driver makes system calls that the sandbox forbids */
		TRY(engine_keep_cpu(&eo, "--sandbox", err));
	eo.log = say_log;
	eo.max_seqs = many ? BATCH_SEQS : 1;
	eo.max_queue = many ? BATCH_QUEUE : 0;
	eo.flags |= r->o->no_jump ? INFER_ENGINE_NO_JUMP : 0;
	if (!many) /* a batch shows its progress in requests */
		eo.watch.fn = progress_at;
	sig_mapped(path);
	TRY(infer_model_open(&r->model, path, &mo, err));
	if (!infer_model_tokenizer(r->model))
		return err_set(err, INFER_EUNSUP, "%s: has no vocabulary", path);
	TRY(sampling_take(&r->sampling, &r->o->sampling, r->model, err));
	TRY(sampling_ids(&r->stop_tokens, &r->o->stop_tokens, "--stop-token", r->model,
	                 &r->sampling.mem, err));
	/* --replay: each record names its own */
	TRY(adapters_open(&r->adapters, &r->o->loras, !r->o->replay, r->model, err));
	eo.lora_rank = infer_adapters_rank(r->adapters.set);
	TRY(engine_open_shown(&r->engine, r->model, &eo, err));
	return infer_runner_new(&r->runner, r->engine, r->model, err);
}

/* Warn about options that are valid but probably not meant. */
static void warn_options(const struct run *r)
{
	const struct run_opts *o = r->o;
	struct infer_model_info m;

	infer_model_info(r->model, &m);
	if (o->engine.ctx > m.ctx_train)
		say_warning("-c %lld is more than the %d tokens that the model was trained on: "
		            "text beyond those is of little use",
		            (long long)o->engine.ctx, (int)m.ctx_train);
	for (int i = 0; i < o->stop.n; i++)
		if (strstr(o->stop.at[i], "\\n"))
			say_warning("--stop '%s' has a backslash and an n, not a newline; "
			            "$'\\n' is one in bash and zsh",
			            o->stop.at[i]);
}

/* Return which chat template is used, for -v. */
static const char *template_of(const struct run *r)
{
	const struct run_opts *o = r->o;

	if (o->raw || o->score)
		return "none is used";
	if (o->chat.template)
		return o->chat.template;
	if (infer_file_meta(infer_model_file(r->model), "tokenizer.chat_template"))
		return "the model's";
	if (stored_template(infer_file_path(infer_model_file(r->model))))
		return "that of Ollama's family";
	return chat_given(&o->chat) || o->interactive ? "ChatML, as the model has none"
	                                              : "the model has none";
}

/* Print the model, threads, kernels and template, with -v. */
static void print_setup(const struct run *r)
{
	const char *path = infer_file_path(infer_model_file(r->model)), *slash = strrchr(path, '/');
	struct infer_engine_info e;
	struct infer_model_info m;
	char size[48];

	infer_model_info(r->model, &m);
	infer_engine_info(r->engine, &e);
	int billions = m.n_params >= 1000000000;

	snprintf(size, sizeof size, "%.*f %s parameters", billions ? 2 : 1,
	         (double)m.n_params / (billions ? 1e9 : 1e6), billions ? "billion" : "million");
	say_note(1, "%s: %s, %s, %.1f MiB; threads: %d; kernels: %s; template: %s",
	         slash ? slash + 1 : path, m.arch, size, (double)m.weight_bytes / (1 << 20),
	         (int)e.threads, e.isa, template_of(r));
}

int run_open(struct run *r, const struct run_opts *o, const struct opt_rest *rest, infer_error *err)
{
	int64_t from = clock_now_ns();

	*r = (struct run){ .o = o, .rest = rest, .started_ns = o->stats ? clock_exec_ns() : 0 };
	int rc = open_parts(r, err);

	if (rc) {
		run_close(r);
	} else {
		warn_options(r);
		print_setup(r);
	}
	r->opened_ns = clock_now_ns();
	r->load_ms = clock_ms(from, r->opened_ns);
	return rc;
}

int run_confine(const struct run_opts *o, unsigned flags, infer_error *err)
{
	return o->sandbox ? confine(CONFINE_ASKED, flags, err) : INFER_OK;
}

int run_step(const struct run *r, infer_error *err)
{
	struct infer_engine_stats a, b;

	if (say_verbosity() < 2)
		return infer_runner_step(r->runner, err);
	infer_engine_stats(r->engine, &a);
	TRY(infer_runner_step(r->runner, err));
	infer_engine_stats(r->engine, &b);
	if (b.steps > a.steps)
		say_note(2, "step %llu: %llu rows of prompts, %llu decoding, %.1f ms",
		         (unsigned long long)b.steps,
		         (unsigned long long)(b.prefill_rows - a.prefill_rows),
		         (unsigned long long)(b.decode_rows - a.decode_rows),
		         (double)(b.compute_ns - a.compute_ns) / 1e6);
	return INFER_OK;
}

void run_close(struct run *r)
{
	int64_t from = clock_now_ns();

	infer_runner_free(r->runner);
	infer_engine_close(&r->engine);
	adapters_close(&r->adapters);
	sampling_fini(&r->sampling);
	constrain_fini(&r->constrain);
	infer_model_close(&r->model);
	sig_mapped(NULL);
	stats_print(&r->stats, clock_ms(from, clock_now_ns()));
}

void run_info(struct infer_run_info *info, const struct run *r)
{
	*info = (struct infer_run_info){
		.model = r->model,
		.engine = r->engine,
		.sample = &r->sampling.o,
		.breakers = r->sampling.breaker_texts,
		.n_breakers = r->sampling.n_breaker_texts,
		.flags = r->rest->record.at,
		.n_flags = r->rest->record.n,
		.seed_random = !r->o->sampling.seed.given,
		.loras = r->adapters.uses,
		.lora_names = r->adapters.names,
		.n_loras = r->adapters.n_uses,
	};
}

int run_unchanged(const struct run *r, int rc, infer_error *err)
{
	infer_error why;
	int changed = infer_file_check_unchanged(infer_model_file(r->model), &why);

	return changed ? err_set(err, changed, "%s", why.message) : rc;
}

int run_cut(const struct run *r, const struct infer_choice *c)
{
	struct infer_engine_info info;

	infer_engine_info(r->engine, &info);
	return c->finish == INFER_FINISH_LENGTH &&
	       c->usage.prompt_tokens + c->usage.completion_tokens >= info.ctx &&
	       c->usage.completion_tokens != r->o->max_tokens;
}

const char *run_unsatisfied(const struct run *r, const struct infer_choice *c)
{
	const struct constrain_args *o = &r->o->constrain;
	const char *name, *given = constrain_given(o);
	struct infer_reply_parts parts = { .n_calls = 0 };
	struct infer_reply_call call;
	size_t at;
	int done = 0;

	if (!given && constrain_calls(o, &name) > INFER_CALLS_AUTO)
		given = "--tool-choice";
	if (!given || c->finish != INFER_FINISH_LENGTH || !r->o->max_tokens ||
	    c->usage.completion_tokens != r->o->max_tokens)
		return NULL;
	if (c->reply)
		infer_reply_get(c->reply, &parts);
	if (parts.n_calls) {
		infer_reply_call(c->reply, parts.n_calls - 1, &call);
		return call.whole ? NULL : given;
	}
	if (r->constrain.grammar &&
	    infer_grammar_check(r->constrain.grammar, c->text.at, c->text.len, &done, &at, NULL))
		done = 0;
	return done ? NULL : given;
}

const char *run_more_room(const struct run *r)
{
	struct infer_engine_info info;
	struct infer_model_info m;

	infer_engine_info(r->engine, &info);
	infer_model_info(r->model, &m);
	return info.ctx >= m.ctx_train ? "the model has no larger context"
	       : r->o->engine.ctx      ? "-c makes it larger"
	       : r->o->engine.kv_bytes ? "--kv-bytes makes it larger"
	                               : "no larger one fits into memory";
}

/* Return the most bytes of text that fit into the context: its size * bytes of the longest token. */
static size_t most_bytes(const void *user)
{
	const struct run *r = user;
	const infer_tokenizer *t = infer_model_tokenizer(r->model);
	struct infer_engine_info info;
	struct infer_token_info token;
	size_t longest = 0;

	infer_engine_info(r->engine, &info);
	for (int32_t i = 0; i < infer_tokenizer_count(t); i++)
		if (!infer_token_info(t, i, &token, NULL) && token.piece.len > longest)
			longest = token.piece.len;
	return (size_t)info.ctx * longest;
}

struct input_bound run_bound(const struct run *r)
{
	struct infer_engine_info info;

	infer_engine_info(r->engine, &info);
	return (struct input_bound){ most_bytes, r, info.ctx, run_more_room(r) };
}

int run_writer(infer_records **w, const struct run *r, infer_error *err)
{
	infer_error why;

	TRY(infer_records_new(w, err));
	if (r->o->fields && infer_records_select(*w, r->o->fields, &why))
		return err_set(err, INFER_EINVAL, "--fields: %s", why.message);
	return INFER_OK;
}

int run_stop(struct infer_str **stop, const struct run *r, infer_error *err)
{
	const struct opt_list *l = &r->o->stop;

	*stop = mem_alloc(MEM_BASE, (size_t)l->n, sizeof **stop);
	if (!*stop)
		return err_set(err, INFER_ENOMEM, "out of memory for --stop");
	for (int i = 0; i < l->n; i++)
		(*stop)[i] = (struct infer_str){ l->at[i], strlen(l->at[i]) };
	return INFER_OK;
}
