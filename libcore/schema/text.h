/* schema/text.h - (private) automata of numbers, strings and names, each made once.  Automata
 * belong to the grammar.  Confined, as struct schema.
 *
 * All functions that return int: INFER_EUNSUP if the budget is exceeded, INFER_ENOMEM. */
#ifndef SCHEMA_TEXT_H
#define SCHEMA_TEXT_H
#include "automata/dfa.h"
#include "base/json.h"

struct schema;

/* ---- text.c ---- */

/* Hand d over to the grammar; frees it on failure. */
int schema_own(struct schema *c, struct dfa *d, const struct dfa **out);
/* Return the automaton cached under (of, how), or NULL. of: an address that identifies what it was
 * made of, for instance a keyword's value. */
const struct dfa *schema_cached(const struct schema *c, const void *of, uint32_t how);
int schema_cache(struct schema *c, const void *of, uint32_t how, const struct dfa *d);

enum number_bound {
	BOUND_NONE, /* any number */
	BOUND_MULTIPLE,
	BOUND_NOT_MULTIPLE,
	BOUND_AT_MOST,
	BOUND_BELOW,
	BOUND_AT_LEAST,
	BOUND_ABOVE
};
/* Set *out to the numbers within the bound v; v NULL for BOUND_NONE. */
int schema_number(struct schema *c, const struct json *v, enum number_bound bound,
                  const struct dfa **out);
/* Set *out to the integers, or if neg to the other numbers. digits: 1.0 is not an integer. */
int schema_integer(struct schema *c, int digits, int neg, const struct dfa **out);
/* Restrict numbers to canonical notations; to all notations if none is canonical. is_short: to the
 * shortest notation of each number. */
int schema_canonical_numbers(struct schema *c, const struct dfa *numbers, int is_short,
                             const struct dfa **out);
/* Restrict numbers to notations without exponent; is_short: to one notation of each number. */
int schema_plain_numbers(struct schema *c, const struct dfa *numbers, int is_short,
                         const struct dfa **out);

enum string_bound { STRING_FORMAT, STRING_PATTERN, STRING_MAX_LENGTH, STRING_MIN_LENGTH };
/* Set *out to the strings of at most n characters. v: for errors. */
int schema_short_strings(struct schema *c, const struct json *v, uint32_t n,
                         const struct dfa **out);
/* Set *out to the strings that satisfy this keyword with value v, or that do not if neg. */
int schema_string(struct schema *c, const struct json *v, enum string_bound kind, int neg,
                  const struct dfa **out);
/* Set *out to the strings with a match of the regular expression s[0 .. n); at: for messages. */
int schema_regex(struct schema *c, const struct json *at, const char *s, size_t n,
                 const struct dfa **out);
/* Set *out to numbers or strings (c->type) equal to v, or if `list` to an entry; neg: others. */
int schema_values(struct schema *c, const struct json *v, int list, int neg,
                  const struct dfa **out);
/* Set *out to a ∩ b; NULL: all. */
int schema_intersect(struct schema *c, const struct dfa *a, const struct dfa *b,
                     const struct dfa **out);
/* Return the value of a V_COUNT keyword, at most DFA_FOREVER - 1. */
uint32_t schema_count(const struct json *v);
/* True if two JSON values are equal; 1 equals 1.0. */
int schema_equal(const struct json *a, const struct json *b);

/* ---- memo.c ---- */

enum memo_op { MEMO_AND, MEMO_OR, MEMO_MINUS, MEMO_NOT, MEMO_WORDS };

uint32_t schema_hash(const void *bytes, size_t n, uint64_t seed);
/* Apply an operation other than MEMO_WORDS. MEMO_NOT: b is NULL, a NULL is the empty set. */
int schema_memo(struct schema *c, enum memo_op op, const struct dfa *a, const struct dfa *b,
                const struct dfa **out);
/* Set *out to the set of these words, or to its complement if neg. */
int schema_words(struct schema *c, const struct dfa_word *words, size_t n, int neg,
                 const struct dfa **out);
/* Set *d to the union of *d (NULL: the empty set) and more. */
int schema_unite(struct schema *c, const struct dfa **d, const struct dfa *more);
/* Set *d to the complement of *d (NULL: the empty set). */
int schema_complement(struct schema *c, const struct dfa **d);
#endif
