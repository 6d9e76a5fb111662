/* record/answer_chat.c - what a conversation of a batch gets in the form of OpenAI's chat
 * completions */
#include "record/record.h"
#include <infer/request.h>
#include "base/utf8.h"

#include <math.h>

/* What servers write for a token that cannot come. */
enum { NEVER = -9999 };

static void put_token(struct jwrite *w, const infer_tokenizer *t, int32_t id, float logprob)
{
	const char *bytes;
	size_t n;

	if (answer_token_text(t, id, &bytes, &n))
		n = 0;
	jw_strn(w, "token", n ? bytes : "", n);
	jw_num(w, "logprob", isinf(logprob) ? NEVER : (double)logprob);
	jw_array(w, "bytes");
	for (size_t i = 0; i < n; i++)
		jw_int(w, NULL, (unsigned char)bytes[i]);
	jw_end(w);
}

/* {content: [{token, logprob, bytes, top_logprobs}]}: of the tokens that the text is made of. */
static void put_logprobs(struct jwrite *w, const infer_tokenizer *t,
                         const struct infer_completion *c)
{
	jw_object(w, "logprobs");
	jw_array(w, "content");
	for (size_t i = 0; i < c->n_tokens; i++) {
		const struct infer_event *ev = &c->tokens[i];

		if (infer_token_is_eog(t, ev->token))
			continue;
		jw_object(w, NULL);
		put_token(w, t, ev->token, ev->logprob);
		jw_array(w, "top_logprobs");
		for (int32_t k = 0; k < ev->n_top; k++) {
			jw_object(w, NULL);
			put_token(w, t, ev->top[k].token, ev->top[k].logprob);
			jw_end(w);
		}
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
	jw_null(w, "refusal");
	jw_end(w);
}

const struct answer_form answer_chat = { "chatcmpl-", "chat.completion", record_message,
	                                 put_logprobs };
