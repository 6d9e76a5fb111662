/* quant/header.c - the headers of the files: the input's metadata, except for some keys, and the
 * tables of tensors. */
#include "base/err.h"
#include "base/num.h"
#include "file/file.h"
#include "file/gguf_write.h"
#include "quant/adapt.h"
#include "quant/certificate.h"

#include <string.h>

enum { SHARDS_MAX = 65535, VERSION = 2, TENSOR_FIXED = 8 + 4 + 4 + 8, TENSOR_NAME = 64 };

/* A metadata key that the recipe sets.  Other keys are copied from the input. */
struct own {
	const char *key;
	uint32_t value;
	struct infer_str text; /* string value; text.at NULL: the key has the integer `value` */
	int done;
};
enum { OWN_MAX = 6 };

static int list_own_keys(struct own *own, const infer_quant *q)
{
	int n = 0;

	if (!q->name)
		return 0;
	own[n++] = (struct own){ "general.quantization_version", VERSION, { NULL, 0 }, 0 };
	own[n++] = (struct own){ "general.file_type", q->name->file_type, { NULL, 0 }, 0 };
	if (!q->importance)
		return n;
	own[n++] =
		(struct own){ "quantize.imatrix.file", 0, { q->imatrix, strlen(q->imatrix) }, 0 };
	struct infer_str set = importance_dataset(q->importance);
	if (set.len)
		own[n++] = (struct own){ "quantize.imatrix.dataset", 0, set, 0 };
	own[n++] = (struct own){
		"quantize.imatrix.entries_count", importance_entries(q->importance), { NULL, 0 }, 0
	};
	if (importance_chunks(q->importance))
		own[n++] = (struct own){ "quantize.imatrix.chunks_count",
			                 importance_chunks(q->importance),
			                 { NULL, 0 },
			                 0 };
	return n;
}

static void put_own(struct gguf_write *w, struct own *o)
{
	if (o->text.at)
		gguf_write_str(w, o->key, o->text.at, o->text.len);
	else
		gguf_write_u32(w, o->key, o->value);
	o->done = 1;
}

static int has_key(const struct infer_meta *m, const char *key)
{
	return m->key.len == strlen(key) && !memcmp(m->key.at, key, m->key.len);
}

static int is_split(const struct infer_meta *m)
{
	return has_key(m, "split.no") || has_key(m, "split.count") ||
	       has_key(m, "split.tensors.count");
}

/* Write the metadata in the order of the input, new keys after it.  Keys about how the input was
 * made and its quality loss are dropped, unless all tensors are copied. */
static int put_keys(struct gguf_write *w, const infer_quant *q, infer_error *err)
{
	struct own own[OWN_MAX];
	int n = list_own_keys(own, q);
	const struct infer_meta *m;
	struct infer_str name;

	for (uint64_t i = 0; (m = infer_file_meta_at(q->in, i)); i++) {
		int o = 0;

		while (o < n && !has_key(m, own[o].key))
			o++;
		if (o < n)
			put_own(w, &own[o]);
		else if (q->n_loras && has_key(m, "general.name") &&
		         !infer_meta_str_at(q->in, m, 0, &name, NULL))
			TRY(adapt_name(w, q, name, err));
		else if (has_key(m, "general.alignment"))
			gguf_write_alignment(w, num_u32(file_value(m)->at));
		else if (!is_split(m) && !((q->name || q->n_loras) && infer_certificate_is(m->key)))
			gguf_write_copy(w, m);
	}
	for (int o = 0; o < n; o++)
		if (!own[o].done)
			put_own(w, &own[o]);
	adapt_keys(w, q);
	return q->name && q->opts->note ? certificate_recipe(w, q, err) : INFER_OK;
}

static void put_split(struct gguf_write *w, int no, int count, uint64_t tensors)
{
	gguf_write_u16(w, "split.no", (uint16_t)no);
	gguf_write_u16(w, "split.count", (uint16_t)count);
	gguf_write_i32(w, "split.tensors.count", (int32_t)tensors);
}

static int begin_header(struct gguf_write **w, const infer_quant *q, int no, int count,
                        infer_error *err)
{
	TRY(gguf_write_new(w, infer_file_path(q->in), err));
	if (!no)
		TRY(put_keys(*w, q, err));
	if (count > 1)
		put_split(*w, no, count, q->n);
	return INFER_OK;
}

