/* infer-quant/imatrix.c - importance matrices: measure on a text, show, merge. */
#include "quant.h"
#include "common/input.h"
#include "common/progress.h"
#include "common/records.h"
#include "common/say.h"
#include "common/sig.h"
#include <infer/imatrix.h>
#include <infer/record.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 512, SAVE_S = 20 };

struct run {
	const struct quant_opts *o;
	infer_imatrix *im;
	infer_model *model;
	infer_engine *engine;
	struct buf text, part; /* part: name of the file with the unfinished matrix */
	char state[192];       /* text, model and options that `part` was computed with */
	/* time when `part` was last written; 0: save after the first window */
	int64_t saved_ns;
};

static int check_imatrix(const struct quant_opts *o, const struct opt_rest *rest, infer_error *err)
{
	int files = o->show || o->merge;

	if (quant_writes(o) || o->ref || o->beside || o->choices || o->record || o->into ||
	    (o->json && !o->show))
		return err_set(err, INFER_EINVAL,
		               "imatrix takes -m, -f, --out, --show, --merge and options of the "
		               "engine");
	if (o->show && (o->merge || o->out))
		return err_set(err, INFER_EINVAL, "--show writes no file: not with --out");
	if (files && o->texts.n)
		return err_set(err, INFER_EINVAL, "-f does not go with --show and --merge");
	if (files && !rest->n_words)
		return err_set(err, INFER_EINVAL,
		               "--show and --merge need importance matrices as arguments");
	if (!files && rest->n_words)
		return err_set(err, INFER_EINVAL,
		               "imatrix takes no argument without --show and --merge: '%.60s'",
		               rest->words[0]);
	if (!o->show && !o->out)
		return err_set(err, INFER_EINVAL,
		               "--out FILE is needed: where the matrix is written");
	if (!files && !o->texts.n)
		return err_set(err, INFER_EINVAL, "a text is needed: -f TEXT");
	return quant_check_out(o, "--out ", o->out, files ? NULL : o->model, err);
}

/* ---- measuring ---- */

static int open_inputs(struct run *r, infer_error *err)
{
	const struct quant_opts *o = r->o;
	const int32_t window = o->engine.ctx ? (int32_t)o->engine.ctx : WINDOW;
	struct infer_model_opts mo = { .ctx = window, .log = say_log, .watch = model_watch };
	struct input_digest digest;
	struct infer_model_info info;
	struct infer_engine_opts eo;
	const char *path;

	TRY(input_texts(&r->text, &o->texts, &digest, err));
	if (!r->text.len)
		return err_set(err, INFER_EINVAL, "%s: is empty", o->texts.at[0]);
	TRY(model_path(&path, o->model, MODEL_NAMED, err));
	sig_mapped(path);
	TRY(infer_model_open(&r->model, path, &mo, err));
	if (!infer_model_tokenizer(r->model))
		return err_set(err, INFER_EUNSUP, "%s: has no vocabulary", path);
	infer_model_info(r->model, &info);
	TRY(engine_args_take(&eo, &o->engine, err));
	if (!eo.ctx)
		eo.ctx = info.ctx_train && info.ctx_train < WINDOW ? info.ctx_train : WINDOW;
	eo.log = say_log;
	eo.flags |= INFER_ENGINE_NO_PREFIX_CACHE;
	eo.observer = infer_imatrix_observer(r->im);
	return infer_engine_open(&r->engine, r->model, &eo, err);
}

/* True if path is a regular file of this user with a single hard link. */
static int is_ours(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       st.st_uid == geteuid();
}

/* Load the unfinished matrix of a stopped run, if text, model and options are the same. Sets *from to the
 * number of windows measured. */
static int resume(struct run *r, size_t *from, infer_error *err)
{
	infer_imatrix *m;
	infer_error why;
	int32_t window;

	*from = 0;
	if (!is_ours(r->part.at))
		return INFER_OK;
	TRY(infer_imatrix_new(&m, err));
	if (!infer_imatrix_add(m, r->part.at, &why) &&
	    !strcmp(infer_imatrix_dataset(m), r->state)) {
		*from = (size_t)infer_imatrix_windows(m, &window);
		infer_imatrix_free(m);
		return infer_imatrix_add(r->im, r->part.at, err);
	}
	infer_imatrix_free(m);
	return INFER_OK;
}

static int on_window(void *user, size_t windows, size_t all, infer_error *err)
{
	struct run *r = user;
	int64_t now = clock_now_ns();

	progress_at(NULL, windows, all);
	if (windows == all || now - r->saved_ns < (int64_t)SAVE_S * 1000000000)
		return INFER_OK;
	r->saved_ns = now;
	return infer_imatrix_write(r->im, r->part.at, 1, err);
}

