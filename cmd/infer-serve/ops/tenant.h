/* infer-serve/ops/tenant.h - what separates requests with API keys of different groups. */
#ifndef INFER_SERVE_OPS_TENANT_H
#define INFER_SERVE_OPS_TENANT_H
#include <stdint.h>

struct api_request;

/* Derive a salt that only requests of the same group with the same `salt` have, from a secret of
 * this process.  A request without a key keeps its salt. */
uint64_t tenant_salt(const struct api_request *r, uint64_t salt);
/* True if r may read what concerns requests of every group: its key is an operator's, or there are
 * no keys of other groups.  Caller holds the server's lock. */
int tenant_sees_all(const struct api_request *r);
#endif
