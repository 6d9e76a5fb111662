/* base/nearest.h - find the name that is most similar to a mistyped one. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

/* bytes of a name with its NUL; longer names are never similar */
enum { NEAREST_NAME = 128 };

/* Return the number of edits (insert, delete, replace, swap two neighbours) from a to b; both are
 * shorter than NEAREST_NAME. */
int nearest_edits(const char *a, const char *b);

struct nearest {
	const char *typed, *best; /* best: NULL if none is similar */
	int least;
};
void nearest_begin(struct nearest *n, const char *typed);
/* Set n->best to `name` if it is more similar than all names tried before.  A name that begins with
 * the typed text counts as one edit away. */
void nearest_try(struct nearest *n, const char *name);
#endif
