/* infer-serve/ops/tenant.h - isolate requests with API keys of different groups. */
#ifndef INFER_SERVE_OPS_TENANT_H
#define INFER_SERVE_OPS_TENANT_H
#include <stdint.h>

struct api_request;

/* Derive the salt of the prefix cache from `salt`, the group of r and a secret of this process, so that
 * groups share no prefixes. Without a key it is `salt`. */
uint64_t tenant_salt(const struct api_request *r, uint64_t salt);
/* True if r may see data of all groups: its key is an operator's, or no other group has keys. Caller
 * holds the server's lock. */
int tenant_sees_all(const struct api_request *r);
#endif
