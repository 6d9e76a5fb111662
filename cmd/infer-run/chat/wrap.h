/* infer-run/chat/wrap.h - breaks lines of text that comes in pieces between words, for a terminal.
 * Confined.
 *
 * Nothing is lost but blanks at a break.  A word in the middle of a line is held back until it ends
 * or is too long for that line.  Characters of two cells (CJK, emoji) are words of their own; a
 * mark that closes stays with what it closes.  The terminal itself breaks a word that is longer
 * than its line, and code: the lines between ``` or ~~~, and those that begin with a tab or four
 * spaces. */
#ifndef INFER_RUN_CHAT_WRAP_H
#define INFER_RUN_CHAT_WRAP_H
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

struct wrap {
	int cells;       /* on the line so far, those that the terminal broke too */
	struct buf held; /* blanks and the word behind them */
	size_t blanks;   /* bytes of the blanks */
	int word, last;  /* cells of the word, of the last character */
	int open;        /* the word has begun its line: its characters are written as they come */
	int joined;      /* the next character belongs to the word */
	/* the line: its blanks in front, in cells, and the fence characters behind them */
	int in_head, indent, n_marks;
	char mark;
	int verbatim; /* it is code */
	char fence;   /* of the code around it; 0: none */
	int n_fence;
};

void wrap_init(struct wrap *w);
void wrap_fini(struct wrap *w);

/* Append to *out what is to be written of UTF-8 text at[n], behind what was given before.
 * cols: the width of the terminal now; 0: unknown, and nothing is broken
 * Without memory out->bad is set. */
void wrap_put(struct wrap *w, const char *at, size_t n, int cols, struct buf *out);
/* Put the text that is still held back behind *out, broken in the same way. */
void wrap_flush(struct wrap *w, int cols, struct buf *out);
/* Begin a new text at the beginning of a line. */
void wrap_begin(struct wrap *w);

/* The cells that a character takes on a terminal, 0, 1 or 2, in a locale of UTF-8. */
int wrap_cells(uint32_t cp);
#endif
