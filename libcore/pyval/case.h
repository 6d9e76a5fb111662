/* pyval/case.h - upper, lower and title case of strings, as in Python's str. */
#ifndef PYVAL_CASE_H
#define PYVAL_CASE_H
#include "pyval/value.h"

enum jcase_how { JCASE_UPPER, JCASE_LOWER, JCASE_TITLE, JCASE_CAPITAL, JCASE_SWAP };
/* stays safe */
int jcase_str(struct jrun *r, const struct jstr *s, enum jcase_how how, struct jv *out);
/* 1: it has cased characters, and all of them are upper (lower) case. */
int jcase_is(const struct jstr *s, enum jcase_how how);
#endif
