/* ir/room.c - blocks of sizes that are four to an octave. */
#include "ir/room.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

enum { HEAD = 16, LEAST = 64 };

/* before each block, and at the start of each piece */
struct head {
	struct head *next; /* of a spare block, of a piece */
	uint32_t class;
};
_Static_assert(sizeof(struct head) <= HEAD, "blocks stay aligned");

/* The class of blocks of at least n bytes, and their size. */
static uint32_t class_of(size_t n, size_t *size)
{
	uint32_t log, quarter;

	if (n <= LEAST) {
		*size = n ? (n + 15) / 16 * 16 : 16;
		return (uint32_t)(*size / 16 - 1);
	}
	log = 63 - (uint32_t)__builtin_clzll(n - 1);
	quarter = (uint32_t)((n - 1) >> (log - 2) & 3);
	*size = ((size_t)1 << log) + ((size_t)quarter + 1) * ((size_t)1 << (log - 2));
	return 4 + (log - 6) * 4 + quarter;
}

static int piece(struct room *r, size_t bytes)
{
	struct head *p = mem_alloc(MEM_GRAMMAR, 1, bytes + HEAD);

	if (!p)
		return -1;
	p->next = r->piece;
	r->piece = p;
	r->at = (char *)p + HEAD;
	r->left = bytes;
	r->next = bytes;
	return 0;
}

int room_init(struct room *r, size_t bytes)
{
	*r = (struct room){ 0 };
	return piece(r, bytes);
}

void room_fini(struct room *r)
{
	while (r->piece) {
		struct head *p = r->piece;

		r->piece = p->next;
		mem_free(p);
	}
	*r = (struct room){ 0 };
}

void *room_alloc(struct room *r, size_t n, size_t size)
{
	size_t bytes;
	uint32_t class;
	struct head *h;

	if (!r)
		return mem_alloc(MEM_GRAMMAR, n, size);
	if (size && n > (SIZE_MAX >> 8) / size)
		return NULL;
	class = class_of(n * size, &bytes);
	if (class >= ROOM_CLASSES)
		return NULL;
	h = r->spare[class];
	if (h) {
		r->spare[class] = h->next;
		return (char *)h + HEAD;
	}
	bytes += HEAD;
	if (bytes > r->left && piece(r, bytes > 2 * r->next ? bytes : 2 * r->next))
		return NULL;
	h = (struct head *)(void *)r->at;
	h->class = class;
	r->at += bytes;
	r->left -= bytes;
	return (char *)h + HEAD;
}

void *room_zalloc(struct room *r, size_t n, size_t size)
{
	void *p = room_alloc(r, n, size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

static struct head *head_of(void *p) { return (struct head *)(void *)((char *)p - HEAD); }

/* The bytes of blocks of a class. */
static size_t size_of(uint32_t class)
{
	const uint32_t log = (class - 4) / 4 + 6;

	return class < 4
	               ? 16 * ((size_t) class + 1)
	               : ((size_t)1 << log) + ((class & 3) + (size_t)1) * ((size_t)1 << (log - 2));
}

void *room_realloc(struct room *r, void *p, size_t n, size_t size)
{
	size_t had;
	void *to;

	if (!r)
		return mem_realloc(MEM_GRAMMAR, p, n, size);
	had = p ? size_of(head_of(p)->class) : 0;
	if (p && n * size <= had)
		return p;
	to = room_alloc(r, n, size);
	if (to && p) {
		memcpy(to, p, had);
		room_free(r, p);
	}
	return to;
}

void room_free(struct room *r, void *p)
{
	struct head *h;

	if (!r) {
		mem_free(p);
		return;
	}
	if (!p)
		return;
	h = head_of(p);
	h->next = r->spare[h->class];
	r->spare[h->class] = h;
}

/* -- texts ---------------------------------------------------------------------------------- */

void room_text_fini(struct room_text *t)
{
	room_free(t->room, t->at);
	*t = (struct room_text){ .room = t->room };
}

void room_put(struct room_text *t, const void *bytes, size_t n)
{
	if (n > t->cap - t->len && !t->bad) {
		const size_t more = t->cap * 2 > t->len + n ? t->cap * 2 : t->len + n + 32;
		char *at = room_realloc(t->room, t->at, more, 1);

		t->bad = !at;
		if (at) {
			t->at = at;
			t->cap = more;
		}
	}
	if (t->bad || !n)
		return;
	memcpy(t->at + t->len, bytes, n);
	t->len += n;
}

void room_putc(struct room_text *t, char c) { room_put(t, &c, 1); }