static int put_tensor(struct gguf_write *w, struct quant_tensor *t, infer_error *err)
{
	char name[TENSOR_NAME];
	size_t n = t->in->name.len;

	if (n >= sizeof name)
		return err_set(err, INFER_EUNSUP,
		               "the name of a tensor has %zu bytes, which is too many", n);
	memcpy(name, t->in->name.at, n);
	name[n] = 0;
	t->at = gguf_write_data(w);
	return gguf_write_tensor(w, name, t->type, t->in->n_dims, t->in->ne, NULL, NULL, err);
}

static int put_shard(infer_quant *q, int no, infer_error *err)
{
	struct quant_shard *s = &q->shards[no];
	struct gguf_write *w = NULL;
	int rc = begin_header(&w, q, no, q->n_shards, err);

	for (uint64_t i = s->from; !rc && i < s->to; i++) {
		q->tensors[i].shard = no;
		rc = put_tensor(w, &q->tensors[i], err);
	}
	if (!rc)
		rc = gguf_write_head(w, &s->head, err);
	for (uint64_t i = s->from; !rc && i < s->to; i++)
		q->tensors[i].at += s->head.len;
	if (!rc)
		s->file_bytes = s->head.len + gguf_write_data(w);
	gguf_write_free(w);
	return rc;
}

/* Compute the size of the header of file `no` of `count` without its table of tensors, and the
 * alignment of its data. */
static int measure_header(size_t *bytes, size_t *alignment, const infer_quant *q, int no, int count,
                          infer_error *err)
{
	struct gguf_write *w = NULL;
	struct buf head;
	uint64_t a = 32;
	int rc = begin_header(&w, q, no, count, err);

	buf_init(&head, MEM_QUANT);
	if (!rc)
		rc = gguf_write_head(w, &head, err);
	if (!rc && !no)
		rc = infer_meta_u64(q->in, "general.alignment", &a, NULL, err);
	*bytes = head.len;
	*alignment = (size_t)a;
	buf_fini(&head);
	gguf_write_free(w);
	return rc;
}

/* Divide the tensors among files: starts[i] is the index of the first tensor of file i.  A tensor
 * begins a new file if the current one would exceed shard_bytes. */
static int split_tensors(infer_quant *q, uint64_t *starts, infer_error *err)
{
	size_t first, later, alignment, other;
	uint64_t head, data = 0;

	q->n_shards = 1;
	starts[0] = 0;
	if (!q->shard_bytes)
		return INFER_OK;
	TRY(measure_header(&first, &alignment, q, 0, 2, err));
	TRY(measure_header(&later, &other, q, 1, 2, err));
	head = first;
	for (uint64_t i = 0; i < q->n; i++) {
		const struct quant_tensor *t = &q->tensors[i];
		uint64_t entry = TENSOR_FIXED + t->in->name.len + 8 * (uint64_t)t->in->n_dims,
			 bytes = num_round_up(t->bytes, alignment);

		if (i > starts[q->n_shards - 1] &&
		    num_round_up(head + entry, alignment) + data + bytes > q->shard_bytes) {
			if (q->n_shards == SHARDS_MAX)
				return err_set(err, INFER_EUNSUP,
				               "files of %llu bytes would be more than %d: allow "
				               "larger ones",
				               (unsigned long long)q->shard_bytes, SHARDS_MAX);
			starts[q->n_shards++] = i;
			head = later;
			alignment = other;
			data = 0;
			bytes = num_round_up(t->bytes, alignment);
		}
		head += entry;
		data += bytes;
	}
	return INFER_OK;
}

int quant_heads(infer_quant *q, infer_error *err)
{
	uint64_t *starts = mem_alloc(MEM_QUANT, q->n, sizeof *starts);
	int rc = starts ? split_tensors(q, starts, err) : INFER_ENOMEM, n = q->n_shards;

	q->n_shards = 0;
	if (!rc)
		q->shards = mem_zalloc(MEM_QUANT, (size_t)n, sizeof *q->shards);
	if (!starts || (!rc && !q->shards))
		rc = err_nomem(err);
	for (int i = 0; !rc && i < n; i++) {
		buf_init(&q->shards[i].head, MEM_QUANT);
		q->shards[i].from = starts[i];
		q->shards[i].to = i + 1 < n ? starts[i + 1] : q->n;
	}
	if (!rc)
		q->n_shards = n;
	for (int i = 0; !rc && i < n; i++)
		rc = put_shard(q, i, err);
	mem_free(starts);
	return rc;
}
