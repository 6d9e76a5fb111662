/* ir/room.h - memory that is reserved at once and given out in blocks, so that a
 * text that is followed allocates nothing.
 *
 * Blocks are kept by size when they are given back.  Where the room is full, another piece comes
 * from the heap, each twice as large as the one before.  A room that is NULL is the heap.
 * Confined. */
#ifndef IR_ROOM_H
#define IR_ROOM_H
#include <stddef.h>

enum { ROOM_CLASSES = 160 };
struct room {
	char *at; /* the rest of the piece */
	size_t left, next;
	void *piece; /* all of them, chained */
	void *spare[ROOM_CLASSES];
};

/* bytes: reserved from the start; pages that are not used cost nothing
 * *r is empty on failure: 0, or -1 without memory */
int room_init(struct room *r, size_t bytes);
void room_fini(struct room *r); /* with all blocks */

/* As in base/mem.h. */
void *room_alloc(struct room *r, size_t n, size_t size);
void *room_zalloc(struct room *r, size_t n, size_t size);
void *room_realloc(struct room *r, void *p, size_t n, size_t size);
void room_free(struct room *r, void *p);

/* A growing text, as in base/buf.h, without a NUL behind it. */
struct room_text {
	struct room *room;
	char *at;
	size_t len, cap;
	int bad; /* out of memory: later puts do nothing */
};
void room_text_fini(struct room_text *t);
void room_put(struct room_text *t, const void *bytes, size_t n);
void room_putc(struct room_text *t, char c);
#endif
