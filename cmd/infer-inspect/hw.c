/* infer-inspect/hw.c - the properties of this machine, or of one that is described. */
#include "inspect.h"
#include <infer/device.h>
#include <infer/hw.h>
#include "base/cpu.h"
#include "base/err.h"
#include "base/numa.h"
#include "base/os.h"

#include <stdio.h>
#include <string.h>

/* The GPUs of this machine.  why: the reason, if n is 0. */
struct gpus {
	struct infer_device at[INFER_DEVICES];
	int n;
	infer_error why;
};

static void find_gpus(struct gpus *g)
{
	if (!infer_device_list(g->at, INFER_DEVICES, &g->n, &g->why) && !g->n)
		snprintf(g->why.message, sizeof g->why.message, "no CUDA device");
}

/* Write the field "gpu": an array of the GPUs, or the reason why there are none. */
static void put_gpus_json(struct jwrite *w, const struct gpus *g)
{
	char text[32]; /* a device or a version */

	if (!g->n) {
		jw_str(w, "gpu", g->why.message);
		return;
	}
	jw_array(w, "gpu");
	for (int i = 0; i < g->n; i++) {
		const struct infer_device *d = &g->at[i];

		jw_object(w, NULL);
		snprintf(text, sizeof text, "cuda:%d", i);
		jw_str(w, "device", text);
		jw_str(w, "name", d->name);
		snprintf(text, sizeof text, "%d.%d", d->major, d->minor);
		jw_str(w, "compute_capability", text);
		jw_int(w, "processors", d->processors);
		jw_uint(w, "memory_bytes", d->memory_bytes);
		jw_uint(w, "available_bytes", d->free_bytes);
		jw_str(w, "bus", d->bus);
		jw_int(w, "driver", d->driver);
		jw_int(w, "runtime", d->runtime);
		jw_end(w);
	}
	jw_end(w);
}

/* Append a version as CUDA counts it: 13020 is 13.2. */
static void put_version(struct buf *out, const char *what, int version)
{
	buf_printf(out, ", %s %d.%d", what, version / 1000, version % 1000 / 10);
}

static void put_gpus_text(struct buf *out, const struct gpus *g)
{
	if (!g->n)
		buf_printf(out, "%-10s %s\n", "gpu", g->why.message);
	for (int i = 0; i < g->n; i++) {
		const struct infer_device *d = &g->at[i];

		buf_printf(out, "%-10s cuda:%d: %s, sm_%d%d, %d multiprocessors, ", i ? "" : "gpu",
		           i, d->name, d->major, d->minor, d->processors);
		put_size(out, d->free_bytes);
		buf_puts(out, " free of ");
		put_size(out, d->memory_bytes);
		buf_printf(out, ", bus %s", d->bus);
		put_version(out, "driver for CUDA", d->driver);
		put_version(out, "built with", d->runtime);
		buf_putc(out, '\n');
	}
}

/* Return the kernel's setting of transparent huge pages: "always", "madvise" or "never"; "unknown" if it
 * cannot be read. */
static const char *huge_pages(char mode[64])
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	char *from, *to;

	if (!f || !fgets(mode, 64, f))
		mode[0] = 0;
	if (f)
		fclose(f);
	from = strchr(mode, '[');
	to = from ? strchr(from, ']') : NULL;
	if (!to)
		return "unknown";
	*to = 0;
	return from + 1;
}

static void put_huge_json(struct jwrite *w)
{
	char mode[64];

	jw_str(w, "huge_pages", huge_pages(mode));
}

static void put_hw_json(struct buf *out, const char *cpu, const struct cpu_caches *c,
                        const struct os_limits *l, const struct numa *nodes,
                        const struct infer_machine *m, const struct gpus *gpus)
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
	put_huge_json(&w);
	put_gpus_json(&w, gpus);
	jw_object(&w, "measured");
	infer_machine_write(m, &w);
	jw_end(&w);
	infer_record_close(&w);
}

static void put_row(struct buf *out, const char *name, uint64_t bytes)
{
	buf_printf(out, "%-10s ", name);
	put_bytes(out, bytes);
	buf_putc(out, '\n');
}

static void put_huge_text(struct buf *out)
{
	char mode[64];

	buf_printf(out, "%-10s %s\n", "huge pages", huge_pages(mode));
}

static void put_rate(struct buf *out, const char *name, double all, double one, const char *unit)
{
	if (!(all > 0))
		return;
	buf_printf(out, "%-10s %.*f %s", name, all < 10 ? 2 : 0, all, unit);
	if (one > 0)
		buf_printf(out, "; %.0f of one thread", one);
	buf_putc(out, '\n');
}

