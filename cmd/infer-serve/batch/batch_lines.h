/* infer-serve/batch/batch_lines.h - read the input of a batch and the answers already written. */
#ifndef INFER_SERVE_BATCH_BATCH_LINES_H
#define INFER_SERVE_BATCH_BATCH_LINES_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/seen.h"
#include "infer-serve/batch/batches.h"

/* A reader of the lines of a file. */
struct batch_input {
	int fd;
	size_t longest; /* limit for a line, bytes */
	size_t at;      /* index in `text` of the first byte not returned yet */
	int64_t number; /* lines returned so far */
	int64_t offset; /* offset in the file of the next read */
	int over;       /* 1: the end of the file was read */
	struct buf text;
};
/* fd: borrowed, read from its beginning. longest: limit for a line, bytes. */
void batch_input_init(struct batch_input *in, int fd, size_t longest);
void batch_input_fini(struct batch_input *in);
/* Return the next line, without its newline, borrowed until the next call. *whole: 0 if its newline is
 * missing. Returns 1, or 0 at the end, or -1 with err->code
 * INFER_EFORMAT  the line is too long; INFER_EIO INFER_ENOMEM */
int batch_input_next(struct batch_input *in, const char **at, size_t *n, int *whole,
                     infer_error *err);

/* A request of the input file. code: OpenAI's error code; NULL: the request is valid. */
struct batch_line {
	const struct json *id, *body;
	const char *code, *param;
	char message[256];
};
/* Parse a line of n bytes into mem.
 * INFER_EINVAL  the request cannot be run: the reason is in l->code, l->param and l->message;
 * INFER_ENOMEM */
int batch_line_read(struct batch_line *l, struct arena *mem, const char *endpoint, const char *at,
                    size_t n);

/* Check every line of fd and count them in *total. *faults: OpenAI's list of errors as JSON, freed with
 * mem_free; NULL: no errors. INFER_EIO INFER_ENOMEM */
int batch_validate(char **faults, int64_t *total, const struct batch *b, int fd, size_t longest,
                   infer_error *err);
/* Add the ids of the answers in fd to *ids, count them in *n, and truncate fd after the last
 * complete line. INFER_EIO INFER_ENOMEM */
int batch_answered(struct seen *ids, int64_t *n, int fd, infer_error *err);
#endif
