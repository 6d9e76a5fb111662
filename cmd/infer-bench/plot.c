/* infer-bench/plot.c - plot: a figure of records. */
#include "bench.h"
#include "figure.h"
#include "common/file.h"
#include "common/say.h"
#include "base/err.h"

#include <string.h>

static int ends(const char *s, const char *with)
{
	size_t n = strlen(s), k = strlen(with);

	return n > k && !strcmp(s + n - k, with);
}

static int write_figure(const struct bench_opts *o, const struct figure *f, infer_error *err)
{
	struct buf out;
	int rc = INFER_OK;

	buf_init(&out, MEM_BASE);
	if (o->out)
		rc = figure_gnuplot(f, ends(o->out, ".png") ? FIGURE_PNG : FIGURE_SVG, &out, err);
	else
		figure_text(f, &out);
	if (!rc && out.bad)
		rc = err_nomem(err);
	if (!rc)
		rc = o->out ? file_write(o->out, out.at, out.len, 0666, err)
		            : say_out(out.at, out.len, err);
	buf_fini(&out);
	return rc;
}

int plot(const struct bench_opts *o, const struct opt_rest *rest)
{
	struct cases c;
	struct figure f;
	struct arena mem;
	infer_error err = { 0 };
	int rc;

	if (o->out && !ends(o->out, ".svg") && !ends(o->out, ".png")) {
		say_error("--out %.100s must end with .svg or .png", o->out);
		return EXIT_USAGE;
	}
	arena_init(&mem, MEM_BASE);
	rc = cases_read_all(&c, rest->words + 1, rest->n_words - 1, &err);
	if (!rc)
		rc = figure_make(&f, &c, (enum figure_kind)o->kind, &mem, &err);
	if (!rc)
		rc = write_figure(o, &f, &err);
	cases_fini(&c);
	arena_fini(&mem);
	return rc ? say_fail(&err) : EXIT_DONE;
}
