/* infer-serve/http/listen.h - sockets that listen: ADDR:PORT, [ADDR]:PORT, :PORT, unix:PATH. */
#ifndef INFER_SERVE_HTTP_LISTEN_H
#define INFER_SERVE_HTTP_LISTEN_H
#include <infer/status.h>

struct listener {
	int fd;           /* socket; -1: none */
	int local;        /* 1: only this machine can reach it */
	char url[320];    /* URL of the socket, with the port that the system chose */
	const char *path; /* path of a socket in the file system, borrowed; NULL: none */
};
/* Open a socket that listens at `text`, borrowed. A socket that a dead process left at a path is
 * replaced.
 * INFER_EINVAL  `text` has another form, or the path is too long
 * INFER_EIO     the system refuses: in use, no permission, no such address */
int listen_open(struct listener *l, const char *text, infer_error *err);
/* Use a descriptor that is listening already.
 * INFER_EINVAL  the descriptor is not a listening socket */
int listen_take(struct listener *l, int fd, infer_error *err);
/* Remove the socket's path, if any. http_quiesce closes the descriptor. */
void listen_remove(struct listener *l);
#endif
