/* infer-inspect/tensors.c - the tensor table. */
#include "inspect.h"

#include <stdio.h>

static uint64_t elements(const struct infer_tensor *t)
{
	return (uint64_t)t->ne[0] * (uint64_t)t->ne[1] * (uint64_t)t->ne[2] * (uint64_t)t->ne[3];
}

/* Bits that one element takes, scales and minima included. */
static double bits(const struct infer_tensor *t)
{
	return elements(t) ? 8 * (double)t->bytes / (double)elements(t) : 0;
}

static void put_json(struct buf *out, const struct infer_tensor *t, uint64_t i)
{
	struct jwrite w;

	infer_record_open(&w, out, INFER_KIND_TENSOR, i ? 0 : INFER_RECORD_FIRST);
	jw_strn(&w, "name", t->name.at, t->name.len);
	jw_str(&w, "type", infer_type_info(t->type)->name);
	jw_array(&w, "shape");
	for (int d = 0; d < t->n_dims; d++)
		jw_int(&w, NULL, t->ne[d]);
	jw_end(&w);
	jw_int(&w, "shard", t->shard);
	jw_uint(&w, "offset_bytes", t->offset);
	jw_uint(&w, "size_bytes", t->bytes);
	jw_num(&w, "bits_per_weight", bits(t));
	infer_record_close(&w);
}

static void put_text(struct buf *out, const struct infer_tensor *t)
{
	char shape[96];
	size_t n = 0;

	for (int d = 0; d < t->n_dims; d++)
		n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", d ? " x " : "",
		                      (long long)t->ne[d]);
	buf_printf(out, "%5d %12llu %12llu %-8s %8.4f  %-24s ", t->shard,
	           (unsigned long long)t->offset, (unsigned long long)t->bytes,
	           infer_type_info(t->type)->name, bits(t), shape);
	put_plain(out, t->name, SIZE_MAX);
	buf_putc(out, '\n');
}

int tensors(struct buf *out, const struct inspect_opts *o, const infer_file *file,
            const struct opt_rest *words, infer_error *err)
{
	const struct infer_tensor *t;

	(void)words;
	(void)err;
	if (!o->json)
		buf_printf(out, "%5s %12s %12s %-8s %8s  %-24s %s\n", "shard", "offset", "bytes",
		           "type", "bits", "shape", "name");
	for (uint64_t i = 0; (t = infer_file_tensor_at(file, i)); i++) {
		if (o->json)
			put_json(out, t, i);
		else
			put_text(out, t);
	}
	return INFER_OK;
}
