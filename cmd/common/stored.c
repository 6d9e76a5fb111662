/* common/stored.c - chat templates that a model store has for a model file, by path. */
#include "common/stored.h"
#include <infer/hub.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Entries are never moved or freed: readers borrow the text without the lock. */
struct stored {
	struct stored *next;
	char *path, *jinja;
};
static struct stored *first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Return the entry of the file, or NULL. Caller holds the lock. */
static const struct stored *find_stored(const char *path)
{
	const struct stored *s = first;

	while (s && strcmp(s->path, path))
		s = s->next;
	return s;
}

void stored_template_add(const char *path, char *jinja)
{
	struct stored *s = malloc(sizeof *s);
	char *copy = strdup(path);

	pthread_mutex_lock(&lock);
	const struct stored *old = find_stored(path);

	if (s && copy && (!old || strcmp(old->jinja, jinja))) {
		*s = (struct stored){ first, copy, jinja };
		first = s;
		s = NULL;
		copy = jinja = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(s);
	free(copy);
	infer_hub_free(jinja);
}

const char *stored_template(const char *path)
{
	pthread_mutex_lock(&lock);
	const struct stored *s = find_stored(path);

	pthread_mutex_unlock(&lock);
	return s ? s->jinja : NULL;
}
