/* hf/packed_notes.c - descriptions of quantised weights: keys of the file, and notes for -v. */
#include "hf/packed.h"
#include "type/type.h"

#include <stdio.h>
#include <string.h>

/* Weights with the same description. */
struct kind {
	const struct hf_packed *one;
	int n;
	uint64_t elements;
};
enum { KINDS = 32 };

static int is_same(const struct hf_packed *a, const struct hf_packed *b)
{
	return a->how == b->how && a->type == b->type && a->bits == b->bits &&
	       a->group == b->group && a->has_zeros == b->has_zeros && !a->order == !b->order;
}

/* Fill all[KINDS] with the kinds of weights of raw, the most weights first.  Returns their number. */
static int find_kinds(const struct safetensors *raw, struct kind *all)
{
	int n = 0, k;

	for (uint32_t i = 0; i < raw->n; i++) {
		const struct hf_packed *p = hf_packed_of(&raw->at[i]);
		if (!p)
			continue;
		for (k = 0; k < n && !is_same(all[k].one, p); k++)
			;
		if (k == KINDS)
			continue;
		if (k == n)
			all[n++] = (struct kind){ p, 0, 0 };
		all[k].n++;
		all[k].elements += (uint64_t)(p->mats * p->rows * p->cols);
		for (; k > 0 && all[k].elements > all[k - 1].elements; k--) {
			struct kind swap = all[k];
			all[k] = all[k - 1];
			all[k - 1] = swap;
		}
	}
	return n;
}

const struct hf_packed *hf_packed_most(const struct safetensors *raw)
{
	struct kind all[KINDS] = { 0 };

	return find_kinds(raw, all) ? all[0].one : NULL;
}

/* Count the kinds that the keys describe differently. */
static uint32_t count_words(const struct kind *all, int n)
{
	uint32_t found = 0;

	for (int i = 0, k; i < n; i++) {
		const struct hf_packed *a = all[i].one;
		for (k = 0; k < i; k++)
			if (a->how == all[k].one->how && a->bits == all[k].one->bits &&
			    a->group == all[k].one->group && a->has_zeros == all[k].one->has_zeros)
				break;
		found += k == i;
	}
	return found;
}

void hf_packed_keys(struct hf_dir *d)
{
	struct kind all[KINDS] = { 0 };
	int n = find_kinds(&d->raw, all);
	const struct hf_packed *p = all[0].one;

	if (!n)
		return;
	gguf_write_str(d->keys, "general.source.quantization.method", p->how->name,
	               strlen(p->how->name));
	gguf_write_u32(d->keys, "general.source.quantization.bits", (uint32_t)p->bits);
	gguf_write_i32(d->keys, "general.source.quantization.group_size", p->group);
	gguf_write_bool(d->keys, "general.source.quantization.zero_points", p->has_zeros != 0);
	gguf_write_u32(d->keys, "general.source.quantization.kinds", count_words(all, n));
}

/* Add the note of one kind, with the bytes of its repacked rows. */
static int note_kind(struct hf_dir *d, const struct kind *k, infer_error *err)
{
	const struct infer_type_info *t = infer_type_info(k->one->type);
	char group[40] = "one scale per row";

	if (k->one->group > 0)
		snprintf(group, sizeof group, "groups of %d", k->one->group);
	else if (k->one->group < 0)
		snprintf(group, sizeof group, "one scale per tensor");
	return hf_note(d, err, "%s: %d matri%s of %d bits, %s, %s%s, repacked into %s: %.4g MiB",
	               k->one->how->name, k->n, k->n == 1 ? "x" : "ces", k->one->bits, group,
	               k->one->has_zeros ? "with zero points" : "symmetric",
	               k->one->order ? ", act-order" : "", t->name,
	               (double)k->elements / t->block * t->block_bytes / (1 << 20));
}

int hf_packed_note(struct hf_dir *d, double seconds, infer_error *err)
{
	struct kind all[KINDS] = { 0 };
	int n = find_kinds(&d->raw, all);

	for (int i = 0; i < n; i++) {
		int rc = note_kind(d, &all[i], err);
		if (rc)
			return rc;
	}
	return n ? hf_note(d, err, "repacked in %.2f s", seconds) : INFER_OK;
}
