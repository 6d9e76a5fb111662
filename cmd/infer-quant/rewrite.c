/* infer-quant/rewrite.c - write a model again: quantise, copy, split, merge, compress. */
#include "calibrate.h"
#include "merge_lora.h"
#include <infer/hub.h>
#include <infer/record.h>
#include "base/err.h"
#include "base/os.h"
#include "common/env.h"
#include "common/file.h"
#include "common/model.h"
#include "common/progress.h"
#include "common/records.h"
#include "common/say.h"
#include "common/sig.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RECIPE_MOST = 4 << 20 };

struct run {
	const struct quant_opts *o;
	const char *in, *out; /* paths; out NULL: nothing is written */
	infer_file *file;
	infer_recipe *recipe; /* NULL: the options choose the types */
	infer_quant *quant;
	struct calibrate calibrate; /* used with --method gptq */
	struct merge_lora loras;
	struct infer_quant_info info;
	struct infer_quant_result result;
	char first[PATH_MAX]; /* first file of the output, set with --report */
};

/* True if an option for measuring on a text was given. */
static int has_measure_option(const struct quant_opts *o)
{
	const struct engine_args *e = &o->engine;

	return o->texts.n || o->calibration.n || e->ctx || e->kv_type || e->act_type ||
	       e->kv_bytes || e->swap_bytes || e->prefill_chunk || e->step_ms ||
	       e->no_prefix_cache || e->device || e->gpu_layers || e->split || e->cpu_experts;
}

/* True if an option of another sub-command was given. */
static int is_stray(const struct quant_opts *o)
{
	if (o->model && !env_name(o->model))
		return 1;
	if (o->ref || o->beside || o->out || o->show || o->choices || o->record || o->into)
		return 1;
	return !quant_measures(o) && has_measure_option(o);
}

static int check_report(const struct quant_opts *o, infer_error *err)
{
	if ((!o->type && !o->recipe) || o->dry_run || o->zstd)
		return err_set(err, INFER_EINVAL,
		               "--report measures a file that is written: with --type or "
		               "--recipe, not with --dry-run and --zstd");
	if (!o->texts.n)
		return err_set(err, INFER_EINVAL, "--report measures on a text: -f TEXT");
	return INFER_OK;
}

/* True if tensors keep their types. */
static int is_copy(const struct quant_opts *o)
{
	return !o->type && !o->recipe && !o->max_bytes && !(o->bpw > 0);
}

/* Check that the tensor types are given by exactly one option. */
static int check_what(const struct quant_opts *o, infer_error *err)
{
	int has_target = o->max_bytes || o->bpw > 0, ways = (o->type != NULL) + o->copy + o->merge;

	if (o->recipe && (ways || has_target || o->keep.n))
		return err_set(err, INFER_EINVAL,
		               "--recipe cannot be combined with --type, --keep, --copy, --merge, "
		               "--max-bytes or --bpw");
	if (has_target && ways)
		return err_set(err, INFER_EINVAL,
		               "--max-bytes and --bpw choose types: not --type, --copy or --merge");
	if (has_target)
		return size_target_check(o, quant_gptq(o), err);
	if (!o->recipe && ways != 1 && (ways || !o->merge_lora.n))
		return err_set(err, INFER_EINVAL, "%s",
		               ways ? "--type, --copy and --merge exclude each other"
		                    : "what to write is missing: --type TYPE, as in "
		                      "infer-quant --type Q4_K_M IN OUT, --copy, --merge or "
		                      "--merge-lora FILE");
	if (is_copy(o) && (o->imatrix || o->keep.n))
		return err_set(err, INFER_EINVAL, "--keep and --imatrix go with --type only");
	if (is_copy(o) && !o->merge_lora.n && o->engine.isa && !env_name(o->engine.isa))
		return err_set(err, INFER_EINVAL, "--isa: a copy computes nothing");
	if (is_copy(o) && o->save_recipe)
		return err_set(err, INFER_EINVAL, "--save-recipe: a copy has no recipe");
	return INFER_OK;
}

static int check_method(const struct quant_opts *o, infer_error *err)
{
	if (!o->method)
		return INFER_OK;
	if (!quant_gptq(o) && strcmp(o->method, "search") && strcmp(o->method, "rtn"))
		return err_set(err, INFER_EINVAL,
		               "--method must be search, rtn or gptq, not '%.60s'", o->method);
	if (!o->type && !o->max_bytes && !(o->bpw > 0))
		return err_set(err, INFER_EINVAL,
		               "--method goes with --type, --max-bytes and --bpw only");
	return INFER_OK;
}

