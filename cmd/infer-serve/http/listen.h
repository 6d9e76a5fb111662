/* infer-serve/http/listen.h - sockets that listen: ADDR:PORT, [ADDR]:PORT, :PORT, unix:PATH. */
#ifndef INFER_SERVE_HTTP_LISTEN_H
#define INFER_SERVE_HTTP_LISTEN_H
#include <infer/status.h>

struct listener {
	int fd;           /* -1: none */
	int local;        /* only this machine can reach it */
	char url[320];    /* where it listens, with the port that the system chose */
	const char *path; /* of a socket in the file system, borrowed; NULL: none */
};
/* text: borrowed.  A socket that a dead process left at a path is replaced.
 * INFER_EINVAL  not of that form, or a path that is too long
 * INFER_EIO     the system refuses: in use, no permission, no such address */
int listen_open(struct listener *l, const char *text, infer_error *err);
/* Take a socket that listens and is open already.
 * INFER_EINVAL  the descriptor is something else */
int listen_take(struct listener *l, int fd, infer_error *err);
/* Remove the path.  The descriptor is closed by whom it was given to. */
void listen_remove(struct listener *l);
#endif
