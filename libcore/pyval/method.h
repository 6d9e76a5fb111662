/* pyval/method.h (private) - the methods of lists, dicts and strings, from one file to another. */
#ifndef PYVAL_METHOD_H
#define PYVAL_METHOD_H
#include "pyval/call.h"

extern const struct jfn jinja_list_methods[], jinja_dict_methods[];
/* split.c, and what method.c shares with it */
int jinja_split(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_rsplit(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_splitlines(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_partition(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_rpartition(struct jrun *r, struct jcall *c, struct jv *out);
int jinja_is_space(uint32_t cp); /* by str.isspace */
/* the string argument v, escaped if self is safe; fails if v is not a string */
int jinja_str_arg(struct jrun *r, struct jv self, struct jv v, const struct jstr **s);
int jinja_format(struct jrun *r, struct jcall *c, struct jv *out); /* str.format */
#endif
