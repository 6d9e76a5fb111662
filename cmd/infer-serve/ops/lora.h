/* infer-serve/ops/lora.h - the adapters of a model: those of --lora, of the configuration, and those that
 * clients load and unload. */
#ifndef INFER_SERVE_OPS_LORA_H
#define INFER_SERVE_OPS_LORA_H
#include "infer-serve/ops/served.h"

/* An adapter that requests choose by its name. It is opened with its model, as often as that is loaded. */
struct named_lora {
	struct named_lora *next;
	char *name, *path; /* allocated */
	float scale;
	int is_clients; /* 1: a client loaded it; 0: of the configuration */
};

/* Append a copy of *l to m->loras; it is not opened. The name must be free. Caller holds the lock, or is the
 * only user of m. INFER_ENOMEM */
int named_lora_add(struct served *m, const struct named_lora *l, infer_error *err);
/* Remove an adapter from m->loras. Returns 0 if there is none. Caller holds the lock. */
int named_lora_remove(struct served *m, const char *name);
void named_lora_free_all(struct served *m);
/* True if m has an adapter with this name of n bytes. Caller holds the lock. */
int served_has_lora(const struct served *m, const char *name, size_t n);

/* One adapter of a list. lora: NULL if its model is not loaded */
typedef void lora_visit(void *user, const char *name, const char *path, const infer_lora *lora);
/* Visit the adapters of m in the order of ids. Caller holds the lock, or keeps m loaded. INFER_ENOMEM */
int served_each_lora(const struct served *m, lora_visit *visit, void *user);

/* Open the adapters of a model that is being loaded, and set m->adapters. *rank: for the engine; *bytes:
 * their memory. Errors: those of infer_lora_open and infer_adapters_add. */
int served_open_loras(struct served *m, int32_t *rank, uint64_t *bytes, infer_error *err);
void served_close_loras(struct served *m);

/* Give m the adapters of the configuration that fresh has, and open and close them if m is loaded. If
 * one cannot be opened, warn and leave it out. Caller holds no lock. */
void served_update_loras(struct served *m, const struct served *fresh);

/* The adapter that a client asks to load. */
struct lora_ask {
	const char *name, *path; /* path: in --lora-dir, relative to it or whole */
	int replaces;            /* 1: an adapter of this name is replaced */
};
/* Load an adapter into m, which is loaded and stays so; requests go on meanwhile. Called by the loader's
 * thread.
 * INFER_EINVAL  the name is used; the path is not in --lora-dir; the rank is too large
 * INFER_ENOMEM  also: models and adapters in use leave too little memory; errors of infer_lora_open */
int served_load_lora(struct served *m, const struct lora_ask *ask, infer_error *err);
/* Unload an adapter; requests that use it go on. INFER_EINVAL  there is none */
int served_unload_lora(struct served *m, const char *name, infer_error *err);
#endif
