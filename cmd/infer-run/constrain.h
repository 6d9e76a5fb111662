/* infer-run/constrain.h - the constraint that the options ask for. */
#ifndef INFER_RUN_CONSTRAIN_H
#define INFER_RUN_CONSTRAIN_H
#include <infer/grammar.h>
#include "common/opt.h"
#include "base/buf.h"

struct constrain_args {
	const char *json_schema, *grammar, *regex, *tool_choice;
	struct opt_list choice;
	int json_object, lax_schema, format_annotation;
	int64_t budget;
};
/* clang-format off */
#define CONSTRAINTS "json-schema json-object grammar regex choice"
/* The group that contains the rows has the modes in which an answer can be constrained. */
#define CONSTRAIN_ROWS(T, m) \
	{ OPT_STR, 0, "json-schema", "FILE|JSON", "JSON that satisfies this schema", \
	  offsetof(T, m.json_schema), .marks = OPT_SERVER, .values = "@file", \
	  .without = CONSTRAINTS " tools" }, \
	{ OPT_FLAG, 0, "json-object", NULL, "a JSON object", offsetof(T, m.json_object), .value = 1, \
	  .marks = OPT_SERVER, .without = CONSTRAINTS " tools" }, \
	{ OPT_STR, 0, "grammar", "FILE", "a text by these rules (GBNF)", offsetof(T, m.grammar), \
	  .marks = OPT_SERVER, .values = "@file", .without = CONSTRAINTS " tools" }, \
	{ OPT_STR, 0, "regex", "REGEX", "a text of which the whole matches", offsetof(T, m.regex), \
	  .marks = OPT_SERVER, .without = CONSTRAINTS " tools" }, \
	{ OPT_LIST, 0, "choice", "STR", "STR; given more than once: one of them", \
	  offsetof(T, m.choice), .marks = OPT_SERVER, .without = CONSTRAINTS " tools" }, \
	{ OPT_STR, 0, "tool-choice", "auto|none|required|NAME", \
	  "whether the answer calls tools, and which; NAME: that one", offsetof(T, m.tool_choice), \
	  .marks = OPT_SERVER, .values = "auto none required", .modes = OPT_ALL_MODES, \
	  .with = "tools batch" }, \
	{ OPT_FLAG, 0, "lax-schema", NULL, "ignore, by name, what a schema asks that cannot be enforced", \
	  offsetof(T, m.lax_schema), .value = 1, .marks = OPT_SERVER, .modes = OPT_ALL_MODES, \
	  .with = "json-schema batch" }, \
	{ OPT_FLAG, 0, "format-annotation", NULL, "in a schema, format is a remark", \
	  offsetof(T, m.format_annotation), .value = 1, .marks = OPT_SERVER, \
	  .modes = OPT_ALL_MODES, .with = "json-schema batch" }, \
	{ OPT_INT, 0, "constraint-budget", "N", \
	  "steps that a constraint may take to compile, and for each token (67108864)", \
	  offsetof(T, m.budget), 1, 1e15, .marks = OPT_SERVER, .modes = OPT_ALL_MODES }
/* clang-format on */
struct constrain {
	infer_grammar *grammar; /* NULL: none */
	struct infer_grammar_source source;
	struct buf text; /* of the source */
};

/* enum infer_calls of --tool-choice, and the name of the tool. */
int constrain_calls(const struct constrain_args *a, const char **name);
/* Return the option that constrains the answer, "--regex", or NULL. opt_check() has allowed at most one. */
const char *constrain_given(const struct constrain_args *a);
/* Compile it, with a warning for each name that is ignored.  On failure too *out is the caller's
 * to constrain_fini.
 * INFER_EEMPTY  it cannot be read or enforced; INFER_EIO INFER_ENOMEM */
int constrain_take(struct constrain *out, const struct constrain_args *a, infer_error *err);
void constrain_fini(struct constrain *c);
#endif
