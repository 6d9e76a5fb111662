/* base/buf.h - a growing buffer of bytes.  Failure to grow is sticky: test `bad` once at the end.
 * Confined. */
#ifndef BASE_BUF_H
#define BASE_BUF_H
#include <stddef.h>
#include "base/mem.h"

struct buf {
	char *at; /* len bytes followed by a NUL; NULL until something was put */
	size_t len, cap;
	enum mem_module who;
	int bad; /* out of memory: later puts do nothing */
};

void buf_init(struct buf *b, enum mem_module who);
void buf_fini(struct buf *b);
void buf_clear(struct buf *b);               /* len = 0, bad = 0; keeps the memory */
int buf_reserve(struct buf *b, size_t more); /* 0, or INFER_ENOMEM and bad */
void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, int c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Transfer the bytes to the caller (mem_free); NULL if bad. */
char *buf_take(struct buf *b, size_t *len);
#endif
