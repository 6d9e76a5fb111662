/* grammar/grammar.h - constraints: what may be written, by a JSON Schema, by rules, by a regular
 * expression or by a choice of texts.
 *
 * What it is.  A struct grammar is a language of texts.  ir/match.h follows a text through
 * one, byte by byte.  It is exact in one direction: what it accepts satisfies the schema by the
 * standard, and every prefix that it admits can be completed.  What a schema allows and this leaves
 * out is named here and in number.h and format.h: some spellings of numbers.
 *
 * JSON Schema.  Drafts 4, 6, 7, 2019-09 and 2020-12, by $schema, by the options where there is none;
 * without either an array of items is of 2019-09, and exclusiveMinimum true of draft 4.
 * A keyword for one type lets the other types through, `pattern` may match anywhere, lengths count
 * code points, 1.0 is an integer (not in draft 4), properties come in any order and none comes twice.
 * `format` is enforced for the names of format.h.  Whatever cannot be enforced is refused with the
 * JSON pointer of the keyword: names of keywords of other drafts, or much like those of this one;
 * references to other documents, but for those of JSON Schema itself; formats of other names;
 * `nullable`; uniqueItems under not, and where few values are left beside contains or minItems.
 * Numbers inside elements of uniqueItems have no exponent.
 * Any other name that is no keyword says nothing, by the standard; it is put into `ignored`.
 * Names of other tools that say nothing of values are remarks: what begins with x-; id; of OpenAPI
 * components, discriminator, example, externalDocs and xml; of hyper-schemas base and links; self;
 * version and author where they are strings; what editors and generators look at (keyword.c).
 *
 * Budget.  As in dfa.h; what a constraint takes stays taken until grammar_drop.
 * A grammar is immutable: share it freely. */
#ifndef GRAMMAR_GRAMMAR_H
#define GRAMMAR_GRAMMAR_H
#include "base/json.h"
#include "automata/dfa.h"
#include "ir/ir.h"

struct buf;

enum { SCHEMA_2020 = 0, SCHEMA_4 = 4, SCHEMA_6 = 6, SCHEMA_7 = 7, SCHEMA_2019 = 19 };

struct schema_opts {
	int draft;           /* where the schema does not say */
	int annotate;        /* format is a remark, whatever its name */
	int lax;             /* what cannot be enforced is a remark */
	struct buf *ignored; /* NULL, or where their JSON pointers are put, each ended by NUL */
	/* Properties come in the order in which `properties` names them, and where an object has
	 * such, no others but those that a keyword speaks of come, behind them. */
	int ordered;
	const struct dfa *strings; /* all strings and names are among these; NULL: all there are */
	/* Numbers are written as programs write them, where the schema allows that: integers by at
	 * most 20 digits, others with as many behind the point and an exponent of 3, no -0. */
	int usual;
};

/* schema: read by base/jread.h or built; nothing of it is kept.
 * INFER_EINVAL  not a schema; the message begins with the JSON pointer of what is wrong
 * INFER_EUNSUP  cannot be enforced; likewise.  The budget */
int grammar_schema(struct grammar **out, const struct json *schema, const struct schema_opts *opts,
                   struct grammar_budget *left, infer_error *err);
/* The rules of llama.cpp's GBNF, of which `root` is the text.  Rules end with their line, unless it
 * is inside parentheses or ends with ::= or |.
 * INFER_EINVAL  not a grammar, with its line; a rule that begins with itself
 * INFER_EUNSUP  rules about tokens; the budget */
int grammar_gbnf(struct grammar **out, const char *text, size_t n, struct grammar_budget *left,
                 infer_error *err);
/* The texts that the whole of a regular expression matches (automata/regex.h).
 * INFER_EINVAL  not a regular expression */
int grammar_regex(struct grammar **out, const char *pattern, size_t n, struct grammar_budget *left,
                  infer_error *err);
/* Exactly these texts.
 * INFER_EINVAL  one is not UTF-8 */
int grammar_choice(struct grammar **out, const struct dfa_word *words, size_t n,
                   struct grammar_budget *left, infer_error *err);
#endif
