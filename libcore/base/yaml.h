/* base/yaml.h - untrusted YAML as a tree of nodes with their places, read by libyaml.  Confined;
 * immutable once it is read.
 *
 * One document of lists, maps and scalars.  What a scalar means is up to the caller, who asks for a
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
	const char *at;     /* of a scalar: UTF-8 without NUL inside, then a NUL */
	struct ytree *key;  /* of a member of a map: a scalar */
	struct ytree *next; /* its sibling */
	struct ytree *first, *last;
};

/* Read one document.
 * *out    lives in a; NULL for an empty text and on failure
 * what    what the text is, for messages: "what: line 3, column 7: ..."
 * INFER_EFORMAT  with line and column: no YAML, text that is not UTF-8, more than YTREE_BYTES or
 *                YTREE_NODES, nesting deeper than YTREE_DEPTH, a key twice in a map or one that is
 *                no scalar, anchors and aliases, tags, directives of tags, a second document
 * INFER_ENOMEM */
int ytree_read(struct ytree **out, struct arena *a, const char *text, size_t bytes,
               const char *what, infer_error *err);

/* Set an error that names the place of a node: "what: line 3, column 7: ...". */
int ytree_fail(const struct ytree *y, const char *what, infer_error *err, int code, const char *fmt,
               ...) __attribute__((format(printf, 5, 6), cold));

/* The value of a key; NULL: absent.  y: a map */
const struct ytree *ytree_get(const struct ytree *y, const char *key);
/* A scalar is this word. */
int ytree_is(const struct ytree *y, const char *word);

/* What a node says, or INFER_EFORMAT with its place. */
int ytree_map(const struct ytree *y, const char *what, infer_error *err);  /* it is a map */
int ytree_list(const struct ytree *y, const char *what, infer_error *err); /* it is a list */
/* borrowed; not empty */
int ytree_text(const char **v, const struct ytree *y, const char *what, infer_error *err);
/* decimal digits without quotes, from lo to hi */
int ytree_u64(uint64_t *v, const struct ytree *y, uint64_t lo, uint64_t hi, const char *what,
              infer_error *err);
/* a number as in JSON without quotes, from lo to hi */
int ytree_f64(double *v, const struct ytree *y, double lo, double hi, const char *what,
              infer_error *err);
#endif
