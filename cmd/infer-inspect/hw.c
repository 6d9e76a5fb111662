/* infer-inspect/hw.c - the properties of this machine. */
#include "inspect.h"
#include <infer/hw.h>
#include "base/cpu.h"
#include "base/numa.h"
#include "base/os.h"

static void put_json(struct buf *out, const char *cpu, const struct cpu_caches *c,
                     const struct os_limits *l, const struct numa *nodes)
{
	struct infer_kernel_set s;
	uint64_t have = cpu_features();
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_HW, INFER_RECORD_FIRST);
	jw_str(&w, "cpu", cpu);
	jw_array(&w, "features");
	for (unsigned i = 0; i < 64; i++)
		if (have >> i & 1 && cpu_feature_name(i))
			jw_str(&w, NULL, cpu_feature_name(i));
	jw_end(&w);
	jw_array(&w, "kernels");
	for (int i = 0; infer_kernel_set(i, &s); i++) {
		jw_object(&w, NULL);
		jw_str(&w, "name", s.name);
		jw_bool(&w, "usable", s.usable);
		jw_end(&w);
	}
	jw_end(&w);
	jw_uint(&w, "l1d_bytes", c->l1d_bytes);
	jw_uint(&w, "l2_bytes", c->l2_bytes);
	jw_uint(&w, "l3_bytes", c->l3_bytes);
	jw_uint(&w, "line_bytes", c->line_bytes);
	jw_int(&w, "threads", l->threads);
	jw_int(&w, "nodes", nodes->n);
	jw_uint(&w, "memory_bytes", l->memory_bytes);
	jw_uint(&w, "available_bytes", l->available_bytes);
	if (l->address_bytes == UINT64_MAX)
		jw_null(&w, "address_bytes");
	else
		jw_uint(&w, "address_bytes", l->address_bytes);
	jw_uint(&w, "page_bytes", os_page());
	infer_record_close(&w);
}

static void put_row(struct buf *out, const char *name, uint64_t bytes)
{
	buf_printf(out, "%-10s ", name);
	put_bytes(out, bytes);
	buf_putc(out, '\n');
}

static void put_text(struct buf *out, const char *cpu, const struct cpu_caches *c,
                     const struct os_limits *l, const struct numa *nodes)
{
	struct infer_kernel_set s;
	uint64_t have = cpu_features();

	buf_printf(out, "%-10s %s\n%-10s", "cpu", *cpu ? cpu : "unknown", "features");
	for (unsigned i = 0; i < 64; i++)
		if (have >> i & 1 && cpu_feature_name(i))
			buf_printf(out, " %s", cpu_feature_name(i));
	buf_printf(out, "\n%-10s", "kernels");
	for (int i = 0; infer_kernel_set(i, &s); i++)
		buf_printf(out, " %s%s", s.name, s.usable ? "" : " (not on this processor)");
	buf_printf(out, "\n%-10s %d\n", "threads", l->threads);
	if (nodes->n > 1)
		buf_printf(out, "%-10s %d\n", "nodes", nodes->n);
	put_row(out, "l1d", c->l1d_bytes);
	put_row(out, "l2", c->l2_bytes);
	put_row(out, "l3", c->l3_bytes);
	put_row(out, "memory", l->memory_bytes);
	put_row(out, "available", l->available_bytes);
	if (l->address_bytes != UINT64_MAX)
		put_row(out, "address", l->address_bytes);
	put_row(out, "page", os_page());
}

int hw(struct buf *out, const struct inspect_opts *o, const infer_file *file,
       const struct opt_rest *words, infer_error *err)
{
	struct cpu_caches caches;
	struct os_limits limits;
	struct numa nodes;
	char cpu[64];

	(void)file;
	(void)words;
	(void)err;
	cpu_model_name(cpu);
	cpu_caches(&caches);
	os_limits(&limits);
	numa_find(&nodes, "");
	if (o->json)
		put_json(out, cpu, &caches, &limits, &nodes);
	else
		put_text(out, cpu, &caches, &limits, &nodes);
	return INFER_OK;
}
