/* schema/branch.h - (private) what is known of a value while choices are made.  Confined. */
#ifndef SCHEMA_BRANCH_H
#define SCHEMA_BRANCH_H
#include "base/json.h"
#include "schema/keyword.h"
#include "automata/dfa.h"

/* Something that is left to do in a branch: a literal, or a keyword of a schema. */
struct item {
	struct item *next;
	uint32_t lit, place;
	const struct json *v;     /* the member; NULL: lit */
	const struct json *entry; /* of the member, where each is a choice */
	const struct keyword_row *row;
	int neg;
	uint32_t mask; /* a bit for each unevaluated* that applies to this item */
};

enum fact_kind {
	FACT_VALUE,    /* of each member whose name is in keys */
	FACT_REQUIRED, /* the name is there */
	FACT_HAS,      /* of some member whose name is in keys */
	FACT_ITEMS,    /* of each element from ... to - 1 */
	FACT_COUNT,    /* of min ... max elements at from or behind */
	FACT_REST      /* of what nothing else that is marked has evaluated */
};

struct fact {
	struct fact *next;
	enum fact_kind kind;
	const struct dfa *keys; /* NULL: name */
	const char *name;
	uint32_t name_n, lit, mask, from, to, min, max;
	int marks, neg; /* it evaluates; FACT_REST: some */
	uint32_t bit;   /* FACT_REST: of the mask */
	const struct json *v;
};

struct branch {
	struct branch *next;
	struct item *todo, *late, *done;
	struct fact *facts;
	const struct dfa *text; /* NULL: all */
	uint32_t min, max;      /* members, elements */
	uint32_t bits;
	int dead;
	const struct json *unique; /* the keyword; NULL: elements may be equal */
};
#endif
