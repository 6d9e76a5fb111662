/* infer-serve/batch/line_run.h - a line of a batch while it runs: an API request without HTTP. */
#ifndef INFER_SERVE_BATCH_LINE_RUN_H
#define INFER_SERVE_BATCH_LINE_RUN_H
#include "infer-serve/batch/batch_lines.h"
#include "infer-serve/batch/batches.h"
#include "infer-serve/ops/api_request.h"

/* Owned by a worker, the loader or the thread that steps engines until it is in batches.done. "lock":
 * guarded by the server's lock. */
struct line_run {
	struct api_request api;     /* first member, because pointers are cast */
	struct line_run *next;      /* lock: in batches.lines */
	struct line_run *next_done; /* lock: in batches.done */
	char *custom_id;            /* freed with mem_free */
	int status;        /* HTTP status; 0: cancelled, so a later server runs the line again */
	struct buf answer; /* body of the answer, JSON */
};

/* Start the request of a line. When it has ended, it is added to batches.done. Caller holds no lock.
 * INFER_ENOMEM */
int line_start(struct server *s, const struct batch *b, const struct batch_line *from,
               infer_error *err);
/* Cancel the lines that run: they end without an answer.  Caller holds the lock. */
void lines_cancel(struct server *s);
/* Free a line from batches.done. Caller holds no lock. */
void line_free(struct line_run *l);
#endif
