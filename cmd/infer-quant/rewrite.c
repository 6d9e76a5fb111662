/* infer-quant/rewrite.c - a model written again. */
#include "quant.h"
#include <infer/record.h>
#include "base/err.h"
#include "base/os.h"
#include "common/env.h"
#include "common/model.h"
#include "common/progress.h"
#include "common/records.h"
#include "common/say.h"
#include "common/sig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run {
	const struct quant_opts *o;
	const char *in, *out; /* out NULL: nothing is written */
	infer_file *file;
	infer_quant *quant;
	struct infer_quant_info info;
	struct infer_quant_result result;
};

/* An option of another subject. */
static int is_stray(const struct quant_opts *o)
{
	const struct engine_args *e = &o->engine;

	if ((o->model && !env_name(o->model)) || (e->isa && !env_name(e->isa)))
		return 1;
	return o->texts.n || o->ref || o->out || o->show || o->choices || o->record || e->ctx ||
	       e->kv_type || e->act_type || e->kv_bytes || e->prefill_chunk || e->step_ms ||
	       e->no_prefix_cache;
}

static int check(struct run *r, const struct opt_rest *rest, infer_error *err)
{
	const struct quant_opts *o = r->o;

	if (is_stray(o))
		return err_set(err, INFER_EINVAL,
		               "options of eval and imatrix go with eval and imatrix only");
	if ((o->type != NULL) + o->copy + o->merge != 1)
		return err_set(err, INFER_EINVAL, "%s",
		               o->type || o->copy || o->merge
		                       ? "--type, --copy and --merge exclude each other"
		                       : "--type, --copy or --merge says what is written");
	if (!o->type && (o->imatrix || o->keep.n))
		return err_set(err, INFER_EINVAL, "--keep and --imatrix go with --type only");
	if (o->merge && o->shard_bytes)
		return err_set(err, INFER_EINVAL, "--merge writes one file: not --split-max-size");
	if (o->dry_run && o->verify)
		return err_set(err, INFER_EINVAL,
		               "--dry-run writes nothing that --verify could read");
	if (rest->n_words < 1 || (rest->n_words < 2 && !o->dry_run))
		return err_set(err, INFER_EINVAL,
		               "a model and the file to write are needed: IN OUT");
	if (rest->n_words > 2)
		return err_set(err, INFER_EINVAL, "one file is read and one is written: '%.60s'",
		               rest->words[2]);
	r->out = rest->n_words > 1 && !o->dry_run ? rest->words[1] : NULL;
	if (r->out && !*r->out)
		return err_set(err, INFER_EINVAL, "OUT is empty");
	return model_path(&r->in, rest->words[0], MODEL_NAMED, err);
}

/* ---- the table ---- */

static double bits(uint64_t bytes, uint64_t elements)
{
	return elements ? 8 * (double)bytes / (double)elements : 0;
}

static uint64_t elements(const struct infer_tensor *t)
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

static void put_row(struct buf *b, const struct infer_quant_tensor *t)
{
	char shape[96], to[32];
	size_t n = 0;

	for (int d = 0; d < t->in->n_dims; d++)
		n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", d ? " x " : "",
		                      (long long)t->in->ne[d]);
	snprintf(to, sizeof to, "%s%s", infer_type_info(t->type)->name,
	         t->type != t->wanted ? " !" : "");
	buf_printf(b, "%5d %12llu %-8s %-10s %8.4f  %-24s ", t->shard, (unsigned long long)t->bytes,
	           infer_type_info(t->in->type)->name, to, bits(t->bytes, elements(t->in)), shape);
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
		put_row(b, &t);
	}
	buf_printf(b,
	           "tensors    %llu, %llu encoded, %llu in another type since their shape does not "
	           "allow it (!)\n",
	           (unsigned long long)i->n_tensors, (unsigned long long)i->n_encoded,
	           (unsigned long long)i->n_fallback);
	buf_printf(b, "weights    %llu bytes, %.4f bits each; now %llu, %.4f\n",
	           (unsigned long long)i->out_bytes, bits(i->out_bytes, i->n_elements),
	           (unsigned long long)i->in_bytes, bits(i->in_bytes, i->n_elements));
	buf_printf(b, "files      %d, %llu bytes\n", i->n_shards,
	           (unsigned long long)i->file_bytes);
	if (i->needs_importance)
		buf_puts(b, "imatrix    needed\n");
	return INFER_OK;
}

