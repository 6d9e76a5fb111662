/* base/arena.c - many small allocations that are freed together. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

/* blocks double in size between these limits, unless a request is larger */
enum { FIRST = 4096, LARGEST = 1 << 20 };

struct arena_block {
	struct arena_block *next;
	alignas(16) unsigned char at[];
};

void arena_init(struct arena *a, enum mem_module who) { *a = (struct arena){ .who = who }; }

static int add_block(struct arena *a, size_t bytes)
{
	size_t size = a->size ? a->size * 2 : FIRST;
	struct arena_block *b;

	if (size > LARGEST)
		size = LARGEST;
	if (size < bytes)
		size = bytes;
	b = size <= SIZE_MAX - sizeof *b ? mem_alloc(a->who, 1, sizeof *b + size) : NULL;
	if (!b)
		return -1;
	b->next = a->first;
	a->first = b;
	a->used = 0;
	a->size = size;
	return 0;
}

/* Return n * size bytes, not zeroed; NULL sets bad. */
static void *take_bytes(struct arena *a, size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (a->bad)
		return NULL;
	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - 15)
		goto bad;
	bytes = bytes ? (bytes + 15) & ~(size_t)15 : 16;
	if ((!a->first || bytes > a->size - a->used) && add_block(a, bytes))
		goto bad;
	p = a->first->at + a->used;
	a->used += bytes;
	return p;
bad:
	a->bad = 1;
	return NULL;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
	void *p = take_bytes(a, n, size);

	return p ? memset(p, 0, n * size) : NULL;
}

void *arena_raw(struct arena *a, size_t bytes) { return take_bytes(a, bytes, 1); }

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = n < SIZE_MAX ? take_bytes(a, n + 1, 1) : NULL;

	if (!p) {
		a->bad = 1;
		return NULL;
	}
	if (n)
		memcpy(p, s, n);
	p[n] = 0;
	return p;
}

/* Free b and all older blocks. */
static void free_blocks(struct arena_block *b)
{
	while (b) {
		struct arena_block *next = b->next;

		mem_free(b);
		b = next;
	}
}

void arena_adopt(struct arena *to, struct arena *from)
{
	struct arena_block **end = &from->first;

	if (!to->first) {
		to->used = from->used;
		to->size = from->size;
	}
	while (*end)
		end = &(*end)->next;
	/* the newest block of `to` stays the first */
	if (to->first) {
		*end = to->first->next;
		to->first->next = from->first;
	} else {
		to->first = from->first;
	}
	to->bad |= from->bad;
	arena_init(from, from->who);
}

void arena_reset(struct arena *a)
{
	if (a->first) {
		free_blocks(a->first->next);
		a->first->next = NULL;
	}
	a->used = 0;
	a->bad = 0;
}

void arena_fini(struct arena *a)
{
	free_blocks(a->first);
	arena_init(a, a->who);
}
