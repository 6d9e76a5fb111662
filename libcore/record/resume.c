/* record/resume.c - the records of a batch that was cut short, and what was done by then */
#include "record/record.h"
#include "base/err.h"
#include "base/jread.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

struct resume {
	const char *path;
	infer_done_fn *done;
	void *user;
	struct arena mem;            /* of one record */
	struct buf text;             /* what is read and not yet whole lines */
	int64_t lines;
	off_t whole;                 /* bytes of whole lines */
};

static int64_t whole_of(const struct json *o, const char *key)
{
	const struct json *v = json_get(o, key);

	return json_is(v, JSON_INT) ? v->i : 0;
}

/* 0: the record is of no request */
static int is_answer(struct arena *a, const struct json *o, const char **id, int64_t *line, int *failed)
{
	const struct json *kind = json_get(o, "kind"), *response = json_get(o, "response");

	*line = 0;
	*id = json_cstr(a, json_get(o, "custom_id"));
	if (!json_is_string(kind) && *id && json_is_object(response)) {
		*failed = whole_of(response, "status_code") != 200;
		return 1;
	}
	*id = json_cstr(a, json_get(o, "id"));
	*failed = json_equals(kind, "error");
	if (*failed)
		*line = whole_of(o, "line");
	return *failed || (*id && json_equals(kind, "completion"));
}

static int take_line(struct resume *r, const char *at, size_t n, infer_error *err)
{
	const char *id;
	int64_t line;
	int failed, rc, answer;
	const struct json *o;

	r->lines++;
	arena_reset(&r->mem);
	rc = jread(&o, &r->mem, at, n, r->path, NULL);
	if (rc == INFER_ENOMEM)
		return err_set(err, rc, "%s: no memory for a record", r->path);
	if (!json_is_object(o))
		rc = err_set(err, INFER_EFORMAT, "%s: line %lld is no record", r->path, (long long)r->lines);
	if (rc)
		return rc;
	answer = is_answer(&r->mem, o, &id, &line, &failed);
	if (r->mem.bad)
		return err_set(err, INFER_ENOMEM, "%s: no memory for a record", r->path);
	return answer ? r->done(r->user, id, line, failed, err) : INFER_OK;
}

/* Whole lines out of the text; what is left of it moves to its front. */
static int take_lines(struct resume *r, infer_error *err)
{
	size_t from = 0;
	const char *end;

	while ((end = memchr(r->text.at + from, '\n', r->text.len - from))) {
		size_t n = (size_t)(end - r->text.at) - from;

		TRY(take_line(r, r->text.at + from, n, err));
		from += n + 1;
	}
	r->whole += (off_t)from;
	memmove(r->text.at, r->text.at + from, r->text.len - from);
	r->text.len -= from;
	return INFER_OK;
}

static int take_file(struct resume *r, int fd, infer_error *err)
{
	ssize_t n;

	for (;;) {
		if (buf_reserve(&r->text, PIECE))
			return err_set(err, INFER_ENOMEM, "%s: no memory for a record", r->path);
		n = read(fd, r->text.at + r->text.len, PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, errno, "%s", r->path);
		if (!n)
			break;
		r->text.len += (size_t)n;
		/* only what is new can end a line */
		if (memchr(r->text.at + r->text.len - n, '\n', (size_t)n))
			TRY(take_lines(r, err));
	}
	if (r->text.len && ftruncate(fd, r->whole))
		return err_errno(err, errno, "%s: cannot cut the torn last line off", r->path);
	return INFER_OK;
}

static int open_file(int *fd, const char *path, infer_error *err)
{
	struct stat st;

	*fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0)
		return err_errno(err, errno, "%s", path);
	if (fstat(*fd, &st))
		return err_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, INFER_EIO, "%s: not a regular file", path);
	if (!flock(*fd, LOCK_EX | LOCK_NB))
		return INFER_OK;
	return errno == EWOULDBLOCK ? err_set(err, INFER_EIO, "%s: another process is writing it", path)
	                            : err_errno(err, errno, "%s: cannot lock it", path);
}

int infer_writer_resume(infer_writer **out, const char *path, infer_done_fn *done, void *user,
                        infer_error *err)
{
	struct resume r = { .path = path, .done = done, .user = user };
	int fd = -1, rc;

	*out = NULL;
	arena_init(&r.mem, MEM_RECORD);
	buf_init(&r.text, MEM_RECORD);
	rc = open_file(&fd, path, err);
	if (!rc)
		rc = take_file(&r, fd, err);
	if (!rc)
		rc = infer_writer_open(out, fd, err);
	arena_fini(&r.mem);
	buf_fini(&r.text);
	if (rc) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	(*out)->owned = fd;
	(*out)->started = r.lines > 0;
	return INFER_OK;
}

int infer_writer_sync(infer_writer *w, infer_error *err)
{
	if (!w->dirty)
		return INFER_OK;
	if (fdatasync(w->fd) && errno != EINVAL && errno != EROFS)     /* a pipe has no disk */
		return err_errno(err, errno, "cannot write records to the disk");
	w->dirty = 0;
	return INFER_OK;
}
