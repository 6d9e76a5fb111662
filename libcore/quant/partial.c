/* quant/partial.c - unfinished files.
 *
 * PATH.part has its final size from the start, so that a full disk is noticed at once.  PATH.resume
 * is text:
 *
 *	infer-quant 1 FINGERPRINT FILES
 *	TENSOR ELEMENTS                    written when the output before it is synced
 *
 * The last whole line is valid.  A process holds a lock on PATH.resume while it writes. */
#include "quant/partial.h"
#include "quant/write.h"
#include "base/err.h"
#include "base/os.h"
#include "base/replace.h"
#include "file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100, HEAD = 128, TAIL = 256, PIECE = 1 << 16 };
#define TITLE "infer-quant 1 "

int partial_path(struct buf *out, const char *path, int no, int count, const char *suffix,
                 infer_error *err)
{
	static const char end[] = ".gguf", packed[] = ".zst";
	size_t n = strlen(path);
	int is_packed = count > 1 && n > sizeof packed - 1 &&
	                !strcmp(path + n - (sizeof packed - 1), packed);

	char target[PATH_MAX];

	buf_clear(out);
	n -= is_packed ? sizeof packed - 1 : 0;
	if (count > 1 && n > sizeof end - 1 && !memcmp(path + n - (sizeof end - 1), end, 5))
		n -= sizeof end - 1;
	buf_put(out, path, n);
	if (count > 1)
		buf_printf(out, "-%05d-of-%05d.gguf%s", no + 1, count, is_packed ? packed : "");
	if (!out->bad) {
		TRY(replace_target(target, out->at, err));
		buf_clear(out);
		buf_puts(out, target);
	}
	buf_puts(out, suffix);
	return out->bad ? err_nomem(err) : INFER_OK;
}

int partial_io(int is_read, int fd, void *at, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t got = is_read ? pread(fd, at, n, (off_t)offset)
		                      : pwrite(fd, at, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? errno : EIO;
		at = (char *)at + got;
		n -= (size_t)got;
		offset += (size_t)got;
	}
	return 0;
}

static int fail_file(const char *name, const char *what, infer_error *err)
{
	return err_errno(err, errno, "%s: %s", file_label(name), what);
}

