/* infer-run/chat/line_parser.h - parse input lines into texts of one or more lines, and commands.
 * Confined to one thread.
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
	int open; /* LINE_PARSER_SLASH or LINE_PARSER_QUOTES: more lines must follow; 0: complete */
	int quoted; /* 1: begun with quotes, so never a command */
	int lines;  /* lines so far inside quotes */
};
enum { LINE_PARSER_SLASH = 1, LINE_PARSER_QUOTES };

void line_parser_init(struct line_parser *p);
void line_parser_fini(struct line_parser *p);
void line_parser_clear(struct line_parser *p); /* Begin a new text. */

/* Add a line without its newline. If p->open is set afterwards, more lines must follow. INFER_ENOMEM */
int line_parser_add(struct line_parser *p, const char *at, size_t n, infer_error *err);
/* Complete the text at the end of input. */
void line_parser_end(struct line_parser *p);
/* True if the text is empty or white space. */
int line_parser_is_blank(const struct line_parser *p);
/* If the input is a command, return 1 and append its name without the slash, and the rest without blanks
 * around it. Otherwise return 0. */
int line_parser_command(const struct line_parser *p, struct buf *name, struct buf *rest);

/* Append a line that parses to this text, for the history. Returns 0 if no single line does. */
int line_parser_quote(const struct line_parser *p, struct buf *out);
#endif
