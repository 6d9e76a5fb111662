/* backend/backend.c - the list of backends. */
#include "backend/backend.h"
#include "base/err.h"

#include <string.h>

#define BACKEND(x) extern const struct backend_kind backend_##x;
#include "backend/backend_list.h"
#undef BACKEND

static const struct backend_kind *const kinds[] = {
#define BACKEND(x) &backend_##x,
#include "backend/backend_list.h"
#undef BACKEND
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct backend_kind *backend_find(const char *name)
{
	for (int i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

const char *backend_name(const struct backend_device *d)
{
	return d->name[0] ? d->name : d->kind->name;
}

int backend_blame(int rc, const struct backend_device *d, infer_error *err)
{
	char why[sizeof err->message];

	if (!rc || !err)
		return rc;
	memcpy(why, err->message, sizeof why);
	return err_set(err, rc, "%s: %s", backend_name(d), why);
}

int backend_compute(const struct backend_kind *kind, struct backend_plan *p,
                    const struct backend_step *s, struct backend_result *r, infer_error *err)
{
	*r = (struct backend_result){ 0 };
	TRY(kind->begin(p, s, err));
	return kind->end(p, r, err);
}
