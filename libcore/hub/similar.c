/* hub/similar.c - suggest names similar to one that was not found. */
#include "hub/similar.h"
#include "base/nearest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hub_names_add(struct hub_names *l, const char *name, size_t bytes)
{
	if (l->n == HUB_NAMES_MOST)
		return;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		const char **more = arena_alloc(l->mem, cap, sizeof *more);

		if (!more)
			return;
		if (l->n)
			memcpy(more, l->at, l->n * sizeof *more);
		l->at = more;
		l->cap = cap;
	}
	char *copy = arena_strndup(l->mem, name, bytes);

	if (copy)
		l->at[l->n++] = copy;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Return the most similar of the names, or one that contains `typed`; NULL: none. */
static const char *find_nearest(const struct hub_names *l, const char *typed)
{
	struct nearest near;

	nearest_begin(&near, typed);
	for (size_t i = 0; i < l->n; i++)
		nearest_try(&near, l->at[i]);
	for (size_t i = 0; !near.best && strlen(typed) > 3 && i < l->n; i++)
		if (strcasestr(l->at[i], typed))
			return l->at[i];
	return near.best;
}

void hub_names_say(char *out, size_t room, struct hub_names *l, const char *typed,
                   const char *prefix)
{
	enum { SHOWN = 6 };
	size_t n = 0;

	*out = 0;
	if (!l->n)
		return;
	qsort(l->at, l->n, sizeof *l->at, compare_names);
	const char *meant = find_nearest(l, typed);

	if (meant) {
		snprintf(out, room, "; did you mean %s%s?", prefix, meant);
		return;
	}
	for (size_t i = 0; i < l->n && i < SHOWN && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s%s", i ? ", " : "; there are ",
		                      prefix, l->at[i]);
	if (l->n > SHOWN && n < room)
		snprintf(out + n, room - n, " ...");
}

/* Add ORG/REPO if a folder of the cache is called models--ORG--REPO. */
static void add_folder(struct hub_names *l, const char *folder)
{
	static const char prefix[] = "models--";
	char name[256];
	size_t n = 0;

	if (strncmp(folder, prefix, sizeof prefix - 1))
		return;
	for (const char *s = folder + sizeof prefix - 1; *s && n + 1 < sizeof name; s++) {
		int cut = s[0] == '-' && s[1] == '-';

		name[n++] = cut ? '/' : *s;
		s += cut;
	}
	hub_names_add(l, name, n);
}

void hub_similar(char *out, size_t room, const char *repo, const struct infer_hub_opts *o)
{
	DIR *d = o->cache ? opendir(o->cache) : NULL;
	struct arena mem;
	struct hub_names l = { .mem = &mem };
	const struct dirent *e;

	*out = 0;
	if (!d)
		return;
	arena_init(&mem, MEM_HUB);
	while ((e = readdir(d)) && l.n < HUB_NAMES_MOST)
		add_folder(&l, e->d_name);
	closedir(d);
	const char *meant = find_nearest(&l, repo);

	if (meant && !strcmp(meant, repo))
		snprintf(out, room, "; the cache has some of it: infer-inspect list");
	else if (meant)
		snprintf(out, room, "; did you mean hf:%s?", meant);
	arena_fini(&mem);
}
