/* infer-inspect/hw_cache.c - the machine that is meant: measured once and kept, or described. */
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

/* The version of the kept record: it is raised when a figure changes its meaning. */
enum { FORM = 2 };

/* What a measurement holds for: the processor, its cores, the kernel sets, this version. */
static int identity(struct buf *path, const struct os_limits *l)
{
	struct infer_kernel_set set;
	char cpu[64], hex[65];
	struct buf text;

	cpu_model_name(cpu);
	buf_init(&text, MEM_BASE);
	buf_printf(&text, "%s|%d|%llu|%s|%d", cpu, l->threads, (unsigned long long)l->memory_bytes,
	           infer_version(), FORM);
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

static int read_file(struct infer_machine *m, const char *path, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, MOST_BYTES, err);

	if (!rc)
		rc = infer_machine_read(m, text.len ? text.at : "", text.len, path, err);
	buf_fini(&text);
	return rc;
}

/* A directory that cannot be written is no reason to fail: the machine is measured again next time. */
static void keep(const struct infer_machine *m, const char *path)
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

static double beyond(const struct infer_shape *s, const struct infer_machine *m, double ns,
                     struct infer_load l)
{
	const struct infer_setup how = { .k_type = INFER_F16, .v_type = INFER_F16 };
	struct infer_step_time t;

	infer_step_time(&t, s, m, &how, &l);
	return ns > t.total * 1e9 ? ns - t.total * 1e9 : 0;
}

/* What the engine takes for a step of the built-in model beyond what its loops do is the time between
 * the loops: it is counted for each region that all threads meet behind, what a step of several sequences
 * takes beyond that for each of them, and what a prompt does for each row in a region. */
static int between_loops(struct infer_machine *m, infer_error *err)
{
	const struct infer_load one = { 1, 1, 1, 24 }, batch = { 8, 8, 8, 16 },
				prompt = { 256, 1, 1, 128 };
	struct infer_shape s;
	infer_model *model;

	TRY(infer_model_open(&model, "demo", NULL, err));
	int rc = infer_shape_of(&s, model, err);

	infer_model_close(&model);
	TRY(rc);
	m->seq_ns = m->row_ns = 0;
	m->barrier_ns += beyond(&s, m, m->step_ns, one) / s.regions;
	m->seq_ns = beyond(&s, m, m->batch_ns, batch) / (double)(batch.seqs - 1);
	m->row_ns = beyond(&s, m, m->prompt_ns, prompt) / (double)(prompt.rows - 1) / s.regions;
	return INFER_OK;
}

/* loops: predictions want them */
static int here(struct infer_machine *m, int again, int loops, infer_error *err)
{
	struct os_limits l;
	infer_error none;
	struct buf path;
	int there = 0, rc;

	os_limits(&l);
	buf_init(&path, MEM_BASE);
	int kept = !env_cache_dir(&path, &none);
	size_t n = path.len;

	kept = kept && identity(&path, &l);
	/* one that is not there or has another form is measured again */
	if (kept && !again)
		there = !read_file(m, path.at, &none) && m->measured &&
		        (!loops || m->loops[INFER_F32].rows[0] > 0);
	if (kept)
		path.at[n] = 0;
	rc = there ? INFER_OK
	           : infer_machine_measure(m, loops ? INFER_MACHINE_LOOPS : 0,
	                                   kept ? path.at : NULL, err);
	if (kept)
		path.at[n] = '/';
	if (!rc && !there && loops)
		rc = between_loops(m, err);
	if (!rc && !there && kept)
		keep(m, path.at);
	buf_fini(&path);
	return rc;
}

int machine_get(struct infer_machine *m, const char *name, int again, int loops, infer_error *err)
{
	if (!name)
		return here(m, again, loops, err);
	/* a path, as a name of the library has neither */
	return strchr(name, '/') || strchr(name, '.') ? read_file(m, name, err)
	                                              : infer_machine_find(m, name, err);
}
