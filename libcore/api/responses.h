/* api/responses.h (private) - reading requests of OpenAI's /v1/responses */
#ifndef API_RESPONSES_H
#define API_RESPONSES_H
#include "api/fields.h"

extern const struct job_fields responses_fields;
int responses_read(struct job *j, const struct json *body);
#endif
