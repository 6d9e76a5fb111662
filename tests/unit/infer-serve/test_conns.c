/* tests/unit/infer-serve/test_conns.c - limits of addresses, clients that leave, targets and
 * hosts */
#include "../nth.h"
#include "infer-serve/http/conns.h"
#include "infer-serve/http/head.h"
#include "common/opt.h"
#include <infer/job.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 16, QUARTER = MOST / 4 };
#define SECOND INT64_C(1000000000)

/* both ends of each connection: the server's, the client's */
struct pairs {
	int fds[MOST][2];
	int n;
};

static void close_pairs(struct pairs *p)
{
	for (int i = 0; i < p->n; i++)
		for (int k = 0; k < 2; k++)
			if (p->fds[i][k] >= 0)
				close(p->fds[i][k]);
}

/* Add a connection from this address; NULL: from a socket in the file system. */
static struct conn *add(struct conns *c, struct pairs *p, const char *from, int64_t now)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr local = { .sa_family = AF_UNIX };
	const void *a = &local;

	if (from && inet_pton(AF_INET, from, &four.sin_addr) == 1)
		a = &four;
	else if (from && inet_pton(AF_INET6, from, &six.sin6_addr) == 1)
		a = &six;
	assert_true(p->n < MOST);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p->fds[p->n]), 0);
	return conns_add(c, p->fds[p->n++][0], a, now, now + 10 * SECOND);
}

/* True if the server ended the connection i. */
static int is_ended(const struct pairs *p, int i)
{
	char byte;

	return recv(p->fds[i][1], &byte, 1, MSG_DONTWAIT) == 0;
}

static void open_set(struct conns *c, const struct opt_list *trusted)
{
	static const struct opt_list none = { NULL, 0 };
	static const struct sip_key secret = { 1, 2 };

	assert_int_equal(conns_open(c, MOST, &secret, trusted ? trusted : &none, NULL), INFER_OK);
}

static int case_quarter(void)
{
	struct pairs p = { .n = 0 };
	struct conn *n[MOST] = { NULL };
	struct conns c;
	int rc;

	open_set(&c, NULL);
	for (int i = 0; i < QUARTER; i++)
		nth_need((n[i] = add(&c, &p, "10.0.0.1", i)) != NULL);
	for (int i = 0; i < QUARTER; i++)
		assert_false(is_ended(&p, i));
	/* bytes of a body make the first one the newest, so a new one replaces the second */
	conns_set(&c, n[0], CONN_BODY, 100, 0);
	conns_seen(&c, n[0], 101);
	nth_need((n[4] = add(&c, &p, "10.0.0.1", 102)) != NULL);
	assert_false(is_ended(&p, 0));
	assert_true(is_ended(&p, 1));
	/* a complete request does not count, and neither does an answered one */
	conns_set(&c, n[2], CONN_WHOLE, 103, 0);
	conns_set(&c, n[3], CONN_IDLE, 103, 0);
	nth_need((n[5] = add(&c, &p, "10.0.0.1", 104)) != NULL);
	nth_need((n[6] = add(&c, &p, "10.0.0.1", 105)) != NULL);
	for (int i = 2; i < 7; i++)
		assert_false(is_ended(&p, i));
	/* nor do other addresses, and sockets in the file system have no limit */
	nth_need((n[7] = add(&c, &p, "10.0.0.2", 106)) != NULL);
	for (int i = 8; i < 8 + QUARTER + 2; i++)
		nth_need((n[i] = add(&c, &p, NULL, 106)) != NULL);
	for (int i = 2; i < p.n; i++)
		assert_false(is_ended(&p, i));
	rc = INFER_OK;
out:
	for (int i = 0; i < p.n; i++)
		if (n[i])
			conns_remove(&c, n[i], 200);
	conns_close(&c);
	close_pairs(&p);
	return rc;
}

