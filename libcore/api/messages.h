/* api/messages.h (private) - reading requests of Anthropic's /v1/messages */
#ifndef API_MESSAGES_H
#define API_MESSAGES_H
#include "api/fields.h"

extern const struct job_fields messages_fields;
int messages_read(struct job *j, const struct json *body);
/* After all fields are read: convert the conversation to OpenAI's format.  *param: the field at
 * fault */
int messages_ready(struct job *j, const char **param, infer_error *err);
#endif
