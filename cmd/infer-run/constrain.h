/* infer-run/constrain.h - options that constrain the answer: --json-schema, --regex and others. */
#ifndef INFER_RUN_CONSTRAIN_H
#define INFER_RUN_CONSTRAIN_H
#include <infer/grammar.h>
#include "common/opt.h"
#include "base/buf.h"

struct constrain_args {
	const char *json_schema, *grammar, *regex, *tool_choice;
	struct opt_list choice;
	int json_object, lax_schema, format_annotation, strict_formats;
	int64_t budget;
};
/* clang-format off */
#define CONSTRAINTS "json-schema json-object grammar regex choice"
/* Rows of options. Their group names the modes that allow them. */
#define CONSTRAIN_ROWS(T, m) \
	{ OPT_STR, 0, "json-schema", "FILE|JSON", "JSON that satisfies this schema", \
	  offsetof(T, m.json_schema), .marks = OPT_SERVER, .values = "@file", \
	  .without = CONSTRAINTS }, \
	{ OPT_FLAG, 0, "json-object", NULL, "a JSON object", offsetof(T, m.json_object), .value = 1, \
	  .marks = OPT_SERVER, .without = CONSTRAINTS }, \
	{ OPT_STR, 0, "grammar", "FILE|RULES", "a text by these rules (GBNF or Lark)", offsetof(T, m.grammar), \
	  .marks = OPT_SERVER, .values = "@file", .without = CONSTRAINTS }, \
	{ OPT_STR, 0, "regex", "REGEX", "a text that matches REGEX as a whole", offsetof(T, m.regex), \
	  .marks = OPT_SERVER, .without = CONSTRAINTS }, \
	{ OPT_LIST, 0, "choice", "STR", "STR; given more than once: one of them", \
	  offsetof(T, m.choice), .marks = OPT_SERVER, .without = CONSTRAINTS }, \
	{ OPT_STR, 0, "tool-choice", "auto|none|required|NAME", \
	  "whether the answer calls tools, and which; NAME: that one", offsetof(T, m.tool_choice), \
	  .marks = OPT_SERVER, .values = "auto none required", .modes = OPT_ALL_MODES, \
	  .with = "tools batch" }, \
	{ OPT_FLAG, 0, "lax-schema", NULL, "ignore keywords of a schema that cannot be enforced, with a warning", \
	  offsetof(T, m.lax_schema), .value = 1, .marks = OPT_SERVER, .modes = OPT_ALL_MODES, \
	  .with = "json-schema batch" }, \
	{ OPT_FLAG, 0, "format-annotation", NULL, "in a schema, format is not enforced", \
	  offsetof(T, m.format_annotation), .value = 1, .marks = OPT_SERVER, \
	  .modes = OPT_ALL_MODES, .with = "json-schema batch" }, \
	{ OPT_FLAG, 0, "strict-formats", NULL, "refuse a schema with a format that is not known", \
	  offsetof(T, m.strict_formats), .value = 1, .marks = OPT_SERVER, \
	  .modes = OPT_ALL_MODES, .with = "json-schema batch", .without = "format-annotation" }, \
	{ OPT_INT, 0, "constraint-budget", "N", \
	  "steps that a constraint may take to compile, and for each token (67108864)", \
	  offsetof(T, m.budget), 1, 1e15, .marks = OPT_SERVER, .modes = OPT_ALL_MODES }
/* clang-format on */
struct constrain {
	infer_grammar *grammar; /* NULL: no constraint */
	struct infer_grammar_source source;
	struct buf text; /* text of the source */
};

/* Return the enum infer_calls of --tool-choice. *name: name of the tool, if INFER_CALLS_NAMED. */
int constrain_calls(const struct constrain_args *a, const char **name);
/* Return the given option that constrains the answer, such as "--regex", or NULL. opt_check() rejects two. */
const char *constrain_given(const struct constrain_args *a);
/* Read and compile the constraint, if one is given. Print a warning for each keyword that --lax-schema
 * ignores. The caller calls constrain_fini, on failure too.
 * INFER_EEMPTY  the constraint cannot be read or enforced; INFER_EIO INFER_ENOMEM */
int constrain_take(struct constrain *out, const struct constrain_args *a, infer_error *err);
void constrain_fini(struct constrain *c);
#endif