static void test_trusted(void **state)
{
	static const char *texts[] = { "10.0.0.1", "2001:db8::1" };
	const struct opt_list trusted = { texts, 2 };
	struct pairs p = { .n = 0 };
	struct conn *n[MOST];
	uint8_t address[CONN_ADDRESS];
	struct conns c;

	(void)state;
	assert_false(conns_address(address, "localhost"));
	assert_false(conns_address(address, "10.0.0.1/8"));
	assert_false(conns_address(address, ""));
	open_set(&c, &trusted);
	/* the same address, as an IPv6 socket reports it */
	for (int i = 0; i < 6; i++)
		n[i] = add(&c, &p, i & 1 ? "10.0.0.1" : "::ffff:10.0.0.1", i);
	for (int i = 6; i < 8; i++)
		n[i] = add(&c, &p, "2001:db8::1", i);
	/* the owner of an IPv6 network may choose the last 64 bits */
	for (int i = 8; i < 13; i++)
		n[i] = add(&c, &p, i & 1 ? "2001:db8::2" : "2001:db8::3", i);
	for (int i = 0; i < p.n; i++)
		assert_int_equal(is_ended(&p, i), i == 8);
	for (int i = 0; i < p.n; i++)
		conns_remove(&c, n[i], 100);
	conns_close(&c);
	close_pairs(&p);
}

/* Below the limit nothing is ended.  At the limit connections that were silent for a second are
 * ended, except those with a complete request or without a limit. */
static void test_full(void **state)
{
	struct pairs p = { .n = 0 };
	struct conn *n[MOST];
	char from[32];
	struct conns c;

	(void)state;
	open_set(&c, NULL);
	for (int i = 0; i < MOST - 1; i++) {
		snprintf(from, sizeof from, "10.0.1.%d", i);
		n[i] = add(&c, &p, i ? from : NULL, i);
	}
	conns_set(&c, n[1], CONN_WHOLE, 1, 0);
	conns_check(&c, 2 * SECOND);
	for (int i = 0; i < p.n; i++)
		assert_false(is_ended(&p, i));
	n[MOST - 1] = add(&c, &p, "10.0.2.1", 2 * SECOND);
	conns_set(&c, n[2], CONN_IDLE, 2 * SECOND, 0);
	conns_check(&c, 2 * SECOND);
	/* one at a time: 1 + 16 / 32 */
	for (int i = 0; i < p.n; i++)
		assert_int_equal(is_ended(&p, i), i == 3);
	conns_check(&c, 4 * SECOND);
	assert_true(is_ended(&p, 4));
	/* and deadlines: those that have one */
	conns_check(&c, 11 * SECOND);
	for (int i = 0; i < p.n; i++)
		assert_int_equal(is_ended(&p, i), i != 1 && i != 2 && i != MOST - 1);
	for (int i = 0; i < p.n; i++)
		conns_remove(&c, n[i], 12 * SECOND);
	conns_close(&c);
	close_pairs(&p);
}

static struct conn *reported[8];
static int n_reported;

static void report(struct conn *n) { reported[n_reported++] = n; }

static void test_left(void **state)
{
	struct pairs p = { .n = 0 };
	struct conn *n[4];
	struct conns c;
	int64_t next;

	(void)state;
	open_set(&c, NULL);
	for (int i = 0; i < 4; i++)
		n[i] = add(&c, &p, "10.0.0.1", i);
	n_reported = 0;
	assert_true(conns_look(&c, 10, report) == INT64_MAX);
	/* bytes are not the end of a connection, but the end of one direction is */
	assert_int_equal(send(p.fds[0][1], "x", 1, 0), 1);
	assert_int_equal(send(p.fds[1][1], "x", 1, 0), 1);
	shutdown(p.fds[1][1], SHUT_WR);
	close(p.fds[2][1]);
	p.fds[2][1] = -1;
	next = conns_look(&c, 10, report);
	assert_int_equal(n_reported, 2);
	assert_true(n[1]->left && n[2]->left && !n[0]->left && !n[3]->left);
	/* again, with growing pauses */
	assert_true(next > 10 && next < SECOND);
	n_reported = 0;
	assert_true(conns_look(&c, next - 1, report) == next);
	assert_int_equal(n_reported, 0);
	assert_true(conns_look(&c, next, report) - next > next - 10);
	assert_int_equal(n_reported, 2);
	for (int i = 0; i < 20; i++) {
		int64_t after = conns_look(&c, next, report);

		assert_true(after - next <= SECOND / 10);
		next = after;
		n_reported = 0;
	}
	/* they are ended first for a new connection, however recent they are */
	conns_set(&c, n[2], CONN_BODY, 50 * SECOND, 0);
	conns_remove(&c, n[1], 100);
	n[1] = add(&c, &p, "10.0.0.1", 60 * SECOND);
	assert_false(is_ended(&p, 0));
	n_reported = 0;
	struct conn *one_more = add(&c, &p, "10.0.0.1", 60 * SECOND);

	assert_int_equal(n[2]->state, CONN_ENDED);
	for (int i = 0; i < 4; i++)
		conns_remove(&c, n[i], 100);
	conns_remove(&c, one_more, 100);
	assert_true(conns_look(&c, 61 * SECOND, report) == INT64_MAX);
	conns_close(&c);
	close_pairs(&p);
}

