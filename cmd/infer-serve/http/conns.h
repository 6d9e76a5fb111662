/* infer-serve/http/conns.h - the connections: who left, which are too slow, and how many places an address has.
 *
 * A connection is incomplete until the head, the key and the body of its request have arrived. Incomplete
 * connections of one address get at most a quarter of all places: the one that has been silent for
 * longest is closed for a new one.  Addresses that are trusted, and sockets in the file system, have no
 * such limit. */
#ifndef INFER_SERVE_HTTP_CONNS_H
#define INFER_SERVE_HTTP_CONNS_H
#include <pthread.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/sip.h"
#include "infer-serve/http/strict.h"

struct http_request;
struct sockaddr;
struct opt_list;
struct conn_peer;

enum conn_state {
	CONN_HEAD,  /* the head of a request arrives, or none has begun yet */
	CONN_BODY,  /* its body arrives */
	CONN_WHOLE, /* the request is complete */
	CONN_IDLE,  /* it was answered, and no other has begun */
	CONN_ENDED, /* shut down here: libmicrohttpd will close it */
};
struct conn {
	/* of all: those whose client left, then the others by their last activity, the oldest first */
	struct conn *prev, *next;
	struct conn *older, *newer;   /* incomplete ones of `peer`, in the same order */
	struct conn_peer *peer;       /* NULL: without a limit */
	struct http_request *request; /* under the server's lock: its request; NULL: none */
	struct strict_target target;
	enum conn_state state;
	int fd;
	int left;   /* its client closed it, or its sending side */
	int linger; /* when it is closed: read on for a while, so that its client sees the answer */
	int64_t seen_ns; /* the last activity */
	int64_t again_ns; /* if the client left: when it is reported again, and how long after that */
	int64_t pause_ns;
	int64_t deadline_ns; /* it is ended then; 0: never */
};

enum { CONN_ADDRESS = 16, CONN_PEERS = 256, CONN_LINGER = 64 };
struct conns {
	pthread_mutex_t lock; /* libmicrohttpd's locks are taken under it, none of ours */
	struct conn *oldest, *newest;
	struct conn_peer *peers[CONN_PEERS];
	int64_t n, most;       /* connections, and places */
	struct sip_key secret; /* of the table of peers */
	int poll;              /* an epoll set: readable when a client left */
	uint8_t (*trusted)[CONN_ADDRESS];
	size_t n_trusted;
	struct {
		int fd; /* -1: none */
		int64_t deadline_ns;
	} linger[CONN_LINGER];
};

/* Parse an address of IPv4 or IPv6; one of IPv4 becomes ::ffff:a.b.c.d.  Returns 0 if it is none. */
int conns_address(uint8_t to[CONN_ADDRESS], const char *text);
/* Open an empty set of `most` places; trusted: texts that conns_address accepts.
 * INFER_EIO INFER_ENOMEM */
int conns_open(struct conns *c, int64_t most, const struct sip_key *secret,
               const struct opt_list *trusted, infer_error *err);
void conns_close(struct conns *c);

/* Add a connection from an address.  Returns NULL without memory. */
struct conn *conns_add(struct conns *c, int fd, const struct sockaddr *from, int64_t now_ns,
                       int64_t deadline_ns);
/* Remove and free n, before its descriptor is closed. */
void conns_remove(struct conns *c, struct conn *n, int64_t now_ns);
/* Change the state, which is an activity. */
void conns_set(struct conns *c, struct conn *n, enum conn_state state, int64_t now_ns,
               int64_t deadline_ns);
/* Bytes arrived. */
void conns_seen(struct conns *c, struct conn *n, int64_t now_ns);

/* Call `left` for each connection whose client has closed it, or its sending side: at once, and until the
 * connection is removed again and again, with pauses that double from 1 ms to 100 ms.  Returns the time of
 * the next call that is needed; INT64_MAX: none is. */
int64_t conns_look(struct conns *c, int64_t now_ns, void (*left)(struct conn *n));
/* End connections that are past their deadline.  If all places are taken, also end some that have been
 * silent for a second without a complete request.  Read what arrives at connections that linger. */
void conns_check(struct conns *c, int64_t now_ns);
#endif
