/* pyval/case.h - upper, lower and title case of strings, as Python's str has them. */
#ifndef PYVAL_CASE_H
#define PYVAL_CASE_H
#include "pyval/value.h"

enum py_case { PY_UPPER, PY_LOWER, PY_TITLE, PY_CAPITAL, PY_SWAP };
/* Convert s; a safe string stays safe. Returns the code of the run. */
int pystr_to_case(struct pyrun *r, const struct pystr *s, enum py_case how, struct pyval *out);
/* True if s has cased characters and all of them are upper (PY_UPPER) or lower (PY_LOWER) case. */
int pystr_is_case(const struct pystr *s, enum py_case how);
#endif
