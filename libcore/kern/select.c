/* kern/select.c - select the kernel sets that a processor supports, each overlaid on the narrower
 * ones. */
#include "kern/kern.h"
#include <string.h>
#include "base/err.h"

#define KERN(x) extern const struct kern kern_##x;
#include "kern/isa_list.h"
#undef KERN
static const struct kern *const all[] = {
#define KERN(x) &kern_##x,
#include "kern/isa_list.h"
#undef KERN
};
enum { COUNT = sizeof all / sizeof *all };

const char *kern_name(unsigned i) { return i < COUNT ? all[i]->name : NULL; }

uint64_t kern_needs(unsigned i) { return i < COUNT ? all[i]->needs : 0; }

/* Copy the fields that an overlay sets for a type and keep the others.  pack is copied with its
 * tile; an overlay with a kernel of its own also sets the dispatch limits. */
static void overlay(struct kern_mm *to, const struct kern_mm *from)
{
	if (from->quant) {
		to->quant = from->quant;
		to->form = from->form;
	}
	if (from->rows)
		to->rows = from->rows;
	if (from->skinny) {
		to->skinny = from->skinny;
		to->skinny_band = from->skinny_band;
	}
	if (from->transpose)
		to->transpose = from->transpose;
	if (from->rows_max) {
		to->rows_max = from->rows_max;
		to->skinny_mask = from->skinny_mask;
	}
	if (!from->tile)
		return;
	to->pack = from->pack;
	to->tile = from->tile;
	to->pack_bytes = from->pack_bytes;
	to->mr = from->mr;
	to->nr = from->nr;
	to->tile_transposed = from->tile_transposed;
}

struct kern kern_select(uint64_t have)
{
	struct kern k = kern_ref;

	k.used = 1;
	for (unsigned i = 1; i < COUNT; i++) {
		const struct kern *o = all[i];
		if (o->needs & ~have)
			continue;
		k.name = o->name;
		k.needs |= o->needs;
		k.used |= UINT64_C(1) << i;
#define S(slot, args) \
	if (o->slot) \
		k.slot = o->slot;
		KERN_SLOTS(S)
#undef S
		if (o->peak_dot)
			k.peak_dot = o->peak_dot;
		if (o->peak_tile)
			k.peak_tile = o->peak_tile;
		for (int t = 0; t < INFER_TYPE_COUNT; t++) {
			overlay(&k.mm[t], &o->mm[t]);
			overlay(&k.mm_bf16[t], &o->mm_bf16[t]);
		}
	}
	return k;
}

void kern_act_bf16(struct kern *k)
{
	for (int t = 0; t < INFER_TYPE_COUNT; t++)
		if (k->mm_bf16[t].rows) {
			struct kern_mm mm = k->mm[t];

			k->mm[t] = k->mm_bf16[t];
			k->mm_bf16[t] = mm;
		}
}

int kern_limit(uint64_t *have, const char *name, infer_error *err)
{
	uint64_t needs = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		if (!(all[i]->needs & ~*have))
			needs |= all[i]->needs;
		if (strcmp(all[i]->name, name))
			continue;
		if (all[i]->needs & ~*have)
			return err_set(err, INFER_EUNSUP, "kernel set %s: the processor lacks it",
			               name);
		*have &= needs;
		return INFER_OK;
	}
	return err_set(err, INFER_EUNSUP, "kernel set %s: not built in", name);
}