static int check_rewrite(struct run *r, const struct opt_rest *rest, infer_error *err)
{
	const struct quant_opts *o = r->o;

	if (is_stray(o))
		return err_set(err, INFER_EINVAL,
		               "options of eval and imatrix go with eval and imatrix only");
	TRY(check_method(o, err));
	TRY(check_what(o, err));
	if (o->engine.isa)
		TRY(isa_check(o->engine.isa, err));
	if (o->merge && o->shard_bytes)
		return err_set(err, INFER_EINVAL, "--merge writes one file: not --split-max-size");
	if (o->dry_run && o->verify)
		return err_set(err, INFER_EINVAL,
		               "--dry-run writes nothing that --verify could read");
	if (o->report)
		TRY(check_report(o, err));
	if (rest->n_words < 1 || (rest->n_words < 2 && !o->dry_run))
		return err_set(err, INFER_EINVAL,
		               "a model and the file to write are needed: IN OUT");
	if (rest->n_words > 2)
		return err_set(err, INFER_EINVAL,
		               "there must be two arguments, IN and OUT, not '%.60s' too",
		               rest->words[2]);
	r->out = rest->n_words > 1 && !o->dry_run ? rest->words[1] : NULL;
	if (r->out && !*r->out)
		return err_set(err, INFER_EINVAL, "OUT is empty");
	if (r->out && (!strcmp(r->out, "demo") || infer_hub_is_ref(r->out)))
		return err_set(err, INFER_EINVAL,
		               "OUT must be a file, and -m %.80s is another model: try ./%.80s",
		               r->out, r->out);
	TRY(quant_check_out(o, "", r->out, NULL, err));
	TRY(merge_lora_check(o, r->out, err));
	TRY(quant_check_out(o, "--save-recipe ", o->save_recipe, rest->words[0], err));
	return model_path(&r->in, rest->words[0], MODEL_NAMED, err);
}

/* ---- the table ---- */

static double bits_per_weight(uint64_t bytes, uint64_t elements)
{
	return elements ? 8 * (double)bytes / (double)elements : 0;
}

static uint64_t count_elements(const struct infer_tensor *t)
{
	return (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}

static void put_bytes(struct buf *b, const char *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)at[i];

		if (c > 0x20 && c < 0x7f)
			buf_putc(b, c);
		else
			buf_printf(b, "\\x%02x", c);
	}
}

void quant_put_name(struct buf *b, const char *name) { put_bytes(b, name, strlen(name)); }

static void put_tensor_row(struct buf *b, const struct infer_quant_tensor *t)
{
	char shape[96], to[32];
	size_t n = 0;

	for (int d = 0; d < t->in->n_dims; d++)
		n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", d ? " x " : "",
		                      (long long)t->in->ne[d]);
	snprintf(to, sizeof to, "%s%s", infer_type_info(t->type)->name,
	         t->type != t->wanted ? " !" : "");
	buf_printf(b, "%5d %12llu %-8s %-10s %8.4f  %-24s ", t->shard, (unsigned long long)t->bytes,
	           infer_type_info(t->in->type)->name, to,
	           bits_per_weight(t->bytes, count_elements(t->in)), shape);
	put_bytes(b, t->in->name.at, t->in->name.len);
	buf_putc(b, '\n');
}

static int put_table(struct buf *b, const struct run *r, infer_error *err)
{
	const struct infer_quant_info *i = &r->info;
	struct infer_quant_tensor t;

	buf_printf(b, "%5s %12s %-8s %-10s %8s  %-24s %s\n", "shard", "bytes", "from", "to", "bits",
	           "shape", "name");
	for (uint64_t n = 0; n < i->n_tensors; n++) {
		TRY(infer_quant_tensor(r->quant, n, &t, err));
		put_tensor_row(b, &t);
	}
	buf_printf(b,
	           "tensors    %llu, %llu encoded, %llu in another type since their shape does not "
	           "allow it (!)\n",
	           (unsigned long long)i->n_tensors, (unsigned long long)i->n_encoded,
	           (unsigned long long)i->n_fallback);
	buf_printf(b, "weights    %llu bytes, %.4f bits each; now %llu, %.4f\n",
	           (unsigned long long)i->out_bytes, bits_per_weight(i->out_bytes, i->n_elements),
	           (unsigned long long)i->in_bytes, bits_per_weight(i->in_bytes, i->n_elements));
	buf_printf(b, "files      %d, %llu bytes\n", i->n_shards,
	           (unsigned long long)i->file_bytes);
	if (i->needs_importance)
		buf_puts(b, "imatrix    needed\n");
	return INFER_OK;
}

