/* infer-run/chat/wrap.h - word wrap for a terminal, of text that arrives in pieces. Confined to one thread.
 *
 * Only blanks at a line break are dropped. A word in the middle of a line is held back until it ends or is
 * too long for that line. Characters of two cells (CJK, emoji) are words of their own; closing punctuation
 * stays with the character before it. The terminal itself wraps words longer than a line, and code: lines
 * between ``` or ~~~, and lines that begin with a tab or four spaces. */
#ifndef INFER_RUN_CHAT_WRAP_H
#define INFER_RUN_CHAT_WRAP_H
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

struct wrap {
	int cells;       /* cells of the line so far, rows that the terminal wrapped included */
	struct buf held; /* text held back: blanks, then a word */
	size_t blanks;   /* bytes of the blanks in `held` */
	int word, last;  /* cells of the word, and of its last character */
	int open;        /* the word began the line: its characters are written at once */
	int joined;      /* the next character belongs to the word */
	/* The start of the line. */
	int in_head;  /* 1: only blanks and fence characters so far */
	int indent;   /* cells of the blanks at the start */
	int n_marks;  /* number of fence characters */
	char mark;    /* the fence character */
	int verbatim; /* the line is code */
	char fence;   /* fence character of the code block; 0: outside a block */
	int n_fence;  /* length of the fence that began the block */
};

void wrap_init(struct wrap *w);
void wrap_fini(struct wrap *w);

/* Add UTF-8 text at[n], and append to *out what can be written now. cols: the current width of the terminal;
 * 0: unknown, and nothing is wrapped. If out of memory, out->bad is set. */
void wrap_put(struct wrap *w, const char *at, size_t n, int cols, struct buf *out);
/* Append the text that is held back to *out, wrapped. */
void wrap_flush(struct wrap *w, int cols, struct buf *out);
/* Begin a new text at the start of a line. */
void wrap_begin(struct wrap *w);

/* Return the cells of a character on a terminal, 0, 1 or 2. Needs a UTF-8 locale. */
int wrap_cells(uint32_t cp);
#endif
