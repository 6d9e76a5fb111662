/* infer-bench/kernels.c - kernels: measure the compute kernels. */
#include "bench.h"
#include "common/progress.h"
#include "common/say.h"
#include "base/err.h"

#include <string.h>
#include <strings.h>

struct kernels {
	const struct bench_opts *o;
	infer_probe *p;
	struct append out;
	struct buf text;
};

static int word_names(const char *word, size_t n, const struct infer_probe_case *c)
{
	const char *const fields[] = { c->kernel, c->type, c->shape, c->isa };

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strlen(fields[i]) == n && !strncasecmp(fields[i], word, n))
			return 1;
	return 0;
}

/* True if every --filter contains a word that names the case. */
static int is_wanted(const struct bench_opts *o, const struct infer_probe_case *c)
{
	for (int i = 0; i < o->filters.n; i++) {
		const char *w = o->filters.at[i];
		int hit = 0;

		for (size_t n; *w && !hit; w += n + (w[n] == ',')) {
			n = strcspn(w, ",");
			hit = word_names(w, n, c);
		}
		if (!hit)
			return 0;
	}
	return 1;
}

static int flush_text(struct kernels *k, infer_error *err)
{
	int rc = k->text.bad ? err_nomem(err) : INFER_OK;

	if (!rc && k->text.len)
		rc = say_out(k->text.at, k->text.len, err);
	buf_clear(&k->text);
	return rc;
}

static void put_ceiling(struct buf *b, const char *what, const struct infer_rate *r,
                        const char *unit)
{
	buf_printf(b, "%-34s %9.1f %s  (%.1f ... %.1f)\n", what, r->median, unit, r->least,
	           r->most);
}

static int ceilings(struct kernels *k, infer_error *err)
{
	struct infer_ceilings c;

	TRY(infer_probe_ceilings(k->p, NULL, &c, err));
	if (k->out.file)
		TRY(infer_write_ceilings(k->out.file, k->p, &c, err));
	if (k->out.out)
		TRY(infer_write_ceilings(k->out.out, k->p, &c, err));
	TRY(append_send(&k->out, err));
	if (k->out.out)
		return INFER_OK;
	put_ceiling(&k->text, "read, mapped file", &c.mapped, "GB/s");
	put_ceiling(&k->text, "read, memory", &c.memory, "GB/s");
	put_ceiling(&k->text, "fp32 fma", &c.fma, "GFLOP/s");
	put_ceiling(&k->text, "int8 dot", &c.dot, "GOP/s");
	if (c.tile_i8.median > 0) {
		put_ceiling(&k->text, "int8 tiles", &c.tile_i8, "GOP/s");
		put_ceiling(&k->text, "bf16 tiles", &c.tile_bf16, "GFLOP/s");
	}
	buf_printf(&k->text, "\n%-11s %-7s %-11s %3s %-10s %7s %8s  %-6s %5s\n", "kernel", "type",
	           "shape", "m", "isa", "GB/s", "GOP/s", "limit", "part");
	return flush_text(k, err);
}

static int measure_kernel(struct kernels *k, const struct infer_probe_case *c, infer_error *err)
{
	static const char *const limits[] = { [INFER_LIMIT_MEMORY] = "memory",
		                              [INFER_LIMIT_FMA] = "fma",
		                              [INFER_LIMIT_DOT] = "dot",
		                              [INFER_LIMIT_TILE] = "tile" };
	struct infer_probe_result r;

	TRY(infer_probe_measure(k->p, c, &r, err));
	if (k->out.file)
		TRY(infer_write_probe(k->out.file, k->p, c, &r, err));
	if (k->out.out)
		TRY(infer_write_probe(k->out.out, k->p, c, &r, err));
	else
		buf_printf(&k->text, "%-11s %-7s %-11s %3d %-10s %7.2f %8.2f  %-6s %5.3f%s\n",
		           c->kernel, c->type, c->shape, c->m, c->isa, r.bytes.median, r.ops.median,
		           limits[r.limit], r.fraction.median, r.same ? "" : "  DIFFERS");
	TRY(append_send(&k->out, err));
	TRY(flush_text(k, err));
	if (!r.same)
		return err_set(err, INFER_EDEVICE,
		               "%s %s %s of kernel set %s does not have the bits of ref", c->kernel,
		               c->type, c->shape, c->isa);
	return INFER_OK;
}

static int count_wanted(const struct kernels *k)
{
	struct infer_probe_case c;
	int n = 0;

	for (int i = 0; infer_probe_case(k->p, i, &c); i++)
		n += is_wanted(k->o, &c);
	return n;
}

static int all(struct kernels *k, infer_error *err)
{
	struct infer_probe_opts po = { .threads = (int32_t)k->o->engine.threads,
		                       .repeat = (int32_t)k->o->repeat,
		                       .isa = k->o->engine.isa,
		                       .flags = k->o->quick ? INFER_PROBE_QUICK : 0 };
	struct infer_probe_case c;
	uint64_t done = 0;
	int n;

	if (k->o->engine.isa)
		TRY(isa_check(k->o->engine.isa, err));
	TRY(infer_probe_open(&k->p, &po, err));
	n = count_wanted(k);
	if (!n)
		return err_set(err, INFER_EINVAL,
		               "--filter: no case has this kernel, type, shape and set");
	TRY(append_open(&k->out, k->o->json, k->o->record, err));
	progress_begin("ceilings:", PROGRESS_ITEMS, (uint64_t)n);
	TRY(ceilings(k, err));
	for (int i = 0; infer_probe_case(k->p, i, &c); i++) {
		if (!is_wanted(k->o, &c))
			continue;
		progress_name("%s %s %s:", c.kernel, c.type, c.shape);
		TRY(measure_kernel(k, &c, err));
		progress_at(NULL, ++done, (uint64_t)n);
	}
	return INFER_OK;
}

int kernels(const struct bench_opts *o, const struct opt_rest *rest)
{
	struct kernels k = { .o = o, .out.fd = -1 };
	infer_error err = { 0 };

	(void)rest;
	buf_init(&k.text, MEM_BASE);
	int rc = all(&k, &err);

	progress_end();
	int late = append_close(&k.out, rc ? NULL : &err);

	infer_probe_close(&k.p);
	buf_fini(&k.text);
	return rc || late ? say_fail(&err) : EXIT_DONE;
}
