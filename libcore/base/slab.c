/* base/slab.c - the size-class allocator. */
#include "base/slab.h"

#include <stdint.h>
#include <string.h>

enum { HEAD = 16, LEAST = 64 };

/* header before each block and each piece */
struct head {
	struct head *next; /* the next spare block, or the next piece */
	uint32_t class;
};
_Static_assert(sizeof(struct head) <= HEAD, "blocks stay aligned");

/* Return the class of the smallest blocks of at least n bytes, and their *size. */
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

static int add_piece(struct slab *s, size_t bytes)
{
	struct head *p = mem_alloc(s->who, 1, bytes + HEAD);

	if (!p)
		return -1;
	p->next = s->pieces;
	s->pieces = p;
	s->at = (char *)p + HEAD;
	s->left = bytes;
	s->piece_bytes = bytes;
	return 0;
}

int slab_init(struct slab *s, enum mem_module who, size_t bytes)
{
	*s = (struct slab){ .who = who };
	return add_piece(s, bytes);
}

void slab_init_heap(struct slab *s, enum mem_module who)
{
	*s = (struct slab){ .who = who, .heap = 1 };
}

void slab_fini(struct slab *s)
{
	while (s->pieces) {
		struct head *p = s->pieces;

		s->pieces = p->next;
		mem_free(p);
	}
	*s = (struct slab){ 0 };
}

void *slab_alloc(struct slab *s, size_t n, size_t size)
{
	size_t bytes;
	uint32_t class;
	struct head *h;

	if (s->heap)
		return mem_alloc(s->who, n, size);
	if (size && n > (SIZE_MAX >> 8) / size)
		return NULL;
	class = class_of(n * size, &bytes);
	if (class >= SLAB_CLASSES)
		return NULL;
	h = s->spare[class];
	if (h) {
		s->spare[class] = h->next;
		return (char *)h + HEAD;
	}
	bytes += HEAD;
	if (bytes > s->left &&
	    add_piece(s, bytes > 2 * s->piece_bytes ? bytes : 2 * s->piece_bytes))
		return NULL;
	h = (struct head *)(void *)s->at;
	h->class = class;
	s->at += bytes;
	s->left -= bytes;
	return (char *)h + HEAD;
}

void *slab_zalloc(struct slab *s, size_t n, size_t size)
{
	void *p = slab_alloc(s, n, size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

static struct head *head_of(void *p) { return (struct head *)(void *)((char *)p - HEAD); }

/* The size of the blocks of a class. */
static size_t size_of(uint32_t class)
{
	const uint32_t log = (class - 4) / 4 + 6;

	return class < 4
	               ? 16 * ((size_t) class + 1)
	               : ((size_t)1 << log) + ((class & 3) + (size_t)1) * ((size_t)1 << (log - 2));
}

void *slab_realloc(struct slab *s, void *p, size_t n, size_t size)
{
	size_t had;
	void *to;

	if (s->heap)
		return mem_realloc(s->who, p, n, size);
	had = p ? size_of(head_of(p)->class) : 0;
	if (p && n * size <= had)
		return p;
	to = slab_alloc(s, n, size);
	if (to && p) {
		memcpy(to, p, had);
		slab_free(s, p);
	}
	return to;
}

void slab_free(struct slab *s, void *p)
{
	struct head *h;

	if (!p)
		return;
	if (s->heap) {
		mem_free(p);
		return;
	}
	h = head_of(p);
	h->next = s->spare[h->class];
	s->spare[h->class] = h;
}

/* -- buffers -------------------------------------------------------------------------------- */

void slab_buf_fini(struct slab_buf *b)
{
	slab_free(b->slab, b->at);
	*b = (struct slab_buf){ .slab = b->slab };
}

void slab_buf_put(struct slab_buf *b, const void *bytes, size_t n)
{
	if (n > b->cap - b->len && !b->bad) {
		const size_t more = b->cap * 2 > b->len + n ? b->cap * 2 : b->len + n + 32;
		char *at = slab_realloc(b->slab, b->at, more, 1);

		b->bad = !at;
		if (at) {
			b->at = at;
			b->cap = more;
		}
	}
	if (b->bad || !n)
		return;
	memcpy(b->at + b->len, bytes, n);
	b->len += n;
}

void slab_buf_putc(struct slab_buf *b, char c) { slab_buf_put(b, &c, 1); }
