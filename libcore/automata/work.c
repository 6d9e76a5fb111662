/* automata/work.c - counting against a budget, growing arrays, hash tables. */
#include "automata/work.h"

#include <string.h>

void work_begin(struct work *w, const char *what, struct budget *left, infer_error *err)
{
	*w = (struct work){ .left = left, .first = *left, .what = what, .err = err };
	arena_init(&w->mem, MEM_AUTOMATA);
}

void work_end(struct work *w)
{
	arena_fini(&w->mem);
	w->left->bytes += w->taken;
	w->taken = 0;
}

int work_steps(struct work *w, uint64_t n)
{
	if (n > w->left->steps) {
		w->left->steps = 0;
		w->left->exhausted = 1;
		return err_set(w->err, INFER_EUNSUP, "%s needs more than %llu steps", w->what,
		               (unsigned long long)w->first.steps);
	}
	w->left->steps -= n;
	return INFER_OK;
}

int work_bytes(struct work *w, uint64_t n)
{
	if (n > w->left->bytes) {
		w->left->exhausted = 1;
		return err_set(w->err, INFER_EUNSUP, "%s needs more than %llu bytes", w->what,
		               (unsigned long long)w->first.bytes);
	}
	w->left->bytes -= n;
	return INFER_OK;
}

int work_alloc(struct work *w, void *p, uint64_t n, size_t size)
{
	uint64_t bytes;
	void *at;

	if (__builtin_mul_overflow(n, (uint64_t)size, &bytes))
		bytes = UINT64_MAX;
	TRY(work_bytes(w, bytes));
	w->taken += bytes;
	/* clearing the memory takes steps */
	TRY(work_steps(w, bytes / 64));
	at = arena_alloc(&w->mem, n, size);
	if (!at)
		return err_set(w->err, INFER_ENOMEM, "%s: out of memory", w->what);
	memcpy(p, &at, sizeof at);
	return INFER_OK;
}

int work_grow(struct work *w, void *p, uint32_t *cap, uint64_t need, size_t size)
{
	uint64_t most = *cap;
	void *old, *at;

	if (need <= most)
		return INFER_OK;
	if (need > INT32_MAX)
		return err_set(w->err, INFER_EUNSUP, "%s needs more than 2^31 entries", w->what);
	most = most * 2 < need ? need : most * 2;
	most = most < 16 ? 16 : most > INT32_MAX ? INT32_MAX : most;
	TRY(work_alloc(w, &at, most, size));
	memcpy(&old, p, sizeof old);
	if (*cap)
		memcpy(at, old, *cap * size);
	memcpy(p, &at, sizeof at);
	*cap = (uint32_t)most;
	return INFER_OK;
}

uint32_t htab_mix(uint32_t h, uint32_t v)
{
	uint64_t z = ((uint64_t)h << 32 | v) + 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(z ^ z >> 32);
}

static int make_htab(struct work *w, struct htab *t, uint32_t size)
{
	TRY(work_alloc(w, &t->at, size, sizeof *t->at));
	t->mask = size - 1;
	htab_clear(t);
	return INFER_OK;
}

void htab_clear(struct htab *t)
{
	t->n = 0;
	memset(t->at, 0xff, ((size_t)t->mask + 1) * sizeof *t->at); /* index NOWHERE */
}

int htab_init(struct work *w, struct htab *t) { return make_htab(w, t, 32); }

int htab_insert(struct work *w, struct htab *t, struct htab_slot *s, uint32_t hash, uint32_t index)
{
	*s = (struct htab_slot){ hash, index };
	if (++t->n <= t->mask / 2)
		return INFER_OK;
	const struct htab old = *t;

	TRY(make_htab(w, t, (old.mask + 1) * 2));
	t->n = old.n;
	TRY(work_steps(w, old.mask));
	for (uint32_t i = 0; i <= old.mask; i++)
		if (old.at[i].index != NOWHERE) {
			struct htab_slot *to = htab_find(t, old.at[i].hash);

			for (; to->index != NOWHERE; to = htab_next(t, to))
				TRY(work_steps(w, 1));
			*to = old.at[i];
		}
	return INFER_OK;
}
