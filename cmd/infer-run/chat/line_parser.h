/* infer-run/chat/line_parser.h - parses input lines into texts of one or more lines, and commands.
 * Confined.
 *
 *	a line                       one line of text
 *	a line that ends with \      continues on the next line, after a newline
 *	"""  ...  """                all lines between the quotes, unchanged, without the newline
 *	                             after the first and before the last quotes
 *	/word rest                   a command, at the beginning of a line and outside quotes
 *
 * A newline within one line, as in a paste, is text. */
#ifndef INFER_RUN_CHAT_LINE_PARSER_H
#define INFER_RUN_CHAT_LINE_PARSER_H
#include <infer/status.h>
#include "base/buf.h"

struct line_parser {
	struct buf text;
	int open;   /* inside: LINE_PARSER_SLASH or LINE_PARSER_QUOTES; 0: whole */
	int quoted; /* the text is never a command */
	int lines;  /* lines so far inside quotes */
};
enum { LINE_PARSER_SLASH = 1, LINE_PARSER_QUOTES };

void line_parser_init(struct line_parser *p);
void line_parser_fini(struct line_parser *p);
void line_parser_clear(struct line_parser *p); /* start with a new text */

/* Add a line without its newline.  If p->open is set afterwards, the text is incomplete.
 * INFER_ENOMEM */
int line_parser_add(struct line_parser *p, const char *at, size_t n, infer_error *err);
/* End of input: the text is complete as it is. */
void line_parser_end(struct line_parser *p);
int line_parser_is_blank(const struct line_parser *p);
/* The name of the command without its slash, and the rest without surrounding blanks; 0: the input
 * is text. */
int line_parser_command(const struct line_parser *p, struct buf *name, struct buf *rest);

/* Append to *out a line that yields this text again, for the history; 0 if no line does. */
int line_parser_quote(const struct line_parser *p, struct buf *out);
#endif
