/* schema/branch.h - (private) one choice of subschemas while a goal is expanded.  Confined. */
#ifndef SCHEMA_BRANCH_H
#define SCHEMA_BRANCH_H
#include "base/json.h"
#include "schema/keyword.h"
#include "automata/dfa.h"

/* Bit of a mask: the keyword may name members of an object that is closed (schema_opts.closed). The
 * other bits belong to unevaluated* keywords of the schema. */
#define MASK_NAMES (UINT32_C(1) << 31)

/* Work left in a branch: a literal, or keyword v of the schema at `location`. */
struct todo {
	struct todo *next;
	uint32_t lit, location;
	const struct json *v;     /* NULL: a literal */
	const struct json *entry; /* one entry of dependencies and the like; NULL: all of v */
	const struct keyword_row *row;
	int neg;       /* the keyword must not hold */
	uint32_t mask; /* bits of the unevaluated* keywords for which it evaluates */
};

enum fact_kind {
	FACT_VALUE,    /* each member whose name matches satisfies lit */
	FACT_REQUIRED, /* the member `name` exists */
	FACT_HAS,      /* some member whose name matches satisfies lit */
	FACT_ITEMS,    /* each element in [from, to) satisfies lit */
	FACT_COUNT,    /* min ... max elements at or after `from` satisfy lit */
	FACT_REST      /* members or elements that no fact evaluates for `bit` satisfy lit */
};

/* A condition on the members or elements of a value. */
struct fact {
	struct fact *next;
	enum fact_kind kind;
	const struct dfa *keys; /* the names that match; NULL: `name` alone */
	const char *name;
	uint32_t name_n, lit, mask;
	union {
		uint32_t from; /* FACT_ITEMS, FACT_COUNT */
		uint32_t need; /* FACT_HAS: index among the FACT_HAS */
	};
	uint32_t to, min, max;
	int evaluates; /* 1: its members or elements count as evaluated, or named, for mask */
	int neg;       /* FACT_REST: some member or element satisfies lit */
	uint32_t bit;  /* FACT_REST: the bit of its keyword */
	const struct json *v;
};

struct branch {
	struct branch *next;
	struct todo *todo, *late; /* late: after all of todo, because it makes several branches */
	struct todo *done;        /* literals that were expanded */
	struct fact *facts;       /* newest first */
	const struct dfa *text;   /* accepted numbers or strings; NULL: all */
	uint32_t min, max;        /* number of members or elements */
	/* limits on the characters of a string that text does not have yet; DFA_FOREVER: none */
	uint32_t shortest, longest;
	/* the keywords that set them, negated: 1 */
	const struct json *floor, *limit;
	int floor_neg, limit_neg;
	uint32_t bits;             /* number of mask bits in use, without MASK_NAMES */
	int lists;                 /* 1: properties or patternProperties name its members */
	int listed;                /* 1: text has only values of const or enum */
	int dead;                  /* no value satisfies it */
	const struct json *unique; /* the uniqueItems that holds; NULL: none */
};

/* True if a mask asks which of several schemas hold, because an unevaluated* depends on it. */
static inline int mask_decides(uint32_t mask) { return (mask & ~MASK_NAMES) != 0; }
/* Bound the number of members or elements. */
static inline void branch_at_least(struct branch *x, uint32_t n)
{
	x->min = x->min > n ? x->min : n;
}
static inline void branch_at_most(struct branch *x, uint32_t n)
{
	x->max = x->max < n ? x->max : n;
}
#endif
