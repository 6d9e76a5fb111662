/* infer-serve/ops/tenant.c - isolate requests with keys of different groups. */
#include "infer-serve/ops/tenant.h"
#include "infer-serve/ops/server.h"

#include <string.h>

uint64_t tenant_salt(const struct api_request *r, uint64_t salt)
{
	struct {
		char owner[KEYS_NAME];
		uint64_t salt;
	} of = { .salt = salt };

	if (!*r->caller.group)
		return salt;
	memcpy(of.owner, r->caller.group, sizeof of.owner);
	return sip_hash(&r->server->secret, &of, sizeof of);
}

int tenant_sees_all(const struct api_request *r)
{
	const struct server *s = r->server;
	int keyless = 0, keyed = s->keys.n != 0, others = keys_of_others(&s->keys, r->caller.group);

	for (const struct served *m = s->models; m; m = m->next)
		if (!m->retired) {
			keyless |= !s->keys.n && !m->keys.n;
			keyed |= m->keys.n != 0;
			others |= keys_of_others(&m->keys, r->caller.group);
		}
	return r->caller.is_operator || !keyed || (!others && !keyless);
}
