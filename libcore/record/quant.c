/* record/quant.c - records of quantisation */
#include "record/record.h"
#include <infer/quant.h>

static uint64_t tensor_elements(const struct infer_tensor *t)
{
	return (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}

static double bits_each(uint64_t bytes, uint64_t n)
{
	return n ? 8 * (double)bytes / (double)n : 0;
}

static int put_quant_tensor(infer_records *out, const struct infer_quant_tensor *t,
                            infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_QUANT);

	jw_str(w, "quant", "tensor");
	jw_strn(w, "name", t->in->name.at, t->in->name.len);
	jw_array(w, "shape");
	for (int d = 0; d < t->in->n_dims; d++)
		jw_int(w, NULL, t->in->ne[d]);
	jw_end(w);
	jw_str(w, "from", infer_type_info(t->in->type)->name);
	jw_str(w, "to", infer_type_info(t->type)->name);
	if (t->wanted != t->type)
		jw_str(w, "wanted", infer_type_info(t->wanted)->name);
	jw_bool(w, "importance", t->weighed);
	if (t->gptq)
		jw_bool(w, "gptq", 1);
	if (t->plain)
		jw_bool(w, "plain", 1);
	if (t->merged)
		jw_bool(w, "merged", 1);
	jw_int(w, "shard", t->shard);
	jw_uint(w, "from_bytes", t->in->bytes);
	jw_uint(w, "size_bytes", t->bytes);
	jw_num(w, "bits_per_weight", bits_each(t->bytes, tensor_elements(t->in)));
	if (t->error >= 0)
		jw_num(w, "relative_error", t->error);
	return infer_records_end(out, err);
}

static int put_file(infer_records *out, const struct infer_quant_info *i, const char *path,
                    const struct infer_quant_result *r, infer_error *err)
{
	struct jwrite *w = infer_records_begin(out, INFER_KIND_QUANT);

	jw_str(w, "quant", "file");
	jw_str(w, "name", path);
	jw_str(w, "type", i->type);
	if (i->method)
		jw_str(w, "method", i->method);
	if (i->core) {
		jw_str(w, "core", i->core);
		jw_str(w, "text_sha256", i->text);
		jw_uint(w, "gptq", i->n_gptq);
	}
	if (i->file_type >= 0)
		jw_int(w, "file_type", i->file_type);
	jw_uint(w, "tensors", i->n_tensors);
	jw_uint(w, "encoded", i->n_encoded);
	jw_uint(w, "fallbacks", i->n_fallback);
	jw_bool(w, "needs_importance", i->needs_importance);
	jw_int(w, "shards", i->n_shards);
	jw_uint(w, "from_bytes", i->in_bytes);
	jw_uint(w, "size_bytes", i->out_bytes);
	jw_uint(w, "file_bytes", i->file_bytes);
	jw_num(w, "bits_per_weight", bits_each(i->out_bytes, i->n_elements));
	if (r)
		jw_uint(w, "resumed_bytes", r->resumed_bytes);
	if (r && r->packed_bytes)
		jw_uint(w, "packed_bytes", r->packed_bytes);
	jw_str(w, "version", infer_version());
	return infer_records_end(out, err);
}

int infer_write_quant(infer_records *out, const infer_quant *q, const char *path,
                      const struct infer_quant_result *r, infer_error *err)
{
	struct infer_quant_tensor t;
	struct infer_quant_info info;
	int rc = INFER_OK;

	infer_quant_info(q, &info);
	for (uint64_t i = 0; !rc && i < info.n_tensors; i++) {
		rc = infer_quant_tensor(q, i, &t, err);
		if (!rc)
			rc = put_quant_tensor(out, &t, err);
	}
	return rc ? rc : put_file(out, &info, path, r, err);
}
