/* api/messages.h (private) - reading requests of Anthropic's /v1/messages */
#ifndef API_MESSAGES_H
#define API_MESSAGES_H
#include "api/fields.h"

extern const struct job_fields messages_fields;
int messages_read(struct job *j, const struct json *body);
#endif
