/* grammar/shared.h - the handle of a compiled constraint.  Immutable except for refs. */
#ifndef GRAMMAR_SHARED_H
#define GRAMMAR_SHARED_H
#include <stdatomic.h>
#include <infer/grammar.h>
#include "base/buf.h"
#include "grammar/grammar.h"

struct infer_grammar {
	atomic_uint refs;
	struct grammar *g;
	struct budget budget;  /* steps of each token; bytes of the states of a sequence */
	uint64_t bytes, steps; /* memory of g; steps that compiling took */
	const char *kind;      /* static */
	char sha256[65];
	struct buf ignored, annotations; /* JSON pointers, each ended by NUL */
};

/* Make the handle of a grammar that was built from parts.  Takes g on success.
 * kind    a static name, for records
 * text    the source; its hash names the constraint in records
 * budget  0: INFER_GRAMMAR_BUDGET
 * INFER_EEMPTY  no text satisfies it; INFER_ENOMEM */
int grammar_share(infer_grammar **out, struct grammar *g, const char *kind, struct infer_str text,
                  uint64_t budget, infer_error *err);
/* Compile a constraint without a handle.  The caller frees *out with ir_free or ir_drop.
 * INFER_EINVAL  the source is ill-formed; INFER_EUNSUP  it cannot be enforced, or the budget;
 * INFER_EEMPTY  no text satisfies it; INFER_ENOMEM */
int grammar_compile(struct grammar **out, const struct infer_grammar_source *s, struct budget *left,
                    infer_error *err);
/* Return the kind of a form, as infer_grammar_kind; "" if there is no such form. */
const char *grammar_kind(int form);
/* Set hex to the hash of a constraint, as infer_grammar_sha256. */
void grammar_name(char hex[65], const char *kind, const struct infer_grammar_source *s);
#endif