static int put_tensors_json(const struct run *r, infer_error *err)
{
	infer_records *w = NULL;

	TRY(infer_records_new(&w, err));
	int rc = infer_write_quant(w, r->quant, r->out, r->out ? &r->result : NULL, err);

	rc = records_put(rc, w, STDOUT_FILENO, err);
	infer_records_free(w);
	return rc;
}

static int show_plan(const struct run *r, infer_error *err)
{
	struct buf b;

	if (r->o->json)
		return put_tensors_json(r, err);
	if (r->out)
		return INFER_OK;
	buf_init(&b, MEM_BASE);
	int rc = put_table(&b, r, err);

	if (!rc)
		rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for the table")
		           : say_out(b.at, b.len, err);
	buf_fini(&b);
	return rc;
}

/* ---- writing ---- */

static void warn_about(const struct infer_quant_info *i)
{
	if (i->n_again)
		say_warning("%llu tensors of the input are quantised already: they lose more",
		            (unsigned long long)i->n_again);
	if (i->n_fallback)
		say_warning(
			"%llu tensors have rows that are not whole blocks of their type: they get "
			"another (--dry-run marks them)",
			(unsigned long long)i->n_fallback);
	if (i->n_unweighed)
		say_warning("the importance matrix lacks %llu tensors that are quantised",
		            (unsigned long long)i->n_unweighed);
}

static void print_summary(const struct run *r)
{
	const struct infer_quant_info *i = &r->info;

	if (r->result.resumed_bytes)
		say_summary("continued after %.1f of %.1f MiB of the input",
		            (double)r->result.resumed_bytes / 1048576,
		            (double)i->in_bytes / 1048576);
	if (r->result.packed_bytes)
		say_summary("compressed to %.1f MiB", (double)r->result.packed_bytes / 1048576);
	say_summary("%.1f MiB of weights, %.3f bits each, from %.1f MiB",
	            (double)i->out_bytes / 1048576, bits_per_weight(i->out_bytes, i->n_elements),
	            (double)i->in_bytes / 1048576);
}

static int write_model(struct run *r, infer_error *err)
{
	static const struct infer_watch watch = { progress_at, NULL };
	struct os_limits limits;

	warn_about(&r->info);
	os_limits(&limits);
	progress_begin(r->info.type ? r->info.type
	               : r->loras.n ? "merge"
	                            : "copy",
	               PROGRESS_BYTES, r->info.in_bytes);
	if (say_verbosity() >= 0)
		sig_last_words("stopped; the same command continues\n");
	int rc = infer_quant_write(
		r->quant, r->out, r->o->engine.threads ? (int)r->o->engine.threads : limits.threads,
		&watch, &r->result, err);

	sig_last_words(NULL);
	progress_end();
	if (!rc)
		print_summary(r);
	else if (r->result.kept)
		say_warning("the unfinished file is kept: the same command continues it");
	return rc;
}

static int read_recipe(struct run *r, infer_error *err)
{
	const char *path = r->o->recipe;
	struct buf text;
	int rc;

	if (!path)
		return INFER_OK;
	buf_init(&text, MEM_BASE);
	rc = file_read(&text, path, RECIPE_MOST, err);
	if (!rc)
		rc = infer_recipe_read(&r->recipe, text.at ? text.at : "", text.len, path, err);
	buf_fini(&text);
	return rc;
}

static int save_recipe(const struct run *r, infer_error *err)
{
	const char *text = infer_quant_recipe(r->quant);

	return r->o->save_recipe ? file_write(r->o->save_recipe, text, strlen(text), 0666, err)
	                         : INFER_OK;
}

/* If there is a size target, choose the tensor types by measuring on the text. */
static int choose_types(struct run *r, infer_error *err)
{
	struct infer_recipe_info info = { 0 };
	infer_recipe *chosen;

	if (r->recipe)
		infer_recipe_info(r->recipe, &info);
	if (info.type && !info.gptq && !r->o->report && has_measure_option(r->o))
		return err_set(err, INFER_EINVAL,
		               "%s sets all types: -f and options of the engine go with a recipe "
		               "that has a target, and with the method gptq",
		               r->o->recipe);
	if (r->recipe ? info.type != NULL : !r->o->max_bytes && !(r->o->bpw > 0))
		return INFER_OK;
	TRY(size_target_check(r->o, info.gptq || quant_gptq(r->o), err));
	TRY(size_target_search(&chosen, r->recipe, r->file, r->o, err));
	infer_recipe_free(r->recipe);
	r->recipe = chosen;
	return INFER_OK;
}

