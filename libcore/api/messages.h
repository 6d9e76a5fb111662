/* api/messages.h (private) - Anthropic's messages, read. */
#ifndef API_MESSAGES_H
#define API_MESSAGES_H
#include "api/fields.h"

extern const struct job_fields messages_fields;
int messages_read(struct job *j, const struct json *body);
/* When all fields are read: the conversation.  *param: the field at fault */
int messages_ready(struct job *j, const char **param, infer_error *err);
#endif
