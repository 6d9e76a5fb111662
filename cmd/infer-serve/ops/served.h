/* infer-serve/ops/served.h - the models of a server: their names, what is said of each, and, while a model
 * is loaded, its engine.
 *
 * Without --config there is one, which every name finds and which stays.  With it a model is loaded
 * by the first request that names it, on a thread for that (loading.c), and unloaded by the thread
 * that steps engines, when nobody has used it for a while or another model needs its memory.
 *
 * One thread steps all engines, a step of each in turn: each has all cores while it computes, so that
 * two models that are used at once share the machine evenly, and no state of an engine needs a lock. */
#ifndef INFER_SERVE_OPS_SERVED_H
#define INFER_SERVE_OPS_SERVED_H
#include <infer/job.h>
#include <infer/runner.h>
#include "infer-serve/ops/fair.h"
#include "infer-serve/ops/keys.h"
#include "infer-serve/ops/metrics.h"
#include "infer-serve/ops/options.h"

/* Sequences of a model that are computed at once. */
enum { SERVE_SEQS = 32 };

struct server;
struct api_request;

/* A sample that is computed, as /slots shows it. */
struct slot {
	const struct api_request *of; /* NULL: idle */
	int32_t index, decoded;
};

/* OUT: not loaded.  LEAVING: the thread that steps unloads it; nobody uses it. */
enum served_state { SERVED_OUT, SERVED_LOADING, SERVED_IN, SERVED_LEAVING };
struct served {
	struct server *server;
	/* of the command line, and over them those of the configuration; immutable */
	struct serve_opts o;
	char *name;              /* in answers; mem_free */
	struct opt_list aliases; /* in mem */
	const char *said;        /* in mem: its configuration as a text, which tells changes */
	struct arena mem;
	int at_start;     /* it is to be loaded before anybody asks for it */
	int64_t unload_s; /* unused for so long it leaves; 0: never */

	/* of the loader, then immutable until it leaves */
	const char *
		ref; /* the reference that o.model is the path of: hf:ORG/REPO; NULL: o.model is as it was given */
	infer_model *model;
	infer_engine *engine;
	infer_runner *runner;
	struct sampling sampling;
	struct chat chat;
	infer_job_reader *reader;
	/* of infer-run's requests: as it reads them itself, where the template is the model's alone */
	infer_job_reader *own_reader;
	int own_chat; /* there is one */

	/* under the server's lock */
	struct served *next;
	enum served_state state;
	int64_t refs;     /* requests whose model it is */
	int retired;      /* the configuration does not have it any more */
	struct keys keys; /* that may use it; n 0: those of the server */
	uint64_t bytes;   /* accounted for it: weights, cache and workspace */
	int64_t ended_ns; /* when it was used last */
	int64_t n_admitted, samples, n_tasks;
	int64_t service_ns; /* running mean: a request in the engine */
	struct slot slots[SERVE_SEQS];
	struct metrics metrics;
	struct metrics_engine engines; /* before this one; one that leaves is among them */
	struct fair_user *users;       /* one for each of the server's that used it */
	_Atomic int failed;            /* the model's file was changed */

	/* of the thread that steps */
	struct api_request *running; /* by next */
	struct fair fair;            /* requests that wait for the engine */
};

/* served.c.  A model that is not loaded; o: copied.  NULL: no memory */
struct served *served_new(struct server *s, const struct serve_opts *o);
void served_free(struct served *m); /* with its engine */
/* Make model, engine and readers.  room, unless NULL: is told the bytes that they will take.  On
 * failure all is as before.  Errors are those of the library. */
typedef int served_room_fn(struct served *m, uint64_t bytes, infer_error *err);
int served_open(struct served *m, served_room_fn *room, infer_error *err);
void served_close(struct served *m);

/* Under the lock: the one with this name or alias of n bytes; NULL: none. */
struct served *served_named(struct server *s, const char *name, size_t n);
/* the one of this file, with or without its folder, as infer-run names what it is given */
struct served *served_of_file(struct server *s, const char *path, size_t n);
/* Under no lock: the first that is loaded; the next one. */
struct served *served_first(struct server *s);
struct served *served_next(struct served *m);

/* loading.c. */
/* How a request names its model. */
struct model_query {
	const char *name;       /* NULL: not given */
	const struct buf *body; /* JSON whose member "model" names it, instead; NULL: none */
	int by_file;            /* the name of its file will do */
};
/* Find the model that r names, and have it loaded.  1: r->model is ready.  0: r was answered and is
 * done, or r->owner->run is called again when the model is loaded.  Under no lock. */
int served_find(struct api_request *r, const struct model_query *q);
void *loader_thread(void *server);
/* Have those leave that nobody has used for long.  Under no lock. */
void served_look(struct server *s);
/* Of the thread that steps: those that leave do so. */
void served_leave(struct server *s);
/* Load those that are wanted from the start.  Under no lock. */
int served_start(struct server *s, infer_error *err);
/* config.c.  The models of the configuration, in the place of those that are there; those that it
 * still has, in the same words, stay as they are.  Under no lock.
 * INFER_EFORMAT  with line and column; INFER_EUNSUP INFER_EIO INFER_ENOMEM, and errors of loading */
int served_configure(struct server *s, infer_error *err);
#endif
