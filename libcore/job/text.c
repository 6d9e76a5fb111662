/* job/text.c - OpenAI's text completions */
#include "job/form.h"
#include "job/job.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TOKENS = 16 };

static const struct job_field known[] = {
	{ "prompt", job_take_prompt },
	{ "logprobs", job_take_logprobs },
	/* accepted and ignored: there is one model, and no billing */
	{ "model", job_pass },
	{ "user", job_pass },
	{ "metadata", job_pass },
	{ NULL, NULL },
};
static const struct job_refused refused[] = {
	{ "suffix", NAN }, { "stream", 0 },  { "stream_options", NAN },
	{ "echo", 0 },     { "best_of", 1 }, { NULL, 0 },
};

static int read(struct job *j, const struct json *body)
{
	static const struct job_fields fields = { known, refused, MAX_TOKENS };

	return job_read_fields(j, body, &fields);
}

/* A token as a key of an object: its text, if it is valid text and none of the n tokens before has
 * the same. */
static void token_key(char key[128], const infer_tokenizer *t, const struct infer_top *top,
                      int32_t n)
{
	const char *mine, *other;
	size_t bytes, other_bytes;
	int plain = !part_token_text(t, top[n].token, &mine, &bytes) && bytes && bytes < 128 &&
	            utf8_check(mine, bytes) == bytes && !memchr(mine, 0, bytes);

	for (int32_t i = 0; plain && i < n; i++)
		plain = part_token_text(t, top[i].token, &other, &other_bytes) ||
		        other_bytes != bytes || memcmp(mine, other, bytes);
	if (plain)
		snprintf(key, 128, "%.*s", (int)bytes, mine);
	else
		snprintf(key, 128, "token_id:%d", (int)top[n].token);
}

static void put_top(struct jwrite *w, const infer_tokenizer *t, const struct infer_event *tokens,
                    size_t n)
{
	char key[128];

	jw_array(w, "top_logprobs");
	for (size_t i = 0; i < n; i++) {
		jw_object(w, NULL);
		for (int32_t k = 0; k < tokens[i].n_top; k++) {
			token_key(key, t, tokens[i].top, k);
			jw_num(w, key, (double)tokens[i].top[k].logprob);
		}
		jw_end(w);
	}
	jw_end(w);
}

/* {tokens, token_logprobs, top_logprobs, text_offset}, offsets in characters */
static void put_logprobs(struct jwrite *w, const infer_tokenizer *t,
                         const struct infer_event *tokens, size_t n, size_t offset)
{
	const char *bytes;
	size_t len;

	jw_object(w, "logprobs");
	jw_array(w, "tokens");
	for (size_t i = 0; i < n; i++)
		if (!part_token_text(t, tokens[i].token, &bytes, &len))
			jw_strn(w, NULL, bytes, len);
	jw_end(w);
	jw_array(w, "token_logprobs");
	for (size_t i = 0; i < n; i++)
		jw_num(w, NULL, (double)tokens[i].logprob);
	jw_end(w);
	put_top(w, t, tokens, n);
	jw_array(w, "text_offset");
	for (size_t i = 0; i < n; i++) {
		jw_uint(w, NULL, offset);
		offset += part_token_chars(t, tokens[i].token);
	}
	jw_end(w);
	jw_end(w);
}

static int has_logprobs(const infer_tokenizer *t, const struct infer_event *tokens, size_t n)
{
	(void)t, (void)tokens;
	return n > 0;
}

static void put_choice(struct jwrite *w, const struct infer_answer *a, int32_t i)
{
	const struct infer_str *text = &a->choices[i].text;

	jw_strn(w, "text", text->len ? text->at : "", text->len);
}

static void put_part(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d)
{
	(void)a;
	jw_strn(w, "text", d->text.len ? d->text.at : "", d->text.len);
}

static const struct openai_form form = {
	"cmpl-",  "text_completion", "text_completion", put_choice,
	put_part, has_logprobs,      put_logprobs,
};

static void put(struct jwrite *w, const struct form_answer *f) { openai_put(w, f, &form); }

static void put_delta(struct jwrite *w, const struct infer_answer *a, const struct infer_delta *d)
{
	openai_put_delta(w, a, d, &form);
}

const struct infer_form form_text = {
	.name = "text",
	.path = "/v1/completions",
	.read = read,
	.put = put,
	.put_delta = put_delta,
	.put_error = openai_put_error,
};
