/* tests/tools/flood.c - clients that leave in the middle of a request, and how long others wait meanwhile
 *
 *	flood [-r RATE] [-s SECONDS] [-a ADDRESSES] [-k KIND] PORT
 *
 * One thread makes RATE connections a second (5000) to 127.0.0.1, of five kinds in turn: part of a head,
 * or a head and part of a body, then the end of the sending side or of the connection, or a reset.  A
 * connection whose sending side ended is kept open, until it is one of the 4,096 oldest.  Another thread
 * asks GET /health, each time on a new connection.  Prints, as JSON: the rate that was reached, the number
 * of questions and of those without an answer of 200, and quantiles of the time to the answer in seconds.
 *
 *	-a N    from N addresses, 127.0.1.1 and those after it (1)
 *	-k KIND only this kind: head-fin, head-half, body-fin, body-half, body-reset */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 4096, ASKED = 1 << 20, PATIENCE_MS = 30000 };

static const struct {
	const char *name, *bytes;
	int half, reset;
} kinds[] = {
	{ "head-fin", "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", 0, 0 },
	{ "head-half", "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", 1, 0 },
	{ "body-fin", "POST /ping HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{\"pro",
	  0, 0 },
	{ "body-half",
	  "POST /ping HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{\"pro", 1, 0 },
	{ "body-reset",
	  "POST /ping HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{\"pro", 0, 1 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int port, addresses = 1, only = -1;
static double rate = 5000, seconds = 30;
static double reached;
static double took[ASKED];
static int asked, failed;
static _Atomic int over;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Connect from 127.0.1.`from`, 0: from any address.  Returns the descriptor, or -1. */
static int dial(int from)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -1;
	if (from) {
		a.sin_addr.s_addr = htonl(0x7f000100u + (unsigned)from);
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
		if (bind(fd, (struct sockaddr *)(void *)&a, sizeof a))
			goto bad;
	}
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((unsigned short)port);
	if (!connect(fd, (struct sockaddr *)(void *)&a, sizeof a))
		return fd;
bad:
	close(fd);
	return -1;
}

/* Returns 1 if it was sent. */
static int leave_once(int kind, int from, int *kept)
{
	const struct linger reset = { 1, 0 };
	int fd = dial(from);

	if (fd < 0)
		return 0;
	if (send(fd, kinds[kind].bytes, strlen(kinds[kind].bytes), MSG_NOSIGNAL) < 0) {
		close(fd);
		return 0;
	}
	if (kinds[kind].half) {
		shutdown(fd, SHUT_WR);
		if (*kept >= 0)
			close(*kept);
		*kept = fd;
		return 1;
	}
	if (kinds[kind].reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	close(fd);
	return 1;
}

static void *flood(void *none)
{
	double begin = now(), t;
	static int kept[OPEN];
	long n = 0, sent = 0;

	(void)none;
	memset(kept, -1, sizeof kept);
	for (; (t = now()) - begin < seconds; n++) {
		double ahead = (double)n / rate - (t - begin);
		int kind = only >= 0 ? only : (int)(n % KINDS);

		if (ahead > 0)
			nanosleep(&(struct timespec){ 0, (long)(ahead * 1e9) % 1000000000 }, NULL);
		sent += leave_once(kind, addresses > 1 ? 1 + (int)(n % addresses) : 0,
		                   &kept[n % OPEN]);
	}
	reached = (double)sent / (now() - begin);
	for (int i = 0; i < OPEN; i++)
		if (kept[i] >= 0)
			close(kept[i]);
	over = 1;
	return NULL;
}

/* Returns 1 for an answer of 200. */
static int ask(void)
{
	static const char text[] =
		"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
	char answer[16] = "";
	int fd = dial(0), ok;

	if (fd < 0)
		return 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	ok = send(fd, text, sizeof text - 1, MSG_NOSIGNAL) > 0 && poll(&p, 1, PATIENCE_MS) == 1 &&
	     recv(fd, answer, sizeof answer - 1, 0) > 0 && !strncmp(answer, "HTTP/1.1 200", 12);
	close(fd);
	return ok;
}

static int order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void usage(void)
{
	fprintf(stderr, "usage: flood [-r RATE] [-s SECONDS] [-a ADDRESSES] [-k KIND] PORT\n");
	exit(2);
}

static void read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "r:s:a:k:")) > 0) {
		if (c == 'r')
			rate = atof(optarg);
		else if (c == 's')
			seconds = atof(optarg);
		else if (c == 'a')
			addresses = atoi(optarg);
		for (int i = 0; c == 'k' && i < KINDS; i++)
			if (!strcmp(optarg, kinds[i].name))
				only = i;
		if (c == '?' || (c == 'k' && only < 0))
			usage();
	}
	port = optind + 1 == argc ? atoi(argv[optind]) : 0;
	if (port < 1 || rate <= 0 || seconds <= 0 || addresses < 1 || addresses > 250)
		usage();
}

int main(int argc, char **argv)
{
	pthread_t t;

	read_options(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (pthread_create(&t, NULL, flood, NULL))
		return 1;
	while (!over && asked < ASKED) {
		double begin = now();
		int ok = ask();

		failed += !ok;
		took[asked++] = now() - begin;
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
	pthread_join(t, NULL);
	qsort(took, (size_t)asked, sizeof *took, order);
	printf("{\"rate\":%.0f,\"asked\":%d,\"failed\":%d,\"p50\":%.4f,\"p99\":%.4f,\"most\":%.4f}"
	       "\n",
	       reached, asked, failed, took[asked / 2], took[asked * 99 / 100], took[asked - 1]);
	return 0;
}
