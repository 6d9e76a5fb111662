/* pyval/method.h (private) - tables of methods, and what the files of methods share. */
#ifndef PYVAL_METHOD_H
#define PYVAL_METHOD_H
#include "pyval/call.h"

extern const struct pyfn py_list_methods[], py_dict_methods[];
/* split.c */
int py_split(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_rsplit(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_splitlines(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_partition(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_rpartition(struct pyrun *r, struct pycall *c, struct pyval *out);
int py_is_space(uint32_t cp); /* str.isspace of a character */
/* Return the string argument v, escaped if self is safe. Fails if v is not a string. */
int py_str_arg(struct pyrun *r, struct pyval self, struct pyval v, const struct pystr **s);
int py_format(struct pyrun *r, struct pycall *c, struct pyval *out); /* str.format */
#endif
