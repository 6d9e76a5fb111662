/* infer/param.h - table of the numbers that a sampler takes.   floor: sample
 *
 * Each number is a field of struct infer_sample_opts.  The options of programs and the fields of
 * requests and records are generated from the table.  Any thread. */
#ifndef INFER_PARAM_H
#define INFER_PARAM_H
#include <stddef.h>
#include <stdint.h>
#include <infer/sample.h>
#include <infer/status.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_sample_range {
	double lo, hi;
	int above; /* 1: lo itself is out of range */
};
struct infer_sample_param {
	const char *name;   /* in requests and records: "top_k" */
	const char *option; /* the option of programs: "top-k"; NULL: none */
	const char *arg;    /* what --help calls its value: "N" */
	const char *help;
	const char *key; /* models recommend it as general.sampling.KEY; NULL: never */
	int whole;       /* 1: an int32_t, 0: a float */
	size_t at;       /* offset in struct infer_sample_opts */
	struct infer_sample_range range;
	struct infer_sample_range http; /* in requests in other servers' formats; hi 0: as range */
	double least;                   /* all values from lo to this one mean the same */
	double zero;                    /* the value that an unset 0 stands for */
	double usual;                   /* the default value of programs */
};
/* Return the row of number i, in the order of records; NULL at the end.  Static. */
const struct infer_sample_param *infer_sample_param(int i);
/* Return the number as stored: 0 if it is unset. */
double infer_sample_get(const struct infer_sample_opts *o, const struct infer_sample_param *p);
/* Set a number, including 0.  INFER_EINVAL: out of range; *o is unchanged. */
int infer_sample_set(struct infer_sample_opts *o, const struct infer_sample_param *p, double v,
                     infer_error *err);
/* Replace every number and the order of stages by the values that a sampler would use: defaults for
 * unset zeros, stages with a window of 0 turned off, one canonical form of each value. */
void infer_sample_resolve(struct infer_sample_opts *o);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
