/* infer-run/handoff_ask.c - --server: write the body of POST /v1/infer from options and files. */
#include "handoff.h"
#include <infer/param.h>
#include "common/env.h"
#include "common/input.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/rng.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_stdin(const char *path) { return path && !strcmp(path, "-"); }

/* ---- the request ---- */

/* Write the sampling numbers that are given, by their names in requests. */
static void put_numbers(struct jwrite *w, const struct sampling_args *a)
{
	const struct infer_sample_param *p;

	for (int i = 0; (p = infer_sample_param(i)); i++) {
		char digits[32];

		if (!a->numbers[i].given)
			continue;
		snprintf(digits, sizeof digits, "%.17g", a->numbers[i].value);
		jw_raw(w, p->name, digits, strlen(digits));
	}
}

static void put_strings(struct jwrite *w, const char *key, const struct opt_list *l,
                        const char *none)
{
	if (!l->n)
		return;
	jw_array(w, key);
	for (int i = 0; i < l->n; i++)
		if (!none || strcmp(l->at[i], none) != 0)
			jw_str(w, NULL, l->at[i]);
	jw_end(w);
}

static void put_breakers(struct jwrite *w, const struct opt_list *l)
{
	struct opt_list kept = *l;

	/* "none" removes the breakers before it */
	for (int i = 0; i < l->n; i++)
		if (!strcmp(l->at[i], "none"))
			kept = (struct opt_list){ l->at + i, l->n - i };
	put_strings(w, "dry_sequence_breakers", &kept, "none");
}

static void put_stages(struct jwrite *w, const char *list)
{
	if (!list)
		return;
	jw_array(w, "samplers");
	for (size_t n; *list; list += n + (list[n] != 0)) {
		n = strcspn(list, ",;");
		jw_strn(w, NULL, list, n);
	}
	jw_end(w);
}

/* Parse a token id at the start of text. The server checks that the vocabulary has it. */
static int parse_id(int64_t *id, const char *text, const char **end, const char *option,
                    infer_error *err)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 10)
		return err_set(err, INFER_EINVAL, "%s: '%.40s' does not begin with a token id",
		               option, text);
	*id = strtoll(text, NULL, 10);
	*end = text + digits;
	return INFER_OK;
}

static int put_bias(struct jwrite *w, const struct opt_list *l, infer_error *err)
{
	if (l->n)
		jw_array(w, "logit_bias");
	for (int i = 0; i < l->n; i++) {
		const char *at = "", *number;
		char *end = NULL;
		int64_t id = 0;

		TRY(parse_id(&id, l->at[i], &at, "--logit-bias", err));
		number = *at == '=' ? at + 1 : "";
		double v = strcmp(number, "-inf") ? strtod(number, &end) : -INFINITY;

		if (!*number || (end && (*end || number[strspn(number, "0123456789+-.eE")])))
			return err_set(err, INFER_EINVAL,
			               "--logit-bias: '%.40s' is not ID=B, a token id and a number",
			               l->at[i]);
		if (v != -INFINITY && !(v > -100 && v <= 100))
			return err_set(
				err, INFER_EINVAL,
				"--logit-bias: %.40s: with a server the bias must be above -100 "
				"and at most 100, or -inf",
				l->at[i]);
		jw_array(w, NULL);
		jw_int(w, NULL, id);
		if (v == -INFINITY) {
			jw_bool(w, NULL, 0);
		} else {
			char digits[32];

			snprintf(digits, sizeof digits, "%.17g", v);
			jw_raw(w, NULL, digits, strlen(digits));
		}
		jw_end(w);
	}
	if (l->n)
		jw_end(w);
	return INFER_OK;
}

static int put_stop_ids(struct jwrite *w, const struct opt_list *l, infer_error *err)
{
	const char *end = "";
	int64_t id = 0;

	if (!l->n)
		return INFER_OK;
	jw_array(w, "stop_token_ids");
	for (int i = 0; i < l->n; i++) {
		TRY(parse_id(&id, l->at[i], &end, "--stop-token", err));
		if (*end)
			return err_set(err, INFER_EINVAL, "--stop-token: '%.40s' is not a token id",
			               l->at[i]);
		jw_int(w, NULL, id);
	}
	jw_end(w);
	return INFER_OK;
}