/* Run the calibration text if the method is GPTQ. */
static int calibrate(struct run *r, infer_error *err)
{
	const struct quant_opts *o = r->o;
	struct infer_recipe_info info = { .gptq = quant_gptq(o) };

	if (r->recipe)
		infer_recipe_info(r->recipe, &info);
	if (!info.gptq)
		return o->calibration.n && !info.max_bytes && !(info.bpw > 0)
		               ? err_set(err, INFER_EINVAL,
		                         "--calibration goes with the method gptq and with a "
		                         "target size "
		                         "only")
		               : INFER_OK;
	if (o->report && !o->calibration.n)
		return err_set(err, INFER_EINVAL,
		               "--report would measure on the text of GPTQ: give GPTQ another with "
		               "--calibration TEXT");
	if (!quant_calibration(o)->n)
		return o->dry_run
		               ? INFER_OK
		               : err_set(err, INFER_EINVAL,
		                         "GPTQ needs a text to measure the inputs of the weights: "
		                         "-f TEXT");
	return calibrate_open(&r->calibrate, o, &info, r->in, err);
}

static int plan_output(struct run *r, infer_error *err)
{
	const struct quant_opts *o = r->o;
	const struct infer_quant_opts opts = {
		.gptq = r->calibrate.gptq,
		.method = r->recipe ? NULL : o->method,
		.type = o->type,
		.keep = o->keep.at,
		.n_keep = r->recipe ? 0 : (size_t)o->keep.n,
		.imatrix = o->imatrix,
		.shard_bytes = o->shard_bytes,
		.dry = o->dry_run,
		.note = o->report,
		.verify = o->verify,
		.zstd = (int)o->zstd,
		.recipe = r->recipe,
		.isa = o->engine.isa,
		.loras = r->loras.uses,
		.n_loras = r->loras.n,
	};

	TRY(infer_quant_new(&r->quant, r->file, &opts, err));
	infer_quant_info(r->quant, &r->info);
	return INFER_OK;
}

/* Refuse a damaged model. A model that inferutils cannot run is accepted: other programs may run it. */
static int check_model(const struct run *r, infer_error *err)
{
	const struct infer_model_opts mo = { 0 };
	infer_model *m = NULL;
	infer_error why;

	if (r->o->copy || r->o->merge ||
	    infer_model_open_file(&m, r->file, &mo, &why) != INFER_EFORMAT) {
		infer_model_close(&m);
		return INFER_OK;
	}
	return err_set(err, INFER_EFORMAT, "%s", why.message);
}

static int run_rewrite(struct run *r, infer_error *err)
{
	const struct quant_opts *o = r->o;
	struct infer_file_info info;
	struct infer_recipe_info recipe = { 0 };

	TRY(read_recipe(r, err));
	if (o->report)
		TRY(eval_check(o, r->in, err));
	sig_mapped(r->in);
	TRY(infer_file_open_watched(&r->file, r->in, &model_watch, err));
	infer_file_info(r->file, &info);
	if (o->merge && info.n_shards < 2)
		return err_set(err, INFER_EINVAL, "--merge: %s is one file already", r->in);
	TRY(check_model(r, err));
	if (r->recipe)
		infer_recipe_info(r->recipe, &recipe);
	TRY(merge_lora_open(&r->loras, o, r->file, &recipe, err));
	TRY(choose_types(r, err));
	TRY(calibrate(r, err));
	TRY(plan_output(r, err));
	if (r->out)
		TRY(write_model(r, err));
	if (o->report)
		TRY(infer_quant_path(r->quant, r->out, 0, r->first, sizeof r->first, err));
	TRY(save_recipe(r, err));
	return show_plan(r, err);
}

int rewrite(const struct quant_opts *o, const struct opt_rest *rest)
{
	struct run r = { .o = o };
	infer_error err = { 0 };
	int rc = check_rewrite(&r, rest, &err);

	if (!rc)
		rc = run_rewrite(&r, &err);
	if (quant_measures(o)) /* the error may be from the engine */
		quant_explain(rc, r.file, &err);
	infer_quant_free(r.quant);
	infer_recipe_free(r.recipe);
	calibrate_close(&r.calibrate);
	merge_lora_close(&r.loras);
	infer_file_close(&r.file);
	if (rc || !o->report)
		return rc ? say_fail(&err) : EXIT_DONE;
	return eval_written(o, rest, r.in, r.first);
}
