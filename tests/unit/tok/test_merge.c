/* tests/unit/tok/test_merge.c - the merge loop, compared with its rule written down plainly, for
 * words of every length. */
#include "../nth.h"
#include <string.h>
#include "base/rng.h"
#include "tok/merge.h"

enum { MOST = 90, IDS = 400 };

/* Rank of a pair by hash, few enough ranks for ties; a new symbol's id is a hash of the two. */
static uint32_t rank(void *user, const struct merge_sym *l, const struct merge_sym *r, int32_t *to)
{
	uint64_t pair[2] = { (uint64_t)l->id, (uint64_t)r->id },
		 h = rng_hash(*(const uint64_t *)user, pair, sizeof pair);

	*to = (int32_t)(h >> 32) % IDS & 0xff;
	return h % 3 ? (uint32_t)(h >> 8) % 50 : MERGE_NONE;
}

static size_t plain(struct merge_sym *s, size_t n, void *user)
{
	for (;;) {
		uint32_t best = MERGE_NONE, key;
		int32_t to, best_to = 0;
		size_t at = 0;
		for (size_t i = 0; i + 1 < n; i++)
			if ((key = rank(user, &s[i], &s[i + 1], &to)) < best) {
				best = key;
				best_to = to;
				at = i;
			}
		if (best == MERGE_NONE)
			return n;
		s[at].id = best_to;
		s[at].len += s[at + 1].len;
		memmove(&s[at + 1], &s[at + 2], (n - at - 2) * sizeof *s);
		n--;
	}
}

static int case_merge(void)
{
	struct merge *m = NULL;
	int rc = INFER_OK;

	for (uint64_t i = 0; i < 600; i++) {
		uint64_t seed = i / 8;
		size_t n = rng_hash(1, &i, sizeof i) % MOST;
		struct merge_sym want[MOST];
		nth_ok(merge_room(&m, n));
		for (size_t k = 0; k < n; k++)
			want[k] = m->sym[k] = (struct merge_sym){
				.at = (uint32_t)k,
				.len = 1,
				.id = (int32_t)(rng_hash(i, &k, sizeof k) % 4)
			};
		nth_ok(merge_run(m, rank, &seed));
		n = plain(want, n, &seed);
		assert_int_equal(m->n, n);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(m->sym[k].at, want[k].at);
			assert_int_equal(m->sym[k].len, want[k].len);
			assert_int_equal(m->sym[k].id, want[k].id);
		}
	}
out:
	merge_free(m);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_merge) };
	return nth_group(tests);
}