static void put_constraint(struct jwrite *w, const struct handoff *h)
{
	const struct constrain_args *a = &h->o->constrain;
	const struct infer_grammar_source *s = &h->constrain.source;

	if (a->budget)
		jw_int(w, "constraint_budget", a->budget);
	if (!h->constrain.grammar)
		return;
	if (a->lax_schema)
		jw_bool(w, "lax_schema", 1);
	if (a->format_annotation)
		jw_bool(w, "format_annotation", 1);
	if (a->strict_formats)
		jw_bool(w, "strict_formats", 1);
	const char *key = infer_grammar_kind(h->constrain.grammar);

	if (s->form == INFER_GRAMMAR_OBJECT)
		jw_bool(w, key, 1);
	else if (s->form == INFER_GRAMMAR_RULES || s->form == INFER_GRAMMAR_REGEX)
		jw_strn(w, key, s->text.at, s->text.len);
	else
		jw_raw(w, key, s->text.at, s->text.len);
}

static void put_turn(struct jwrite *w, const char *role, const char *text, size_t n)
{
	jw_object(w, NULL);
	jw_str(w, "role", role);
	jw_strn(w, "content", text, n);
	jw_end(w);
}

static void put_prompt_or_messages(struct jwrite *w, const struct handoff *h)
{
	const struct run_opts *o = h->o;

	if (!o->chat.system && !h->messages) {
		jw_strn(w, "prompt", h->words.at ? h->words.at : "", h->words.len);
		if (o->raw)
			jw_bool(w, "raw", 1);
		return;
	}
	jw_array(w, "messages");
	if (o->chat.system)
		put_turn(w, "system", o->chat.system, strlen(o->chat.system));
	json_each(m, h->messages)
		jw_value(w, NULL, m);
	if (h->words.len)
		put_turn(w, "user", h->words.at, h->words.len);
	jw_end(w);
}

static void put_choice(struct jwrite *w, const char *name, int calls)
{
	if (calls == INFER_CALLS_FREE)
		return;
	if (calls != INFER_CALLS_NAMED) {
		jw_str(w, "tool_choice", name);
		return;
	}
	jw_object(w, "tool_choice");
	jw_str(w, "type", "function");
	jw_object(w, "function");
	jw_str(w, "name", name);
	jw_end(w);
	jw_end(w);
}

static void put_tools(struct jwrite *w, const struct handoff *h)
{
	const char *name;
	int calls = constrain_calls(&h->o->constrain, &name);

	if (!h->tools || calls == INFER_CALLS_NONE)
		return;
	jw_value(w, "tools", h->tools);
	put_choice(w, name, calls);
}

static int put_request(struct jwrite *w, struct handoff *h, infer_error *err)
{
	const struct run_opts *o = h->o;

	jw_object(w, "request");
	put_prompt_or_messages(w, h);
	put_tools(w, h);
	if (h->args)
		jw_value(w, "template_args", h->args);
	if (o->chat.think >= 0)
		jw_bool(w, "think", !o->chat.think);
	if (o->chat.think_budget >= 0)
		jw_int(w, "think_budget", o->chat.think_budget);
	jw_int(w, "max_tokens", o->max_tokens);
	put_strings(w, "stop", &o->stop, NULL);
	TRY(put_stop_ids(w, &o->stop_tokens, err));
	if (o->ignore_eos)
		jw_bool(w, "ignore_eos", 1);
	if (o->logprobs >= 0)
		jw_int(w, "logprobs", o->logprobs);
	put_numbers(w, &o->sampling);
	put_breakers(w, &o->sampling.breakers);
	put_stages(w, o->sampling.samplers);
	TRY(put_bias(w, &o->sampling.bias, err));
	jw_uint(w, "seed", h->seed);
	put_constraint(w, h);
	jw_end(w);
	return INFER_OK;
}

