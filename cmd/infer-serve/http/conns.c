/* infer-serve/http/conns.c - the connections: clients that left, slow ones, and the limit for each
 * address. */
#include "infer-serve/http/conns.h"
#include "common/opt.h"
#include "base/err.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* SHARE: incomplete connections of an address are at most 1 / SHARE of all. EVENTS: epoll events read per
 * call. YIELD: if the set is full, at most 1 / YIELD of its connections are ended per call. DISCARD:
 * bytes per read of discarded input, at most DISCARDS reads. */
enum { SHARE = 4, EVENTS = 64, YIELD = 32, DISCARD = 64 << 10, DISCARDS = 256 };
#define SILENT_NS INT64_C(1000000000)
#define LINGER_NS INT64_C(2000000000)
#define PAUSE_NS INT64_C(1000000)
#define PAUSE_MOST_NS INT64_C(100000000)

struct conn_peer {
	struct conn_peer *next;
	uint8_t address[CONN_ADDRESS];
	int64_t n, incomplete; /* numbers of connections of this address */
	struct conn *oldest, *newest;
};

/* ---- addresses ---- */

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

int conns_address(uint8_t to[CONN_ADDRESS], const char *text)
{
	memcpy(to, mapped, sizeof mapped);
	return inet_pton(AF_INET, text, to + sizeof mapped) == 1 ||
	       inet_pton(AF_INET6, text, to) == 1;
}

/* Copy the address of a client. Returns 0 if it has none (a Unix socket). */
static int read_address(uint8_t to[CONN_ADDRESS], const struct sockaddr *from)
{
	const void *any = from;

	memcpy(to, mapped, sizeof mapped);
	if (from && from->sa_family == AF_INET) {
		memcpy(to + sizeof mapped, &((const struct sockaddr_in *)any)->sin_addr, 4);
		return 1;
	}
	if (!from || from->sa_family != AF_INET6)
		return 0;
	memcpy(to, &((const struct sockaddr_in6 *)any)->sin6_addr, CONN_ADDRESS);
	return 1;
}

static int is_trusted(const struct conns *c, const uint8_t address[CONN_ADDRESS])
{
	for (size_t i = 0; i < c->n_trusted; i++)
		if (!memcmp(c->trusted[i], address, CONN_ADDRESS))
			return 1;
	return 0;
}

static struct conn_peer **peer_slot(struct conns *c, const uint8_t address[CONN_ADDRESS])
{
	struct conn_peer **p = &c->peers[sip_hash(&c->secret, address, CONN_ADDRESS) % CONN_PEERS];

	while (*p && memcmp((*p)->address, address, CONN_ADDRESS))
		p = &(*p)->next;
	return p;
}

/* Find or add the peer of an address; NULL: no memory. IPv6 addresses are compared by their first 64
 * bits, because a client may choose the others. */
static struct conn_peer *peer_of(struct conns *c, uint8_t address[CONN_ADDRESS])
{
	struct conn_peer **slot, *p;

	if (memcmp(address, mapped, sizeof mapped))
		memset(address + 8, 0, 8);
	slot = peer_slot(c, address);
	if (*slot)
		return *slot;
	p = mem_zalloc(MEM_BASE, 1, sizeof *p);
	if (!p)
		return NULL;
	memcpy(p->address, address, CONN_ADDRESS);
	return *slot = p;
}

static void leave_peer(struct conns *c, struct conn_peer *p)
{
	if (!p || --p->n)
		return;
	*peer_slot(c, p->address) = p->next;
	mem_free(p);
}

/* ---- order ---- */

static void unlink_all(struct conns *c, struct conn *n)
{
	*(n->prev ? &n->prev->next : &c->oldest) = n->next;
	*(n->next ? &n->next->prev : &c->newest) = n->prev;
}

static void link_all(struct conns *c, struct conn *n)
{
	if (n->left) {
		n->prev = NULL;
		n->next = c->oldest;
		*(n->next ? &n->next->prev : &c->newest) = n;
		c->oldest = n;
		return;
	}
	n->prev = c->newest;
	n->next = NULL;
	*(n->prev ? &n->prev->next : &c->oldest) = n;
	c->newest = n;
}

static int is_incomplete(const struct conn *n)
{
	return n->peer && (n->state == CONN_HEAD || n->state == CONN_BODY);
}

