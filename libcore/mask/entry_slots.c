/* mask/entry_slots.c - entries of the names of slots: for each token the slots that allow it. */
#include "mask/inner.h"
#include "base/err.h"
#include "automata/work.h"

#include <string.h>

enum { FEW = 64 };

static int add_tokens(struct entry_builder *f, uint32_t node, const struct slot_at *at)
{
	struct entry *e = f->e;

	for (uint32_t i = f->t->node[node].first; i < trie_end(f->t, node); i++) {
		TRY(builder_grow(f, &e->slot, &f->cap_slots, e->n_slots + 1, sizeof *e->slot));
		e->slot[e->n_slots++] = (struct slot_token){ f->t->text[i].id, at->lo, at->hi };
	}
	return INFER_OK;
}

static int add_partial(struct entry_builder *f, uint32_t node)
{
	struct entry *e = f->e;

	for (uint32_t i = f->t->node[node].first; i < trie_end(f->t, node); i++) {
		TRY(builder_grow(f, &e->partial, &f->cap_partial, e->n_partial + 1,
		                 sizeof *e->partial));
		e->partial[e->n_partial++] = i;
	}
	return INFER_OK;
}

/* Set may[b] for the next bytes of names: a quote, a \, and if the slots are few their next bytes. */
static void find_possible_bytes(const struct object_shape *o, const struct slot_at *at,
                                uint8_t may[256])
{
	const int few = at->hi - at->lo <= FEW && !at->dec.mode;

	memset(may, !few, 256);
	may['"'] = may['\\'] = 1;
	for (uint32_t i = at->lo; i < at->hi && few; i++)
		if (o->slot[i].n > at->depth)
			may[(uint8_t)o->slot[i].name[at->depth]] = 1;
}

static int walk_slots(struct entry_builder *f, const struct object_shape *o, struct slot_at *at)
{
	uint8_t may[256];

	find_possible_bytes(o, at, may);
	for (uint32_t i = 1; (i = builder_next(f, i, may)) < f->t->n_nodes;) {
		const struct trie_node *x = f->t->node + i;
		struct slot_at *to = at + x->depth;

		if (!builder_charge(f, 1))
			return builder_too_long(f);
		*to = to[-1];
		switch (slot_step(f->k->m, o, to, x->byte)) {
		case DECODE_BAD:
			i = x->skip;
			continue;
		case DECODE_QUOTE:
			TRY(builder_add_exit(f, i, to->lo));
			i = x->skip;
			continue;
		case DECODE_MORE:
			TRY(add_partial(f, i));
			break;
		default:
			TRY(add_tokens(f, i, to));
		}
		i++;
	}
	return INFER_OK;
}

int build_slots_entry(struct entry_builder *f, const struct object_shape *o)
{
	const uint32_t *d = f->e->key.d;
	struct slot_at *at = slab_alloc(&f->k->slab, (size_t)f->t->longest + 1, sizeof *at);
	int rc;

	if (!at)
		return err_nomem(f->err);
	at[0] = (struct slot_at){ d[0], d[1], d[2], { d[3], d[4] } };
	rc = walk_slots(f, o, at);
	slab_free(&f->k->slab, at);
	return rc;
}
