/* backend/cpu/cpu.c - the CPU backend.  Weights are used in place. */
#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/os.h"

static void cpu_close(struct backend *b) { mem_free(b); }

static int cpu_open(struct backend **out, const struct host *host, const struct backend_opts *o,
                    infer_error *err)
{
	struct backend *b;

	*out = NULL;
	if (o->device)
		return err_set(err, INFER_EINVAL, "device %d: the only CPU device is 0", o->device);
	b = mem_zalloc(MEM_BACKEND, 1, sizeof *b);
	if (!b)
		return err_set(err, INFER_ENOMEM, "out of memory for the backend");
	b->pool = host->pool;
	b->kern = host->kern;
	*out = b;
	return INFER_OK;
}

/* Write nothing: all CPUs compute the same bits. */
static void cpu_describe(const struct backend *b, char *out, size_t n)
{
	(void)b;
	must(n > 0);
	out[0] = 0;
}

static void cpu_memory(const struct backend *b, uint64_t *left, uint64_t *total)
{
	struct os_limits l;

	(void)b;
	os_limits(&l);
	*left = l.available_bytes;
	*total = l.memory_bytes;
}

static int cpu_load(struct backend_weights **out, struct backend *b, const struct weight *w, int n,
                    infer_error *err)
{
	(void)b;
	*out = mem_alloc(MEM_BACKEND, 1, sizeof **out);
	if (!*out)
		return err_set(err, INFER_ENOMEM, "out of memory for a set of %d weights", n);
	**out = (struct backend_weights){ w, n };
	return INFER_OK;
}

static void cpu_unload(struct backend_weights *w) { mem_free(w); }

const struct backend_kind backend_cpu = {
	.name = "cpu",
	.page = KERN_PAGE,
	.open = cpu_open,
	.close = cpu_close,
	.describe = cpu_describe,
	.memory = cpu_memory,
	.need = cpu_need,
	.load = cpu_load,
	.unload = cpu_unload,
	.plan = cpu_plan,
	.plan_free = cpu_plan_free,
	.kv_new = cpu_kv_new,
	.kv_copy = cpu_kv_copy,
	.kv_drop = cpu_kv_drop,
	.kv_save = cpu_kv_save,
	.kv_load = cpu_kv_load,
	.kv_free = cpu_kv_free,
	.begin = cpu_begin,
	.end = cpu_end,
};
