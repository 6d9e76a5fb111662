/* job/job.h - a job while its request is read (by api/), and the checks that need all fields.
 *
 * A job is confined until job_end; a reader is shared.  Functions that return int, unless noted:
 * INFER_OK, or a code with *err set; *param is static.  Results are in the memory of the job. */
#ifndef JOB_JOB_H
#define JOB_JOB_H
#include <infer/job.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/jread.h"
#include "base/jwrite.h"
#include "chat/chat.h"
#include "chat/tools.h"

struct infer_job_reader {
	struct infer_job_opts o;
	infer_breakers *breakers;   /* compiled from o.breaker_texts */
	infer_grammars *grammars;   /* cache of compiled constraints */
	int special, special_tools; /* infer_reply_special for o.chat, for o.chat_tools */
};

enum { JOB_TO_CONTEXT = -1 }; /* truncate_prompt_tokens: as many tokens as the context can hold */

/* Fields that vLLM's server adds to text and chat completions. */
struct extras {
	int32_t most;                /* truncate_prompt_tokens; 0: not given */
	int keeps_first, keeps_last; /* truncation_side right, left; both 0: not given */
	int bare;               /* add_special_tokens false: encode texts without BOS and EOS */
	unsigned char *allowed; /* allowed_token_ids: [vocabulary] 0 or 1; NULL: not given */
	struct infer_str begun; /* echo in a conversation: the assistant's text to continue */
};

struct job {
	struct infer_job j;
	const infer_job_reader *reader;
	const struct infer_job_opts *o; /* options of the reader */
	struct arena mem;
	const struct json *json;            /* the parsed request, in mem */
	int32_t *prompt;                    /* ids of the rendered conversation; infer_ids_free */
	infer_breakers *breakers;           /* from the request's own texts; NULL: the reader's */
	const struct json *lora;            /* `lora`, an array; NULL: not given */
	struct infer_lora_use *loras;       /* request.loras; owns the references */
	const struct json *prompt_value;    /* `prompt`; NULL: not given */
	const struct json *messages, *args; /* `messages`, `template_args`; NULL: not given */
	const char *template_sha256;        /* the template that the request expects; NULL: any */
	int64_t now;
	int now_given;
	struct infer_conversation
		conversation;          /* rendered as the prompt; without messages and args */
	struct buf asked;              /* owns j.asked */
	int tools_given, choice_given; /* `tools` and `tool_choice` were read */
	struct infer_tools tools;      /* tools of the request; n 0: none */
	int raw, raw_given;            /* the prompt is not a conversation */
	int think;                     /* enum infer_think */
	int32_t wants_logprobs, top_logprobs; /* of chat completions; top -1: not given */
	int seeded;                           /* `seed` was given */
	int stream_options;                   /* `stream_options` was given */
	int no_cache;                         /* cache_prompt false: share no cached prefix */
	int is_own;  /* the request is in our own format; all others have the rules of servers */
	int has_gap; /* fill-in-the-middle: `fim` is the prompt */
	int prefill, opens;   /* continue_final_message, add_generation_prompt; -1: not given */
	int limit_rank;       /* 1 + precedence of the field that set max_tokens; 0: not given */
	int32_t best_of;      /* 0: not given */
	int single;           /* 1: at most one call; -1: not given (1 if calls are required) */
	int inline_reasoning; /* reasoning stays in the text */
	int no_thinking, wants_thinking, limits_thinking;
	int32_t thinking_budget; /* tokens; 0: not given */
	int counts;              /* count the tokens of the prompt, generate nothing */
	int truncates; /* if the prompt is too long: drop the oldest turns, or the end of a text */
	int min_logprobs; /* record tokens even if no log-probabilities are requested */
	struct extras extras;
	struct fim {
		/* text before and after the gap; beginning of the text in the gap; other files:
		 * [{text, filename}] */
		const struct json *before, *behind, *begun, *extra;
	} fim;
	struct {
		const struct json *query, *documents;
	} rank;
	const struct json *instructions;     /* field with the system text, or NULL */
	const struct json *input;            /* /v1/responses: the messages, or NULL */
	const struct json *effort, *context; /* reasoning_effort; ids before the prompt; or NULL */
	const struct json *allowed;          /* the list of allowed_tools, or NULL */
	struct infer_grammar_source constraint; /* texts in mem */
	const char *constraint_key;             /* the field that set the constraint; NULL: none */
	int is_free;            /* response_format text: no constraint, not even the options' */
	uint64_t tenant;        /* the job may share compiled constraints of this tenant */
	infer_grammar *grammar; /* owned; NULL: none, or the options' */
	int too_long;           /* INFER_ENOMEM: the prompt is longer than a template may write */
};

/* ---- job.c ---- */

/* Make an empty job without a format, for job_end.  r NULL: it only holds a fault.  INFER_ENOMEM */
int job_new(struct job **out, const infer_job_reader *r, infer_error *err);
/* jread(), but without the line number in errors if the text is one line: "what: column 6: ...".
 * INFER_EFORMAT INFER_ENOMEM */
int job_read_json(const struct json **out, struct arena *a, const char *text, size_t bytes,
                  const char *what, infer_error *err);
/* Parse a copy of text into j->json.  Returns 0, or a code: the fault is in j.  INFER_EFORMAT
 * INFER_ENOMEM (job_end reports it) */
int job_parse(struct job *j, const char *text, size_t bytes);
/* Complete the fault of j->j.fault.error: set its kind and its field `param` (copied; NULL: none).
 * Returns the error's code. */
int job_fault(struct job *j, const char *param);
/* Set the fault of an unknown field, key [key_n], copied.  Returns INFER_EINVAL. */
int job_unknown(struct job *j, const char *key, size_t key_n);
/* Give a job that was read, or a fault, to the caller.  Takes j, also on failure.
 * INFER_ENOMEM  memory ran out while the request was read */
