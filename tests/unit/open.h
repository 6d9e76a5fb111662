/* tests/unit/open.h - open a backend with loaded weights and a plan, and close it. */
#ifndef TESTS_OPEN_H
#define TESTS_OPEN_H
#include "backend/backend.h"
#include "base/err.h"

struct open {
	const struct backend_kind *kind;
	struct host host;
	struct backend *b;
	struct backend_weights *weights;
	struct backend_plan *plan;
};

/* However it ends, open_close it. */
static inline int open_plan(struct open *o, const struct backend_kind *kind,
                            const struct backend_model *m, const struct backend_size *size,
                            int threads, const char *isa, infer_error *err)
{
	*o = (struct open){ .kind = kind };
	TRY(host_open(&o->host, threads, isa, err));
	TRY(kind->open(&o->b, &o->host, &(struct backend_opts){ 0 }, err));
	TRY(kind->load(&o->weights, o->b, m->weights, m->n_weights, err));
	return kind->plan(&o->plan, o->b, o->weights, m, size, err);
}

static inline void open_close(struct open *o)
{
	if (o->kind) {
		o->kind->plan_free(o->plan);
		o->kind->unload(o->weights);
		o->kind->close(o->b);
	}
	host_close(&o->host);
	*o = (struct open){ 0 };
}
#endif
