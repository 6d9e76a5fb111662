/* base/nearest.h - the name that somebody who typed another may have meant. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

/* bytes of a name, with its NUL; longer ones are near to nothing */
enum { NEAREST_NAME = 128 };

/* Edits (insert, delete, replace, swap two neighbours) from a to b; both are shorter than
 * NEAREST_NAME. */
int nearest_edits(const char *a, const char *b);

struct nearest {
	const char *typed, *best; /* best: NULL: none is near */
	int least;
};
void nearest_begin(struct nearest *n, const char *typed);
/* name: kept, if it is nearer than those before; one that begins with what was typed is one edit
 * away. */
void nearest_try(struct nearest *n, const char *name);
#endif