static void unlink_peer(struct conn *n)
{
	struct conn_peer *p = n->peer;

	if (!is_incomplete(n))
		return;
	*(n->older ? &n->older->newer : &p->oldest) = n->newer;
	*(n->newer ? &n->newer->older : &p->newest) = n->older;
	p->incomplete--;
}

static void link_peer(struct conn *n)
{
	struct conn_peer *p = n->peer;

	if (!is_incomplete(n))
		return;
	p->incomplete++;
	if (n->left) {
		n->older = NULL;
		n->newer = p->oldest;
		*(n->newer ? &n->newer->older : &p->newest) = n;
		p->oldest = n;
		return;
	}
	n->older = p->newest;
	n->newer = NULL;
	*(n->older ? &n->older->newer : &p->oldest) = n;
	p->newest = n;
}

/* Change the state and move n to the end of its lists.  Caller holds c->lock. */
static void move_conn(struct conns *c, struct conn *n, enum conn_state state, int64_t now)
{
	unlink_all(c, n);
	unlink_peer(n);
	n->state = state;
	n->seen_ns = now;
	link_peer(n);
	link_all(c, n);
}

/* Shut down a connection.  Caller holds c->lock. */
static void end_conn(struct conns *c, struct conn *n)
{
	n->deadline_ns = 0;
	move_conn(c, n, CONN_ENDED, n->seen_ns);
	shutdown(n->fd, SHUT_RDWR);
}

/* ---- the set ---- */

int conns_open(struct conns *c, int64_t most, const struct sip_key *secret,
               const struct opt_list *trusted, infer_error *err)
{
	*c = (struct conns){ .most = most, .secret = *secret };
	pthread_mutex_init(&c->lock, NULL);
	for (int i = 0; i < CONN_LINGER; i++)
		c->linger[i].fd = -1;
	c->poll = epoll_create1(EPOLL_CLOEXEC);
	if (c->poll < 0)
		return err_set(err, INFER_EIO, "no epoll set for connections: %s", strerror(errno));
	if (!trusted->n)
		return INFER_OK;
	c->trusted = mem_zalloc(MEM_BASE, (size_t)trusted->n, sizeof *c->trusted);
	if (!c->trusted)
		return err_set(err, INFER_ENOMEM, "out of memory for %d addresses", trusted->n);
	for (int i = 0; i < trusted->n; i++)
		c->n_trusted += (size_t)conns_address(c->trusted[c->n_trusted], trusted->at[i]);
	return INFER_OK;
}

void conns_close(struct conns *c)
{
	for (int i = 0; i < CONN_LINGER; i++)
		if (c->linger[i].fd >= 0)
			close(c->linger[i].fd);
	if (c->poll >= 0)
		close(c->poll);
	mem_free(c->trusted);
	pthread_mutex_destroy(&c->lock);
}

struct conn *conns_add(struct conns *c, int fd, const struct sockaddr *from, int64_t now,
                       int64_t deadline)
{
	struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET };
	struct conn *n = mem_zalloc(MEM_BASE, 1, sizeof *n);
	uint8_t address[CONN_ADDRESS];

	if (!n)
		return NULL;
	n->fd = fd;
	n->seen_ns = now;
	n->deadline_ns = deadline;
	event.data.ptr = n;
	pthread_mutex_lock(&c->lock);
	if (read_address(address, from) && !is_trusted(c, address)) {
		n->peer = peer_of(c, address);
		if (!n->peer) {
			pthread_mutex_unlock(&c->lock);
			mem_free(n);
			return NULL;
		}
		n->peer->n++;
	}
	/* if this fails, only deadlines end the connection */
	(void)epoll_ctl(c->poll, EPOLL_CTL_ADD, fd, &event);
	c->n++;
	link_all(c, n);
	link_peer(n);
	if (n->peer && n->peer->incomplete > 1 && n->peer->incomplete > c->most / SHARE)
		end_conn(c, n->peer->oldest);
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* Keep the socket open after n->fd is closed.  Otherwise the system would answer later bytes of the
 * client with a reset, and the client might lose an unread answer.  Caller holds c->lock. */
