/* sample/param.h - ranges of the numbers of sampling. */
#ifndef SAMPLE_PARAM_H
#define SAMPLE_PARAM_H
#include <infer/param.h>

/* r: of p, one of its two.  INFER_EINVAL  out of it; names p and the range */
int sample_check(const struct infer_sample_param *p, const struct infer_sample_range *r, double v,
                 infer_error *err);
/* Every number that is not left open. */
int sample_check_all(const struct infer_sample_opts *o, infer_error *err);
#endif
