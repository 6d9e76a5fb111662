/* pyval/case.h - upper, lower and title case of strings, as in Python's str. */
#ifndef PYVAL_CASE_H
#define PYVAL_CASE_H
#include "pyval/value.h"

enum py_case { PY_UPPER, PY_LOWER, PY_TITLE, PY_CAPITAL, PY_SWAP };
/* stays safe */
int pystr_to_case(struct pyrun *r, const struct pystr *s, enum py_case how, struct pyval *out);
/* 1: it has cased characters, and all of them are upper (lower) case. */
int pystr_is_case(const struct pystr *s, enum py_case how);
#endif
