/* api/native.h (private) - requests in the form of llama.cpp's server, read. */
#ifndef API_NATIVE_H
#define API_NATIVE_H
#include "api/fields.h"

extern const struct job_fields native_fields, gap_fields;
int native_read(struct job *j, const struct json *body);
int gap_read(struct job *j, const struct json *body); /* /infill */
#endif
