/* infer-inspect/hw_cache.c - the machine to plan for: a described one, or this one, measured once and
 * cached. */
#include "inspect.h"
#include <infer/hw.h>
#include <infer/model.h>
#include <infer/plan.h>
#include "common/env.h"
#include "common/file.h"
#include "common/say.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/sha256.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20 };

/* Version of the cached record.  Raise it when the meaning of a field changes. */
enum { CACHE_VERSION = 3 };

/* Append the file name of the cached measurement, a hash of all that it depends on: processor,
 * threads, memory, kernel sets, this version.  Returns 0 if memory ran out. */
static int add_cache_name(struct buf *path, const struct os_limits *l)
{
	struct infer_kernel_set set;
	char cpu[64], hex[65];
	struct buf text;

	cpu_model_name(cpu);
	buf_init(&text, MEM_BASE);
	buf_printf(&text, "%s|%d|%llu|%s|%d", cpu, l->threads, (unsigned long long)l->memory_bytes,
	           infer_version(), CACHE_VERSION);
	for (int i = 0; infer_kernel_set(i, &set); i++)
		buf_printf(&text, "|%s%d", set.name, set.usable);
	if (!text.bad) {
		sha256_name(hex, text.at, text.len);
		buf_printf(path, "/hw-%.16s.json", hex);
	}
	int ok = !text.bad && !path->bad;

	buf_fini(&text);
	return ok;
}

static int read_machine_file(struct infer_machine *m, const char *path, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, MOST_BYTES, err);

	if (!rc)
		rc = infer_machine_read(m, text.len ? text.at : "", text.len, path, err);
	buf_fini(&text);
	return rc;
}

/* Write the measurement to the cache.  If this fails, the machine is measured again next time. */
static void write_cache(const struct infer_machine *m, const char *path)
{
	infer_error none;
	struct buf text;
	struct jwrite w;

	buf_init(&text, MEM_BASE);
	jw_init(&w, &text);
	jw_object(&w, NULL);
	infer_machine_write(m, &w);
	jw_end(&w);
	jw_line(&w);
	if (!text.bad && file_write(path, text.at, text.len, 0600, &none))
		say_note(1, "the measurement cannot be kept: %s", none.message);
	buf_fini(&text);
}

/* Return the measured time ns of a step minus its predicted time; 0 if negative. */
static double unexplained_ns(const struct infer_shape *s, const struct infer_machine *m, double ns,
                             struct infer_load l)
{
	const struct infer_setup how = { .k_type = INFER_F16, .v_type = INFER_F16 };
	struct infer_step_time t;

	infer_step_time(&t, s, m, &how, &l);
	return ns > t.total * 1e9 ? ns - t.total * 1e9 : 0;
}

/* Set the overheads of the engine between kernels, from steps measured with the built-in model. The
 * unexplained time of a step is divided: for decode by nodes of the graph (node_ns), for a batch by
 * sequences - 1 (seq_ns), for a prompt by rows - 1 and regions (row_ns). */
static int fit_overheads(struct infer_machine *m, infer_error *err)
{
	const struct infer_load one = { 1, 1, 1, 24 }, batch = { 8, 8, 8, 16 },
				prompt = { 256, 1, 1, 128 };
	struct infer_shape s;
	infer_model *model;

	TRY(infer_model_open(&model, "demo", NULL, err));
	int rc = infer_shape_of(&s, model, err);

	infer_model_close(&model);
	TRY(rc);
	m->node_ns = m->seq_ns = m->row_ns = 0;
	m->node_ns = unexplained_ns(&s, m, m->step_ns, one) / s.nodes;
	m->seq_ns = unexplained_ns(&s, m, m->batch_ns, batch) / (double)(batch.seqs - 1);
	m->row_ns =
		unexplained_ns(&s, m, m->prompt_ns, prompt) / (double)(prompt.rows - 1) / s.regions;
	return INFER_OK;
}

/* Return this machine: the cached measurement, or a new one if there is none or `again` is set. loops: 1 to
 * measure the rates of all kernels, which predictions need. */
static int this_machine(struct infer_machine *m, int again, int loops, infer_error *err)
{
	struct os_limits l;
	infer_error none;
	struct buf path;
	int cached = 0, rc;

	os_limits(&l);
	buf_init(&path, MEM_BASE);
	int kept = !env_cache_dir(&path, &none);
	size_t n = path.len;

	kept = kept && add_cache_name(&path, &l);
	/* a file that is missing or cannot be read as a measurement is replaced */
	if (kept && !again)
		cached = !read_machine_file(m, path.at, &none) && m->measured &&
		         (!loops || m->loops[INFER_F32].rows[0] > 0);
	if (kept)
		path.at[n] = 0;
	rc = cached ? INFER_OK
	            : infer_machine_measure(m, loops ? INFER_MACHINE_LOOPS : 0,
	                                    kept ? path.at : NULL, err);
	if (kept)
		path.at[n] = '/';
	if (!rc && !cached && loops)
		rc = fit_overheads(m, err);
	if (!rc && !cached && kept)
		write_cache(m, path.at);
	buf_fini(&path);
	return rc;
}

int machine_get(struct infer_machine *m, const char *name, int again, int loops, infer_error *err)
{
	if (!name)
		return this_machine(m, again, loops, err);
	/* names of built-in machines contain neither character */
	return strchr(name, '/') || strchr(name, '.') ? read_machine_file(m, name, err)
	                                              : infer_machine_find(m, name, err);
}
