/* infer-serve/ops/kept.h - responses of /v1/responses that are kept in --files-dir, so that later requests
 * can read them and continue from them.
 *
 * A response belongs to the group of the API key that it was made with; other groups cannot find it. It
 * is stored before its end is delivered. Each group has at most KEPT_MOST; the oldest is removed for a
 * new one. */
#ifndef INFER_SERVE_OPS_KEPT_H
#define INFER_SERVE_OPS_KEPT_H
#include <infer/status.h>
#include "base/buf.h"
#include "infer-serve/ops/store.h"

enum { KEPT_MOST = 1000 };

struct api_request;
struct kept_entry;
struct server;

/* The names of the files. */
struct kept_index {
	struct kept_entry *at; /* oldest first */
	size_t n, room;
};

/* A response that is being made, owned by its request. */
struct kept {
	int stores;        /* 1: it is stored; 0: only `previous` is used */
	int is_ready;      /* 1: the response is whole, and can be stored and delivered */
	char *previous;    /* id of the response that it continues; NULL: none. mem_free */
	struct buf before; /* JSON array: items of earlier responses */
	struct buf input;  /* JSON array: items of this request */
	struct buf answer; /* the whole response, JSON */
	struct buf events; /* the last events of its stream */
};
struct kept *kept_new(void); /* NULL: no memory */
void kept_free(struct kept *k);

/* List the responses in the directory.  INFER_ENOMEM */
int kept_open(struct server *s, infer_error *err);
void kept_close(struct server *s);

/* Append the record of a response: {owner, before, input, response}.
 * INFER_EINVAL  this group has no response with this id; INFER_EIO INFER_ENOMEM */
int kept_read(const struct server *s, const char *id, const char *group, struct buf *to,
              infer_error *err);
/* Remove a response.  INFER_EINVAL  this group has none with this id; INFER_EIO */
int kept_remove(struct server *s, const char *id, const char *group, infer_error *err);

/* Store the response of r (r->gen.kept), deliver it or an error, and end r. Caller holds no lock. */
void kept_deliver(struct api_request *r);
#endif
