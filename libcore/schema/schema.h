/* schema/schema.h - a JSON Schema as a grammar.
 *
 * Drafts 4, 6, 7, 2019-09 and 2020-12, by $schema, by the options where there is none;
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
 * version and author where they are strings; what editors and generators look at (keyword.c). */
#ifndef SCHEMA_SCHEMA_H
#define SCHEMA_SCHEMA_H
#include "base/json.h"
#include "ir/ir.h"

struct buf;
struct work;

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
	int canonical;
};

/* schema: read by base/jread.h or built; nothing of it is kept.
 * INFER_EINVAL  not a schema; the message begins with the JSON pointer of what is wrong
 * INFER_EUNSUP  cannot be enforced; likewise.  The budget */
int schema_compile(struct grammar **out, const struct json *schema, const struct schema_opts *opts,
                   struct budget *left, infer_error *err);
/* Fails since nothing satisfies the schema, by the keywords at its root. */
int schema_none(const struct json *schema, infer_error *err);
/* Another schema in a grammar that is being built: a goal of g for its values.  The work is
 * counted as that of g.  ir_sweep removes what no goal names in the end. */
int schema_goal_of(struct grammar *g, struct work *w, const struct json *schema,
                   const struct schema_opts *opts, uint32_t *goal);
#endif
