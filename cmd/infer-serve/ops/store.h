/* infer-serve/ops/store.h - a directory of files that are created atomically.
 *
 * A name is a prefix and 32 hexadecimal digits, never chosen by a client. NAME holds the contents of a
 * file, NAME.json its description. A file exists if NAME exists. One server at a time uses the directory.
 *
 * Functions that write fail with INFER_EAGAIN if the disk is full or a quota is used up, with INFER_EIO
 * for another error of the disk. Shared: any thread may call them. */
#ifndef INFER_SERVE_OPS_STORE_H
#define INFER_SERVE_OPS_STORE_H
#include <stdint.h>
#include <sys/types.h>
#include <infer/status.h>
#include "base/buf.h"

enum { STORE_NAME = 64 };
struct store {
	int dir, lock; /* descriptors of the directory and its lock file; -1: none */
	const char *path;
	_Atomic uint64_t n;
	uint64_t salt;
};

/* Open the directory, or create it, and remove incomplete files of an earlier server.
 * path: borrowed.
 * INFER_EIO  also if another server uses it */
int store_open(struct store *s, const char *path, infer_error *err);
void store_close(struct store *s);

/* Make a new name. */
void store_name(struct store *s, char name[STORE_NAME], const char *prefix);
/* Make a name from a text: equal texts have equal names. */
void store_name_of(char name[STORE_NAME], const char *prefix, const char *text);
/* True if `name` has the form of a name with this prefix. */
int store_is_name(const char *name, const char *prefix);

/* Open a file for reading, or for appending (it is created).  Returns the descriptor; -1: error, or
 * no such file. */
int store_read(const struct store *s, const char *name);
int store_append(const struct store *s, const char *name, infer_error *err);
/* Size of a file in bytes; -1: no such file. */
int64_t store_bytes(const struct store *s, const char *name);
/* Create a file with a temporary name, and return its descriptor, -1 on error.  store_keep syncs
 * and renames it, store_drop removes it; both close it. */
int store_begin(struct store *s, char name[STORE_NAME], infer_error *err);
int store_keep(const struct store *s, int fd, const char *from, const char *to, infer_error *err);
void store_drop(const struct store *s, int fd, const char *name);
/* Write a whole small file atomically, replacing an old one; store_get appends its contents to *to. */
int store_put(struct store *s, const char *name, const char *at, size_t n, infer_error *err);
int store_get(const struct store *s, const char *name, struct buf *to, infer_error *err);
int store_rename(const struct store *s, const char *from, const char *to, infer_error *err);
/* Remove a file. Returns 0, or -1 with errno set. */
int store_remove(const struct store *s, const char *name);
/* Call fn for each name with this prefix and no suffix, in any order, until it returns nonzero. Returns
 * that value, or 0. */
int store_each(const struct store *s, const char *prefix, int (*fn)(void *user, const char *name),
               void *user);
/* Write all n bytes. what: name of the contents, for messages. */
int store_write(int fd, const char *at, size_t n, const char *what, infer_error *err);
/* Set *err from errno: `what` could not be written. Returns err->code. */
int store_fault(const char *what, infer_error *err);
#endif
