/* pyval/method.h (private) - the methods of lists, dicts and strings, from one file to another. */
#ifndef PYVAL_METHOD_H
#define PYVAL_METHOD_H
#include "pyval/call.h"

extern const struct pyfn py_list_methods[], py_dict_methods[];
/* split.c, and what method.c shares with it */
int py_split(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_rsplit(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_splitlines(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_partition(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_rpartition(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_is_space(uint32_t cp); /* by str.isspace */
/* the string argument v, escaped if self is safe; fails if v is not a string */
int py_str_arg(struct pyrun *r, struct pyval self, struct pyval v, const struct pystr **s);
int py_format(struct pyrun *r, struct pycall *c, struct pyval *out); /* str.format */
#endif
