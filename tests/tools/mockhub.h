/* tests/tools/mockhub.h - the faults of mockhub.c: read them from ROOT/.modes, and send bodies that
 * have them. */
#ifndef TOOLS_MOCKHUB_H
#define TOOLS_MOCKHUB_H
#include <fnmatch.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct mode {
	int64_t status, norange, loop, bomb, page, direct, cut, stall, slow, expire, wrong, size,
		extra;
	char retry[64], ratelimit[64], code[64], json[256], location[1024], etag[128], commit[64];
};

/* Count the requests that this line matched, this one included. */
static int64_t mode_count(const char *line)
{
	enum { LINES = 1000 };
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		char *line;
		int64_t n;
	} rows[LINES];
	size_t i = 0;
	int64_t n;

	pthread_mutex_lock(&lock);
	while (i < LINES - 1 && rows[i].line && strcmp(rows[i].line, line))
		i++;
	if (!rows[i].line)
		rows[i].line = strdup(line);
	n = ++rows[i].n;
	pthread_mutex_unlock(&lock);
	return n;
}

/* KEY or KEY=VALUE */
static void mode_set(struct mode *m, char *word)
{
	char *eq = strchr(word, '=');
	const char *v = eq ? eq + 1 : "1";
	const struct {
		const char *name;
		int64_t *i;
		char *s;
		size_t room;
	} rows[] = {
		{ "status", &m->status },
		{ "norange", &m->norange },
		{ "loop", &m->loop },
		{ "bomb", &m->bomb },
		{ "page", &m->page },
		{ "direct", &m->direct },
		{ "cut", &m->cut },
		{ "stall", &m->stall },
		{ "slow", &m->slow },
		{ "expire", &m->expire },
		{ "wrong", &m->wrong },
		{ "size", &m->size },
		{ "extra", &m->extra },
		{ "retry", NULL, m->retry, sizeof m->retry },
		{ "ratelimit", NULL, m->ratelimit, sizeof m->ratelimit },
		{ "code", NULL, m->code, sizeof m->code },
		{ "json", NULL, m->json, sizeof m->json },
		{ "location", NULL, m->location, sizeof m->location },
		{ "etag", NULL, m->etag, sizeof m->etag },
		{ "commit", NULL, m->commit, sizeof m->commit },
	};

	if (eq)
		*eq = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(rows[i].name, word))
			continue;
		if (rows[i].i)
			*rows[i].i = atoll(v);
		else
			snprintf(rows[i].s, rows[i].room, "%s", v);
		for (char *s = m->retry; *s; s++) /* a date has spaces */
			*s = (char)(*s == '_' ? ' ' : *s);
		return;
	}
	fprintf(stderr, "mockhub: .modes: no key %s\n", word);
}

static void mode_line(struct mode *m, const char *request, char *line)
{
	char *copy = strdup(line), *words = strstr(copy, " : "), *save = NULL, *times;

	if (!words)
		fprintf(stderr, "mockhub: .modes: no \" : \" in %s\n", line);
	else
		*words = 0;
	if (words && !fnmatch(copy, request, 0)) {
		times = strstr(words + 3, "times=");
		if (!times || mode_count(line) <= atoll(times + 6)) {
			for (char *w = strtok_r(words + 3, " ", &save); w;
			     w = strtok_r(NULL, " ", &save))
				if (strncmp(w, "times=", 6))
					mode_set(m, w);
		}
	}
	free(copy);
}

/* request: "METHOD hub|cdn TARGET" */
static void mode_read(struct mode *m, const char *root, const char *request)
{
	char path[4096], *line = NULL;
	size_t room = 0;
	ssize_t n;
	FILE *f;

	*m = (struct mode){ .cut = -1, .stall = -1, .wrong = -1, .size = -1 };
	snprintf(path, sizeof path, "%s/.modes", root);
	f = fopen(path, "re");
	while (f && (n = getline(&line, &room, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		if (*line && *line != '#')
			mode_line(m, request, line);
	}
	free(line);
	if (f)
		fclose(f);
}

/* ---- bodies with faults ---- */

struct body {
	int fd;
	uint64_t from;
	struct mode m;
};

static void wait_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static ssize_t body_read(void *user, uint64_t pos, char *to, size_t room)
{
	struct body *b = user;
	uint64_t at = b->from + pos;
	ssize_t n;

	if (b->m.cut >= 0 && pos >= (uint64_t)b->m.cut)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (b->m.stall >= 0 && pos >= (uint64_t)b->m.stall) {
		wait_ms(60000);
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	if (b->m.cut >= 0 && room > (uint64_t)b->m.cut - pos)
		room = (size_t)((uint64_t)b->m.cut - pos);
	if (b->m.stall >= 0 && room > (uint64_t)b->m.stall - pos)
		room = (size_t)((uint64_t)b->m.stall - pos);
	if (b->m.slow) {
		if (room > (uint64_t)b->m.slow / 50 + 1)
			room = (size_t)(b->m.slow / 50 + 1);
		wait_ms(20);
	}
	n = pread(b->fd, to, room, (off_t)at);
	if (n > 0 && b->m.wrong >= 0 && at <= (uint64_t)b->m.wrong &&
	    (uint64_t)b->m.wrong < at + (uint64_t)n)
		to[(uint64_t)b->m.wrong - at] ^= 1;
	if (!n && b->m.extra) {
		memset(to, 0, room);
		n = (ssize_t)room;
	}
	return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void body_free(void *user)
{
	struct body *b = user;

	close(b->fd);
	free(b);
}
#endif
