/* infer-run/chat/history.h - the history of typed lines: a bounded list, and its file. Confined to one
 * thread.
 *
 * The file has one entry per line: a newline is written as \n and a backslash as \\.  Only its owner may read
 * it (0600).  Each entry is appended with one write(2), so that several runs can share the file; a file of
 * twice CHAT_HISTORY_ENTRIES lines is replaced by a shorter one, atomically. */
#ifndef INFER_RUN_CHAT_HISTORY_H
#define INFER_RUN_CHAT_HISTORY_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"

enum {
	CHAT_HISTORY_ENTRIES = 1000,
	CHAT_HISTORY_LONGEST = 16 << 10, /* most bytes of an entry */
	CHAT_HISTORY_FILE = 16 << 20,    /* most bytes of the file */
};

struct chat_history {
	struct buf at;   /* char *[], oldest first */
	size_t n, added; /* added: entries ever added, dropped ones too */
	struct buf path; /* empty: there is no file */
};

void chat_history_init(struct chat_history *h);
void chat_history_fini(struct chat_history *h);
/* Read the file, or create it, and shorten it if it is too long. Entries are then appended to it.
 * INFER_EIO  the file is not regular, or cannot be read and written
 * INFER_EFORMAT  the file is longer than CHAT_HISTORY_FILE; INFER_ENOMEM */
int chat_history_open(struct chat_history *h, const char *path, infer_error *err);
/* Add an entry, unless it equals the last one or is too long. On failure the list may contain it, but the
 * file does not. INFER_EIO INFER_ENOMEM */
int chat_history_add(struct chat_history *h, const char *entry, infer_error *err);
const char *chat_history_get(const struct chat_history *h, size_t i);
#endif
