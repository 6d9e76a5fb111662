/* job/responses.h (private) - OpenAI's responses, read. */
#ifndef JOB_RESPONSES_H
#define JOB_RESPONSES_H
#include "job/job.h"

extern const struct job_fields responses_fields;
int responses_read(struct job *j, const struct json *body);
#endif
