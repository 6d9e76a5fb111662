/* common/input.h - read the prompt from arguments, files and standard input. */
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
	INPUT_TALK = 1 << 3,     /* if stdin is a terminal, the error for no text mentions -i */
	INPUT_ONLY_TEXT = 1 << 4 /* the error for bytes that are not UTF-8 does not mention --raw */
};

/* Limits in bytes. Texts up to INPUT_FREE are always accepted; INPUT_FILE is the limit of input_file. */
enum { INPUT_FREE = 1 << 20, INPUT_FILE = 64 << 20 };
struct input_bound {
	/* Return the limit in bytes. Called only if a text is longer than INPUT_FREE. */
	size_t (*most)(const void *user);
	const void *user;
	/* For the error message: the context in tokens that sets the limit (0: another limit), and the
	 * option that enlarges it. */
	int32_t ctx;
	const char *more;
};
extern const struct input_bound input_file; /* limit INPUT_FILE: conversations, tools */

/* Compose a text: the words joined by spaces, then each file, then standard input unless it is a
 * terminal, was already read, or INPUT_NO_STDIN is set. A word or a file "-" is standard input at that
 * place. Parts that are not empty are separated by a blank line. One final newline of standard input and
 * of each file is dropped.
 * out: initialised by the caller, who calls buf_fini. bound: NULL for no limit
 * INFER_EINVAL  there is no text (allowed with INPUT_MAYBE), or it is not UTF-8 (allowed with INPUT_RAW)
 * INFER_ENOMEM  the text is longer than the limit, or out of memory; INFER_EIO */
int input_read(struct buf *out, const struct opt_rest *words, const struct opt_list *files,
               unsigned flags, const struct input_bound *bound, infer_error *err);
/* Length and SHA-256 of all files together, including the newlines that input_texts drops: as `cat FILES
 * | wc -c` and `... | sha256sum`. */
struct input_digest {
	char sha256[65];
	uint64_t bytes;
};
/* Like input_read, but only files, which may be empty: for programs that measure a model on a text. */
int input_texts(struct buf *out, const struct opt_list *files, struct input_digest *digest,
                infer_error *err);
/* True if a word or a file is "-". */
int input_names_stdin(const struct opt_rest *words, const struct opt_list *files);
#endif
