/* job/messages.h (private) - Anthropic's messages, read. */
#ifndef JOB_MESSAGES_H
#define JOB_MESSAGES_H
#include "job/job.h"

extern const struct job_fields messages_fields;
int messages_read(struct job *j, const struct json *body);
/* When all fields are read: the conversation.  *param: the field at fault */
int messages_ready(struct job *j, const char **param, infer_error *err);
#endif
