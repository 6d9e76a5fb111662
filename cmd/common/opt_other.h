/* common/opt_other.h - names of options that other programs have. */
#ifndef COMMON_OPT_OTHER_H
#define COMMON_OPT_OTHER_H
#include "common/opt.h"

/* Return the advice for an option of another program that is not one of `rows`, or NULL. name: without
 * dashes and value. near: also names that are one edit away, and those that a row gives by their
 * beginning. */
const char *opt_other(const struct opt *rows, const char *name, int near);

/* True if the rows have the option, "--ctx" or "-c". */
int opt_has(const struct opt *rows, const char *option);
#endif
