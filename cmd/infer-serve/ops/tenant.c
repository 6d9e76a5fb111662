/* infer-serve/ops/tenant.c - what separates requests with keys of different groups. */
#include "infer-serve/ops/tenant.h"
#include "infer-serve/serve.h"

#include <string.h>

uint64_t tenant_salt(const struct exchange *x, uint64_t salt)
{
	struct {
		char owner[KEYS_NAME];
		uint64_t salt;
	} of = { .salt = salt };

	if (!*x->owner)
		return salt;
	memcpy(of.owner, x->owner, sizeof of.owner);
	return sip_hash(&x->server->secret, &of, sizeof of);
}

int tenant_sees_all(const struct exchange *x)
{
	const struct server *s = x->server;
	int keyless = 0, keyed = s->keys.n != 0, others = keys_beside(&s->keys, x->owner);

	for (const struct served *m = s->models; m; m = m->next)
		if (!m->retired) {
			keyless |= !s->keys.n && !m->keys.n;
			keyed |= m->keys.n != 0;
			others |= keys_beside(&m->keys, x->owner);
		}
	return x->is_operator || !keyed || (!others && !keyless);
}