static void keep_open(struct conns *c, const struct conn *n, int64_t now)
{
	int at = 0, fd = fcntl(n->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return;
	for (int i = 0; i < CONN_LINGER && c->linger[at].fd >= 0; i++)
		if (c->linger[i].fd < 0 || c->linger[i].deadline_ns < c->linger[at].deadline_ns)
			at = i;
	if (c->linger[at].fd >= 0)
		close(c->linger[at].fd);
	c->linger[at].fd = fd;
	c->linger[at].deadline_ns = now + LINGER_NS;
}

void conns_remove(struct conns *c, struct conn *n, int64_t now)
{
	pthread_mutex_lock(&c->lock);
	(void)epoll_ctl(c->poll, EPOLL_CTL_DEL, n->fd, NULL);
	unlink_all(c, n);
	unlink_peer(n);
	c->n--;
	if (n->linger && !n->left)
		keep_open(c, n, now);
	leave_peer(c, n->peer);
	pthread_mutex_unlock(&c->lock);
	mem_free(n);
}

void conns_set(struct conns *c, struct conn *n, enum conn_state state, int64_t now,
               int64_t deadline)
{
	pthread_mutex_lock(&c->lock);
	if (n->state != CONN_ENDED) {
		n->deadline_ns = deadline;
		move_conn(c, n, state, now);
	}
	pthread_mutex_unlock(&c->lock);
}

void conns_seen(struct conns *c, struct conn *n, int64_t now)
{
	pthread_mutex_lock(&c->lock);
	move_conn(c, n, n->state, now);
	pthread_mutex_unlock(&c->lock);
}

/* ---- from other threads ---- */

/* Mark connections whose clients left since the last call.  Caller holds c->lock. */
static void find_left(struct conns *c)
{
	struct epoll_event events[EVENTS];
	int n;

	do {
		n = epoll_wait(c->poll, events, EVENTS, 0);
		for (int i = 0; i < n; i++) {
			struct conn *of = events[i].data.ptr;

			/* otherwise epoll would report the connection again and again */
			(void)epoll_ctl(c->poll, EPOLL_CTL_DEL, of->fd, NULL);
			unlink_all(c, of);
			unlink_peer(of);
			of->left = 1;
			link_peer(of);
			link_all(c, of);
		}
	} while (n == EVENTS);
}

int64_t conns_look(struct conns *c, int64_t now, void (*left)(struct conn *n))
{
	int64_t next = INT64_MAX;

	pthread_mutex_lock(&c->lock);
	find_left(c);
	for (struct conn *n = c->oldest; n && n->left; n = n->next) {
		if (now >= n->again_ns) {
			n->pause_ns = n->pause_ns ? 2 * n->pause_ns : PAUSE_NS;
			if (n->pause_ns > PAUSE_MOST_NS)
				n->pause_ns = PAUSE_MOST_NS;
			n->again_ns = now + n->pause_ns;
			left(n);
		}
		if (n->again_ns < next)
			next = n->again_ns;
	}
	pthread_mutex_unlock(&c->lock);
	return next;
}

/* Read and discard what arrived.  Returns 0 at the end of the stream. */
static int discard_input(int fd)
{
	static const int how = MSG_DONTWAIT | MSG_TRUNC;
	char none[DISCARD];
	ssize_t n = 1;

	for (int i = 0; i < DISCARDS && n > 0; i++)
		n = recv(fd, none, sizeof none, how);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

/* Discard input of lingering sockets and close those that are done.  Caller holds c->lock. */
static void check_lingering(struct conns *c, int64_t now)
{
	for (int i = 0; i < CONN_LINGER; i++) {
		int fd = c->linger[i].fd;

		if (fd < 0 || (discard_input(fd) && now < c->linger[i].deadline_ns))
			continue;
		close(fd);
		c->linger[i].fd = -1;
	}
}

void conns_check(struct conns *c, int64_t now)
{
	int64_t spare = 0;

	pthread_mutex_lock(&c->lock);
	if (c->n >= c->most)
		spare = c->most / YIELD + 1;
	for (struct conn *n = c->oldest, *next; n; n = next) {
		int yields = spare && is_incomplete(n);

		next = n->next;
		yields |= spare && n->peer && n->state == CONN_IDLE;
		yields = yields && now - n->seen_ns > SILENT_NS;
		spare -= yields;
		if (yields || (n->deadline_ns && now > n->deadline_ns))
			end_conn(c, n);
	}
	check_lingering(c, now);
	pthread_mutex_unlock(&c->lock);
}
