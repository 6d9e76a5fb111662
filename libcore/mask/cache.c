/* mask/cache.c - the cache of entries; it is emptied if its bytes are used up. */
#include "mask/inner.h"
#include "base/err.h"
#include "base/mem.h"
#include "automata/work.h"

#include <string.h>

/* RESERVED: the most memory that a mask reserves at once */
enum { BUCKETS = 256, RESERVED = 32 << 20 };

static int make_bottoms(struct mask *k, infer_error *err)
{
	struct stack_item hole = { .kind = ITEM_HOLE }, done = { .kind = ITEM_DONE };

	TRY(stack_intern(&k->hole, &k->m->stacks, &hole, NULL, err));
	return stack_intern(&k->done, &k->m->stacks, &done, NULL, err);
}

static int init_mask(struct mask *k, enum match_spaces spaces, const struct budget *most,
                     infer_error *err)
{
	const uint64_t bytes = most->bytes < RESERVED ? most->bytes : RESERVED;

	if (slab_init(&k->slab, MEM_GRAMMAR, bytes + bytes / 4 + k->words * sizeof *k->scratch))
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
	rc = init_mask(k, spaces, most, err);
	if (rc)
		mask_free(k);
	else
		*out = k;
	return rc;
}

/* Evict all entries; they stay valid until mask_free_retired. */
static void evict_all(struct mask *k)
{
	for (uint32_t i = 0; i <= k->mask; i++)
		while (k->bucket[i]) {
			struct entry *e = k->bucket[i];

			k->bucket[i] = e->chain;
			k->left += e->bytes;
			if (e->stack)
				stack_drop(&k->m->stacks, e->stack);
			e->stack = NULL;
			e->chain = k->old;
			k->old = e;
		}
	k->n_entries = 0;
	mask_states_drop(k);
}

void mask_free_retired(struct mask *k)
{
	while (k->old) {
		struct entry *e = k->old;

		k->old = e->chain;
		if (e->stack)
			stack_drop(&k->m->stacks, e->stack);
		entry_free(k, e);
	}
}

void mask_free(struct mask *k)
{
	if (!k)
		return;
	if (k->bucket && k->state_bucket)
		evict_all(k);
	mask_free_retired(k);
	if (k->hole)
		stack_drop(&k->m->stacks, k->hole);
	if (k->done)
		stack_drop(&k->m->stacks, k->done);
	match_free(k->m);
	slab_fini(&k->slab);
	pthread_mutex_destroy(&k->lock);
	mem_free(k);
}

static uint32_t hash_entry_key(const struct entry_key *key)
{
	uint32_t word[sizeof *key / 4], h = 0;

	memcpy(word, key, sizeof word);
	for (size_t i = 0; i < sizeof *key / 4; i++)
		h = htab_mix(h, word[i]);
	return h;
}

/* Double the number of buckets.  If out of memory, keep it: the chains get longer. */
static void grow_buckets(struct mask *k)
{
	const uint32_t mask = k->mask * 2 + 1;
	struct entry **more = slab_zalloc(&k->slab, (size_t)mask + 1, sizeof(struct entry *));

	if (!more)
		return;
	for (uint32_t i = 0; i <= k->mask; i++)
		while (k->bucket[i]) {
			struct entry *e = k->bucket[i],
				     **to = more + (hash_entry_key(&e->key) & mask);

			k->bucket[i] = e->chain;
			e->chain = *to;
			*to = e;
		}
	slab_free(&k->slab, k->bucket);
	k->bucket = more;
	k->mask = mask;
}

/* Cache e, or if it is too large for that, keep it until mask_free_retired. */
static void add_to_cache(struct mask *k, struct entry *e)
{
	if (e->bytes > k->left)
		evict_all(k);
	if (e->bytes > k->left) {
		e->chain = k->old;
		k->old = e;
		return;
	}
	if (k->n_entries > k->mask)
		grow_buckets(k);

	struct entry **bucket = k->bucket + (hash_entry_key(&e->key) & k->mask);

	k->left -= e->bytes;
	k->n_entries++;
	e->chain = *bucket;
	*bucket = e;
}

static int build_entry(struct entry_builder *f)
{
	const struct entry_key *key = &f->e->key;

	switch ((enum entry_kind)key->kind) {
	case ENTRY_STACK:
		return build_stack_entry(f);
	case ENTRY_SLOTS:
		return build_slots_entry(f, key->what);
	case ENTRY_LEX:
		return build_lex_entry(f);
	case ENTRY_STRING:
	case ENTRY_NAME:
	case ENTRY_TEXT:
	case ENTRY_NUMBER:
		break;
	}
	return build_text_entry(f);
}

static int make_entry(struct entry **out, struct mask *k, const struct trie *t,
                      const struct entry_key *key, const struct entry_source *from, uint64_t steps,
                      infer_error *err)
{
	struct entry *e = slab_zalloc(&k->slab, 1, sizeof *e);
	struct entry_builder f = {
		.k = k, .from = from, .t = t, .e = e, .steps = steps, .err = err
	};
	int rc;

	*out = NULL;
	if (!e)
		return err_nomem(err);
	e->key = *key;
	rc = build_entry(&f);
	if (!rc)
		rc = builder_finish(&f);
	builder_clear(k);
	slab_free(&k->slab, f.exit);
	if (rc) {
		entry_free(k, e);
		return rc;
	}
	if (from->stack)
		e->stack = stack_ref(from->stack);
	*out = e;
	return INFER_OK;
}

static struct entry *find_entry(const struct mask *k, const struct entry_key *key)
{
	struct entry *e = k->bucket[hash_entry_key(key) & k->mask];

	while (e && memcmp(&e->key, key, sizeof *key) != 0)
		e = e->chain;
	return e;
}

int mask_has(const struct mask *k, const struct entry_key *key)
{
	return find_entry(k, key) != NULL;
}

int mask_get_entry(struct entry **out, struct mask *k, const struct trie *t,
                   const struct entry_key *key, const struct entry_source *from, uint64_t steps,
                   infer_error *err)
{
	int rc;

	*out = find_entry(k, key);
	if (*out) {
		if ((*out)->steps <= steps)
			return INFER_OK;
		*out = NULL;
		return err_set(err, INFER_EUNSUP, "a mask of the vocabulary needs too many steps");
	}
	rc = make_entry(out, k, t, key, from, steps, err);
	if (rc == INFER_EUNSUP && (k->n_entries || k->n_states)) {
		/* the result must not depend on what is cached */
		evict_all(k);
		rc = make_entry(out, k, t, key, from, steps, err);
	}
	if (!rc)
		add_to_cache(k, *out);
	return rc;
}
