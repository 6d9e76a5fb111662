/* common/input.h - texts that programs take: arguments, files and standard input. */
#ifndef COMMON_INPUT_H
#define COMMON_INPUT_H
#include <stdint.h>
#include <infer/status.h>
#include "base/buf.h"
#include "common/opt.h"

enum {
	INPUT_NO_STDIN = 1 << 0,
	INPUT_RAW = 1 << 1,
	INPUT_MAYBE = 1 << 2,    /* an empty input is allowed */
	INPUT_TALK = 1 << 3,     /* -i would talk: to be said on a terminal */
	INPUT_ONLY_TEXT = 1 << 4 /* no option of the program takes other bytes */
};

/* How much is read at most; more is an error. */
enum { INPUT_FREE = 1 << 20, INPUT_FILE = 64 << 20 };
struct input_bound {
	/* in bytes; asked only where a text comes to more than INPUT_FREE, which is never too
	 * long */
	size_t (*most)(const void *user);
	const void *user;
	/* for the message: tokens of the context that cannot hold it, and what gives more room; 0:
	 * it has nothing to do with a context */
	int32_t ctx;
	const char *more;
};
extern const struct input_bound input_file; /* INPUT_FILE: of conversations and tools */

/* The words joined by spaces, then each file, then standard input if it is not a terminal, has not
 * been read and INPUT_NO_STDIN is not set; a word or a file "-" is standard input in that place.
 * Parts that are not empty are separated by a blank line.  One final newline of standard input and
 * of each file is dropped.
 * out: initialised by the caller, its to buf_fini.  bound: NULL: there is none
 * INFER_EINVAL  there is no part at all (but with INPUT_MAYBE); a part is not UTF-8 (any bytes with
 * INPUT_RAW)
 * INFER_ENOMEM  longer than the bound; nothing is read behind it
 * INFER_EIO */
int input_read(struct buf *out, const struct opt_rest *words, const struct opt_list *files,
               unsigned flags, const struct input_bound *bound, infer_error *err);
/* What was read, before newlines were dropped: as sha256sum and wc -c print it for one file, and for
 * several of them joined by cat. */
struct input_digest {
	char sha256[65];
	uint64_t bytes;
};
/* input_read of files alone, which may be empty: for programs that measure on a text. */
int input_texts(struct buf *out, const struct opt_list *files, struct input_digest *digest,
                infer_error *err);
/* A word or a file is standard input. */
int input_names_stdin(const struct opt_rest *words, const struct opt_list *files);
#endif
