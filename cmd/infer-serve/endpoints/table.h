/* infer-serve/endpoints/table.h - the table of all endpoints, made from endpoint_list.h. */
#ifndef INFER_SERVE_ENDPOINTS_TABLE_H
#define INFER_SERVE_ENDPOINTS_TABLE_H
#include <infer/job.h>
#include "infer-serve/http/route.h"

extern const struct route_table endpoint_table;
/* The path of an endpoint, by its index; "none" for an index that none has. */
const char *endpoint_path(int i);

/* Read the body in the API format of the endpoint.  The caller frees the job with infer_job_free.
 * NULL: the error was answered. */
infer_job *endpoint_job(struct http_request *r);
#endif
