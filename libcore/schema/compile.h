/* schema/compile.h - (private) a JSON Schema while it is compiled.
 *
 * A place is a schema, or a constant, somewhere in the document, under a dynamic scope: for each
 * name of dynamic anchors the outermost resource that was entered and has it.  Scope 0 has none; it
 * is the only one unless a name is in several resources.  A literal is 2 * place, or that
 * + 1 for what does not satisfy it.  A goal is a set of literals that one value must satisfy; it is
 * expanded for each type into branches, in which every choice (anyOf, oneOf, not, if) is made, and
 * each branch becomes an alternative.  Confined. */
#ifndef SCHEMA_COMPILE_H
#define SCHEMA_COMPILE_H
#include "base/json.h"
#include "ir/ir.h"
#include "schema/keyword.h"
#include "schema/branch.h"
#include "schema/schema.h"
#include "automata/work.h"

enum { LIT_TRUE = 0, LIT_FALSE = 2 }; /* places 0 and 1 */
enum { DRAFT_2020 = 20 };             /* others have the numbers of schema.h */

struct place {
	const struct json *v;
	uint32_t resource, scope;
	int constant;
};

struct resource {
	const char *uri; /* absolute, or "" */
	uint32_t n;
	const struct json *root;
	int draft;
};

/* A schema of JSON Schema itself: known by its address, as if each document had it. */
struct metaschema {
	const char *uri;
	int draft;
	const char *text;
};

struct anchor {
	const struct json *name, *at;
	uint32_t skip; /* of the name: the # */
	uint32_t resource;
	int dynamic;
	uint32_t nth; /* of the names of dynamic anchors */
};

struct kept {
	const void *of; /* a value of the schema, or an automaton */
	uint32_t how;
	const struct dfa *d;
};

/* an array whose elements must differ, and the keyword */
struct unique {
	const struct array_shape *array;
	const struct json *v;
};

enum memo_op { MEMO_AND, MEMO_OR, MEMO_MINUS, MEMO_NOT, MEMO_WORDS };
struct memo;

struct schema {
	struct work w;
	struct grammar *g;
	const struct json *root;
	struct schema_opts opts;
	struct place *place;
	uint32_t n_places, cap_places, n_resources, cap_resources, n_anchors, cap_anchors, n_kept,
		cap_kept, n_texts, cap_texts, n_names, n_scopes, cap_scopes, n_memo, cap_memo;
	uint32_t **scope; /* [n_scopes][n_names] a resource, NOWHERE */
	int scoped;       /* a name is in several resources */
	struct htab by_value, by_lits, by_memo, by_kept, by_text;
	struct memo *memo;
	struct resource *resource;
	struct anchor *anchor;
	struct away {
		const struct json *ref;
		uint32_t resource;
	} * away; /* references with an address */
	uint32_t n_away, cap_away;
	struct kept *kept;
	const struct dfa_word **text;
	enum alt_type type; /* that is expanded */
	uint32_t goal;
	const struct branch *branch;  /* that is expanded */
	struct branch *made, *newest; /* list made by the keyword that is applied, and its last */
	struct unique *unique;
	uint32_t n_unique, cap_unique;
	int plain;                  /* goals are for values that are compared */
	const struct dfa **collect; /* not NULL: strings are gathered there, for property names */
	uint32_t depth;
	int older;       /* the draft that a mistake was written for; 0: none */
	int scanned;     /* all anchors are known, but those that only pointers lead to */
	int failed;      /* 0, or the code of a mistake behind a reference */
	infer_error why; /* it */
};

/* -- places.c: where schemas are, and what refers to them */
int schema_scan(struct schema *c);
int schema_place(struct schema *c, const struct json *v, uint32_t resource, int constant,
                 uint32_t *place);
