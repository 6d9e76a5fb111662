/* schema/schema.h - compile a JSON Schema to a grammar.
 *
 * Drafts 4, 6, 7, 2019-09 and 2020-12. The draft is that of $schema, else of the options. Without
 * either it is 2020-12, unless an array of `items` (2019-09) or a boolean exclusiveMinimum (4) is
 * used.
 *
 * A keyword for one type accepts values of other types. `pattern` may match anywhere. Lengths count
 * code points. 1.0 is an integer, except in draft 4. Properties may have any order; names are
 * distinct. `format` is enforced for the names of automata/format.h.
 *
 * What cannot be enforced is refused with the JSON pointer of the keyword: keywords of other drafts
 * and names that resemble a keyword; references to other documents, except JSON Schema itself;
 * the format idn-hostname; `nullable`; uniqueItems under `not`, or if contains or minItems leave few values.
 * Numbers in elements of uniqueItems have no exponent.
 *
 * Annotations are accepted (keyword_list.h). All other names have no effect, as the standard
 * demands: they are reported in `ignored`. */
#ifndef SCHEMA_SCHEMA_H
#define SCHEMA_SCHEMA_H
#include "base/json.h"
#include "ir/ir.h"

struct buf;
struct work;

enum { SCHEMA_2020 = 0, SCHEMA_4 = 4, SCHEMA_6 = 6, SCHEMA_7 = 7, SCHEMA_2019 = 19 };

struct schema_opts {
	int draft;          /* draft of a schema without $schema */
	int annotate;       /* 1: `format` does not constrain */
	int strict_formats; /* 1: refuse a `format` that is not known; else it is an annotation */
	int lax;            /* 1: skip keywords that cannot be enforced */
	/* NULL, or gets the JSON pointers of what has no effect, each ended by NUL. */
	struct buf *ignored;
	/* The same of annotations: unknown formats, names that begin with _ or x-, additionalItems
	 * without an array of `items`. */
	struct buf *annotations;
	/* Members have the order of `properties`. If an object has such members, others follow
	 * them, and only if a keyword matches their names. */
	int ordered;
	const struct dfa *strings; /* all strings and names match it; NULL: any */
	/* Objects are closed: members that no keyword in force names do not exist, if `properties` or
	 * `patternProperties` names any. It is as if unevaluatedProperties: false were added to each
	 * object that is generated, and not to schemas under `not` or those that oneOf must not
	 * satisfy. `required` and dependentRequired name members, too. An object stays open if it
	 * could not exist otherwise, for instance because of minProperties. A schema that cannot be
	 * enforced for closed objects is compiled for open ones. */
	int closed;
	/* Numbers have a canonical notation if the schema allows one: integers fit 64 bits and have
	 * no point and no exponent; others have at most 12 digits before the point, 20 after it
	 * and an exponent of at most 279; values of const and enum have their shortest notation; no
	 * -0. */
	int canonical;
	/* Names of members that propertyNames limits to more than SCHEMA_NAME_MOST characters have
	 * at most as many, if that is long enough: a name is an automaton, whose size grows with its
	 * limit. */
	int short_names;
};
enum { SCHEMA_NAME_MOST = 1024 };

/* Compile a schema, which is not needed afterwards. *out is NULL on failure.
 * left  the budget; what was used is subtracted
 * INFER_EINVAL  not a valid schema; the message begins with the JSON pointer of the error
 * INFER_EUNSUP  cannot be enforced (likewise), or the budget is exceeded
 * INFER_ENOMEM */
int schema_compile(struct grammar **out, const struct json *schema, const struct schema_opts *opts,
                   struct budget *left, infer_error *err);
/* Set the error of a schema without values, with the keywords at its root; return INFER_EEMPTY. */
int schema_none(const struct json *schema, infer_error *err);
/* Add a schema to grammar g, which is being built: *goal is the goal of its values. Steps and bytes
 * are charged to w. Unused automata are freed by ir_sweep. Fails as schema_compile does. */
int schema_goal_of(struct grammar *g, struct work *w, const struct json *schema,
                   const struct schema_opts *opts, uint32_t *goal);
#endif
