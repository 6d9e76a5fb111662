#include "backend/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static void cpu_close(struct backend *b)
{
	if (!b)
		return;
	pool_free(b->pool);
	mem_free(b);
}

static int cpu_open(struct backend **out, const struct backend_opts *o, infer_error *err)
{
	uint64_t have = cpu_features();
	struct backend *b;
	int rc;

	*out = NULL;
	if (o->threads < 1 || o->threads > 1024)
		return err_set(err, INFER_EINVAL, "%d threads: not in 1 ... 1024", o->threads);
	if (o->isa)
		TRY(kern_limit(&have, o->isa, err));
	have = cpu_permit(have); /* before there are threads */
	if (o->isa)
		TRY(kern_limit(&have, o->isa, err));
	b = mem_zalloc(MEM_BACKEND, 1, sizeof(*b));
	if (!b)
		return err_set(err, INFER_ENOMEM, "no memory for the backend");
	b->kern = kern_select(have);
	rc = pool_new(&b->pool, o->threads, err);
	if (rc) {
		cpu_close(b);
		return rc;
	}
	*out = b;
	return INFER_OK;
}

static size_t plan_bytes(const struct backend_plan *p) { return p->bytes; }
static int threads(const struct backend *b) { return pool_threads(b->pool); }
static const struct kern *kern(const struct backend *b) { return &b->kern; }
static struct pool *pool(const struct backend *b) { return b->pool; }

static void describe(const struct backend *b, char *out, size_t n)
{
	size_t at = 0;

	if (n)
		out[0] = 0;
	for (unsigned i = 0; kern_name(i); i++) {
		if (!(b->kern.used >> i & 1))
			continue;
		int k = snprintf(out + at, n - at, "%s%s", at ? "+" : "", kern_name(i));
		if (k < 0 || (size_t)k >= n - at)
			return;
		at += (size_t)k;
	}
}

const struct backend_kind backend_cpu = {
	.name = "cpu",
	.open = cpu_open,
	.close = cpu_close,
	.need = cpu_need,
	.plan = cpu_plan,
	.plan_free = cpu_plan_free,
	.begin = cpu_begin,
	.end = cpu_end,
	.plan_bytes = plan_bytes,
	.describe = describe,
	.threads = threads,
	.kern = kern,
	.pool = pool,
};