static int measure_imatrix(struct run *r, infer_error *err)
{
	struct infer_imatrix_text t = { .done = on_window, .user = r };
	struct infer_engine_info e;
	char text[65], model[65];
	int32_t *ids;
	int rc;

	TRY(open_inputs(r, err));
	infer_engine_info(r->engine, &e);
	t.window = e.ctx;
	sha256_name(text, r->text.at, r->text.len);
	infer_file_id(infer_model_file(r->model), model);
	snprintf(r->state, sizeof r->state, "%s %s %d %d %d %d", text, model, (int)e.ctx, e.k_type,
	         e.v_type, e.act_type);
	TRY(resume(r, &t.from, err));
	TRY(infer_imatrix_name(r->im, r->state, err));
	TRY(infer_encode(infer_model_tokenizer(r->model), r->text.at, r->text.len, INFER_ENCODE_ADD,
	                 &ids, &t.n_ids, err));
	t.ids = ids;
	progress_begin("measured", PROGRESS_ITEMS, t.n_ids / (size_t)t.window);
	rc = quant_explain(infer_imatrix_read(r->im, r->model, r->engine, &t, err),
	                   infer_model_file(r->model), err);
	progress_end();
	infer_ids_free(ids);
	if (!rc)
		rc = infer_file_check_unchanged(infer_model_file(r->model), err);
	return rc ? rc : infer_imatrix_name(r->im, r->o->texts.at[0], err);
}

/* ---- showing ---- */

static void put_entry_line(struct buf *t, const struct infer_imatrix_entry *e)
{
	struct infer_imatrix_sum s;

	infer_imatrix_sum(&s, e);
	buf_printf(t, "%8lld %8lld %10.0f %10.0f %12.6g %8.3f  ", (long long)e->columns,
	           (long long)e->matrices, s.least, s.most, s.mean_square, s.largest);
	quant_put_name(t, e->name);
	buf_putc(t, '\n');
}

static int put_imatrix_json(const struct run *r, infer_error *err)
{
	infer_records *w = NULL;

	TRY(infer_records_new(&w, err));
	int rc = infer_write_imatrix(w, r->im, err);

	rc = records_put(rc, w, STDOUT_FILENO, err);
	infer_records_free(w);
	return rc;
}

static int show_imatrix(const struct run *r, infer_error *err)
{
	struct infer_imatrix_entry e;
	struct buf t;
	int32_t window;
	uint64_t windows = infer_imatrix_windows(r->im, &window);
	int rc;

	buf_init(&t, MEM_BASE);
	buf_printf(&t, "text      ");
	quant_put_name(&t, infer_imatrix_dataset(r->im));
	buf_printf(&t, "\nwindows   %llu of %d tokens\n", (unsigned long long)windows, (int)window);
	buf_printf(&t, "%8s %8s %10s %10s %12s %8s  %s\n", "columns", "matrices", "least rows",
	           "most rows", "mean square", "largest", "name");
	for (size_t i = 0; infer_imatrix_entry(r->im, i, &e); i++)
		put_entry_line(&t, &e);
	rc = t.bad ? err_set(err, INFER_ENOMEM, "out of memory for the table")
	           : say_out(t.at, t.len, err);
	buf_fini(&t);
	return rc;
}

static int add_files(struct run *r, const struct opt_rest *rest, infer_error *err)
{
	for (int i = 0; i < rest->n_words; i++)
		TRY(infer_imatrix_add(r->im, rest->words[i], err));
	return INFER_OK;
}

static int run_imatrix(struct run *r, const struct opt_rest *rest, infer_error *err)
{
	const struct quant_opts *o = r->o;

	TRY(check_imatrix(o, rest, err));
	TRY(infer_imatrix_new(&r->im, err));
	if (o->out)
		buf_printf(&r->part, "%s.part", o->out);
	if (r->part.bad)
		return err_set(err, INFER_ENOMEM, "out of memory");
	TRY(o->show || o->merge ? add_files(r, rest, err) : measure_imatrix(r, err));
	if (o->show)
		return o->json ? put_imatrix_json(r, err) : show_imatrix(r, err);
	TRY(infer_imatrix_write(r->im, o->out, 0, err));
	if (!o->merge)
		unlink(r->part.at);
	return INFER_OK;
}

int imatrix(const struct quant_opts *o, const struct opt_rest *rest)
{
	struct run r = { .o = o };
	infer_error err = { 0 };

	buf_init(&r.text, MEM_BASE);
	buf_init(&r.part, MEM_BASE);
	int rc = run_imatrix(&r, rest, &err);

	infer_engine_close(&r.engine);
	infer_model_close(&r.model);
	infer_imatrix_free(r.im);
	buf_fini(&r.text);
	buf_fini(&r.part);
	return rc ? say_fail(&err) : EXIT_DONE;
}
