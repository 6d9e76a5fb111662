/* infer-run/entry.h - lines of a person or a script to what they mean: one text of one or more
 * lines, or a command.  Confined.
 *
 *	a line                       one line of text
 *	a line that ends with \      goes on with the next, a newline between them
 *	"""  ...  """                all lines between, as they are; the newline behind the first
 *and before the last quotes is
 *	                             not part of them
 *	/word rest                   a command, where it stands first and outside quotes
 *
 * A newline inside of what comes as one line, as a paste brings it, is text. */
#ifndef INFER_RUN_ENTRY_H
#define INFER_RUN_ENTRY_H
#include <infer/status.h>
#include "base/buf.h"

struct entry {
	struct buf text;
	int open;   /* inside: ENTRY_SLASH or ENTRY_QUOTES; 0: whole */
	int quoted; /* never a command */
	int lines;  /* inside quotes: so far */
};
enum { ENTRY_SLASH = 1, ENTRY_QUOTES };

void entry_init(struct entry *e);
void entry_fini(struct entry *e);
void entry_clear(struct entry *e); /* begin anew */

/* Take a line, without its newline.  While e->open is set afterwards more must come.
 * INFER_ENOMEM */
int entry_line(struct entry *e, const char *at, size_t n, infer_error *err);
/* No more comes: what is there is all. */
void entry_end(struct entry *e);
int entry_is_blank(const struct entry *e);
/* The command's name without its slash, and what follows it without blanks around; 0: it is
 * text. */
int entry_command(const struct entry *e, struct buf *name, struct buf *rest);

/* What gives this text back when it is read as one line, for a history.  *out: appended to; 0:
 * nothing does. */
int entry_quote(const struct entry *e, struct buf *out);
#endif
