/* grammar/shared.h - a compiled constraint as requests share it. */
#ifndef GRAMMAR_SHARED_H
#define GRAMMAR_SHARED_H
#include <stdatomic.h>
#include <infer/grammar.h>
#include "base/buf.h"
#include "grammar/grammar.h"

struct infer_grammar {
	atomic_uint refs;
	struct grammar *g;
	struct budget budget;  /* of each token, in steps; of a sequence, in bytes */
	uint64_t bytes, steps; /* that g takes; that compiling took */
	const char *kind;      /* static */
	char sha256[65];
	struct buf ignored; /* JSON pointers, each ended by NUL */
};

/* Share a grammar that was made otherwise (of parts).  Takes g on success.
 * kind    a static name, for records
 * text    the source; its hash names the constraint in records
 * budget  0: INFER_GRAMMAR_BUDGET
 * INFER_EEMPTY  nothing satisfies it; INFER_ENOMEM */
int grammar_share(infer_grammar **out, struct grammar *g, const char *kind, struct infer_str text,
                  uint64_t budget, infer_error *err);
/* of a form, as infer_grammar_kind; "" for none */
const char *grammar_kind(int form);
/* The hash of a constraint of that kind. */
void grammar_name(char hex[65], const char *kind, const struct infer_grammar_source *s);
#endif
