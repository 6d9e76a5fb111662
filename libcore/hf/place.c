/* hf/place.c - add the tensors of a checkpoint to the file: mapped if possible, else copies. */
#include "hf/packed.h"
#include "hf/tensors.h"
#include "base/err.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/os.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64 }; /* bytes of a cache line */

static int check_experts(const struct hf_making *k, const struct hf_rows *h, infer_error *err)
{
	const struct safetensors_tensor *one = NULL;
	int64_t missing = -1;

	for (int64_t i = 0; i < h->n_from; i++)
		if (h->from[i])
			one = h->from[i];
		else
			missing = i;
	if (missing < 0)
		return INFER_OK;
	return hf_bad_tensor(k->d, one, INFER_EFORMAT, err, "there is none like it of number %lld",
	                     (long long)missing);
}

/* Give all experts one type: their common type, or hf_packed.general. */
static int unify_expert_types(const struct hf_making *k, struct hf_rows *h, infer_error *err)
{
	const struct hf_packed *first = hf_packed_of(h->from[0]);
	int type = first->type, general = first->general, differ = 0;

	for (int64_t i = 0; i < h->n_from; i++) {
		const struct hf_packed *p = hf_packed_of(h->from[i]);
		differ |= p->type != type;
		general = p->general ? general : p->type;
	}
	type = differ ? general : type;
	for (int64_t i = 0; i < h->n_from && differ; i++) {
		struct hf_packed *p = (struct hf_packed *)hf_packed_of(h->from[i]);
		if (p->type != type && p->general != type)
			return hf_bad_tensor(k->d, h->from[i], INFER_EUNSUP, err,
			                     "its values need %s, those of other experts %s",
			                     infer_type_info(p->type)->name,
			                     infer_type_info(type)->name);
		p->type = type;
	}
	h->type = type;
	return INFER_OK;
}

/* Fail if a tensor that a layer needs is missing. */
static int check_all(const struct hf_making *k, infer_error *err)
{
	const struct arch *a = k->m->arch;

	for (int slot = 1; slot < W_SLOTS; slot++) {
		const struct arch_tensor *row = arch_row(a, slot);
		int layered = slot >= W_GLOBALS, n = layered ? k->m->h.n_layers : 1;

		if (row && slot == W_K_B)
			row = arch_row(a, W_KV_B); /* its name is the one in the checkpoint */
		if (!row || !row->hf[0])
			continue;
		for (int i = 0; i < n; i++) {
			char layer[32] = "";
			if (slot != W_K_B && arch_tensor_need(k->m, row, i) <= 0)
				continue;
			if (hf_find_target(k, arch_row(a, slot)->gguf, layered ? i : -1))
				continue;
			if (layered)
				snprintf(layer, sizeof layer, "%s%d.",
				         arch_layer_prefix(a, ARCH_HF), i);
			return err_set(err, INFER_EFORMAT, "%s: tensor %s%s: missing%s",
			               file_label(k->d->path), layer, row->hf[0],
			               row->hf[1] ? " (or its other spelling)" : "");
		}
	}
	return INFER_OK;
}

static size_t copy_bytes(const struct hf_rows *h)
{
	return (size_t)(h->rows * h->mats) * hf_rows_row_bytes(h);
}

/* Allocate the memory of n copies, each aligned to a cache line, in huge pages if the system has them. */
static int reserve_copies(struct hf_making *k, struct hf_rows *const *h, int64_t n,
                          infer_error *err)
{
	struct hf_dir *d = k->d;
	struct os_limits limits;
	unsigned char *to;

	for (int64_t i = 0; i < n; i++)
		d->copies_bytes += num_round_up(copy_bytes(h[i]), LINE);
	if (!d->copies_bytes)
		return INFER_OK;
	os_limits(&limits);
	if (d->copies_bytes > limits.available_bytes)
		return err_set(err, INFER_ENOMEM,
		               "%s: %.0f MiB for tensors that have to be copied, but only %.0f MiB "
		               "of memory are available",
		               file_label(d->path), (double)d->copies_bytes / (1 << 20),
		               (double)limits.available_bytes / (1 << 20));
	TRY(os_reserve(&d->copies, d->copies_bytes, err));
	(void)madvise(d->copies, d->copies_bytes, MADV_HUGEPAGE);
	to = d->copies;
	for (int64_t i = 0; i < n; i++) {
		h[i]->to = to;
		to += num_round_up(copy_bytes(h[i]), LINE);
		d->private_bytes += copy_bytes(h[i]);
	}
	return INFER_OK;
}

