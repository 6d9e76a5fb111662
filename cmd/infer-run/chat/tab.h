/* infer-run/chat/tab.h - completion: names of commands, and of files after a command that takes one.
 * Confined to one thread. */
#ifndef INFER_RUN_CHAT_TAB_H
#define INFER_RUN_CHAT_TAB_H
#include <infer/status.h>
#include "base/buf.h"

struct tab {
	struct buf text; /* the names, each ended by a NUL; a directory ends with a slash */
	struct buf at;   /* size_t [n]: offsets of the names, sorted by name */
	size_t n;
	size_t typed;  /* bytes of the name that are already in the line */
	size_t common; /* length of the common prefix of all names, at least `typed` */
	int ends;      /* 1: put a blank after the completed name */
};

void tab_init(struct tab *t);
void tab_fini(struct tab *t);

/* Return the name of command i without its slash, or NULL after the last. *file: 1 if a file name may follow
 * it, 0 if other text may, -1 if nothing may. */
typedef const char *tab_command(size_t i, int *file);

/* Find the completions of line[n], the text before the cursor. File names that are not UTF-8 or have control
 * characters are left out, and those that begin with a dot unless one is typed. Returns 1 if the line is a
 * command, with its completions in *t, or 0 if the tab key should insert a tab. If out of memory, t->text.bad
 * or t->at.bad is set and names are missing. */
int tab_find(struct tab *t, const char *line, size_t n, tab_command *command);
const char *tab_name(const struct tab *t, size_t i);
#endif