static int write_at(int fd, const void *from, size_t n, uint64_t at)
{
	while (n) {
		ssize_t k = pwrite(fd, from, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		from = (const char *)from + k;
		n -= (size_t)k;
		at += (size_t)k;
	}
	return 0;
}

/* Check an output name.  It must be unused, a link, or a regular file other than the input. */
static int check_name(const struct partial *p, const char *name, infer_error *err)
{
	const struct infer_file *in = p->q->in;
	struct stat st, its;

	if (lstat(name, &st))
		return errno == ENOENT ? INFER_OK : err_errno(err, errno, "%s", file_label(name));
	if (S_ISLNK(st.st_mode))
		return INFER_OK;
	if (!S_ISREG(st.st_mode))
		return err_set(err, INFER_EIO, "%s: is not a regular file", file_label(name));
	for (int i = 0; i < in->n_shards; i++)
		if (in->shards[i].path && !stat(in->shards[i].path, &its) &&
		    its.st_dev == st.st_dev && its.st_ino == st.st_ino)
			return err_set(err, INFER_EINVAL, "%s: is the input", file_label(name));
	return INFER_OK;
}

static int check_names(const struct partial *p, infer_error *err)
{
	struct buf name;
	int rc = INFER_OK;

	buf_init(&name, MEM_QUANT);
	for (int i = 0; !rc && i < p->q->n_shards; i++) {
		rc = partial_path(&name, p->path, i, p->q->n_shards, "", err);
		if (!rc)
			rc = check_name(p, name.at, err);
		if (!rc)
			rc = partial_path(&name, p->path, i, p->q->n_shards, PARTIAL_SUFFIX, err);
		if (!rc)
			rc = check_name(p, name.at, err);
		if (!rc)
			rc = partial_path(&name, p->path, i, p->q->n_shards, PARTIAL_PACKED, err);
		if (!rc)
			rc = check_name(p, name.at, err);
	}
	buf_fini(&name);
	return rc;
}

/* Open and lock PATH.resume.  Sets *same to 0 if another process removed it before the lock. */
static int open_locked(struct partial *p, int *same, infer_error *err)
{
	struct stat st, now;
	const char *name = p->resume.at;

	*same = 0;
	p->resume_fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (p->resume_fd < 0 && errno == ELOOP)
		return err_set(err, INFER_EIO, "%s: is a link, and not overwritten",
		               file_label(name));
	if (p->resume_fd < 0) {
		int why = errno;

		/* a folder that is missing or not writable is that of the output */
		return err_errno(err, why, "%s", file_label(access(name, F_OK) ? p->path : name));
	}
	if (fstat(p->resume_fd, &st))
		return err_errno(err, errno, "%s", file_label(name));
	if (!S_ISREG(st.st_mode))
		return err_set(err, INFER_EIO, "%s: is not a regular file", file_label(name));
	if (st.st_nlink > 1)
		return err_set(err, INFER_EIO, "%s: has several names, and is not overwritten",
		               file_label(name));
	if (flock(p->resume_fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK
		               ? err_set(err, INFER_EIO, "%s: another process is writing it",
		                         file_label(p->path))
		               : fail_file(name, "cannot lock it", err);
	*same = !stat(name, &now) && now.st_dev == st.st_dev && now.st_ino == st.st_ino;
	return INFER_OK;
}

static int lock_resume(struct partial *p, infer_error *err)
{
	for (int i = 0, same; i < TRIES; i++) {
		int rc = open_locked(p, &same, err);

		if (!rc && same)
			return INFER_OK;
		if (p->resume_fd >= 0)
			close(p->resume_fd);
		p->resume_fd = -1;
		TRY(rc);
	}
	return err_set(err, INFER_EIO, "%s: other processes keep replacing it",
	               file_label(p->path));
}

/* Read the last whole line after the title line into p.  Returns 0 if no such line is valid. */
static int read_marks(struct partial *p, off_t from, off_t size)
{
	char tail[TAIL + 1];
	off_t at = size - from > TAIL ? size - TAIL : from;
	ssize_t n = pread(p->resume_fd, tail, (size_t)(size - at), at);

	if (n <= 0)
		return 0;
	tail[n] = 0;
	char *end = strrchr(tail, '\n'), *line;

	if (!end)
		return 0;
	*end = 0;
	line = strrchr(tail, '\n');
	line = line ? line + 1 : at == from ? tail : NULL;
	unsigned long long tensor, elements;

	if (!line || sscanf(line, "%llu %llu", &tensor, &elements) != 2 || tensor >= p->q->n ||
	    elements > quant_elements(p->q->tensors[tensor].in))
		return 0;
	p->tensor = tensor;
	p->elements = elements;
	return 1;
}

/* True if PATH.resume records progress of an earlier run of this user with the same
 * fingerprint.  Sets *count to the number of its files; 0: unknown. */
static int read_resume(struct partial *p, const char *fingerprint, int *count)
{
	char head[HEAD + 1], want[HEAD];
	ssize_t n = pread(p->resume_fd, head, HEAD, 0);
	struct stat st;
	char *end;

	*count = 0;
	if (n <= 0 || fstat(p->resume_fd, &st) || st.st_uid != geteuid())
		return 0;
	head[n] = 0;
	end = strchr(head, '\n');
	if (!end || strncmp(head, TITLE, sizeof TITLE - 1))
		return 0;
	end[1] = 0;
	sscanf(head, TITLE "%*64s %d", count);
	snprintf(want, sizeof want, TITLE "%s %d\n", fingerprint, p->q->n_shards);
	return !strcmp(head, want) && read_marks(p, (off_t)strlen(head), st.st_size);
}

static int same_header(int fd, const struct buf *head)
{
	char piece[4096];

	for (size_t at = 0; at < head->len; at += sizeof piece) {
		size_t n = head->len - at < sizeof piece ? head->len - at : sizeof piece;

		if (pread(fd, piece, n, (off_t)at) != (ssize_t)n || memcmp(piece, head->at + at, n))
			return 0;
	}
	return 1;
}

/* True if st is a regular file of this user with a single name. */
static int is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_uid == geteuid();
}

/* Open the files of the earlier run.  Returns 0 if one is missing or has another header. */
static int reopen_files(struct partial *p, infer_error *err)
{
	struct buf name;
	struct stat st;
	int found = 1;

	buf_init(&name, MEM_QUANT);
	for (int i = 0; found && i < p->q->n_shards; i++) {
		const struct quant_shard *s = &p->q->shards[i];

		if (partial_path(&name, p->path, i, p->q->n_shards, PARTIAL_SUFFIX, err))
			break;
		p->fds[i] = open(name.at, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		found = p->fds[i] >= 0 && !fstat(p->fds[i], &st) && is_ours(&st) &&
		        (uint64_t)st.st_size == s->file_bytes && same_header(p->fds[i], &s->head);
	}
	found = found && !name.bad;
	buf_fini(&name);
	return found;
}

static void remove_files(const struct partial *p, int count)
{
	static const char *const suffixes[] = { PARTIAL_SUFFIX, PARTIAL_PACKED };
	struct buf name;

	buf_init(&name, MEM_QUANT);
	for (int i = 0; i < 2 * count; i++)
		if (!partial_path(&name, p->path, i / 2, count, suffixes[i % 2], NULL))
			unlink(name.at);
	buf_fini(&name);
}

static void close_files(struct partial *p)
{
	for (int i = 0; p->fds && i < p->q->n_shards; i++) {
		if (p->fds[i] >= 0)
			close(p->fds[i]);
		p->fds[i] = -1;
	}
}

int partial_create(int *fd, struct buf *name, const struct partial *p, int no, const char *suffix,
                   infer_error *err)
{
	unsigned mode;

	*fd = -1;
	TRY(partial_path(name, p->path, no, p->q->n_shards, "", err));
	mode = replace_mode(name->at, 0666);
	TRY(partial_path(name, p->path, no, p->q->n_shards, suffix, err));
	return replace_create(fd, name->at, mode, err);
}

/* Set the file to its final size, and write its header. */
static int begin_file(int fd, const char *name, const struct quant_shard *s, infer_error *err)
{
	/* file systems without fallocate report a full disk only when written */
	if (fallocate(fd, 0, 0, (off_t)s->file_bytes) && errno != EOPNOTSUPP && errno != ENOSYS)
		return fail_file(name, "cannot be written", err);
	if (ftruncate(fd, (off_t)s->file_bytes) || write_at(fd, s->head.at, s->head.len, 0) ||
	    fdatasync(fd))
		return fail_file(name, "cannot be written", err);
	return INFER_OK;
}

static int begin_files(struct partial *p, const char *fingerprint, infer_error *err)
{
	char line[HEAD];
	struct buf name;
	int rc = INFER_OK;

	p->tensor = p->elements = 0;
	p->marks = 0;
	if (ftruncate(p->resume_fd, 0))
		return fail_file(p->resume.at, "cannot be written", err);
	buf_init(&name, MEM_QUANT);
	for (int i = 0; !rc && i < p->q->n_shards; i++) {
		rc = partial_create(&p->fds[i], &name, p, i, PARTIAL_SUFFIX, err);
		if (!rc)
			rc = begin_file(p->fds[i], name.at, &p->q->shards[i], err);
	}
	buf_fini(&name);
	if (!rc)
		rc = os_dir_sync(p->resume.at, err);
	int n = snprintf(line, sizeof line, TITLE "%s %d\n", fingerprint, p->q->n_shards);

	if (!rc && (write_at(p->resume_fd, line, (size_t)n, 0) || fdatasync(p->resume_fd)))
		rc = fail_file(p->resume.at, "cannot be written", err);
	return rc;
}

/* Check that PATH.resume is not another program's file: it must be empty, all zeros (after a power
 * cut), or begin with TITLE. */
static int check_resume(const struct partial *p, infer_error *err)
{
	char head[sizeof TITLE] = "";
	ssize_t n = pread(p->resume_fd, head, sizeof head - 1, 0);

	if (n > 0 && *head && strncmp(head, TITLE, (size_t)n))
		return err_set(err, INFER_EIO,
		               "%s: is not a file of infer-quant, and not overwritten",
		               file_label(p->resume.at));
	return INFER_OK;
}

static int open_outputs(struct partial *p, const char *fingerprint, infer_error *err)
{
	int count;

	TRY(check_names(p, err));
	TRY(lock_resume(p, err));
	TRY(check_resume(p, err));
	if (read_resume(p, fingerprint, &count) && reopen_files(p, err)) {
		p->marks = 1;
		return INFER_OK;
	}
	close_files(p);
	if (count > 0 && count <= 65535)
		remove_files(p, count);
	int rc = begin_files(p, fingerprint, err);

	if (rc)
		partial_close(p, 0);
	return rc;
}

int partial_open(struct partial *p, const infer_quant *q, const char *path,
                 const char fingerprint[65], infer_error *err)
{
	char target[PATH_MAX];

	*p = (struct partial){ .q = q, .path = path, .resume_fd = -1, .suffix = PARTIAL_SUFFIX };
	buf_init(&p->resume, MEM_QUANT);
	TRY(replace_target(target, path, err));
	buf_puts(&p->resume, target);
	buf_puts(&p->resume, PARTIAL_RESUME);
	p->fds = mem_alloc(MEM_QUANT, (size_t)q->n_shards, sizeof *p->fds);
	for (int i = 0; p->fds && i < q->n_shards; i++)
		p->fds[i] = -1;
	int rc = p->resume.bad || !p->fds ? err_nomem(err) : open_outputs(p, fingerprint, err);

	if (rc)
		partial_close(p, 1);
	return rc;
}

int partial_sync(struct partial *p, infer_error *err)
{
	for (int i = 0; i < p->q->n_shards; i++)
		if (fdatasync(p->fds[i]))
			return err_errno(err, errno, "%s" PARTIAL_SUFFIX ": writing",
			                 file_label(p->path));
	return INFER_OK;
}

void partial_want(const struct partial *p, const struct quant_tensor *t, uint64_t from, uint64_t to)
{
	uint64_t a = write_bytes(t->type, from), b = write_bytes(t->type, to);

	(void)sync_file_range(p->fds[t->shard], (off_t)(t->at + a), (off_t)(b - a),
	                      SYNC_FILE_RANGE_WRITE);
}

int partial_mark(struct partial *p, uint64_t tensor, uint64_t elements, infer_error *err)
{
	char line[64];
	int n = snprintf(line, sizeof line, "%llu %llu\n", (unsigned long long)tensor,
	                 (unsigned long long)elements);
	off_t end;

	TRY(partial_sync(p, err));
	end = lseek(p->resume_fd, 0, SEEK_END);
	if (end < 0 || write_at(p->resume_fd, line, (size_t)n, (uint64_t)end))
		return fail_file(p->resume.at, "writing", err);
	p->marks++;
	return INFER_OK;
}

/* Rename the files, the first one last: a model is opened by its first file. */
int partial_end(struct partial *p, infer_error *err)
{
	struct buf from, to;
	int rc = partial_sync(p, err);

	buf_init(&from, MEM_QUANT);
	buf_init(&to, MEM_QUANT);
	for (int i = p->q->n_shards - 1; !rc && i >= 0; i--) {
		rc = partial_path(&from, p->path, i, p->q->n_shards, p->suffix, err);
		if (!rc)
			rc = partial_path(&to, p->path, i, p->q->n_shards, "", err);
		if (!rc && !strcmp(p->suffix, PARTIAL_SUFFIX))
			replace_keep(p->fds[i], to.at);
		if (!rc && rename(from.at, to.at))
			rc = err_errno(err, errno, "%s", file_label(to.at));
	}
	buf_fini(&from);
	buf_fini(&to);
	if (!rc)
		rc = os_dir_sync(p->resume.at, err);
	return rc;
}

void partial_close(struct partial *p, int keep)
{
	close_files(p);
	if (p->resume_fd >= 0 && !keep) {
		remove_files(p, p->q->n_shards);
		unlink(p->resume.at);
	}
	if (p->resume_fd >= 0)
		close(p->resume_fd);
	p->resume_fd = -1;
	mem_free(p->fds);
	p->fds = NULL;
	buf_fini(&p->resume);
}
