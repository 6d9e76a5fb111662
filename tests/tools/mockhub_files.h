/* tests/tools/mockhub_files.h - the repositories of mockhub.c: files, their names by hash, folders. */
#ifndef TOOLS_MOCKHUB_FILES_H
#define TOOLS_MOCKHUB_FILES_H
#include "base/buf.h"
#include "base/sha1.h"
#include "base/sha256.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MOST = 4096, LFS_FROM = 1 << 20 };
static const char *root;

struct names {
	uint64_t bytes;
	int is_lfs;
	char sha256[65], git[41];
};

static void hash_file(struct names *n, int fd)
{
	static char piece[1 << 20];
	struct sha256 s;
	struct sha1 g;
	uint8_t out[32];
	ssize_t got;

	sha256_init(&s);
	sha1_init_blob(&g, n->bytes);
	while ((got = read(fd, piece, sizeof piece)) > 0) {
		sha256_add(&s, piece, (size_t)got);
		sha1_add(&g, piece, (size_t)got);
	}
	sha256_end(&s, out);
	sha256_hex(out, n->sha256);
	sha1_end(&g, out);
	sha1_hex(out, n->git);
}

static int is_name(const char *path, const char *end)
{
	size_t n = strlen(path), e = strlen(end);

	return n >= e && !strcmp(path + n - e, end);
}

/* The names of a file, computed again if it changed.  -1: there is no such file. */
static int name_file(struct names *n, const char *path)
{
	enum { FILES = 4096 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		dev_t dev;
		ino_t ino;
		struct timespec changed;
		struct names names;
	} known[FILES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	size_t i = (size_t)st.st_ino % FILES;

	pthread_mutex_lock(&lock);
	if (known[i].ino != st.st_ino || known[i].dev != st.st_dev ||
	    known[i].names.bytes != (uint64_t)st.st_size ||
	    memcmp(&known[i].changed, &st.st_ctim, sizeof st.st_ctim)) {
		known[i].names.bytes = (uint64_t)st.st_size;
		known[i].ino = st.st_ino;
		known[i].dev = st.st_dev;
		known[i].changed = st.st_ctim;
		hash_file(&known[i].names, fd);
	}
	*n = known[i].names;
	pthread_mutex_unlock(&lock);
	close(fd);
	n->is_lfs = n->bytes >= LFS_FROM || is_name(path, ".gguf") || is_name(path, ".bin") ||
	            is_name(path, ".safetensors");
	return 0;
}

/* The first line of ROOT/REPO/NAME; "": none. */
static void read_line(char *line, size_t room, const char *repo, const char *name)
{
	char path[2 * NAME_MOST];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s/%s", root, repo, name);
	*line = 0;
	f = fopen(path, "re");
	if (f && !fgets(line, (int)room, f))
		*line = 0;
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = 0;
}

static void quote(struct buf *b, const char *path)
{
	for (; *path; path++) {
		if (isalnum((unsigned char)*path) || strchr("-._~/", *path))
			buf_putc(b, *path);
		else
			buf_printf(b, "%%%02X", (unsigned char)*path);
	}
}

static void put_json(struct buf *b, const char *text)
{
	buf_putc(b, '"');
	for (; *text; text++) {
		if ((unsigned char)*text < 32 || *text == '"' || *text == '\\')
			buf_printf(b, "\\u%04x", (unsigned char)*text);
		else
			buf_putc(b, *text);
	}
	buf_putc(b, '"');
}

struct entry {
	char *path;
	int is_dir;
};
struct entries {
	struct entry *at;
	size_t n, room;
};

static void list_folder(struct entries *e, const char *top, const char *under)
{
	char path[2 * NAME_MOST], inner[NAME_MOST + 300];
	struct dirent *d;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof path, "%s/%s", top, under);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		snprintf(inner, sizeof inner, "%s%s%s", under, *under ? "/" : "", d->d_name);
		snprintf(path, sizeof path, "%s/%s", top, inner);
		if (stat(path, &st))
			continue;
		if (e->n == e->room)
			e->at = realloc(e->at, (e->room = 2 * e->room + 64) * sizeof *e->at);
		e->at[e->n++] = (struct entry){ strdup(inner), S_ISDIR(st.st_mode) };
		if (S_ISDIR(st.st_mode))
			list_folder(e, top, inner);
	}
	if (dir)
		closedir(dir);
}

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct entry *)x)->path, ((const struct entry *)y)->path);
}

static void free_entries(struct entries *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->at[i].path);
	free(e->at);
}
#endif
