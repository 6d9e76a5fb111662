/* infer-bench/rules.h - the rules of honest measuring, each of them checked on records. */
#ifndef INFER_BENCH_RULES_H
#define INFER_BENCH_RULES_H
#include "cases.h"

/* A rule that holds for records of any kind; infer-bench(1) lists them. */
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
	char says[200]; /* what was found, also where it is kept */
};
/* now: NULL: one record by itself.  drift: the ceilings of the two, as a ratio less 1 */
void rules_check(struct rule_said out[RULE_COUNT], const struct json *base, const struct json *now,
                 double drift);
/* Those of another case, kept in out where they are broken more. */
void rules_add(struct rule_said out[RULE_COUNT], const struct rule_said more[RULE_COUNT]);
const char *rule_name(int rule);
/* How far the machine of the records moved: the greatest change of a ceiling that both have. */
double rules_drift(const struct json *base, const struct json *now);
#endif