static int put_json(const struct run *r, infer_error *err)
{
	infer_writer *w = NULL;

	TRY(infer_writer_new(&w, err));
	int rc = infer_write_quant(w, r->quant, r->out, r->out ? &r->result : NULL, err);

	rc = records_put(rc, w, STDOUT_FILENO, err);
	infer_writer_free(w);
	return rc;
}

static int show(const struct run *r, infer_error *err)
{
	struct buf b;

	if (r->o->json)
		return put_json(r, err);
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

static void warn(const struct infer_quant_info *i)
{
	if (i->n_again)
		say_warning("%llu tensors of the input are quantised already: they lose more",
		            (unsigned long long)i->n_again);
	if (i->n_fallback)
		say_warning(
			"%llu tensors have rows that are no whole blocks of their type: they get "
			"another (--dry-run marks them)",
			(unsigned long long)i->n_fallback);
	if (i->n_unweighed)
		say_warning("the importance matrix lacks %llu tensors that are quantised",
		            (unsigned long long)i->n_unweighed);
}

static void sum_up(const struct run *r)
{
	const struct infer_quant_info *i = &r->info;

	if (r->result.resumed_bytes)
		say_summary("continued after %.1f of %.1f MiB of the input",
		            (double)r->result.resumed_bytes / 1048576,
		            (double)i->in_bytes / 1048576);
	if (r->result.packed_bytes)
		say_summary("compressed to %.1f MiB", (double)r->result.packed_bytes / 1048576);
	say_summary("%.1f MiB of weights, %.3f bits each, from %.1f MiB",
	            (double)i->out_bytes / 1048576, bits(i->out_bytes, i->n_elements),
	            (double)i->in_bytes / 1048576);
}

static int write_it(struct run *r, infer_error *err)
{
	static const struct infer_watch watch = { progress_at, NULL };
	struct os_limits limits;

	warn(&r->info);
	os_limits(&limits);
	progress_begin(r->info.type ? r->info.type : "copy", PROGRESS_BYTES, r->info.in_bytes);
	if (say_verbosity() >= 0)
		sig_last_words("stopped; the same command continues\n");
	int rc = infer_quant_write(
		r->quant, r->out, r->o->engine.threads ? (int)r->o->engine.threads : limits.threads,
		&watch, &r->result, err);

	sig_last_words(NULL);
	progress_end();
	if (!rc)
		sum_up(r);
	else if (r->result.kept)
		say_warning("what is written is kept: the same command continues");
	return rc;
}

static int run(struct run *r, infer_error *err)
{
	const struct quant_opts *o = r->o;
	struct infer_file_info info;
	const struct infer_quant_opts opts = {
		.type = o->type,
		.keep = o->keep.at,
		.n_keep = (size_t)o->keep.n,
		.imatrix = o->imatrix,
		.shard_bytes = o->shard_bytes,
		.dry = o->dry_run,
		.verify = o->verify,
		.zstd = (int)o->zstd,
	};

	sig_mapped(r->in);
	TRY(infer_file_open_watched(&r->file, r->in, &model_watch, err));
	infer_file_info(r->file, &info);
	if (o->merge && info.n_shards < 2)
		return err_set(err, INFER_EINVAL, "--merge: %s is one file already", r->in);
	TRY(infer_quant_new(&r->quant, r->file, &opts, err));
	infer_quant_info(r->quant, &r->info);
	if (r->out)
		TRY(write_it(r, err));
	return show(r, err);
}

int rewrite(const struct quant_opts *o, const struct opt_rest *rest)
{
	struct run r = { .o = o };
	infer_error err = { 0 };
	int rc = check(&r, rest, &err);

	if (!rc)
		rc = run(&r, &err);
	infer_quant_free(r.quant);
	infer_file_close(&r.file);
	return rc ? say_fail(&err) : EXIT_DONE;
}
