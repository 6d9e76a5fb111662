/* infer-bench/numbers.h - values of options: lists of numbers. */
#ifndef INFER_BENCH_NUMBERS_H
#define INFER_BENCH_NUMBERS_H
#include <stdint.h>
#include <infer/status.h>

enum { NUMBERS_MOST = 64 };
struct numbers {
	int32_t at[NUMBERS_MOST];
	int n;
};
/* Append the numbers of a list, "128,512", each at least `lo`. option: for messages
 * INFER_EINVAL  the text is not such a list, or there are too many */
int numbers_parse(struct numbers *l, const char *text, const char *option, int64_t lo,
                  infer_error *err);
#endif
