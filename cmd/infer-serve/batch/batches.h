/* infer-serve/batch/batches.h - OpenAI's batches: files of requests that run beside others, behind them,
 * and that survive the end of the process at any moment.
 *
 * BATCH.json is the object that clients see, and is replaced whole whenever its status changes.
 * Answers are appended to BATCH.out and BATCH.err, a line with one write; after a stop, a last line
 * that is not whole is cut off, and the requests that have no line run again.  In the end both
 * become files of clients.
 *
 * One thread reads the lines of one batch after the other, and writes the answers.  What is computed
 * is an exchange without a connection, in the form that HTTP has. */
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
	struct batch *next; /* the older ones */
	char id[STORE_NAME], input[STORE_NAME], endpoint[BATCH_ENDPOINT];
	char output[STORE_NAME], errors[STORE_NAME]; /* empty: none */
	char owner[KEYS_NAME + 1]; /* group whose keys can see it; empty: requests without a key */
	char key[KEYS_NAME + 1];   /* name of the key that created it, as which its lines run */
	enum batch_status status;
	int64_t at[BATCH_STATUSES]; /* when it came to be that, seconds; 0: it did not */
	int64_t created, total, completed, failed;
	char *metadata, *faults; /* JSON; NULL: none.  mem_free */
};
struct batches {
	pthread_t thread;
	int started, stop; /* stop: under the server's lock */
	pthread_cond_t wake;
	struct fair_user user; /* whose turn comes behind all others */
	/* under the server's lock */
	struct batch *first;    /* the newest */
	struct line_run *lines; /* that run, or are in `done` */
	struct line_run *done;  /* with their answers, by next_done */
	int32_t running;        /* lines that the engine has */
};

/* Read what is there, and start the thread that goes on with it. */
int batches_open(struct server *s, infer_error *err);
/* Lines that run are given up: the next start runs them again. */
void batches_stop(struct server *s);
void batches_close(struct server *s);

/* batch_state.c.  Under the server's lock, but for the last two. */
/* as clients see it */
void batch_put(struct buf *to, const struct batch *b);
const char *batch_status_name(enum batch_status status);
/* owner NULL: whoever owns it */
struct batch *batch_find(struct server *s, const char *id, const char *owner);
/* Enter a status.  batch_save writes what it is then. */
void batch_set(struct batch *b, enum batch_status status);
int batch_is_over(const struct batch *b);
int batch_save(struct server *s, const struct batch *b, infer_error *err);
int batch_load(struct batch **out, struct server *s, const char *id, infer_error *err);
void batch_free(struct batch *b);
#endif
