/* infer-serve/batch/batch_lines.h - the lines of a batch's input, and the answers that are there. */
#ifndef INFER_SERVE_BATCH_BATCH_LINES_H
#define INFER_SERVE_BATCH_BATCH_LINES_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/seen.h"
#include "infer-serve/batch/batches.h"

/* Lines of a descriptor, one after the other. */
struct batch_input {
	int fd;
	size_t longest, at; /* at: in text, of what was not given */
	int64_t number, offset;
	int over;
	struct buf text;
};
void batch_input_init(struct batch_input *in, int fd, size_t longest);
void batch_input_fini(struct batch_input *in);
/* 1: a line, borrowed until the next call; 0: there are no more.  *whole 0: it has no end.
 * INFER_EIO, INFER_EFORMAT: too long (both negative) */
int batch_input_next(struct batch_input *in, const char **at, size_t *n, int *whole,
                     infer_error *err);

/* One request of the input file.  A request that cannot be run has the code of the error by which
 * OpenAI's batches call it; NULL: it can. */
struct batch_line {
	const struct json *id, *body;
	const char *code, *param;
	char message[256];
};
int batch_line_read(struct batch_line *l, struct arena *mem, const char *endpoint, const char *at,
                    size_t n);

/* Check every line; *faults: OpenAI's list of errors as JSON, mem_free; NULL: there are none. */
int batch_validate(char **faults, int64_t *total, const struct batch *b, int fd, size_t longest,
                   infer_error *err);
/* The ids of lines that have an answer in fd, which is cut behind the last whole one. */
int batch_answered(struct seen *ids, int64_t *n, int fd, infer_error *err);
#endif
