/* quant/adapt.c - merge adapters into the weights as they are written. */
#include "quant/adapt.h"
#include "arch/arch.h"
#include "base/err.h"
#include "base/num.h"
#include "base/sha256.h"
#include "file/file.h"
#include "type/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEYS "infer.lora."

static int fail_tensor(struct infer_str name, int code, const char *what, infer_error *err)
{
	char text[FILE_QUOTE];

	return err_set(err, code, "tensor %s: %s", file_quote(text, name.at, name.len), what);
}

/* Check the use at `at` of the options against those before it, and append it unless its factor is 0. */
static int take_use(infer_quant *q, const struct infer_lora_use *u, infer_error *err)
{
	struct infer_lora_info info, other;

	infer_lora_info(u->lora, &info);
	if (!isfinite(u->factor))
		return err_set(err, INFER_EINVAL, "%s: its scale is not finite",
		               file_label(info.path));
	if (info.model->file != q->in)
		return err_set(err, INFER_EINVAL, "%s: was opened for another model",
		               file_label(info.path));
	if (u->factor == 0)
		return INFER_OK;
	for (int i = 0; i < q->n_loras; i++) {
		infer_lora_info(q->loras[i].lora, &other);
		if (other.serial == info.serial || !strcmp(other.path, info.path))
			return err_set(err, INFER_EINVAL, "%s: the adapter is given twice",
			               file_label(info.path));
	}
	if (q->n_loras == INFER_LORA_USES)
		return err_set(err, INFER_EINVAL, "more than %d adapters", INFER_LORA_USES);
	q->loras[q->n_loras++] = *u;
	return INFER_OK;
}

/* Append the output as a tensor of its own: the values of the embedding table under another name. */
static int untie(infer_quant *q, infer_error *err)
{
	const struct infer_tensor *table = infer_file_tensor(q->in, "token_embd.weight");
	struct quant_tensor *all =
		mem_realloc(MEM_QUANT, q->tensors, (size_t)q->n + 1, sizeof *q->tensors);

	must(table && table->data);
	if (!all)
		return err_nomem(err);
	q->tensors = all;
	q->untied = *table;
	q->untied.name = (struct infer_str){ "output.weight", strlen("output.weight") };
	q->is_untied = 1;
	all[q->n++] = (struct quant_tensor){ .in = &q->untied,
		                             .type = (uint8_t)table->type,
		                             .wanted = (uint8_t)table->type,
		                             .error = -1 };
	return INFER_OK;
}

/* Refuse tensors whose decoded values are not yet the weights. */
static int check_weights(const struct infer_model *m, const struct infer_tensor *t,
                         infer_error *err)
{
	for (int i = 0; i < m->n_weights; i++)
		if (m->tensors[i] == t && (m->weights[i].scale != 1 || m->order[i]))
			return fail_tensor(
				t->name, INFER_EUNSUP,
				"it has a scale or an order of columns as a tensor of its "
				"own: an adapter cannot be merged into it",
				err);
	return INFER_OK;
}

/* Return the tensor that an entry changes, untying the output if it is that. */
static int find_changed(infer_quant *q, const char *name, struct quant_tensor **out,
                        infer_error *err)
{
	const struct infer_tensor *in = infer_file_tensor(q->in, name);

	if (!in && !q->is_untied)
		TRY(untie(q, err));
	*out = in ? &q->tensors[in - q->in->tensors] : &q->tensors[q->n - 1];
	return INFER_OK;
}

static int mark_tensor(infer_quant *q, int use, const struct infer_lora_entry *e, infer_error *err)
{
	struct infer_lora_info info;
	struct quant_tensor *t;

	infer_lora_info(q->loras[use].lora, &info);
	TRY(find_changed(q, e->tensor, &t, err));
	TRY(check_weights(info.model, t->in, err));
	if (e->kind == INFER_LORA_PAIR) {
		t->pairs |= (uint8_t)(1 << use);
		return INFER_OK;
	}
	if (t->whole)
		return fail_tensor(t->in->name, INFER_EUNSUP, "two adapters replace it", err);
	t->whole = (uint8_t)(1 + use);
	return INFER_OK;
}

