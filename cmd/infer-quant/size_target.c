/* infer-quant/size_target.c - choose the types of tensors for a target size. */
#include "quant.h"
#include <infer/bpw.h>
#include "base/err.h"
#include "base/os.h"
#include "common/input.h"
#include "common/progress.h"

int size_target_check(const struct quant_opts *o, infer_error *err)
{
	if (o->max_bytes && o->bpw > 0)
		return err_set(err, INFER_EINVAL, "--max-bytes and --bpw exclude each other");
	if (o->report && !o->calibration.n)
		return err_set(err, INFER_EINVAL,
		               "--report would measure on the text that the types are chosen with: "
		               "choose them with --calibration TEXT");
	if (!quant_calibration(o)->n)
		return err_set(err, INFER_EINVAL,
		               "types for a size are chosen by measuring on a text: -f TEXT");
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
	const struct opt_rest none = { 0 };
	struct os_limits limits;
	struct buf text;
	int rc;

	TRY(engine_args_take(&ao.engine, &o->engine, err));
	os_limits(&limits);
	if (!ao.engine.threads)
		ao.engine.threads = limits.threads;
	buf_init(&text, MEM_BASE);
	rc = input_read(&text, &none, quant_calibration(o),
	                INPUT_NO_STDIN | INPUT_MAYBE | INPUT_ONLY_TEXT, NULL, err);
	ao.text = text.at ? text.at : "";
	ao.text_bytes = text.len;
	if (!rc) {
		progress_begin("measured", PROGRESS_ITEMS, 0);
		rc = infer_bpw_search(out, in, &ao, err);
		progress_end();
	}
	buf_fini(&text);
	return rc;
}
