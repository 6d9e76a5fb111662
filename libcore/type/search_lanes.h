/* type/search_lanes.h - (private) horizontal sums of four vectors. */
#ifndef TYPE_SEARCH_LANES_H
#define TYPE_SEARCH_LANES_H
#include "type/search_scale.h"
#if defined __x86_64__
#include <immintrin.h>
#endif

struct lanes {
	search_v4 v[4]; /* one vector per try or group */
};

/* Return the sums of four vectors, each computed as search_sum does. */
static inline search_v4 lanes_sum(const struct lanes *s)
{
	const search_v4 a = s->v[0], b = s->v[1], c = s->v[2], d = s->v[3];
	search_v4 ab =
		(search_v4){ a[0], b[0], a[1], b[1] } + (search_v4){ a[2], b[2], a[3], b[3] };
	search_v4 cd =
		(search_v4){ c[0], d[0], c[1], d[1] } + (search_v4){ c[2], d[2], c[3], d[3] };

	return (search_v4){ ab[0], ab[1], cd[0], cd[1] } +
	       (search_v4){ ab[2], ab[3], cd[2], cd[3] };
}
#endif
