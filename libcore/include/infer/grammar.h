/* infer/grammar.h - constraints: the texts that an answer may be.   floor: grammar
 *
 * A constraint is compiled once from a JSON Schema, rules, a regular expression or a choice of
 * texts, and given to any number of requests (infer_request.grammar).  It does not depend on a
 * model.  It is immutable and counted by reference: share it freely.
 *
 * An answer under a constraint is at every moment the beginning of a text that satisfies it; it
 * ends by itself where nothing can follow, and the end of turn comes only where the text may end.
 * What cannot be enforced is refused. */
#ifndef INFER_GRAMMAR_H
#define INFER_GRAMMAR_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>
#include <infer/file.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct infer_grammar infer_grammar;

enum infer_grammar_form {
	INFER_GRAMMAR_SCHEMA, /* a JSON Schema, drafts 4 to 2020-12 */
	INFER_GRAMMAR_OBJECT, /* any JSON object; its text is not read */
	INFER_GRAMMAR_RULES,  /* GBNF, from `root` */
	INFER_GRAMMAR_REGEX,  /* ECMA-262; the whole answer matches it */
	INFER_GRAMMAR_CHOICE, /* exactly one of the strings of a JSON array */
};
enum {
	/* what cannot be enforced in a schema is ignored (infer_grammar_ignored) */
	INFER_GRAMMAR_LAX = 1 << 0,
	/* `format` is a remark, whatever its name */
	INFER_GRAMMAR_ANNOTATE = 1 << 1,
	/* properties come in the order of `properties`, and others only where a keyword names them */
	INFER_GRAMMAR_ORDERED = 1 << 2,
	/* numbers in every spelling, such as 1.0 for an integer; without it those that programs
	 * write, where a schema allows one: for texts that others wrote */
	INFER_GRAMMAR_SPELLINGS = 1 << 3,
};
struct infer_grammar_source {
	int form;
	struct infer_str text; /* borrowed */
	uint32_t flags;        /* of a schema */
	/* elementary steps that compiling may take, and every token; bytes: four times as many;
	 * 0: INFER_GRAMMAR_BUDGET */
	uint64_t budget;
};
#define INFER_GRAMMAR_BUDGET (UINT64_C(1) << 26)

/* INFER_EEMPTY  cannot be read or enforced, or nothing satisfies it, or the budget; the message
 *               begins with the JSON pointer or the line of what is wrong, where there is one
 * INFER_ENOMEM */
int infer_grammar_compile(infer_grammar **out, const struct infer_grammar_source *s,
                          infer_error *err);
infer_grammar *infer_grammar_share(infer_grammar *g); /* one more owner; returns g */
void infer_grammar_free(infer_grammar *g);            /* NULL is fine */
/* The hash of form, flags, budget and text; lower case, 64 digits.  Borrowed from g. */
const char *infer_grammar_sha256(const infer_grammar *g);
/* "json_schema" "json_object" "grammar" "regex" "choice", as in requests; "tools" for calls. */
const char *infer_grammar_kind(const infer_grammar *g);
/* The JSON pointer of the i-th name that is no keyword and says nothing of values, or that
 * INFER_GRAMMAR_LAX ignored; NULL: no more. */
const char *infer_grammar_ignored(const infer_grammar *g, size_t i);

/* A cache of compiled constraints, by their contents and a tenant; the least recently used are evicted.
 * Shared. */
typedef struct infer_grammars infer_grammars;
int infer_grammars_new(infer_grammars **out, infer_error *err);
void infer_grammars_free(infer_grammars *c); /* their owners keep what they have */
/* As infer_grammar_compile, or one from the cache that was compiled for the same tenant; the caller's
 * to free. */
int infer_grammars_get(infer_grammar **out, infer_grammars *c, uint64_t tenant,
                       const struct infer_grammar_source *s, infer_error *err);

/* ---- looking at a constraint ---- */

struct infer_grammar_size {
	uint64_t bytes, steps;      /* that it takes; that compiling took of the budget */
	uint64_t goals, rule_codes; /* sets of conditions on a JSON value; instructions of rules */
	uint64_t automata,
		states; /* of strings, names and numbers, or of the text; of all of them */
};
void infer_grammar_size(const infer_grammar *g, struct infer_grammar_size *out);
/* Whether the text satisfies it; white space is what RFC 8259 admits, and one newline at the end may
 * be more.
 * at  out, the bytes that a text which does may begin with: n if it is accepted or only begun
 * INFER_EEMPTY  the budget of the constraint; INFER_ENOMEM */
int infer_grammar_check(const infer_grammar *g, const char *text, size_t n, int *accepted,
                        size_t *at, infer_error *err);
/* Append text number `draw` of stream `seed` that satisfies it: random for about `length` bytes, then
 * the shortest way to an end.
 * INFER_EEMPTY  the budget; no end was found; INFER_ENOMEM */
struct buf;
int infer_grammar_sample(const infer_grammar *g, uint64_t seed, uint64_t draw, uint32_t length,
                         struct buf *out, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