/* A lingering connection is read until the client closes it or its deadline passes; one that its
 * client left does not linger. */
static void test_linger(void **state)
{
	struct pairs p = { .n = 0 };
	struct conns c;

	(void)state;
	open_set(&c, NULL);
	for (int i = 0; i < 3; i++) {
		struct conn *n = add(&c, &p, "10.0.0.1", i);

		n->linger = 1;
		n->left = i == 2;
		conns_remove(&c, n, 0);
		close(p.fds[i][0]);
		p.fds[i][0] = -1;
	}
	assert_true(is_ended(&p, 2));
	assert_int_equal(send(p.fds[0][1], "more", 4, MSG_NOSIGNAL), 4);
	conns_check(&c, 1);
	assert_int_equal(send(p.fds[0][1], "more", 4, MSG_NOSIGNAL), 4);
	shutdown(p.fds[1][1], SHUT_WR);
	assert_false(is_ended(&p, 1));
	conns_check(&c, 2);
	assert_true(is_ended(&p, 1));
	assert_false(is_ended(&p, 0));
	conns_check(&c, 3 * SECOND);
	assert_true(is_ended(&p, 0));
	conns_close(&c);
	close_pairs(&p);
}

static void test_target(void **state)
{
	static const struct {
		const char *text;
		int kind;
		size_t path;
	} cases[] = {
		{ "/", 0, 0 },
		{ "/a?b=c&d", 0, 0 },
		{ "*", 0, 0 },
		{ "http://x/a", 0, 8 },
		{ "HTTPS://[::1]:80?a", 0, 16 },
		{ "http://x", 0, 8 },
		{ "http://", INFER_FAULT_INVALID, 0 },
		{ "http:///a", INFER_FAULT_INVALID, 0 },
		{ "http://x%41/a", INFER_FAULT_INVALID, 0 },
		{ "http://u@x/a", INFER_FAULT_INVALID, 0 },
		{ "x:80", INFER_FAULT_INVALID, 0 },
		{ "a", INFER_FAULT_INVALID, 0 },
		{ "", INFER_FAULT_INVALID, 0 },
		{ "/a b", INFER_FAULT_INVALID, 0 },
		{ "/a\x7f", INFER_FAULT_INVALID, 0 },
		{ "/a#b", INFER_FAULT_INVALID, 0 },
	};
	struct strict_target t;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		strict_target(&t, cases[i].text);
		assert_int_equal(t.kind, cases[i].kind);
		assert_int_equal(t.why != NULL, t.kind != 0);
		assert_int_equal(t.path, cases[i].path);
	}
	strict_target(&t, NULL);
	assert_int_equal(t.kind, INFER_FAULT_INVALID);
}

static void test_host(void **state)
{
	static const char *const good[] = {
		"",      "x",      "a.example:",        "x:80", "127.0.0.1:8080",
		"[::1]", "[::1]:", "[2001:db8::1]:443", "a_b",  "a%20"
	};
	static const char *const bad[] = { "x y", "x/y", "u@x", "x:y", "x:80:80", "[::1", "[]",
		                           "[x]", "a,b", "x#",  "x?",  "[::1]x",  "\xc3", "a\x01" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(head_is_host(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(head_is_host(bad[i], strlen(bad[i])));
	assert_false(head_is_host("a\0b", 3));
	assert_true(head_is_host("a/b", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_quarter),        cmocka_unit_test(test_trusted),
		cmocka_unit_test(test_full),   cmocka_unit_test(test_left),
		cmocka_unit_test(test_linger), cmocka_unit_test(test_target),
		cmocka_unit_test(test_host),
	};

	return nth_group(tests);
}
