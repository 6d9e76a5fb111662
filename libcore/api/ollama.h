/* api/ollama.h (private) - reading requests of Ollama's /api/chat and /api/generate */
#ifndef API_OLLAMA_H
#define API_OLLAMA_H
#include "api/fields.h"

extern const struct job_fields ollama_chat_fields, ollama_generate_fields;
int ollama_read_chat(struct job *j, const struct json *body);
int ollama_read_generate(struct job *j, const struct json *body);
/* ollama_options.c: fields that Ollama's requests have in common */
job_take ollama_take_options, ollama_take_keep_alive;
/* ollama.c */
void ollama_put_error(struct jwrite *w, const struct infer_fault *f);
/* ollama_turns.c: set j->messages to the conversation in OpenAI's format.
 * INFER_EINVAL INFER_EUNSUP INFER_ENOMEM */
int ollama_turns(struct job *j, const struct json *messages, infer_error *err);
#endif
