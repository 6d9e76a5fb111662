/* infer-serve/http/admit.h - who may send requests, and how many of them. */
#ifndef INFER_SERVE_HTTP_ADMIT_H
#define INFER_SERVE_HTTP_ADMIT_H
#include "infer-serve/http/request.h"

/* Find the user of a request by the values of its headers Authorization and X-Api-Key, NULL where
 * it has none.  0: a key is demanded, and it has none that is right.  Under no lock. */
int admit_key(struct http_request *r, const char *authorization, const char *api_key);
/* Whether the queue has no place for r, and sets r->api.retry_s: it is full, and its user has a share of
 * it, so that a user who fills the queue shuts out nobody else.  Under the lock. */
int admit_full(struct http_request *r);
#endif
