/* infer-run/chat/history.c - the history of typed lines. */
#include "history.h"
#include "common/file.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char **entries(const struct chat_history *h) { return (char **)(void *)h->at.at; }

void chat_history_init(struct chat_history *h)
{
	*h = (struct chat_history){ 0 };
	buf_init(&h->at, MEM_BASE);
	buf_init(&h->path, MEM_BASE);
}

void chat_history_fini(struct chat_history *h)
{
	for (size_t i = 0; i < h->n; i++)
		mem_free(entries(h)[i]);
	buf_fini(&h->at);
	buf_fini(&h->path);
	h->n = 0;
}

const char *chat_history_get(const struct chat_history *h, size_t i) { return entries(h)[i]; }

/* Add an entry to the list; drops the oldest if the list is full. */
static int list_entry(struct chat_history *h, const char *entry, size_t n, infer_error *err)
{
	char *copy = mem_strndup(MEM_BASE, entry, n);

	if (!copy)
		return err_nomem(err);
	if (h->n == CHAT_HISTORY_ENTRIES) {
		mem_free(entries(h)[0]);
		memmove(h->at.at, h->at.at + sizeof copy, (h->n - 1) * sizeof copy);
		entries(h)[h->n - 1] = copy;
		h->added++;
		return INFER_OK;
	}
	buf_put(&h->at, &copy, sizeof copy);
	if (h->at.bad) {
		h->at.bad = 0;
		mem_free(copy);
		return err_nomem(err);
	}
	h->n++;
	h->added++;
	return INFER_OK;
}

/* ---- the file ---- */

static void put_history_line(struct buf *b, const char *s)
{
	for (; *s; s++)
		if (*s == '\n' || *s == '\\')
			buf_printf(b, "\\%c", *s == '\n' ? 'n' : '\\');
		else
			buf_putc(b, *s);
	buf_putc(b, '\n');
}

static int read_entry(struct chat_history *h, const char *at, size_t n, struct buf *entry,
                      infer_error *err)
{
	buf_clear(entry);
	for (size_t i = 0; i < n; i++)
		if (at[i] == '\\' && i + 1 < n)
			buf_putc(entry, at[++i] == 'n' ? '\n' : at[i]);
		else if (at[i])
			buf_putc(entry, at[i]);
	if (entry->bad)
		return err_nomem(err);
	return entry->len ? list_entry(h, entry->at, entry->len, err) : INFER_OK;
}

/* Read all entries of the file. *lines: their number. An incomplete last line is skipped. */
static int read_entries(struct chat_history *h, const struct buf *text, size_t *lines,
                        infer_error *err)
{
	const char *at = text->at, *end = at ? at + text->len : at, *nl;
	struct buf entry;
	int rc = INFER_OK;

	*lines = 0;
	buf_init(&entry, MEM_BASE);
	for (; !rc && at < end && (nl = memchr(at, '\n', (size_t)(end - at))); at = nl + 1) {
		rc = read_entry(h, at, (size_t)(nl - at), &entry, err);
		++*lines;
	}
	buf_fini(&entry);
	return rc;
}

/* Replace the file by the entries in memory. */
static int shorten_file(const struct chat_history *h, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	for (size_t i = 0; i < h->n; i++)
		put_history_line(&text, entries(h)[i]);
	int rc = text.bad ? err_nomem(err) : file_write(h->path.at, text.at, text.len, 0600, err);

	buf_fini(&text);
	return rc;
}

static int load_history(struct chat_history *h, const char *path, infer_error *err)
{
	struct buf text;
	size_t lines = 0;

	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, CHAT_HISTORY_FILE, err);

	if (!rc)
		rc = read_entries(h, &text, &lines, err);
	int torn = text.len && text.at[text.len - 1] != '\n';

	if (!rc && (torn || lines >= 2 * CHAT_HISTORY_ENTRIES))
		rc = shorten_file(h, err);
	buf_fini(&text);
	return rc;
}

int chat_history_open(struct chat_history *h, const char *path, infer_error *err)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return err_errno(err, errno, "%s", path);
	int wrong = fstat(fd, &st) || !S_ISREG(st.st_mode);

	if (!wrong && st.st_mode & 077)
		(void)fchmod(fd, 0600);
	close(fd);
	if (wrong)
		return err_set(err, INFER_EIO, "%s: not a regular file", path);
	buf_puts(&h->path, path);
	int rc = h->path.bad ? err_nomem(err) : load_history(h, path, err);

	if (rc)
		buf_fini(&h->path);
	return rc;
}

static int append_entry(const struct chat_history *h, const char *entry, infer_error *err)
{
	int fd = open(h->path.at, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	struct buf line;

	if (fd < 0)
		return err_errno(err, errno, "%s", h->path.at);
	buf_init(&line, MEM_BASE);
	put_history_line(&line, entry);
	int rc = line.bad ? err_nomem(err) : INFER_OK;

	if (!rc && write(fd, line.at, line.len) != (ssize_t)line.len)
		rc = err_errno(err, errno, "%s", h->path.at);
	buf_fini(&line);
	close(fd);
	return rc;
}

int chat_history_add(struct chat_history *h, const char *entry, infer_error *err)
{
	size_t n = strlen(entry);

	if (!n || n > CHAT_HISTORY_LONGEST || (h->n && !strcmp(entries(h)[h->n - 1], entry)))
		return INFER_OK;
	TRY(list_entry(h, entry, n, err));
	return h->path.len ? append_entry(h, entry, err) : INFER_OK;
}