/* True if the embedding table, which changes, is the output too. */
static int needs_untying(const infer_quant *q)
{
	const struct infer_tensor *table = infer_file_tensor(q->in, "token_embd.weight");

	return table && !q->is_untied && !infer_file_tensor(q->in, "output.weight") &&
	       adapt_changes(&q->tensors[table - q->in->tensors]);
}

/* True if the model multiplies by the embedding table. */
static int is_tied(const infer_quant *q)
{
	struct infer_lora_info info;

	infer_lora_info(q->loras[0].lora, &info);
	return info.model->graph.output >= 0 && !info.model->h.n_ranks &&
	       info.model->global[W_OUTPUT] < 0;
}

int adapt_plan(infer_quant *q, const struct infer_quant_opts *o, infer_error *err)
{
	struct infer_lora_entry e;
	struct infer_lora_info info;

	for (int32_t i = 0; i < o->n_loras; i++)
		TRY(take_use(q, &o->loras[i], err));
	if (!q->n_loras)
		return INFER_OK;
	if (q->gptq)
		return err_set(err, INFER_EINVAL,
		               "GPTQ would measure the model without the adapters: merge them "
		               "into a file first");
	for (int i = 0; i < q->n_loras; i++) {
		infer_lora_info(q->loras[i].lora, &info);
		for (int32_t k = 0; k < info.n_entries; k++) {
			infer_lora_entry(q->loras[i].lora, k, &e);
			TRY(mark_tensor(q, i, &e, err));
		}
	}
	return is_tied(q) && needs_untying(q) ? untie(q, err) : INFER_OK;
}

int adapt_types(infer_quant *q, infer_error *err)
{
	const struct mix plain = { .name = mix_find("Q2_K") };

	for (uint64_t i = 0; i < q->n; i++) {
		struct quant_tensor *t = &q->tensors[i];
		const struct infer_type_info *type = infer_type_info(t->type);

		if (!adapt_changes(t))
			continue;
		if (!type_get(t->type)->encode || mix_needs_importance(&plain, t->in, t->type))
			return err_set(err, INFER_EUNSUP,
			               "tensor %.*s changes, but weights are not written as %s %s: "
			               "choose a type (--type)",
			               (int)num_min((int64_t)t->in->name.len, 64), t->in->name.at,
			               type->name,
			               type_get(t->type)->encode ? "without importances" : "again");
		q->info.n_encoded++;
		q->info.n_again += type->block > 1;
	}
	return INFER_OK;
}

size_t adapt_columns(const infer_quant *q)
{
	int64_t most = 0;

	for (uint64_t i = 0; i < q->n; i++)
		if (adapt_changes(&q->tensors[i]) && q->tensors[i].in->ne[0] > most)
			most = q->tensors[i].in->ne[0];
	return (size_t)most;
}

/* Decode rows [row, row + n) of one matrix, and add the adapters in order to what replaces the tensor. */
static int decode_rows(const infer_quant *q, const struct quant_tensor *t, int64_t row, int64_t n,
                       float *x, infer_error *err)
{
	const struct infer_tensor *in = t->in;
	const struct type *type = type_get(in->type);
	int64_t of = row % in->ne[1];
	int32_t matrix = (int32_t)(row / in->ne[1]);
	size_t each = (size_t)(in->ne[0] / type->info.block) * (size_t)type->info.block_bytes;

	/* rows of one matrix are contiguous */
	type->decode(x, file_span(q->in, in, (size_t)row * each, (size_t)n * each, NULL),
	             (size_t)(n * in->ne[0] / type->info.block));
	if (t->whole)
		TRY(infer_lora_merge(q->loras[t->whole - 1].lora, q->loras[t->whole - 1].factor, in,
		                     matrix, of, n, x, err));
	for (int i = 0; i < q->n_loras; i++)
		if (t->pairs >> i & 1)
			TRY(infer_lora_merge(q->loras[i].lora, q->loras[i].factor, in, matrix, of,
			                     n, x, err));
	return INFER_OK;
}

