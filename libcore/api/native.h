/* api/native.h (private) - reading requests in the format of llama.cpp's server */
#ifndef API_NATIVE_H
#define API_NATIVE_H
#include "api/fields.h"

extern const struct job_fields native_fields, gap_fields;
int native_read(struct job *j, const struct json *body);
int gap_read(struct job *j, const struct json *body); /* /infill */
#endif
