/* infer/grammar.h - constraints: which texts an answer may be.   floor: grammar
 *
 * A constraint is compiled once from a JSON Schema, a grammar (GBNF or Lark), a regular expression or a choice of
 * texts, and passed with any number of requests (infer_request.grammar).  It does not depend on a model.
 * Immutable and counted by reference.
 *
 * An answer under a constraint is always a prefix of a text that satisfies it.  It ends by itself if
 * nothing can follow; the model can end it only where the text may end.  A constraint that cannot be
 * enforced is refused. */
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
	INFER_GRAMMAR_OBJECT, /* any JSON object; source.text is not read */
	INFER_GRAMMAR_RULES,  /* GBNF, from rule `root`; or Lark (name: ...), from rule `start` */
	INFER_GRAMMAR_REGEX,  /* ECMA-262; it must match the whole answer */
	INFER_GRAMMAR_CHOICE, /* exactly one of the strings of a JSON array */
};
enum {
	/* ignore keywords of a schema that cannot be enforced (infer_grammar_ignored) */
	INFER_GRAMMAR_LAX = 1 << 0,
	/* ignore `format`, whatever its name */
	INFER_GRAMMAR_ANNOTATE = 1 << 1,
	/* write properties in the order of `properties`; others only if a keyword names them */
	INFER_GRAMMAR_ORDERED = 1 << 2,
	/* accept all that satisfies the schema, to check texts of other programs.  Without it, numbers
	 * have canonical forms only (1, not 1.0, for an integer), and objects no members that the schema
	 * does not name, if it names any and allows both */
	INFER_GRAMMAR_AS_WRITTEN = 1 << 3,
	/* refuse a `format` that is not known; without it, such a format is an annotation */
	INFER_GRAMMAR_STRICT_FORMATS = 1 << 4,
};
struct infer_grammar_source {
	int form;
	struct infer_str text; /* borrowed */
	uint32_t flags;        /* INFER_GRAMMAR_..., for a schema */
	/* most steps, of a few nanoseconds each, for compiling and for each token; most bytes: four
	 * times as many; 0: INFER_GRAMMAR_BUDGET */
	uint64_t budget;
};
#define INFER_GRAMMAR_BUDGET (UINT64_C(1) << 26)

/* why a constraint was refused */
enum infer_grammar_cause {
	INFER_GRAMMAR_ACCEPTED,      /* not refused; also after INFER_ENOMEM */
	INFER_GRAMMAR_UNREADABLE,    /* not JSON, GBNF, a regular expression or a list of strings */
	INFER_GRAMMAR_INVALID,       /* JSON, but not a valid JSON Schema */
	INFER_GRAMMAR_UNSUPPORTED,   /* valid, but it cannot be enforced */
	INFER_GRAMMAR_UNSATISFIABLE, /* no text satisfies it */
	INFER_GRAMMAR_TOO_LARGE,     /* compiling takes more than the budget */
};
/* Compile a constraint.  The caller frees *out.
 * cause  out, or NULL
 * INFER_EEMPTY  refused, see *cause; the message begins with the JSON pointer or line at fault, if any
 * INFER_ENOMEM */
int infer_grammar_compile(infer_grammar **out, const struct infer_grammar_source *s,
                          enum infer_grammar_cause *cause, infer_error *err);
infer_grammar *infer_grammar_share(infer_grammar *g); /* add a reference; returns g */
void infer_grammar_free(infer_grammar *g);            /* release a reference; NULL is fine */
/* Return the SHA-256 of form, flags, budget and text, 64 lower-case digits.  Borrowed from g. */
const char *infer_grammar_sha256(const infer_grammar *g);
/* Return "json_schema", "json_object", "grammar", "regex" or "choice", as in requests; "tools" for tool
 * calls.  Static. */
const char *infer_grammar_kind(const infer_grammar *g);
/* Return the JSON pointer of the i-th member of the schema without effect: its name is not a
 * keyword, or INFER_GRAMMAR_LAX ignored the keyword.  NULL: no more.  Borrowed from g. */
const char *infer_grammar_ignored(const infer_grammar *g, size_t i);
/* The same of members that the standard makes annotations: unknown formats, names that begin with _ or
 * x-.  At most some twenty are listed. */
const char *infer_grammar_annotation(const infer_grammar *g, size_t i);

/* A cache of compiled constraints by content and tenant; it evicts the least recently used.  Shared. */
typedef struct infer_grammars infer_grammars;
/* Create a cache.  INFER_ENOMEM, INFER_EIO */
int infer_grammars_new(infer_grammars **out, infer_error *err);
void infer_grammars_free(infer_grammars *c); /* references of others stay valid; NULL is fine */
/* As infer_grammar_compile, or return the cached one of the same tenant. */
int infer_grammars_get(infer_grammar **out, infer_grammars *c, uint64_t tenant,
                       const struct infer_grammar_source *s, enum infer_grammar_cause *cause,
                       infer_error *err);

/* ---- inspecting a constraint ---- */

struct infer_grammar_size {
	uint64_t bytes, steps;      /* memory of the constraint; steps that compiling took */
	uint64_t goals, rule_codes; /* sets of JSON values; instructions of rules */
	uint64_t automata,
		states; /* of strings, names and numbers, or of the text; states of all automata */
};
void infer_grammar_size(const infer_grammar *g, struct infer_grammar_size *out);
/* Set *accepted to 1 if the text satisfies the constraint.  White space is that of RFC 8259; one final
 * newline is ignored.
 * at  out, length of the longest prefix of text that some satisfying text begins with: n if
 * accepted or incomplete
 * INFER_EEMPTY  the budget is exhausted; INFER_ENOMEM */
int infer_grammar_check(const infer_grammar *g, const char *text, size_t n, int *accepted,
                        size_t *at, infer_error *err);
/* Append a satisfying text to out (base/buf.h, for programs of this tree), number `draw` of stream
 * `seed`: random for about `length` bytes, then the shortest completion.
 * INFER_EEMPTY  the budget is exhausted, or no end was found; INFER_ENOMEM */
struct buf;
int infer_grammar_sample(const infer_grammar *g, uint64_t seed, uint64_t draw, uint32_t length,
                         struct buf *out, infer_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
