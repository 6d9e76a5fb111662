/* base/yaml.h - read untrusted YAML with libyaml into a tree of nodes with their positions.
 * Confined; immutable once it is read.
 *
 * One document of lists, maps and scalars.  Scalars have no types: the caller reads each as a
 * number or a text. */
#ifndef BASE_YAML_H
#define BASE_YAML_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include "base/arena.h"

enum { YTREE_DEPTH = 64, YTREE_BYTES = 4 << 20, YTREE_NODES = 1 << 18 };

enum ytree_kind { YTREE_SCALAR, YTREE_LIST, YTREE_MAP };

struct ytree {
	uint8_t kind;       /* enum ytree_kind */
	uint8_t plain;      /* a scalar without quotes */
	int line, column;   /* from 1; columns are characters */
	uint32_t n;         /* bytes of a scalar, entries of a list, members of a map */
	const char *at;     /* text of a scalar: UTF-8, NUL-terminated, no other NUL */
	struct ytree *key;  /* of a map's member: its key, a scalar; else NULL */
	struct ytree *next; /* next entry or member of the same list or map */
	struct ytree *first, *last;
};

/* Read one document.
 * *out: in arena a; NULL for an empty text and on failure.  what: name of the text, for messages:
 * "what: line 3, column 7: ..."
 * INFER_EFORMAT, with line and column: malformed YAML, text that is not UTF-8, more than
 * YTREE_BYTES or YTREE_NODES, nesting deeper than YTREE_DEPTH, a duplicate key or one that is not a
 * scalar, anchors and aliases, tags, tag directives, a second document.
 * INFER_ENOMEM */
int ytree_read(struct ytree **out, struct arena *a, const char *text, size_t bytes,
               const char *what, infer_error *err);

/* Set an error with the position of a node: "what: line 3, column 7: ...".  Returns code. */
int ytree_fail(const struct ytree *y, const char *what, infer_error *err, int code, const char *fmt,
               ...) __attribute__((format(printf, 5, 6), cold));

/* Return the value of a key of map y, or NULL. */
const struct ytree *ytree_get(const struct ytree *y, const char *key);
/* True if y is this word. */
int ytree_is(const struct ytree *y, const char *word);

/* Check or read a node.  INFER_EFORMAT, with its position: another type, or out of range. */
int ytree_map(const struct ytree *y, const char *what, infer_error *err);  /* must be a map */
int ytree_list(const struct ytree *y, const char *what, infer_error *err); /* must be a list */
/* Read a scalar that is not empty; *v is borrowed. */
int ytree_text(const char **v, const struct ytree *y, const char *what, infer_error *err);
/* Read decimal digits without quotes, from lo to hi. */
int ytree_u64(uint64_t *v, const struct ytree *y, uint64_t lo, uint64_t hi, const char *what,
              infer_error *err);
/* Read a JSON number without quotes, from lo to hi. */
int ytree_f64(double *v, const struct ytree *y, double lo, double hi, const char *what,
              infer_error *err);
#endif
