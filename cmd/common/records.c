/* common/records.c - writing records to a descriptor. */
#include "common/records.h"
#include "common/progress.h"
#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* Wait until the non-blocking descriptor is writable. */
static int again(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) &&
	                          (poll(&p, 1, -1) >= 0 || errno == EINTR));
}

int records_send(infer_records *w, int fd, size_t *sent, infer_error *err)
{
	struct infer_str text = infer_records_text(w);
	size_t at = 0;
	ssize_t n;
	int rc = INFER_OK;

	progress_wipe_for(fd);
	while (!rc && at < text.len) {
		n = write(fd, text.at + at, text.len - at);
		if (n < 0 && !again(fd))
			rc = err_errno(err, errno, "cannot write a record");
		at += n > 0 ? (size_t)n : 0;
	}
	infer_records_clear(w);
	if (sent)
		*sent = at;
	return rc ? INFER_EIO : INFER_OK;
}

int records_put(int rc, infer_records *w, int fd, infer_error *err)
{
	return rc ? rc : records_send(w, fd, NULL, err);
}

int records_sync(int fd, infer_error *err)
{
	if (fdatasync(fd) && errno != EINVAL && errno != EROFS) /* pipes cannot be synced */
		return err_errno(err, errno, "cannot write records to the disk");
	return INFER_OK;
}
