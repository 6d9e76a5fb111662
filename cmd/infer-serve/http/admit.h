/* infer-serve/http/admit.h - check the API key of a request, and limit the number of waiting requests. */
#ifndef INFER_SERVE_HTTP_ADMIT_H
#define INFER_SERVE_HTTP_ADMIT_H
#include "infer-serve/http/request.h"

/* Set r->api.caller from the values of the headers Authorization and X-Api-Key (NULL: not given). Returns
 * 0 if the server requires a key and neither is valid. Caller holds no lock. */
int admit_key(struct http_request *r, const char *authorization, const char *api_key);
/* True if r must be refused: the queue is full, and the user of r has at least an equal share of it, so
 * that one user cannot fill the queue for all. Sets r->api.retry_s. Caller holds the lock. */
int admit_full(struct http_request *r);
#endif
