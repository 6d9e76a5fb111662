/* infer-serve/http/conns.h - the connections: clients that left, slow ones, and the limit for each
 * address.
 *
 * A connection is incomplete until the head, the key and the body of its request have arrived.  One
 * address can have at most a quarter of --max-connections as incomplete connections: a new one
 * replaces the one that has been silent for longest.  Trusted addresses and sockets in the file
 * system have no such limit. */
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
	CONN_HEAD,  /* the head of a request arrives, or the first one has not begun */
	CONN_BODY,  /* its body arrives */
	CONN_WHOLE, /* the request is complete */
	CONN_IDLE,  /* the request was answered, and no other has begun */
	CONN_ENDED, /* shut down here: libmicrohttpd will close it */
};
struct conn {
	/* list of all: those whose client left, then the others, least recently active first */
	struct conn *prev, *next;
	struct conn *older, *newer;   /* list of the incomplete ones of `peer`, in the same order */
	struct conn_peer *peer;       /* NULL: no limit */
	struct http_request *request; /* under the server's lock: its request; NULL: none */
	struct strict_target target;
	enum conn_state state;
	int fd;
	int left;   /* the client closed it, or its sending side */
	int linger; /* after closing, read on for a while, so that the client sees the answer */
	int64_t seen_ns;  /* the last activity */
	int64_t again_ns; /* if the client left: when to report it again; then the pause */
	int64_t pause_ns;
	int64_t deadline_ns; /* when it is ended; 0: never */
};

enum { CONN_ADDRESS = 16, CONN_PEERS = 256, CONN_LINGER = 64 };
struct conns {
	pthread_mutex_t lock; /* locks of libmicrohttpd are taken while it is held, none of ours */
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

/* Parse an address of IPv4 or IPv6; one of IPv4 becomes ::ffff:a.b.c.d.  Returns 0 if it is
 * none. */
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
/* Record that bytes arrived. */
void conns_seen(struct conns *c, struct conn *n, int64_t now_ns);

/* Call `left` for each connection whose client has closed it, or its sending side: at once, and
 * repeatedly until the connection is removed, with pauses that double from 1 ms to 100 ms.  Returns
 * when to call this again; INT64_MAX: not needed. */
int64_t conns_look(struct conns *c, int64_t now_ns, void (*left)(struct conn *n));
/* End connections whose deadline has passed; at --max-connections, also some incomplete ones
 * that have been silent for a second.  Read what arrives on lingering connections. */
void conns_check(struct conns *c, int64_t now_ns);
#endif
