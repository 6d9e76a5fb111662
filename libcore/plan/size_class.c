/* plan/size_class.c - the shapes of usual models by size or name: "8B", "30B-A3B", "Llama-3.1-8B" */
#include <infer/dims.h>
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"
#include "plan/usual.h"

#include <stdlib.h>
#include <string.h>

/* Read "8B" or "0.6B".  Returns the text after it, or NULL. */
static const char *read_size(const char *s, double *billions)
{
	size_t n = strspn(s, "0123456789"), more = 0;
	char digits[16];

	if (n && s[n] == '.')
		more = 1 + strspn(s + n + 1, "0123456789");
	if (!n || more == 1 || n + more >= sizeof digits)
		return NULL;
	memcpy(digits, s, n + more);
	digits[n + more] = 0;
	*billions = strtod(digits, NULL);
	s += n + more;
	if (*s == 'm' || *s == 'M')
		*billions /= 1000;
	else if (*s != 'b' && *s != 'B')
		return NULL;
	return s + 1;
}

/* Read a size class.  active: the same as params if there are no experts.  Returns 0 if it is none. */
static int read_class(const char *text, double *params, double *active)
{
	const char *rest = read_size(text, params);

	if (!rest)
		return 0;
	*active = *params;
	if (!*rest)
		return 1;
	if (rest[0] != '-' || (rest[1] != 'a' && rest[1] != 'A'))
		return 0;
	rest = read_size(rest + 2, active);
	return rest && !*rest;
}

int infer_dims_is_class(const char *text)
{
	double params, active;

	return read_class(text, &params, &active) || usual_find(text);
}

/* Return how many times as large one is as the other, as a logarithm. */
static double distance(double a, double b) { return a > b ? fm_log(a / b) : fm_log(b / a); }

static void copy_dims(struct infer_dims *d, const struct usual *u)
{
	*d = u->is;
	d->type = INFER_BF16;
	d->ff_matrices = 3;
}

int infer_dims_class(struct infer_dims *d, const char *size, infer_error *err)
{
	/* a shape of less than twice the size is stretched; "A3B" often means 3.3 or 3.6 */
	enum { STRETCH = 2 };
	const struct usual *best = NULL, *named = usual_find(size);
	double params, active, least = fm_log(STRETCH);

	if (named) {
		copy_dims(d, named);
		return INFER_OK;
	}
	if (!read_class(size, &params, &active))
		return err_set(err, INFER_EINVAL, "'%.40s' is not a size: 8B, or 30B-A3B", size);
	for (int i = 0; usual_of_size(i); i++) {
		const struct usual *u = usual_of_size(i);
		double far = distance(u->params, params) + distance(u->active, active) / 2;

		if ((u->is.experts > 0) == (active < params) && far < least) {
			least = far;
			best = u;
		}
	}
	if (!(params > 0) || !(active > 0) || !best)
		return err_set(err, INFER_EINVAL,
		               "no usual model has the size '%.40s': 135M to 405B, or 20B-A3B, "
		               "30B-A3B, 47B-A13B, 120B-A5B, 235B-A22B, 671B-A37B",
		               size);
	copy_dims(d, best);
	/* sizes are rounded: "1B" is 1.24, "70B" 70.6 */
	double by = params / best->params;

	if (by < 0.8 || by > 1.08)
		d->layers = (int32_t)num_max(1, (int64_t)(d->layers * by + 0.5));
	return INFER_OK;
}
