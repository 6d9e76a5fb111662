#include "past.h"
#include "common/file.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_memory(infer_error *err)
{
	return err_set(err, INFER_ENOMEM, "out of memory for the history");
}

static char **list(const struct past *p) { return (char **)(void *)p->at.at; }

void past_init(struct past *p)
{
	*p = (struct past){ 0 };
	buf_init(&p->at, MEM_BASE);
	buf_init(&p->path, MEM_BASE);
}

void past_fini(struct past *p)
{
	for (size_t i = 0; i < p->n; i++)
		mem_free(list(p)[i]);
	buf_fini(&p->at);
	buf_fini(&p->path);
	p->n = 0;
}

const char *past_get(const struct past *p, size_t i) { return list(p)[i]; }

/* Into the list; the oldest goes where it is full. */
static int keep(struct past *p, const char *entry, size_t n, infer_error *err)
{
	char *copy = mem_strndup(MEM_BASE, entry, n);

	if (!copy)
		return no_memory(err);
	if (p->n == PAST_ENTRIES) {
		mem_free(list(p)[0]);
		memmove(p->at.at, p->at.at + sizeof copy, (p->n - 1) * sizeof copy);
		list(p)[p->n - 1] = copy;
		p->added++;
		return INFER_OK;
	}
	buf_put(&p->at, &copy, sizeof copy);
	if (p->at.bad) {
		p->at.bad = 0;
		mem_free(copy);
		return no_memory(err);
	}
	p->n++;
	p->added++;
	return INFER_OK;
}

/* ---- the file ---- */

static void put_line(struct buf *b, const char *s)
{
	for (; *s; s++)
		if (*s == '\n' || *s == '\\')
			buf_printf(b, "\\%c", *s == '\n' ? 'n' : '\\');
		else
			buf_putc(b, *s);
	buf_putc(b, '\n');
}

static int take_line(struct past *p, const char *at, size_t n, struct buf *entry, infer_error *err)
{
	buf_clear(entry);
	for (size_t i = 0; i < n; i++)
		if (at[i] == '\\' && i + 1 < n)
			buf_putc(entry, at[++i] == 'n' ? '\n' : at[i]);
		else if (at[i])
			buf_putc(entry, at[i]);
	if (entry->bad)
		return no_memory(err);
	return entry->len ? keep(p, entry->at, entry->len, err) : INFER_OK;
}

/* *lines: how many the file has.  A last one without its newline was cut short, and is passed
 * over. */
static int take_all(struct past *p, const struct buf *text, size_t *lines, infer_error *err)
{
	const char *at = text->at, *end = at ? at + text->len : at, *nl;
	struct buf entry;
	int rc = INFER_OK;

	*lines = 0;
	buf_init(&entry, MEM_BASE);
	for (; !rc && at < end && (nl = memchr(at, '\n', (size_t)(end - at))); at = nl + 1) {
		rc = take_line(p, at, (size_t)(nl - at), &entry, err);
		++*lines;
	}
	buf_fini(&entry);
	return rc;
}

static int cut_back(const struct past *p, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	for (size_t i = 0; i < p->n; i++)
		put_line(&text, list(p)[i]);
	int rc = text.bad ? no_memory(err) : file_write(p->path.at, text.at, text.len, 0600, err);

	buf_fini(&text);
	return rc;
}

static int load(struct past *p, const char *path, infer_error *err)
{
	struct buf text;
	size_t lines;

	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, PAST_FILE, err);

	if (!rc)
		rc = take_all(p, &text, &lines, err);
	int torn = text.len && text.at[text.len - 1] != '\n';

	if (!rc && (torn || lines >= 2 * PAST_ENTRIES))
		rc = cut_back(p, err);
	buf_fini(&text);
	return rc;
}

int past_open(struct past *p, const char *path, infer_error *err)
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
	buf_puts(&p->path, path);
	int rc = p->path.bad ? no_memory(err) : load(p, path, err);

	if (rc)
		buf_fini(&p->path);
	return rc;
}

static int append(const struct past *p, const char *entry, infer_error *err)
{
	int fd = open(p->path.at, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	struct buf line;

	if (fd < 0)
		return err_errno(err, errno, "%s", p->path.at);
	buf_init(&line, MEM_BASE);
	put_line(&line, entry);
	int rc = line.bad ? no_memory(err) : INFER_OK;

	if (!rc && write(fd, line.at, line.len) != (ssize_t)line.len)
		rc = err_errno(err, errno, "%s", p->path.at);
	buf_fini(&line);
	close(fd);
	return rc;
}

int past_add(struct past *p, const char *entry, infer_error *err)
{
	size_t n = strlen(entry);

	if (!n || n > PAST_LONGEST || (p->n && !strcmp(list(p)[p->n - 1], entry)))
		return INFER_OK;
	TRY(keep(p, entry, n, err));
	return p->path.len ? append(p, entry, err) : INFER_OK;
}