/* Add the order of the columns of a matrix, "blk.0.attn_q.order", if act-order changes it. */
static int add_order(struct hf_making *k, const struct hf_rows *h, infer_error *err)
{
	static const char weight[] = "weight", order[] = "order";
	const struct hf_packed *p = hf_packed_of(h->from[0]);
	size_t n = h->name.len - (sizeof weight - 1);

	if (!p || !p->order)
		return INFER_OK;
	char *name = arena_strndup(&k->d->arena, h->name.at, h->name.len);
	if (!name)
		return hf_nomem(k->d, err);
	memcpy(name + n, order, sizeof order);
	struct infer_tensor t = { .name = { name, n + sizeof order - 1 },
		                  .type = INFER_I32,
		                  .n_dims = 1,
		                  .ne = { p->cols, 1, 1, 1 },
		                  .shard = p->part[0]->shard,
		                  .offset = p->part[0]->offset,
		                  .bytes = (uint64_t)p->cols * sizeof *p->order,
		                  .data = p->order };
	k->d->private_bytes += t.bytes;
	return file_tensor_add(k->d->f, &t) ? hf_nomem(k->d, err) : INFER_OK;
}

static int add_to_file(struct hf_making *k, struct hf_rows *h, infer_error *err)
{
	const struct safetensors_tensor *s = h->from[0];
	const unsigned char *at = hf_rows_in_place(h);
	struct infer_tensor t = { .name = h->name, .type = h->type, .n_dims = h->n_dims };

	memcpy(t.ne, h->ne, sizeof t.ne);
	t.shard = s->shard;
	t.offset = s->offset + (at ? (uint64_t)(at - s->data) : 0);
	t.bytes = copy_bytes(h);
	t.data = at ? at : h->to;
	k->parts[k->d->f->n_tensors] = h->apart;
	if (file_tensor_add(k->d->f, &t))
		return hf_nomem(k->d, err);
	return add_order(k, h, err);
}

/* Add the tensors made from config.json.  They come first, as in the converter's files. */
static int add_made(struct hf_making *k, infer_error *err)
{
	struct hf_dir *d = k->d;

	for (int i = 0; i < d->n_made; i++) {
		const struct hf_made *m = &d->made[i];
		struct infer_tensor t = { .name = { m->name, strlen(m->name) },
			                  .type = INFER_F32,
			                  .n_dims = 1,
			                  .ne = { m->n, 1, 1, 1 },
			                  .bytes = (uint64_t)m->n * sizeof(float),
			                  .data = m->at };
		if (file_tensor_add(d->f, &t))
			return hf_nomem(k->d, err);
		d->private_bytes += t.bytes;
	}
	return INFER_OK;
}

/* Set h->apart if the matrices can be used in place but are not contiguous. */
static int set_apart(struct hf_making *k, struct hf_rows *h, infer_error *err)
{
	const void **parts;

	if (hf_rows_in_place(h) || h->mats < 2 || h->ne[2] != h->mats)
		return INFER_OK;
	for (int64_t i = 0; i < h->mats; i++)
		if (!hf_rows_matrix(h, i))
			return INFER_OK;
	parts = arena_alloc(&k->d->arena, (size_t)h->mats, sizeof *parts);
	if (!parts)
		return hf_nomem(k->d, err);
	for (int64_t i = 0; i < h->mats; i++)
		parts[i] = hf_rows_matrix(h, i);
	h->apart = parts;
	return INFER_OK;
}

int hf_place_tensors(struct hf_making *k, infer_error *err)
{
	struct hf_rows **copies = arena_alloc(&k->d->brief, (size_t)k->n + 1, sizeof *copies);
	int64_t n = 0;

	k->parts = arena_alloc(&k->d->arena, (size_t)(2 * k->n + k->d->n_made), sizeof *k->parts);
	if (!copies || !k->parts)
		return hf_nomem(k->d, err);
	for (int64_t i = 0; i < k->n; i++) {
		TRY(check_experts(k, k->at[i], err));
		if (k->at[i]->packed && k->at[i]->n_from > 1)
			TRY(unify_expert_types(k, k->at[i], err));
		TRY(set_apart(k, k->at[i], err));
	}
	TRY(check_all(k, err));
	TRY(add_made(k, err));
	for (int64_t i = 0; i < k->n; i++)
		if (!hf_rows_in_place(k->at[i]) && !k->at[i]->apart)
			copies[n++] = k->at[i];
	TRY(reserve_copies(k, copies, n, err));
	for (int64_t i = 0; i < k->n; i++)
		TRY(add_to_file(k, k->at[i], err));
	k->d->f->parts = k->parts;
	int64_t began = clock_now_ns();
	TRY(hf_rows_make(copies, n, k->d->f->watch, err));
	TRY(hf_packed_note(k->d, (double)(clock_now_ns() - began) / 1e9, err));
	return hf_note_tensors(k, err);
}
