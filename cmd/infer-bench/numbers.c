/* infer-bench/numbers.c - values of options: lists of numbers. */
#include "numbers.h"
#include "base/err.h"

#include <stdlib.h>

int numbers_parse(struct numbers *l, const char *text, const char *option, int64_t lo,
                  infer_error *err)
{
	for (const char *p = text; l->n < NUMBERS_MOST;) {
		char *end;
		long v = strtol(p, &end, 10);

		if (*p < '0' || *p > '9' || v < lo || v > INT32_MAX / 4)
			break;
		l->at[l->n++] = (int32_t)v;
		if (!*end)
			return INFER_OK;
		if (*end != ',')
			break;
		p = end + 1;
	}
	return err_set(err, INFER_EINVAL,
	               "%s: '%.60s' must be a list of up to %d numbers from %lld: 512 or 128,512",
	               option, text, NUMBERS_MOST, (long long)lo);
}
