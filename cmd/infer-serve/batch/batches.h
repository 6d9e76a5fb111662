/* infer-serve/batch/batches.h - OpenAI's batches: files of requests, which run after all other
 * requests and survive the end of the process at any moment.
 *
 * The file BATCH in --files-dir holds the batch object, and is replaced atomically when its status
 * changes.  Answers are appended to BATCH.out and BATCH.err, one line at a time.  After a restart
 * an incomplete last line is cut off, and requests without a line run again.  At the end of the
 * batch both files become files of the client.
 *
 * One thread runs one batch after the other: it reads lines, starts their requests (line_run.h) and
 * writes the answers. */
#ifndef INFER_SERVE_BATCH_BATCHES_H
#define INFER_SERVE_BATCH_BATCHES_H
#include <pthread.h>
#include <stdint.h>
#include "infer-serve/ops/fair.h"
#include "infer-serve/ops/keys.h"
#include "infer-serve/ops/store.h"

struct line_run;
struct server;

enum batch_status {
	BATCH_VALIDATING,
	BATCH_FAILED,
	BATCH_IN_PROGRESS,
	BATCH_FINALIZING,
	BATCH_COMPLETED,
	BATCH_EXPIRED,
	BATCH_CANCELLING,
	BATCH_CANCELLED,
	BATCH_STATUSES
};
enum { BATCH_DAY_S = 24 * 60 * 60, BATCH_ENDPOINT = 40 };

struct batch {
	struct batch *next; /* the next older batch */
	char id[STORE_NAME], input[STORE_NAME], endpoint[BATCH_ENDPOINT];
	char output[STORE_NAME], errors[STORE_NAME]; /* files of the client; empty: none */
	char owner[KEYS_NAME + 1]; /* group whose keys can see it; empty: requests without a key */
	char key[KEYS_NAME + 1];   /* name of the key that created it and that its lines use */
	enum batch_status status;
	/* when the batch entered each status, seconds since 1970; 0: never */
	int64_t at[BATCH_STATUSES];
	int64_t created;                  /* seconds since 1970 */
	int64_t total, completed, failed; /* numbers of lines */
	char *metadata;                   /* JSON of the client; NULL: none.  Freed with mem_free */
	char *faults; /* OpenAI's list of errors, JSON; NULL: none.  Freed with mem_free */
};
struct batches {
	pthread_t thread;
	int started, stop; /* stop: guarded by the server's lock */
	pthread_cond_t wake;
	struct fair_user user; /* user of all lines, with the lowest priority */
	/* the members below are guarded by the server's lock */
	struct batch *first;    /* the newest batch */
	struct line_run *lines; /* lines that run or are in `done` */
	struct line_run *done;  /* lines with their answers, linked by next_done */
	int32_t running;        /* number of lines started and not in `done` */
};

/* Read the batches of --files-dir, and start the thread that runs them.
 * INFER_ENOMEM */
int batches_open(struct server *s, infer_error *err);
/* Cancel the running lines and end the thread. The next server runs these lines again. */
void batches_stop(struct server *s);
void batches_close(struct server *s);

/* batch_state.c. Callers hold the server's lock, except for batch_save, batch_load and batch_free. */
/* Append the batch object that clients see. */
void batch_put(struct buf *to, const struct batch *b);
/* Return the batch with this id if it belongs to the group `owner` (NULL: any group); NULL: none. */
struct batch *batch_find(struct server *s, const char *id, const char *owner);
/* Change the status and record the time. */
void batch_set(struct batch *b, enum batch_status status);
/* True if the status of b is final. */
int batch_is_over(const struct batch *b);
/* Write the batch object to --files-dir (save), or read it from there (load).
 * INFER_EAGAIN  the disk is full; INFER_EFORMAT the file is not a batch; INFER_EIO INFER_ENOMEM */
int batch_save(struct server *s, const struct batch *b, infer_error *err);
int batch_load(struct batch **out, struct server *s, const char *id, infer_error *err);
void batch_free(struct batch *b);
#endif