int handoff_body(struct handoff *h, int64_t number, infer_error *err)
{
	static const char *const outputs[] = { "text", "jsonl", "tokens" };
	const struct run_opts *o = h->o;
	struct jwrite w;
	char id[24];

	snprintf(id, sizeof id, "%lld", (long long)number);
	buf_clear(&h->body);
	jw_init(&w, &h->body);
	jw_object(&w, NULL);
	jw_str(&w, "id", id);
	jw_str(&w, "output", outputs[o->output]);
	if (o->model && !env_name(o->model))
		jw_str(&w, "model", o->model);
	if (o->fields)
		jw_str(&w, "fields", o->fields);
	jw_int(&w, "now", chat_local_now());
	jw_array(&w, "flags");
	for (int i = 0; i < h->rest->record.n; i++)
		jw_str(&w, NULL, h->rest->record.at[i]);
	jw_end(&w);
	if (!o->sampling.seed.given)
		jw_bool(&w, "seed_random", 1);
	if (number > 1)
		jw_bool(&w, "follows", 1);
	TRY(put_request(&w, h, err));
	jw_end(&w);
	return h->body.bad ? err_nomem(err) : INFER_OK;
}

/* Read a JSON array from a file or standard input. */
static int read_list(const struct json **out, struct handoff *h, const char *path, const char *what,
                     infer_error *err)
{
	const struct opt_list one = { .at = (const char *[]){ path }, .n = 1 };
	const struct opt_rest none = { 0 };
	const struct json *v = NULL;
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = input_read(&text, &none, &one, INPUT_NO_STDIN | INPUT_RAW, &input_file, err);

	/* JSON strings are borrowed from the text, so keep a copy */
	const char *kept = rc ? NULL : arena_strndup(&h->mem, text.at ? text.at : "", text.len);

	if (!rc)
		rc = kept ? jread(&v, &h->mem, kept, text.len, what, err) : err_nomem(err);
	if (!rc && !json_is_array(v))
		rc = err_set(err, INFER_EFORMAT, "%s: %s must be a list",
		             strcmp(path, "-") ? path : "standard input", what);
	*out = v;
	buf_fini(&text);
	return rc;
}

static int read_conversation(struct handoff *h, infer_error *err)
{
	const struct chat_args *c = &h->o->chat;

	if (c->system && *c->system == '@' && !access(c->system + 1, F_OK))
		return err_set(err, INFER_EINVAL,
		               "--system takes a text, not a file: --system \"$(cat %.80s)\"",
		               c->system + 1);
	if (is_stdin(c->messages) && is_stdin(c->tools))
		return err_set(err, INFER_EINVAL,
		               "--messages and --tools cannot both be standard input");
	if ((is_stdin(c->messages) || is_stdin(c->tools)) &&
	    input_names_stdin(h->rest, &h->o->files))
		return err_set(err, INFER_EINVAL,
		               "-f - and the conversation cannot both be standard input");
	if (c->messages)
		TRY(read_list(&h->messages, h, c->messages, "messages", err));
	if (c->tools)
		TRY(read_list(&h->tools, h, c->tools, "tools", err));
	if (!c->args)
		return INFER_OK;
	int rc = jread(&h->args, &h->mem, c->args, strlen(c->args), "--template-args", err);

	if (rc == INFER_EFORMAT)
		rc = err->code = INFER_EINVAL;
	return rc || json_is_object(h->args)
	               ? rc
	               : err_set(err, INFER_EINVAL, "--template-args must be a JSON object");
}

int handoff_read(struct handoff *h, infer_error *err)
{
	const struct run_opts *o = h->o;
	const struct chat_args *c = &o->chat;
	int no_stdin = o->no_stdin || is_stdin(c->messages) || is_stdin(c->tools);

	TRY(constrain_take(&h->constrain, &o->constrain, err));
	TRY(read_conversation(h, err));
	TRY(input_read(&h->words, h->rest, &o->files,
	               (no_stdin ? INPUT_NO_STDIN : 0u) | (h->messages ? INPUT_MAYBE : 0u) |
	                       (o->raw ? INPUT_RAW : 0u),
	               &input_file, err));
	if (utf8_check(h->words.at ? h->words.at : "", h->words.len) != h->words.len)
		return err_set(err, INFER_EINVAL,
		               "the prompt is not UTF-8, and cannot be handed to a server");
	if (!h->words.len && !h->messages && !o->raw)
		return err_set(err, INFER_EINVAL, "the prompt is empty");
	h->seed = o->sampling.seed.value;
	if (!o->sampling.seed.given) {
		TRY(rng_system(&h->seed, err));
		h->seed >>= 11; /* 53 bits: every JSON reader preserves them */
	}
	return INFER_OK;
}
