/* infer-serve/ops/store.h - a directory of files that appear whole or not at all.
 *
 * This module makes the names: a prefix and 32 hexadecimal digits, nothing that a client sends.
 * NAME holds the contents of a file, NAME.json describes it.  A file exists if its contents do.  The directory belongs to one server at a time.
 *
 * Functions that write fail with INFER_EAGAIN if the disk is full, or a quota is used up: there may be
 * room later. */
#ifndef INFER_SERVE_OPS_STORE_H
#define INFER_SERVE_OPS_STORE_H
#include <stdint.h>
#include <sys/types.h>
#include <infer/status.h>
#include "base/buf.h"

enum { STORE_NAME = 64 };
struct store {
	int dir, lock; /* -1: none */
	const char *path;
	_Atomic uint64_t n;
	uint64_t salt;
};

/* path: borrowed; made if it is not there.  Removes what a stop left half written.
 * INFER_EIO  also where another server has it */
int store_open(struct store *s, const char *path, infer_error *err);
void store_close(struct store *s);

void store_name(struct store *s, char name[STORE_NAME], const char *prefix);
/* the same for the same text */
void store_name_of(char name[STORE_NAME], const char *prefix, const char *text);
/* 1: it may be a name with this prefix, and no path. */
int store_is_name(const char *name, const char *prefix);

/* Descriptors, -1: there is no such file. */
int store_read(const struct store *s, const char *name);
int store_append(const struct store *s, const char *name, infer_error *err);
int64_t store_bytes(const struct store *s, const char *name); /* -1: there is none */
/* A file without a name; store_keep gives it one, store_drop removes it; both close it. */
int store_begin(struct store *s, char name[STORE_NAME], infer_error *err);
int store_keep(const struct store *s, int fd, const char *from, const char *to, infer_error *err);
void store_drop(const struct store *s, int fd, const char *name);
/* Write a whole small file, replacing one of that name. */
int store_put(struct store *s, const char *name, const char *at, size_t n, infer_error *err);
int store_get(const struct store *s, const char *name, struct buf *to, infer_error *err);
int store_rename(const struct store *s, const char *from, const char *to, infer_error *err);
int store_remove(const struct store *s, const char *name); /* 0: it was there */
/* Call fn with each name of that prefix which has no suffix; in no order.  Another value than 0 ends
 * it, and is returned. */
int store_each(const struct store *s, const char *prefix, int (*fn)(void *user, const char *name),
               void *user);
/* Write all bytes. */
int store_write(int fd, const char *at, size_t n, const char *what, infer_error *err);
/* Set the error of errno, with its code; `what` could not be written. */
int store_fault(const char *what, infer_error *err);
#endif
