/* infer-bench/rules.h - rules of honest measurement, checked on records. */
#ifndef INFER_BENCH_RULES_H
#define INFER_BENCH_RULES_H
#include "cases.h"

/* infer-bench(1) describes the rules. */
enum rule {
	RULE_MODEL,
	RULE_WEIGHTS,
	RULE_ENGINE,
	RULE_MACHINE,
	RULE_WORKLOAD,
	RULE_WARM,
	RULE_REPEATS,
	RULE_DUE,
	RULE_COUNTS,
	RULE_LIMIT,
	RULE_COUNT
};
enum rule_state { RULE_UNKNOWN, RULE_KEPT, RULE_BROKEN };
struct rule_said {
	enum rule_state state;
	char says[200]; /* the finding; set for kept rules too */
};
/* Check all rules on a pair of records; now NULL: check the single record base. drift: result of
 * rules_drift */
void rules_check(struct rule_said out[RULE_COUNT], const struct json *base, const struct json *now,
                 double drift);
/* Add the findings of another case: a broken rule replaces one that is not broken. */
void rules_add(struct rule_said out[RULE_COUNT], const struct rule_said more[RULE_COUNT]);
const char *rule_name(int rule);
/* Return the greatest change of a ceiling's median between the two records, as a ratio minus 1. */
double rules_drift(const struct json *base, const struct json *now);
#endif