static void put_hw_text(struct buf *out, const char *cpu, const struct cpu_caches *c,
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

static void put_rates(struct buf *out, const struct infer_machine *m)
{
	buf_printf(out, "%-10s %s, GB/s by threads:", "read",
	           m->measured ? "measured" : "described");
	for (int i = 0; i < m->n_read; i++)
		buf_printf(out, "%s %d: %.1f", i ? "," : "", (int)m->read[i].threads,
		           m->read[i].gb_s);
	if (!m->n_read)
		buf_printf(out, " all: %.1f", m->memory_gb_s);
	buf_putc(out, '\n');
	if (m->huge_gb_s > 0)
		buf_printf(out, "%-10s %.1f GB/s in huge pages, %.2f times as fast\n", "",
		           m->huge_gb_s, m->huge_gb_s / m->memory_gb_s);
	if (m->cached_gb_s > 0)
		buf_printf(out, "%-10s %.1f GB/s from caches\n", "", m->cached_gb_s);
	if (m->disk_gb_s > 0)
		buf_printf(out, "%-10s %.2f GB/s, read past the page cache\n", "disk",
		           m->disk_gb_s);
	put_rate(out, "f32", m->f32_gflop_s, m->f32_one_gflop_s, "GFLOP/s");
	put_rate(out, "bf16", m->bf16_gflop_s, 0, "GFLOP/s, products of matrices");
	put_rate(out, "int8", m->i8_gop_s, m->i8_one_gop_s, "GOP/s");
	if (m->measured && !(m->tile_i8_gop_s > 0))
		buf_printf(out, "%-10s no tile registers\n", "tile");
	put_rate(out, "tile int8", m->tile_i8_gop_s, 0, "GOP/s");
	put_rate(out, "tile bf16", m->tile_bf16_gflop_s, 0, "GFLOP/s");
	if (m->barrier_ns > 0)
		buf_printf(out, "%-10s %.2f us for all threads to meet\n", "barrier",
		           m->barrier_ns * 1e-3);
}

/* Write the rates of the kernels by type: 1 row (weights read in place, as in decode) and 512 rows (packed
 * panels, as in prefill). */
static void put_loops(struct buf *out, const struct infer_machine *m)
{
	buf_printf(out, "%-10s %-8s %10s %10s %10s\n", "loops", "type", "1 row GB/s", "512 GOP/s",
	           "bits");
	for (int t = 0; t < INFER_TYPE_COUNT; t++) {
		const struct infer_type_info *info = infer_type_info(t);
		double bytes = (double)info->block_bytes / info->block;

		if (m->loops[t].rows[0] > 0)
			buf_printf(out, "%-10s %-8s %10.1f %10.0f %10.3f\n", "", info->name,
			           m->loops[t].rows[0] * bytes, m->loops[t].tile[2], 8 * bytes);
	}
}

static void put_gpu(struct buf *out, const struct infer_gpu *g)
{
	buf_printf(out, "%-10s %d x %s, ", "gpu", (int)g->count, g->name);
	put_size(out, g->memory_bytes);
	buf_printf(out, " each%s, %.0f GB/s\n", g->unified ? ", of the host" : "", g->memory_gb_s);
	put_rate(out, "f16", g->f16_tflop_s, 0, "TFLOP/s");
	put_rate(out, "f8", g->f8_tflop_s, 0, "TFLOP/s");
	put_rate(out, "int8", g->i8_top_s, 0, "TOP/s");
	put_rate(out, "link", g->link_gb_s, 0, "GB/s to each other, one direction");
	put_rate(out, "host", g->host_gb_s, 0, "GB/s to the host, one direction");
	put_rate(out, "decode", g->decode_part, 0, "of the limit reached, published");
	put_rate(out, "prefill", g->prefill_part, 0, "of the limit reached, published");
}

static int put_described(struct buf *out, const struct inspect_opts *o,
                         const struct infer_machine *m)
{
	struct jwrite w;

	if (o->json) {
		infer_record_open(&w, out, INFER_KIND_HW, INFER_RECORD_FIRST);
		jw_str(&w, "cpu", m->name);
		jw_object(&w, m->measured ? "measured" : "described");
		infer_machine_write(m, &w);
		jw_end(&w);
		infer_record_close(&w);
		return INFER_OK;
	}
	buf_printf(out, "%-10s %s\n", "name", m->name);
	if (m->memory_bytes) {
		put_row(out, "memory", m->memory_bytes);
		put_rates(out, m);
	}
	if (m->gpu.count)
		put_gpu(out, &m->gpu);
	for (int i = 0; i < m->n_sources; i++)
		buf_printf(out, "%-10s %s: %s\n", i ? "" : "sources", m->sources[i].figure,
		           m->sources[i].from);
	return INFER_OK;
}

static int put_names(struct buf *out, const struct inspect_opts *o, infer_error *err)
{
	struct infer_machine m;
	char name[32];

	for (int i = 0; infer_machine_name(i, name); i++) {
		TRY(infer_machine_find(&m, name, err));
		if (o->json)
			put_described(out, o, &m);
		else
			buf_printf(out, "%-20s %s\n", name, m.name);
	}
	return INFER_OK;
}

int hw(struct buf *out, const struct inspect_opts *o, const infer_file *file,
       const struct opt_rest *words, infer_error *err)
{
	struct infer_machine m;
	struct cpu_caches caches;
	struct os_limits limits;
	struct numa nodes;
	struct gpus gpus = { .n = 0 };
	char cpu[64];

	(void)file;
	(void)words;
	if (o->machine && !strcmp(o->machine, "all"))
		return put_names(out, o, err);
	TRY(machine_get(&m, o->machine, o->again, o->all, err));
	if (o->machine)
		return put_described(out, o, &m);
	cpu_model_name(cpu);
	cpu_caches(&caches);
	os_limits(&limits);
	numa_find(&nodes, "");
	find_gpus(&gpus);
	if (o->json) {
		put_hw_json(out, cpu, &caches, &limits, &nodes, &m, &gpus);
		return INFER_OK;
	}
	put_hw_text(out, cpu, &caches, &limits, &nodes);
	put_huge_text(out);
	put_rates(out, &m);
	put_gpus_text(out, &gpus);
	if (o->all)
		put_loops(out, &m);
	return INFER_OK;
}
