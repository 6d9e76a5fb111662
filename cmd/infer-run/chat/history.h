/* infer-run/chat/history.h - the history of typed lines: a bounded list, and the file that keeps it
 * between runs.  Confined.
 *
 * The file has one entry per line: a newline is written as \n and a backslash as \\.  Only its
 * owner may read it (0600).  Each entry is appended with one write(2), so that several runs can
 * share the file; when it has grown to twice its bound, it is shortened by way of a temporary
 * file. */
#ifndef INFER_RUN_CHAT_HISTORY_H
#define INFER_RUN_CHAT_HISTORY_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"

/* bytes of an entry that is kept; of a file */
enum { CHAT_HISTORY_ENTRIES = 1000, CHAT_HISTORY_LONGEST = 16 << 10, CHAT_HISTORY_FILE = 16 << 20 };

struct chat_history {
	struct buf at;   /* char *[]; oldest first */
	size_t n, added; /* added: the total so far, including dropped entries */
	struct buf path; /* empty: kept in memory only */
};

void chat_history_init(struct chat_history *h);
void chat_history_fini(struct chat_history *h);
/* Read the file, and shorten it if necessary; from now on entries are also appended to it.  A
 * missing file is created.
 * INFER_EIO  not a file of ours to read and write; INFER_EFORMAT  longer than CHAT_HISTORY_FILE;
 * INFER_ENOMEM */
int chat_history_open(struct chat_history *h, const char *path, infer_error *err);
/* Add an entry, unless it equals the last one or is too long.  INFER_EIO INFER_ENOMEM: the list may
 * contain it nevertheless */
int chat_history_add(struct chat_history *h, const char *entry, infer_error *err);
const char *chat_history_get(const struct chat_history *h, size_t i);
#endif
