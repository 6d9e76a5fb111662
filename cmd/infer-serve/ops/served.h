/* infer-serve/ops/served.h - the models of a server: names, configuration and, while a model is loaded,
 * its engine.
 *
 * Without --config there is one model: it matches every name and stays loaded. With --config the first
 * request that names a model loads it, on a thread of its own (loading.c). Idle models are unloaded after
 * a while, or when another model needs the memory, by the thread that steps engines.
 *
 * One thread steps all engines in turn. Each step has all cores, so that models in use share the machine
 * evenly, and no state of an engine needs a lock. */
#ifndef INFER_SERVE_OPS_SERVED_H
#define INFER_SERVE_OPS_SERVED_H
#include <infer/job.h>
#include <infer/runner.h>
#include "infer-serve/ops/fair.h"
#include "infer-serve/ops/keys.h"
#include "infer-serve/ops/metrics.h"
#include "infer-serve/ops/options.h"

struct server;
struct api_request;
struct named_lora;

/* One sequence of a model, as /slots shows it. */
struct slot {
	const struct api_request *of; /* request that uses the slot; NULL: idle */
	int32_t index, decoded;       /* index of the sample in the request; tokens generated */
};

enum served_state {
	SERVED_UNLOADED,
	SERVED_LOADING,
	SERVED_LOADED,
	SERVED_UNLOADING, /* idle; the thread that steps engines unloads it next */
};
struct served {
	struct server *server;
	/* options of the command line, overridden by those of the configuration; immutable */
	struct serve_opts o;
	char *name;   /* name in answers; freed with mem_free */
	char *called; /* that in the model file, also accepted, if `name` is made of it */
	struct opt_list aliases; /* allocated in mem */
	/* the configuration as text, compared to detect changes; allocated in mem */
	const char *config_text;
	struct arena mem;
	int loads_at_start; /* 1: the configuration has "load: start" */
	int64_t unload_s;   /* seconds without a request until it is unloaded; 0: never */

	/* set by the loader, then immutable until it is unloaded */
	const char *ref; /* hf:ORG/REPO if o.model was that before it became a path; else NULL */
	infer_model *model;
	infer_engine *engine;
	infer_runner *runner;
	struct sampling sampling;
	struct chat chat;
	infer_job_reader *reader;
	/* reads requests of infer-run, with its defaults and only the model's own chat template */
	infer_job_reader *own_reader;
	int has_own_chat;         /* 1: the model has a chat template */
	infer_adapters *adapters; /* Shared; requests choose from these */
	int32_t max_lora_rank;    /* of an adapter that a client loads; 0: none can be */
	int32_t lora_rank;        /* largest sum of ranks that the engine computes */

	/* the members below are guarded by the server's lock */
	struct served *next;
	enum served_state state;
	int64_t refs;             /* requests that use this model */
	int retired;              /* 1: not in the configuration any more */
	struct named_lora *loras; /* adapters with names, opened whenever the model is (lora.h) */
	struct keys keys;         /* API keys that may use the model; n 0: those of the server */
	uint64_t bytes;           /* weights, cache and workspace; 0: not loaded */
	int64_t ended_ns;         /* when the latest request ended */
	int64_t n_admitted;       /* requests that count against max-queue */
	int64_t samples;          /* samples in the engine after its latest step */
	int64_t n_tasks;          /* number of requests in the engine */
	int64_t service_ns;       /* running mean of the time that a request spends in the engine */
	struct slot *slots;       /* [o.parallel], in mem; NULL until it is loaded */
	struct metrics metrics;
	struct metrics_engine engines; /* sums of the counters of its earlier engines */
	struct fair_user *users;       /* one for each user of the server that used this model */
	_Atomic int failed;            /* 1: the model's file was changed */

	/* used only by the thread that steps engines */
	struct api_request *running; /* running requests, linked by next */
	struct fair fair;            /* requests that wait for the engine */
};

/* served.c */
/* Create a model that is not loaded; *o is copied.  NULL: no memory */
struct served *served_new(struct server *s, const struct serve_opts *o);
void served_free(struct served *m); /* frees the engine, too */
/* Open the model, its engine and its readers. room: if not NULL, called with the bytes needed before the
 * engine is opened; its error is returned. On failure m stays unloaded. Errors of the library. */
typedef int served_room_fn(struct served *m, uint64_t bytes, infer_error *err);
int served_open(struct served *m, served_room_fn *room, infer_error *err);
/* Close the engine and the model. */
void served_close(struct served *m);

/* Return the model with this name or alias of n bytes, or with an adapter of this name; NULL: none. Caller holds the lock. */
int served_is_called(const struct served *m, const char *name, size_t n); /* not by an adapter */
struct served *served_by_name(struct server *s, const char *name, size_t n);
/* Return the model whose file has this name, with or without folder, or this hub reference; NULL: none.
 * Caller holds the lock. */
struct served *served_by_file(struct server *s, const char *path, size_t n);
/* Return the first loaded model, or the one after m; NULL: none. Caller holds no lock. */
struct served *served_first(struct server *s);
struct served *served_next(struct served *m);

/* loading.c */
/* How a request names its model. */
struct model_query {
	const char *name;       /* NULL: not given */
	const struct buf *body; /* JSON whose member "model" names it, instead; NULL: none */
	int by_file;            /* 1: the name of the model's file is accepted, too */
};
/* Find the model that r names, and load it if needed. Returns 1 if r->model is ready. Returns 0 if r was
 * answered and is done, or if r->owner->run will be called again after the model was loaded. Caller holds
 * no lock. */
int served_find(struct api_request *r, const struct model_query *q);
/* Load models for requests until the server stops.  Returns NULL. */
void *loader_thread(void *server);
/* Call r->continues on the loader's thread; while the server shuts down, refuse r instead. */
void loader_put(struct api_request *r);
/* Start to unload models that were idle for too long, were removed from the configuration, or whose file
 * was changed. Caller holds no lock. */
void served_unload_idle(struct server *s);
/* Unload the models that are SERVED_UNLOADING. Called by the thread that steps engines, while holding no
 * lock. */
void served_unload(struct server *s);
/* Load the models with "load: start". Caller holds no lock.
 * Errors of served_open. */
int served_start(struct server *s, infer_error *err);
/* config.c */
/* Read --config and replace the models by those of the file. Models whose configuration has not changed
 * stay loaded. On failure nothing changes. Caller holds no lock.
 * INFER_EFORMAT  with line and column; INFER_EUNSUP INFER_EIO INFER_ENOMEM, and errors of
 * loading */
int served_configure(struct server *s, infer_error *err);
#endif