int adapt_decode(const infer_quant *q, const struct quant_tensor *t, uint64_t from, size_t n,
                 float *x, float *row, infer_error *err)
{
	uint64_t cols = (uint64_t)t->in->ne[0], rows = (uint64_t)t->in->ne[1];

	for (uint64_t at = from, end = from + n, k; at < end; at += k, x += k) {
		uint64_t r = at / cols, column = at % cols;
		uint64_t whole = column ? 0 : (end - at) / cols, left = rows - r % rows;

		if (whole) {
			whole = whole < left ? whole : left;
			k = whole * cols;
			TRY(decode_rows(q, t, (int64_t)r, (int64_t)whole, x, err));
			continue;
		}
		k = end - at < cols - column ? end - at : cols - column;
		TRY(decode_rows(q, t, (int64_t)r, 1, row, err));
		memcpy(x, row + column, (size_t)k * sizeof *x);
	}
	return INFER_OK;
}

void adapt_hash(struct sha256 *s, const infer_quant *q)
{
	struct infer_lora_entry e;
	struct infer_lora_info info;

	for (int i = 0; i < q->n_loras; i++) {
		infer_lora_info(q->loras[i].lora, &info);
		sha256_add(s, info.sha256, 64);
		sha256_add(s, &q->loras[i].factor, sizeof q->loras[i].factor);
		for (int32_t k = 0; k < info.n_entries; k++) {
			infer_lora_entry(q->loras[i].lora, k, &e);
			sha256_add(s, e.tensor, strlen(e.tensor) + 1);
			sha256_add(s, &e.scale, sizeof e.scale);
		}
	}
}

/* Return the number of adapters that IN says to have been merged into it. */
static int count_earlier(const infer_file *f)
{
	const struct infer_meta *m;
	int n = 0;

	for (uint64_t i = 0; (m = infer_file_meta_at(f, i)); i++) {
		struct infer_str k = m->key;
		size_t tail = strlen(".scale");

		n += k.len > strlen(KEYS) + tail && !memcmp(k.at, KEYS, strlen(KEYS)) &&
		     !memcmp(k.at + k.len - tail, ".scale", tail);
	}
	return n;
}

void adapt_keys(struct gguf_write *w, const infer_quant *q)
{
	int before = count_earlier(q->in);
	struct infer_lora_info info;
	char key[48];

	for (int i = 0; i < q->n_loras; i++) {
		infer_lora_info(q->loras[i].lora, &info);
		snprintf(key, sizeof key, KEYS "%d.name", before + i);
		gguf_write_str(w, key, info.name.at, info.name.len);
		snprintf(key, sizeof key, KEYS "%d.sha256", before + i);
		gguf_write_str(w, key, info.sha256, strlen(info.sha256));
		snprintf(key, sizeof key, KEYS "%d.scale", before + i);
		gguf_write_f32(w, key, q->loras[i].factor);
	}
}

int adapt_name(struct gguf_write *w, const infer_quant *q, struct infer_str name, infer_error *err)
{
	struct infer_lora_info info;
	struct buf text;

	buf_init(&text, MEM_QUANT);
	buf_put(&text, name.at, name.len);
	for (int i = 0; i < q->n_loras; i++) {
		infer_lora_info(q->loras[i].lora, &info);
		buf_puts(&text, " + ");
		buf_put(&text, info.name.at, info.name.len);
	}
	int rc = text.bad ? err_nomem(err) : INFER_OK;

	if (!rc)
		gguf_write_str(w, "general.name", text.at, text.len);
	buf_fini(&text);
	return rc;
}
