/* infer-quant/size_target.c - choose the types of tensors for a target size. */
#include "quant.h"
#include <infer/bpw.h>
#include "base/err.h"
#include "base/os.h"
#include "common/input.h"
#include "common/progress.h"
#include "common/say.h"

int size_target_check(const struct quant_opts *o, int gptq, infer_error *err)
{
	if (o->max_bytes && o->bpw > 0)
		return err_set(err, INFER_EINVAL, "--max-bytes and --bpw exclude each other");
	if (o->report && !o->calibration.n)
		return err_set(err, INFER_EINVAL,
		               "--report would measure on the text that the types are chosen with: "
		               "choose them with --calibration TEXT");
	if (gptq && !quant_calibration(o)->n)
		return err_set(err, INFER_EINVAL,
		               "GPTQ needs a text to measure the inputs of the weights: -f TEXT");
	return INFER_OK;
}

/* Read the text that was given into *b, and set *text to that or to the built-in one. */
static int read_text(struct infer_str *text, struct buf *b, const struct quant_opts *o,
                     infer_error *err)
{
	const struct opt_rest none = { 0 };

	*text = sample_text();
	if (!quant_calibration(o)->n) {
		say_warning(
			"no -f TEXT: types are chosen by measuring on a built-in text of %zu KB",
			text->len / 1000);
		return INFER_OK;
	}
	TRY(input_read(b, &none, quant_calibration(o),
	               INPUT_NO_STDIN | INPUT_MAYBE | INPUT_ONLY_TEXT, NULL, err));
	*text = (struct infer_str){ b->at ? b->at : "", b->len };
	return INFER_OK;
}

int size_target_search(infer_recipe **out, const infer_recipe *from, const infer_file *in,
                       const struct quant_opts *o, infer_error *err)
{
	struct infer_bpw_opts ao = { .recipe = from,
		                     .max_bytes = o->max_bytes,
		                     .bpw = o->bpw,
		                     .keep = o->keep.at,
		                     .n_keep = (size_t)o->keep.n,
		                     .imatrix = o->imatrix,
		                     .method = o->method,
		                     .shard_bytes = o->shard_bytes,
		                     .watch = { progress_at, NULL } };
	struct os_limits limits;
	struct infer_str text;
	struct buf given;
	int rc;

	TRY(engine_args_take(&ao.engine, &o->engine, err));
	os_limits(&limits);
	if (!ao.engine.threads)
		ao.engine.threads = limits.threads;
	buf_init(&given, MEM_BASE);
	rc = read_text(&text, &given, o, err);
	if (!rc) {
		ao.text = text.at;
		ao.text_bytes = text.len;
		progress_begin("measured", PROGRESS_ITEMS, 0);
		rc = infer_bpw_search(out, in, &ao, err);
		progress_end();
	}
	buf_fini(&given);
	return rc;
}