/* The schema v inside that of a place. */
int schema_child(struct schema *c, uint32_t parent, const struct json *v, uint32_t *place);
/* in a scope that its resource has entered */
int schema_enter(struct schema *c, uint32_t scope, uint32_t *place);
int schema_draft(const struct schema *c, uint32_t place);
/* a $ref hides what stands beside it */
static inline int draft_hides(int draft) { return draft <= SCHEMA_7; }
/* Whether the keyword is one of the draft. */
int schema_knows(int draft, const struct keyword_row *row);
/* Fails with the pointer of v and a sentence. */
int schema_fail(struct schema *c, int code, const struct json *v, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void schema_ignore(struct schema *c, const struct json *v); /* its pointer is told */
/* The place that a $ref or $dynamicRef of `place` names. */
int schema_target(struct schema *c, uint32_t place, const struct json *ref, int dynamic,
                  uint32_t *to);
/* -- meta.c: the draft that v names, or `draft`; that of the address, by http or https; NULL: none */
int schema_draft_of(struct schema *c, const struct json *v, int draft, int *out);
const struct metaschema *metaschema_find(const char *uri, size_t n);
int metaschema_read(struct work *w, const struct metaschema *m, const struct json **out);
/* RFC 3986, 5.2: in the arena; NULL: no memory */
int uri_resolve(struct work *w, const char *base, size_t base_n, const char *ref, size_t n,
                const char **out, uint32_t *out_n);

/* -- text.c: automata of keywords */
int schema_keep(struct schema *c, struct dfa *d, const struct dfa **out);
/* An automaton that was made before, of something; NULL: it was not. */
const struct dfa *schema_kept(const struct schema *c, const void *of, uint32_t how);
int schema_keep_as(struct schema *c, const void *of, uint32_t how, const struct dfa *d);
enum number_bound {
	BOUND_NONE, /* any number */
	BOUND_MULTIPLE,
	BOUND_NOT_MULTIPLE,
	BOUND_AT_MOST,
	BOUND_BELOW,
	BOUND_AT_LEAST,
	BOUND_ABOVE
};
/* Numbers within the bound v; v NULL for BOUND_NONE. */
int schema_number(struct schema *c, const struct json *v, enum number_bound bound,
                  const struct dfa **out);
/* Those of these numbers whose spelling is usual; all of them where none is. */
int schema_usual(struct schema *c, const struct dfa *numbers, const struct dfa **out);
/* Those of these numbers that are spelled without exponent; is_short: and as short as can be. */
int schema_plain(struct schema *c, const struct dfa *numbers, int is_short, const struct dfa **out);
enum string_bound { STRING_FORMAT, STRING_PATTERN, STRING_MAX_LENGTH, STRING_MIN_LENGTH };
/* Strings that satisfy this keyword with value v, or that do not if neg. */
int schema_string(struct schema *c, const struct json *v, enum string_bound kind, int neg,
                  const struct dfa **out);
/* digits: without point and exponent */
int schema_integer(struct schema *c, int digits, int neg, const struct dfa **out);
/* The values of that type among n, or all others. */
int schema_values(struct schema *c, const struct json *v, int list, int neg,
                  const struct dfa **out);
int schema_regex(struct schema *c, const struct json *at, const char *s, size_t n,
                 const struct dfa **out);
int schema_both(struct schema *c, const struct dfa *a, const struct dfa *b, const struct dfa **out);
uint32_t schema_count(const struct json *v);
int schema_same(const struct json *a, const struct json *b); /* negative, 0, positive */

/* -- memo.c: the same again */
uint32_t schema_hash(const void *bytes, size_t n, uint64_t seed);
int schema_words(struct schema *c, const struct dfa_word *words, size_t n, int neg,
                 const struct dfa **out);
/* a of MEMO_NOT: NULL is nothing, whose complement is all */
int schema_memo(struct schema *c, enum memo_op op, const struct dfa *a, const struct dfa *b,
                const struct dfa **out);
/* *d becomes the union of *d (NULL: nothing) and more, or all that is not in it */
int schema_unite(struct schema *c, const struct dfa **d, const struct dfa *more);
int schema_complement(struct schema *c, const struct dfa **d);

/* -- expand.c, apply.c: choices */
int schema_expand(struct schema *c, uint32_t goal);
int schema_names(struct schema *c, uint32_t lit, const struct dfa **out);
/* apart.c: no value of the type that is expanded satisfies both of these places */
int schema_apart(struct schema *c, uint32_t a, uint32_t b);
int schema_fork(struct schema *c, struct branch **out);
int schema_want(struct schema *c, struct branch *b, uint32_t lit, uint32_t mask);
int schema_item(struct schema *c, struct branch *b, const struct item *like, int late);
int schema_fact(struct schema *c, struct branch *b, const struct fact *like);
int schema_narrow(struct schema *c, struct branch *b, const struct dfa *d);
int schema_apply(struct schema *c, const struct item *it);
/* Bound the number of members or elements from below (is_min) or above. */
int schema_size(struct schema *c, const struct item *it, int is_min);
int schema_constant(struct schema *c, const struct item *it);
static inline uint32_t lit_not(uint32_t lit) { return lit ^ 1; }
/* How many words follow each state; UINT64_MAX: there are always some left; NULL: from all states. */
int schema_followers(struct schema *c, const struct dfa *d, const uint64_t **out);
/* -- unique.c: what arrays whose elements differ must know of them */
int schema_unique(struct schema *c);
/* -- array.c, member.c, object.c: branches become shapes */
int schema_array(struct schema *c, const struct branch *b, struct alt *out);
int schema_object(struct schema *c, const struct branch *b, struct alt *out);
/* The goal of a set of literals, NOWHERE where they exclude each other. */
int schema_goal(struct schema *c, uint32_t *lits, uint32_t n, uint32_t *goal);
#endif
