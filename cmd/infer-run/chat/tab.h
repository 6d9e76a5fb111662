/* infer-run/chat/tab.h - what the tab key can make of a line: the names of commands, and those of
 * files behind a command that takes one.  Confined. */
#ifndef INFER_RUN_CHAT_TAB_H
#define INFER_RUN_CHAT_TAB_H
#include <infer/status.h>
#include "base/buf.h"

struct tab {
	struct buf text; /* the names, each with a NUL behind it; a directory ends with a slash */
	struct buf at;   /* size_t [n]: where they begin, in the order of the names */
	size_t n;
	size_t typed;  /* bytes of each name that the line ends with */
	size_t common; /* bytes at its beginning that all of them have, at least `typed` */
	int ends;      /* a blank comes behind the name */
};

void tab_init(struct tab *t);
void tab_fini(struct tab *t);

/* The i-th name of a command without its slash, NULL behind the last; *file: 1: the name of a file
 * may follow it; 0: something else; -1: nothing. */
typedef const char *tab_command(size_t i, int *file);

/* Find what line[n], all before the cursor, may go on with.  Names of files that are not UTF-8, or
 * have characters that control a terminal, are left out; those that begin with a dot too, unless
 * one is typed.
 * 1: the line is a command, and t says what fits; 0: tab is a character like any other.
 * Without memory t->text.bad or t->at.bad is set, and names are missing. */
int tab_find(struct tab *t, const char *line, size_t n, tab_command *command);
const char *tab_name(const struct tab *t, size_t i);
#endif
