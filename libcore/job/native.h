/* job/native.h (private) - requests in the form of llama.cpp's server, read. */
#ifndef JOB_NATIVE_H
#define JOB_NATIVE_H
#include "job/job.h"

extern const struct job_fields native_fields, gap_fields;
int native_read(struct job *j, const struct json *body);
int gap_read(struct job *j, const struct json *body); /* /infill */
#endif
