/* sample/param.h - check the ranges of sampling numbers. */
#ifndef SAMPLE_PARAM_H
#define SAMPLE_PARAM_H
#include <infer/param.h>

/* Check v against r, a range of p.  INFER_EINVAL: out of range; names p and the range. */
int sample_check(const struct infer_sample_param *p, const struct infer_sample_range *r, double v,
                 infer_error *err);
/* Check every number that is set. */
int sample_check_all(const struct infer_sample_opts *o, infer_error *err);
#endif
