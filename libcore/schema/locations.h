/* schema/locations.h - (private) the subschemas of a document: identifiers, references, drafts, and
 * messages that name a location.  Confined, as struct schema. */
#ifndef SCHEMA_LOCATIONS_H
#define SCHEMA_LOCATIONS_H
#include "base/json.h"
#include "automata/work.h"

struct schema;
struct keyword_row;

enum { DRAFT_2020 = 20 }; /* other drafts have the numbers of schema.h */

/* A subschema of the document, or a constant in it, under a dynamic scope. */
struct location {
	const struct json *v;
	uint32_t resource, scope;
	int constant; /* v is a value, not a schema */
};

/* A schema with an absolute URI of its own ($id), or the root. */
struct resource {
	const char *uri; /* "" if unknown */
	uint32_t n;
	const struct json *root;
	int draft;
	int ambiguous; /* 1: another schema has the same URI, and is not equal */
};

struct anchor {
	const struct json *name, *at; /* the keyword's value, and the schema that contains it */
	uint32_t skip;                /* leading bytes that are not part of the name: # */
	uint32_t resource;
	int dynamic;
	uint32_t nth; /* dynamic: index of its name */
};

/* A $ref whose URI has more than a fragment. */
struct remote_ref {
	const struct json *ref;
	uint32_t resource;
};

/* A schema of JSON Schema itself. References find it by its URI without a copy in the document. */
struct metaschema {
	const char *uri;
	int draft;
	const char *text; /* JSON */
};

/* ---- locations.c.  INFER_EINVAL, INFER_EUNSUP with a JSON pointer; the budget ---- */

/* Add the locations of all subschemas of the document and check their keywords. Without $schema and
 * options, an older draft is taken if a keyword's value is valid in that draft only. */
int schema_scan(struct schema *c);
/* Find or add the location of v without a dynamic scope. */
int schema_locate(struct schema *c, const struct json *v, uint32_t resource, int constant,
                  uint32_t *loc);
/* Find or add the location of v, a subschema of the one at `parent`. */
int schema_child(struct schema *c, uint32_t parent, const struct json *v, uint32_t *loc);
/* Set *lit to the literal of v, a subschema of the one at `parent`; negated if neg. */
int schema_literal(struct schema *c, uint32_t parent, const struct json *v, int neg, uint32_t *lit);
/* Move *loc to its schema in the dynamic scope that `scope` becomes on entering its resource. */
int schema_enter_scope(struct schema *c, uint32_t scope, uint32_t *loc);
/* Return the location that a reference in the schema at `loc` refers to.
 * dynamic: by $dynamicRef or $recursiveRef */
int schema_resolve(struct schema *c, uint32_t loc, const struct json *ref, int dynamic,
                   uint32_t *to);
int schema_draft_at(const struct schema *c, uint32_t loc);
/* True if the draft has the keyword. */
int schema_knows(int draft, const struct keyword_row *row);

/* ---- fail.c ---- */

/* Set the error to the JSON pointer of v, ": " and the formatted sentence; returns code. */
int schema_fail(struct schema *c, int code, const struct json *v, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Append the JSON pointer of v to opts.ignored or opts.annotations, once. */
void schema_ignore(struct schema *c, const struct json *v);
void schema_note(struct schema *c, const struct json *v);

/* ---- check.c ---- */

/* Return what is wrong with the value of member m of a schema ("must be ..."), or NULL. */
const char *schema_mistake(const struct json *m, const struct keyword_row *row, int draft);
/* Return the newest draft in which a refused value is valid, if no draft was given; 0: none. */
int schema_older_draft(const struct schema *c, const struct json *m, const struct keyword_row *row);
/* Ignore member m of schema s, whose name is not a keyword of its draft, as the standard demands, but
 * report it. row: it is one of another draft or language; NULL: it is not
 * INFER_EUNSUP  unless the options are lax, a keyword of another draft or language, or a name that
 * resembles a keyword */
int schema_check_unknown(struct schema *c, const struct json *s, const struct json *m,
                         const struct keyword_row *row);
/* Report a format that is not enforced. */
void schema_check_format(struct schema *c, const struct json *m);

/* ---- meta.c ---- */

/* Return the draft of the $schema in v, or `draft` if there is none.
 * INFER_EUNSUP  another dialect, unless the options are lax */
int schema_draft_of(struct schema *c, const struct json *v, int draft, int *out);
/* Find the metaschema of an absolute URI (http or https), or NULL. */
const struct metaschema *metaschema_find(const char *uri, size_t n);
/* Parse a metaschema into the arena of w. */
int metaschema_read(struct work *w, const struct metaschema *m, const struct json **out);
#endif