int job_end(infer_job **out, struct job *j, infer_error *err);
/* Return a cache salt that no other request has: an odd hash of the request's id. */
uint64_t job_salt(const struct job *j);
/* Return the seed of a request without one: a hash of its id and the options' seed, 53 bits. */
uint64_t job_seed_of_id(const struct job *j);

/* ---- values.c: read a JSON value into *to.  key: for messages.  INFER_EINVAL ---- */

/* A whole number from lo to hi. */
int job_whole(int32_t *to, const char *key, const struct json *v, int64_t lo, int64_t hi,
              infer_error *err);
int job_take_bool(int *to, const char *key, const struct json *v, infer_error *err);
/* A token id of the vocabulary. */
int job_take_id(int32_t *to, const struct job *j, const char *key, const struct json *v,
                infer_error *err);
int32_t job_vocabulary(const struct job *j); /* tokens of the model, tokenizer or not */

/* ---- prompts.c ---- */

/* Read one prompt, in the memory of j: a text, ids, a list that mixes both, or an object.
 * INFER_EINVAL INFER_EUNSUP INFER_ENOMEM */
int job_read_prompt(struct infer_prompt *p, struct job *j, const char *key, const struct json *v,
                    infer_error *err);
/* True if v is a list of prompts: it is not empty and contains no token id. */
int job_is_prompts(const struct json *v);
/* Read one prompt, or a list of them, as the prompts of the job.  Fails as job_read_prompt. */
int job_read_prompts(struct job *j, const char *key, const struct json *v, infer_error *err);
/* Shorten *p to truncate_prompt_tokens, as a part of its ids.  INFER_EINVAL INFER_EUNSUP */
int job_cut_prompt(const struct job *j, struct infer_prompt *p, infer_error *err);
/* fim.c: encode the prompt of a text with a gap.
 * INFER_EUNSUP  the model has no tokens for it; also fails as infer_encode */
int job_read_gap(struct job *j, const struct fim *f, infer_error *err);

/* ---- conversation.c ---- */

/* True if the prompt is a conversation. */
int job_is_conversation(const struct job *j);
/* Render and encode the conversation as the prompt.  *param: the field at fault.
 * INFER_EINVAL INFER_EUNSUP INFER_EFORMAT INFER_ENOMEM */
int job_conversation(struct job *j, const char **param, infer_error *err);
/* Encode j->messages with the template of the job into j->prompt.  Fails as infer_chat_encode;
 * INFER_ENOMEM with j->too_long: the prompt is too long for a template. */
int job_encode(struct job *j, const struct infer_conversation *c, infer_error *err);
/* Refuse fields that are only valid with a conversation; *param: the field.  INFER_EINVAL */
int job_no_conversation(const struct job *j, const char **param, infer_error *err);
/* truncate.c: drop the oldest turns of j->messages until the others fit the context, and encode
 * these; if none fit, encode all turns.  err: not NULL.  Fails as job_encode. */
int job_truncate(struct job *j, const struct infer_conversation *c, infer_error *err);

/* ---- chat_rules.c: what servers require of a conversation ---- */

/* Check messages.  INFER_EINVAL  one is not in OpenAI's format, or the last two are the
 * assistant's */
int job_check_messages(struct job *j, infer_error *err);
/* Check tools.  INFER_EINVAL  one is not in OpenAI's format, a name occurs twice, or too many */
int job_check_tools(const struct json *tools, infer_error *err);
int job_is_name(const struct json *v); /* true if v is 1 to 64 letters, digits, _ and - */
/* Remove the tools that allowed_tools does not list.  INFER_EINVAL  a listed tool is unknown;
 * INFER_ENOMEM */
int job_allow_tools(struct job *j, infer_error *err);
/* Set the flags of c: continue the assistant's last message, or open a new one.  *param: the field
 * at fault.  INFER_EINVAL INFER_EUNSUP */
int job_begin_answer(struct job *j, struct infer_conversation *c, const char **param,
                     infer_error *err);
/* Set j->think and the template's variable reasoning_effort.  INFER_ENOMEM */
int job_apply_effort(struct job *j, const struct infer_chat_caps *caps, infer_error *err);

/* ---- after all fields are read ---- */

/* constrain.c: compile the constraint into j->grammar.  *param: the field at fault.
 * INFER_EINVAL  tool_choice without tools;
 * INFER_EEMPTY INFER_ENOMEM as infer_grammars_get, infer_reply_constrain */
int job_constrain_end(struct job *j, const char **param, infer_error *err);
/* sampling.c: fill defaults of sampling options.  INFER_EINVAL INFER_ENOMEM */
int job_sampling_end(struct job *j, infer_error *err);
/* sampling.c: apply prompt_logprobs, allowed_token_ids, bad_words.  *param: the field at fault.
 * Fails as infer_encode. */
int job_extras_end(struct job *j, const char **param, infer_error *err);

/* ---- embed.c ---- */

/* Make j a job for embeddings: one sample of each prompt, nothing generated.
 * INFER_EUNSUP  an unknown pooling type; INFER_EFORMAT */
int embed_begin(struct job *j, infer_error *err);
/* Set the prompts, p [n], borrowed. */
void embed_set_prompts(struct job *j, const struct infer_prompt *p, size_t n);
/* Set *n to the number of tokens to keep of each text; 0: all.  INFER_EINVAL INFER_EUNSUP */
int embed_most(const struct job *j, size_t *n, infer_error *err);
/* Replace all prompts by copies of at most embed_most tokens.  Fails as embed_most; INFER_ENOMEM */
int embed_truncate(struct job *j, infer_error *err);
#endif
