/* mask/table.c - entries are remembered, and forgotten all at once where bytes run out. */
#include "mask/inner.h"
#include "base/err.h"
#include "base/mem.h"
#include "automata/work.h"

#include <string.h>

/* A mask takes its memory at once, at most so much of its budget. */
enum { BUCKETS = 256, ROOM = 32 << 20 };

static int make_bottoms(struct mask *k, infer_error *err)
{
	struct stack_item hole = { .kind = ITEM_HOLE }, done = { .kind = ITEM_DONE };

	TRY(stack_intern(&k->hole, &k->m->stacks, &hole, NULL, err));
	return stack_intern(&k->done, &k->m->stacks, &done, NULL, err);
}

static int fill(struct mask *k, enum match_spaces spaces, const struct budget *most,
                infer_error *err)
{
	const uint64_t room = most->bytes < ROOM ? most->bytes : ROOM;

	if (slab_init(&k->slab, MEM_GRAMMAR, room + room / 4 + k->words * sizeof *k->scratch))
		return err_nomem(err);
	k->bucket = slab_zalloc(&k->slab, BUCKETS, sizeof(struct entry *));
	k->state_bucket = slab_alloc(&k->slab, STATE_BUCKETS, sizeof *k->state_bucket);
	k->scratch = slab_zalloc(&k->slab, (size_t)k->words + 1, sizeof *k->scratch);
	k->touched = slab_zalloc(&k->slab, k->words / 64 + 1, sizeof *k->touched);
	if (!k->bucket || !k->state_bucket || !k->scratch || !k->touched)
		return err_nomem(err);
	memset(k->state_bucket, 0xff, STATE_BUCKETS * sizeof *k->state_bucket);
	TRY(match_new_in_slab(&k->m, k->g, spaces, most, &k->slab, err));
	return make_bottoms(k, err);
}

int mask_new(struct mask **out, const struct grammar *g, const struct vocab *v,
             enum match_spaces spaces, const struct budget *most, infer_error *err)
{
	struct mask *k = mem_zalloc(MEM_GRAMMAR, 1, sizeof *k);
	int rc;

	*out = NULL;
	if (!k)
		return err_nomem(err);
	k->g = g;
	k->v = v;
	k->words = vocab_words(v);
	k->left = most->bytes;
	k->mask = BUCKETS - 1;
	pthread_mutex_init(&k->lock, NULL);
	rc = fill(k, spaces, most, err);
	if (rc)
		mask_free(k);
	else
		*out = k;
	return rc;
}

/* Entries that are in use stay until mask_settle. */
static void forget(struct mask *k)
{
	for (uint32_t i = 0; i <= k->mask; i++)
		while (k->bucket[i]) {
			struct entry *e = k->bucket[i];

			k->bucket[i] = e->chain;
			k->left += e->bytes;
			if (e->frame)
				stack_drop(&k->m->stacks, e->frame);
			e->frame = NULL;
			e->chain = k->old;
			k->old = e;
		}
	k->n_entries = 0;
	mask_states_drop(k);
}

void mask_settle(struct mask *k)
{
	while (k->old) {
		struct entry *e = k->old;

		k->old = e->chain;
		if (e->frame)
			stack_drop(&k->m->stacks, e->frame);
		entry_free(k, e);
	}
}

void mask_free(struct mask *k)
{
	if (!k)
		return;
	if (k->bucket && k->state_bucket)
		forget(k);
	mask_settle(k);
	if (k->hole)
		stack_drop(&k->m->stacks, k->hole);
	if (k->done)
		stack_drop(&k->m->stacks, k->done);
	match_free(k->m);
	slab_fini(&k->slab);
	pthread_mutex_destroy(&k->lock);
	mem_free(k);
}

static uint32_t hash_of(const struct mask_key *key)
{
	uint32_t word[sizeof *key / 4], h = 0;

	memcpy(word, key, sizeof word);
	for (size_t i = 0; i < sizeof *key / 4; i++)
		h = htab_mix(h, word[i]);
	return h;
}

/* Twice as many buckets, if there is memory: without, they only get longer. */
static void grow(struct mask *k)
{
	const uint32_t mask = k->mask * 2 + 1;
	struct entry **more = slab_zalloc(&k->slab, (size_t)mask + 1, sizeof(struct entry *));

	if (!more)
		return;
	for (uint32_t i = 0; i <= k->mask; i++)
		while (k->bucket[i]) {
			struct entry *e = k->bucket[i], **to = more + (hash_of(&e->key) & mask);

			k->bucket[i] = e->chain;
			e->chain = *to;
			*to = e;
		}
	slab_free(&k->slab, k->bucket);
	k->bucket = more;
	k->mask = mask;
}

static void remember(struct mask *k, struct entry *e)
{
	if (e->bytes > k->left)
		forget(k);
	if (e->bytes > k->left) {
		e->chain = k->old;
		k->old = e;
		return;
	}
	if (k->n_entries > k->mask)
		grow(k);

	struct entry **bucket = k->bucket + (hash_of(&e->key) & k->mask);

	k->left -= e->bytes;
	k->n_entries++;
	e->chain = *bucket;
	*bucket = e;
}

static int find_out(struct finder *f)
{
	const struct mask_key *key = &f->e->key;

	switch ((enum form)key->form) {
	case FORM_FRAME:
		return walk_frame(f);
	case FORM_SLOTS:
		return walk_slots(f, key->what);
	default:
		return walk_text(f);
	}
}

static int make(struct entry **out, struct mask *k, const struct trie *t,
                const struct mask_key *key, const struct mask_from *from, uint64_t steps,
                infer_error *err)
{
	struct entry *e = slab_zalloc(&k->slab, 1, sizeof *e);
	struct finder f = { .k = k, .from = from, .t = t, .e = e, .steps = steps, .err = err };
	int rc;

	*out = NULL;
	if (!e)
		return err_nomem(err);
	e->key = *key;
	rc = find_out(&f);
	if (!rc)
		rc = finder_done(&f);
	finder_clear(k);
	slab_free(&k->slab, f.exit);
	if (rc) {
		entry_free(k, e);
		return rc;
	}
	if (from->frame)
		e->frame = stack_ref(from->frame);
	*out = e;
	return INFER_OK;
}

static struct entry *find(const struct mask *k, const struct mask_key *key)
{
	struct entry *e = k->bucket[hash_of(key) & k->mask];

	while (e && memcmp(&e->key, key, sizeof *key) != 0)
		e = e->chain;
	return e;
}

int mask_has(const struct mask *k, const struct mask_key *key) { return find(k, key) != NULL; }

int mask_entry(struct entry **out, struct mask *k, const struct trie *t, const struct mask_key *key,
               const struct mask_from *from, uint64_t steps, infer_error *err)
{
	int rc;

	*out = find(k, key);
	if (*out) {
		if ((*out)->steps <= steps)
			return INFER_OK;
		*out = NULL;
		return err_set(err, INFER_EUNSUP, "a mask of the vocabulary needs too many steps");
	}
	rc = make(out, k, t, key, from, steps, err);
	if (rc == INFER_EUNSUP && (k->n_entries || k->n_states)) {
		/* what is remembered must not be the reason */
		forget(k);
		rc = make(out, k, t, key, from, steps, err);
	}
	if (!rc)
		remember(k, *out);
	return rc;
}
