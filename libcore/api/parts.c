/* api/parts.c - parts of an answer that several API formats have */
#include "api/api.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/rng.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *part_finish(const struct infer_choice *c)
{
	static const char *const names[] = {
		[INFER_FINISH_STOP] = "stop",
		[INFER_FINISH_LENGTH] = "length",
		[INFER_FINISH_CANCELLED] = "cancelled",
		[INFER_FINISH_ERROR] = "error",
	};
	struct infer_reply_parts parts = { .n_calls = 0 };

	must(c->finish >= 0 && c->finish < (int)(sizeof names / sizeof *names));
	if (c->reply)
		infer_reply_get(c->reply, &parts);
	return c->finish == INFER_FINISH_STOP && parts.n_calls ? "tool_calls" : names[c->finish];
}

void part_id(struct jwrite *w, const infer_job *j)
{
	struct json v;
	size_t n = j->id ? strlen(j->id) : 0;

	if (j->id_whole && n && jread_num(&v, j->id, n) == n && json_is_whole(&v))
		jw_raw(w, "id", j->id, n);
	else
		jw_str(w, "id", j->id);
}

void part_text(struct jwrite *w, const char *text, size_t n)
{
	jw_strn(w, "text", n ? text : "", n);
	if (n && utf8_check(text, n) != n)
		jw_base64(w, "text_b64", text, n);
}

void part_top(struct jwrite *w, const char *key, const struct infer_top *top, int32_t n)
{
	jw_array(w, key);
	for (int32_t i = 0; i < n; i++) {
		jw_object(w, NULL);
		jw_int(w, "id", top[i].token);
		jw_num(w, "logprob", (double)top[i].logprob);
		jw_end(w);
	}
	jw_end(w);
}

/* Write a float with the fewest digits that restore it: 0.8, not 0.800000012. */
static void put_float(struct jwrite *w, const char *key, float v)
{
	char text[32];
	int n = 0;

	for (int digits = 6; digits <= 9; digits++) {
		n = snprintf(text, sizeof text, "%.*g", digits, (double)v);
		/* readers convert through a double */
		if (strtof(text, NULL) == v && (float)strtod(text, NULL) == v)
			break;
	}
	jw_raw(w, key, text, (size_t)n);
}

void part_number(struct jwrite *w, const struct infer_sample_param *p,
                 const struct infer_sample_opts *o)
{
	double v = infer_sample_get(o, p);

	if (p->whole)
		jw_int(w, p->name, (int64_t)v);
	else
		put_float(w, p->name, (float)v);
}

void part_stages(struct jwrite *w, const char *key, const struct infer_sample_opts *o)
{
	jw_array(w, key);
	for (int i = 0; o->order[i] != INFER_STAGE_END; i++)
		jw_str(w, NULL, infer_stage_name(o->order[i]));
	jw_end(w);
}

void part_bias(struct jwrite *w, const char *key, const struct infer_sample_opts *o, uint32_t flags)
{
	if (!o->n_bias)
		return;
	jw_array(w, key);
	for (int32_t i = 0; i < o->n_bias; i++) {
		jw_array(w, NULL);
		jw_int(w, NULL, o->bias[i].token);
		if (!isinf(o->bias[i].bias)) /* JSON has no infinity */
			put_float(w, NULL, o->bias[i].bias);
		else if (flags & PART_NEVER_FALSE)
			jw_bool(w, NULL, 0);
		else
			jw_null(w, NULL);
		jw_end(w);
	}
	jw_end(w);
}

void part_texts(struct jwrite *w, const char *key, const struct infer_str *texts, size_t n)
{
	jw_array(w, key);
	for (size_t i = 0; i < n; i++)
		jw_strn(w, NULL, texts[i].at, texts[i].len);
	jw_end(w);
}

static const char *id_of(const infer_job *j) { return j->id ? j->id : ""; }

void part_name(struct jwrite *w, const char *key, const char *prefix, const infer_job *j)
{
	char name[40];

	snprintf(name, sizeof name, "%s%016llx", prefix,
	         (unsigned long long)rng_hash(0, id_of(j), strlen(id_of(j))));
	jw_str(w, key, name);
}

struct infer_usage part_total(const struct infer_answer *a)
{
	struct infer_usage u = a->choices->usage;
	int32_t each = infer_job_each(a->job);

	for (int32_t i = 1; i < a->job->n; i++) {
		const struct infer_usage *more = &a->choices[i].usage;

		u.completion_tokens += more->completion_tokens;
		if (i % each)
			continue;
		u.prompt_tokens += more->prompt_tokens;
		u.cached_tokens += more->cached_tokens;
	}
	return u;
}

int part_token_text(const infer_tokenizer *t, int32_t id, const char **bytes, size_t *n)
{
	/* sampled ids are in the vocabulary */
	return infer_token_bytes(t, id, INFER_DECODE_SPECIAL, bytes, n, NULL);
}

const char *part_token_name(char to[PART_TOKEN_NAME], int32_t id)
{
	snprintf(to, PART_TOKEN_NAME, "token_id:%d", (int)id);
	return to;
}

