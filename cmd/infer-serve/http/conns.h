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
	CONN_HEAD,  /* the head of a request arrives, or no request has begun yet */
	CONN_BODY,  /* the body of the request arrives */
	CONN_WHOLE, /* the request is complete */
	CONN_IDLE,  /* the request was answered, and no other has begun */
	CONN_ENDED, /* shut down by this module; libmicrohttpd closes it */
};
struct conn {
	/* list of all: connections whose client left, then the others, least recently active first */
	struct conn *prev, *next;
	/* list of the incomplete connections of `peer`, in the same order */
	struct conn *older, *newer;
	struct conn_peer *peer;       /* address of the client; NULL: no limit */
	struct http_request *request; /* its request; NULL: none. Guarded by the server's lock */
	struct strict_target target;
	enum conn_state state;
	int fd;
	int left; /* 1: the client closed the connection, or its sending side */
	/* 1: discard input for a while after closing, so that the client can read the answer */
	int linger;
	int64_t seen_ns;     /* time of the last activity */
	int64_t again_ns;    /* if the client left: when to call `left` again (conns_look) */
	int64_t pause_ns;    /* the last pause between two such calls */
	int64_t deadline_ns; /* when the connection is ended; 0: never */
};

enum { CONN_ADDRESS = 16, CONN_PEERS = 256, CONN_LINGER = 64 };
struct conns {
	/* while it is held, libmicrohttpd may take its locks, but we take no other */
	pthread_mutex_t lock;
	struct conn *oldest, *newest;
	struct conn_peer *peers[CONN_PEERS];
	int64_t n, most;       /* connections, and their limit */
	struct sip_key secret; /* for hashing addresses into `peers` */
	int poll;              /* epoll descriptor: readable when a client has left */
	uint8_t (*trusted)[CONN_ADDRESS];
	size_t n_trusted;
	struct {
		int fd; /* socket; -1: none */
		int64_t deadline_ns;
	} linger[CONN_LINGER];
};

/* Parse an IPv4 or IPv6 address; IPv4 becomes ::ffff:a.b.c.d. Returns 0 if the text is not an address. */
int conns_address(uint8_t to[CONN_ADDRESS], const char *text);
/* Open an empty set for `most` connections. trusted: texts that conns_address accepts.
 * INFER_EIO INFER_ENOMEM */
int conns_open(struct conns *c, int64_t most, const struct sip_key *secret,
               const struct opt_list *trusted, infer_error *err);
void conns_close(struct conns *c);

/* Add a connection from an address. Returns NULL if out of memory. */
struct conn *conns_add(struct conns *c, int fd, const struct sockaddr *from, int64_t now_ns,
                       int64_t deadline_ns);
/* Remove and free n, before its descriptor is closed. */
void conns_remove(struct conns *c, struct conn *n, int64_t now_ns);
/* Change the state; this counts as activity. */
void conns_set(struct conns *c, struct conn *n, enum conn_state state, int64_t now_ns,
               int64_t deadline_ns);
/* Record that bytes arrived, as activity. */
void conns_seen(struct conns *c, struct conn *n, int64_t now_ns);

/* Call `left` for each connection whose client has closed it, or its sending side: at once, and
 * repeatedly until the connection is removed, with pauses that double from 1 ms to 100 ms. Returns the
 * time of the next call; INT64_MAX: none needed. */
int64_t conns_look(struct conns *c, int64_t now_ns, void (*left)(struct conn *n));
/* End connections whose deadline has passed. If --max-connections is reached, also end some incomplete
 * connections that have been silent for a second. Discard input of lingering connections. */
void conns_check(struct conns *c, int64_t now_ns);
#endif
