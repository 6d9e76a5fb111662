/* infer-serve/endpoints/table.h - the table of all endpoints, made from endpoint_list.h. */
#ifndef INFER_SERVE_ENDPOINTS_TABLE_H
#define INFER_SERVE_ENDPOINTS_TABLE_H
#include <infer/job.h>
#include "infer-serve/http/route.h"

extern const struct route_table endpoint_table;
/* Return the path of endpoint i; "none" if there is none. */
const char *endpoint_path(int i);

/* Read the body in the API format of the endpoint. Returns a job, which the caller frees with
 * infer_job_free, or NULL if r was answered with an error. */
infer_job *endpoint_job(struct http_request *r);
#endif
