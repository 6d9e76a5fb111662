/* text/jinja_case.h - upper, lower and title case of whole strings, as Python's str has them. */
#ifndef TEXT_JINJA_CASE_H
#define TEXT_JINJA_CASE_H
#include <stdint.h>
#include "text/jinja_value.h"

struct jcase { uint32_t from, upper[3], title[3]; };   /* 0: fewer than three */
extern const struct jcase jcase_tab[];
extern const unsigned jcase_tab_n;

enum jcase_how { JCASE_UPPER, JCASE_LOWER, JCASE_TITLE, JCASE_CAPITAL, JCASE_SWAP };
int jcase_str(struct jrun *r, const struct jstr *s, enum jcase_how how, struct jv *out);   /* stays safe */
/* Has it cased characters, and all of them in upper (lower) case? */
int jcase_is(const struct jstr *s, enum jcase_how how);
#endif
