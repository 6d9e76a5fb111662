/* schema/compile.h - (private) a JSON Schema while it is compiled.  Confined.
 *
 * A literal is 2 * location (locations.h), plus 1 if the schema must not hold. A goal is a set of
 * literals that one value must satisfy. It is expanded for each type of values into branches, in
 * which every choice (anyOf, oneOf, not, if) is made. Each branch becomes an alternative of the
 * goal.
 *
 * A dynamic scope stores, for each name of dynamic anchors, the outermost resource that was entered
 * and has such an anchor. Scope 0 has none. It is the only scope unless several resources share a
 * name.
 *
 * Functions that return int, unless noted: INFER_OK or an error, also in c->w.err. Results
 * are in the memory of c->w, or automata of c->g: both are freed with the grammar.
 * INFER_EUNSUP  cannot be enforced, or the budget is used up; the schema is too large
 * INFER_EINVAL  an invalid schema, by the JSON pointer of the keyword
 * INFER_ENOMEM */
#ifndef SCHEMA_COMPILE_H
#define SCHEMA_COMPILE_H
#include "base/json.h"
#include "ir/ir.h"
#include "schema/branch.h"
#include "schema/keyword.h"
#include "schema/locations.h"
#include "schema/schema.h"
#include "schema/text.h"
#include "automata/work.h"

enum { LIT_TRUE = 0, LIT_FALSE = 2 }; /* locations 0 and 1: the schemas true and false */

/* A cached automaton with its key (of, how): see schema_cached. */
struct cached {
	const void *of;
	uint32_t how;
	const struct dfa *d;
};

/* An array with uniqueItems, and the keyword. */
struct unique {
	const struct array_shape *array;
	const struct json *v;
};

struct memo;

/* On the stack of schema_goal_of, which sets it up. */
struct schema {
	struct work w;
	struct grammar *g;
	const struct json *root;
	struct schema_opts opts;
	struct location *location;
	struct resource *resource;
	struct anchor *anchor;
	struct remote_ref *remote_ref;
	struct cached *cached;
	struct memo *memo;            /* results of operations on automata */
	const struct dfa_word **text; /* strings of the document, one address for equal ones */
	uint32_t n_locations, cap_locations, n_resources, cap_resources, n_anchors, cap_anchors;
	uint32_t n_remote_refs, cap_remote_refs, n_cached, cap_cached, n_memo, cap_memo;
	uint32_t n_texts, cap_texts, n_scopes, cap_scopes;
	uint32_t n_names; /* of dynamic anchors */
	uint32_t **scope; /* [n_scopes][n_names] a resource, or NOWHERE */
	int scoped;       /* several resources have a dynamic anchor of one name */
	struct htab by_value, by_lits, by_memo, by_cached, by_text;

	/* the goal that is expanded, for values of one type */
	uint32_t goal;
	enum alt_type type;
	const struct branch *branch;  /* the branch in which a keyword is applied */
	struct branch *made, *newest; /* list of the branches that result, and its last */
	const struct dfa **collect;   /* NULL, or the union of the strings of finished branches */
	int clip;                     /* with collect: 1: see schema_opts.short_names */
	uint32_t depth;               /* of recursion over branches */
	int plain;                    /* numbers have no exponent, because values are compared */

	struct unique *unique;
	uint32_t n_unique, cap_unique;
	int older;       /* an older draft in which a refused value is valid; 0: none */
	int scanned;     /* all anchors are known, except in schemas that only pointers refer to */
	int failed;      /* 0, or the code of an error in a schema that a reference refers to */
	infer_error why; /* that error */
};

/* True if a $ref hides the other keywords of its schema. */
static inline int draft_hides(int draft) { return draft <= SCHEMA_7; }
static inline uint32_t lit_not(uint32_t lit) { return lit ^ 1; }

/* ---- expand.c ---- */

/* Set *goal to the goal of a set of literals (sorted in place), or to NOWHERE if they contradict
 * each other. */
int schema_goal(struct schema *c, uint32_t *lits, uint32_t n, uint32_t *goal);
/* Append the alternatives of a goal to it, for all types. */
int schema_expand(struct schema *c, uint32_t goal);
/* Append the alternatives of objects again, with the members that closing left out. */
int schema_expand_open(struct schema *c, uint32_t goal);
/* Set *out to the strings that satisfy a literal. clip 1: without some of more than SCHEMA_NAME_MOST
 * characters (schema_opts.short_names). */
int schema_matching_names(struct schema *c, uint32_t lit, int clip, const struct dfa **out);
/* Append a copy of c->branch to the branches made; *out may be changed. */
int schema_fork(struct schema *c, struct branch **out);
/* Add a condition to a branch: a literal (mask: as in struct todo), a literal or keyword (late:
 * applied after others), a fact, an automaton of numbers or strings, which is borrowed from c->g.
 * *like is copied. The branch becomes dead if it is seen to be unsatisfiable. */
int schema_require(struct schema *c, struct branch *b, uint32_t lit, uint32_t mask);
int schema_add_todo(struct schema *c, struct branch *b, const struct todo *like, int late);
int schema_add_fact(struct schema *c, struct branch *b, const struct fact *like);
int schema_narrow(struct schema *c, struct branch *b, const struct dfa *d);

/* ---- apply.c, member.c: as keyword_apply (keyword.h): branches are appended to c->made ---- */

/* Apply any keyword. */
int schema_apply(struct schema *c, const struct todo *it);
/* Apply a keyword that bounds the number of members or elements from below (is_min) or above. */
int schema_size(struct schema *c, const struct todo *it, int is_min);
/* Apply the literal of a constant: the value must equal the const or enum value (or a part of it) at its
 * location; the negated literal: it must differ. */
int schema_constant(struct schema *c, const struct todo *it);

/* ---- repeat.c ---- */

/* If the pattern s [n] is ^X{LEAST,MOST}$ with X surely a class of characters, set its bounds (*most
 * DFA_FOREVER: none) and return the bytes of X; else return 0. */
size_t schema_repeats(const char *s, size_t n, uint32_t *least, uint32_t *most);

/* ---- limit.c ---- */

/* Apply the limits on the length of the strings a->text: as an automaton if it is small, or if strings
 * are compared or combined; else they are counted. a->text NULL: no string is left. */
int schema_limit_text(struct schema *c, const struct branch *b, struct alt *a);

/* ---- disjoint.c ---- */

/* True if no value of c->type satisfies the schemas at both locations; 0: unknown, or the budget is
 * used up. */
int schema_disjoint(struct schema *c, uint32_t a, uint32_t b);

/* ---- array.c, object.c, unique.c ---- */

/* Make the shape of a branch for arrays or objects: set out->shape and out->array or out->object,
 * which stays NULL if the shape has no values. */
int schema_array(struct schema *c, const struct branch *b, struct alt *out);
int schema_object(struct schema *c, const struct branch *b, struct alt *out);
/* Count, for each state of d, the words accepted from it. UINT64_MAX: more than any array has
 * elements. If that is so for all states, *out is unchanged (set it to NULL before). */
int schema_followers(struct schema *c, const struct dfa *d, const uint64_t **out);
/* Count the values of the goals of elements under uniqueItems.
 * INFER_EUNSUP  an array may need more distinct values than its elements have */
int schema_unique(struct schema *c);
#endif