size_t part_token_chars(const infer_tokenizer *t, const struct infer_event *ev, size_t before)
{
	/* an echoed text has no space that the tokenizer put before its first word */
	const uint32_t flags = ev->kind == INFER_EVENT_SCORE && !before ? INFER_DECODE_FIRST : 0;
	size_t n, chars = 0;
	const char *bytes;

	/* control tokens are not in the text */
	if (infer_token_bytes(t, ev->token, flags, &bytes, &n, NULL))
		return 0;
	for (size_t k = 0; k < n; k++)
		chars += ((unsigned char)bytes[k] & 0xc0) != 0x80;
	return chars;
}

void part_progress(struct jwrite *w, const struct infer_answer *a, const struct infer_choice *c)
{
	struct infer_usage so_far = c->usage;

	so_far.prompt_tokens = c->n_read - 1;
	jw_object(w, "prompt_progress");
	jw_int(w, "total", c->usage.prompt_tokens);
	jw_int(w, "cache", c->usage.cached_tokens);
	jw_int(w, "processed", c->n_read - 1);
	jw_num(w, "time_ms", (double)c->usage.prefill_ns * 1e-6);
	jw_end(w);
	if (a->job->each_timings)
		part_timings(w, &so_far);
}

/* Write the rates of n tokens; `timed` of them were computed in `ns` nanoseconds. */
static void put_rates(struct jwrite *w, const char *of, int64_t n, int64_t timed, int64_t ns)
{
	static const char *const ends[] = { "_n", "_ms", "_per_token_ms", "_per_second" };
	const double ms = (double)ns / 1e6;
	const double values[] = { (double)n, ms, timed > 0 ? ms / (double)timed : 0,
		                  ns > 0 ? (double)timed * 1e9 / (double)ns : 0 };
	char key[40];

	for (int i = 0; i < 4; i++) {
		snprintf(key, sizeof key, "%s%s", of, ends[i]);
		if (i)
			jw_num(w, key, values[i]);
		else
			jw_int(w, key, n);
	}
}

void part_timings(struct jwrite *w, const struct infer_usage *u)
{
	const int64_t computed = u->prompt_tokens - u->cached_tokens, n = u->completion_tokens;

	jw_object(w, "timings");
	jw_int(w, "cache_n", u->cached_tokens);
	put_rates(w, "prompt", computed, computed, u->prefill_ns);
	/* the first token is produced by the prefill */
	put_rates(w, "predicted", n, n ? n - 1 : 0, u->decode_ns);
	jw_end(w);
}

/* ---- calls ---- */

void part_call_id(struct jwrite *w, const char *key, const char *prefix,
                  const struct infer_reply_call *call, const infer_job *j, int32_t index, size_t i)
{
	const char *id = id_of(j);
	uint64_t of[2] = { (uint64_t)index, i };
	char made[32];

	snprintf(made, sizeof made, "%s%016llx", prefix,
	         (unsigned long long)rng_hash(rng_hash(0, id, strlen(id)), of, sizeof of));
	if (call->id.len)
		jw_strn(w, key, call->id.at, call->id.len);
	else
		jw_str(w, key, made);
}

void part_arguments(struct jwrite *w, const char *key, const struct infer_reply_call *call)
{
	const struct json *v;
	struct arena mem;

	arena_init(&mem, MEM_JOB);
	if (call->arguments.len &&
	    !jread(&v, &mem, call->arguments.at, call->arguments.len, "arguments", NULL) &&
	    json_is_object(v)) {
		jw_value(w, key, v);
	} else {
		jw_object(w, key);
		jw_end(w);
	}
	w->to->bad |= mem.bad;
	arena_fini(&mem);
}

void part_calls(struct jwrite *w, const infer_reply *r, const infer_job *j, int32_t index)
{
	struct infer_reply_parts p;

	infer_reply_get(r, &p);
	jw_array(w, "tool_calls");
	for (size_t i = 0; i < p.n_calls; i++) {
		struct infer_reply_call call;

		infer_reply_call(r, i, &call);
		jw_object(w, NULL);
		part_call_id(w, "id", "call_", &call, j, index, i);
		jw_str(w, "type", "function");
		jw_object(w, "function");
		jw_strn(w, "name", call.name.at, call.name.len);
		jw_strn(w, "arguments", call.arguments.at, call.arguments.len);
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}

void part_call_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d)
{
	struct infer_reply_call call;

	jw_array(w, "tool_calls");
	jw_object(w, NULL);
	jw_uint(w, "index", d->call);
	if (d->kind == INFER_DELTA_CALL) {
		infer_reply_call(a->choices[d->index].reply, d->call, &call);
		part_call_id(w, "id", "call_", &call, a->job, d->index, d->call);
		jw_str(w, "type", "function");
		jw_object(w, "function");
		jw_strn(w, "name", call.name.at, call.name.len);
		jw_str(w, "arguments", "");
	} else {
		jw_object(w, "function");
		jw_strn(w, "arguments", d->text.at, d->text.len);
	}
	jw_end(w);
	jw_end(w);
	jw_end(w);
}
