/* tests/unit/infer-serve/test_fair.c - the order of requests: shares by weight, priorities, no
 * credit for idle time, and preemption */
#include "../nth.h"
#include "infer-serve/ops/fair.h"
#include <string.h>

enum { ROOM = 8, MANY = 600 };
static struct fair f;
static struct fair_user users[3];
static struct fair_item items[3][MANY];

static void start(int n, const int32_t *weights)
{
	memset(users, 0, sizeof users);
	memset(items, 0, sizeof items);
	f = (struct fair){ .room = ROOM };
	for (int u = 0; u < n; u++)
		users[u].weight = weights ? weights[u] : 1;
}

static void put(int u, int from, int to)
{
	for (int i = from; i < to; i++) {
		items[u][i] = (struct fair_item){ .user = &users[u], .samples = 1 };
		fair_put(&f, &items[u][i]);
	}
}

/* Take as many requests as fit, and charge each that many tokens. */
static int take(struct fair_item **out, int64_t samples, int tokens)
{
	int n = 0;
	struct fair_item *i;

	while ((i = fair_take(&f, samples + n, INT32_MAX))) {
		fair_charge(i->user, tokens);
		out[n++] = i;
	}
	return n;
}

static void test_order(void **state)
{
	struct fair_item *got[MANY];

	(void)state;
	start(1, NULL);
	assert_null(fair_take(&f, 0, 0));
	put(0, 0, 20);
	assert_int_equal(take(got, 0, 10), ROOM);
	for (int i = 0; i < ROOM; i++) {
		assert_ptr_equal(got[i], &items[0][i]);
		assert_int_equal(got[i]->rank, 0); /* a single user has rank 0 */
	}
	assert_int_equal(take(got, ROOM, 10), 0);
	fair_end(&f, &items[0][0]);
	assert_int_equal(take(got, ROOM - 1, 10), 1);
	assert_ptr_equal(got[0], &items[0][ROOM]);
}

static void test_shares(void **state)
{
	static const int32_t weights[] = { 1, 3, 4 };
	int taken[3] = { 0, 0, 0 };

	(void)state;
	start(3, weights);
	for (int u = 0; u < 3; u++)
		put(u, 0, MANY);
	for (int i = 0; i < 160; i++) {
		struct fair_item *it = fair_take(&f, 0, 0);

		assert_non_null(it);
		fair_charge(it->user, 50);
		taken[it->user - users]++;
		fair_end(&f, it);
	}
	assert_in_range(taken[0], 19, 21);
	assert_in_range(taken[1], 59, 61);
	assert_in_range(taken[2], 79, 81);
}

/* Requests of one user run by priority, then in the order of arrival; other users do not notice. */
static void test_priorities(void **state)
{
	static const int32_t given[] = { 0, 5, -3, 0, -3, FAIR_PRIORITY, -FAIR_PRIORITY },
			     order[] = { 6, 2, 4, 0, 3, 1, 5 };
	enum { N = 7 };
	struct fair_item *it;

	(void)state;
	for (int others = 0; others < 2; others++) {
		start(2, NULL);
		for (int i = 0; i < N; i++) {
			items[0][i] = (struct fair_item){ .user = &users[0],
				                          .samples = 1,
				                          .priority = given[i] };
			fair_put(&f, &items[0][i]);
		}
		put(1, 0, others);
		for (int i = 0; i < N + others; i++) {
			it = fair_take(&f, 0, 0);
			assert_non_null(it);
			if (it->user == &users[1]) { /* served as early as without priorities */
				assert_int_equal(i, 1);
				continue;
			}
			assert_ptr_equal(it, &items[0][order[i - (others && i)]]);
			if (!others)
				assert_int_equal(it->rank, -it->priority);
			fair_charge(it->user, 10);
		}
	}
	/* a full engine takes a request only if one with a greater value runs */
	start(1, NULL);
	items[0][0] = (struct fair_item){ .user = &users[0], .samples = 1, .priority = -1 };
	fair_put(&f, &items[0][0]);
	assert_null(fair_take(&f, ROOM, 1));
	assert_ptr_equal(fair_take(&f, ROOM, 0), &items[0][0]);
}

/* A user who arrives late is next, but gets no credit for the time before. */
static void test_late(void **state)
{
	struct fair_item *it;
	int mine = 0;

	(void)state;
	start(2, NULL);
	put(0, 0, MANY);
	for (int i = 0; i < 100; i++) {
		it = fair_take(&f, 0, 0);
		fair_charge(it->user, 100);
		fair_end(&f, it);
	}
	put(1, 0, 100);
	for (int i = 0; i < 40; i++) {
		it = fair_take(&f, 0, 0);
		mine += it->user == &users[1];
		fair_charge(it->user, 100);
		fair_end(&f, it);
	}
	assert_in_range(mine, 19, 21);
}

static void test_full(void **state)
{
	struct fair_item *got[MANY], *it;

	(void)state;
	start(2, NULL);
	put(0, 0, MANY);
	assert_int_equal(take(got, 0, 1), ROOM);
	/* the other user gets half of the engine at once, and waits for more */
	put(1, 0, MANY);
	for (int i = 0; i < ROOM / 2; i++) {
		it = fair_take(&f, ROOM + i, 0);
		assert_non_null(it);
		assert_ptr_equal(it->user, &users[1]);
		assert_true(it->rank > 0);
	}
	assert_null(fair_take(&f, ROOM + ROOM / 2, 0));
	/* a request whose rank is not lower is not preempted */
	fair_end(&f, it);
	assert_null(fair_take(&f, ROOM, it->rank));
	assert_non_null(fair_take(&f, ROOM, it->rank - 1));
}

static void test_priority(void **state)
{
	struct fair_item *got[MANY], *it;

	(void)state;
	start(2, NULL);
	users[1].priority = 1;
	put(0, 0, MANY);
	assert_int_equal(take(got, 0, 1), ROOM);
	put(1, 0, MANY);
	fair_charge(&users[1], 1000000);
	for (int i = 0; i < 2 * ROOM; i++) {
		it = fair_take(&f, ROOM + i, 0);
		assert_non_null(it);
		assert_ptr_equal(it->user, &users[1]);
		assert_in_range(it->rank / (2 * FAIR_PRIORITY + 1), FAIR_LEVELS,
		                2 * FAIR_LEVELS - 1);
	}
	users[1].priority = -1;
	it = fair_take(&f, 0, 0);
	assert_ptr_equal(it->user, &users[0]);
}

/* Removing requests from any place in the queue does not change the order of the others. */
static void test_drop(void **state)
{
	struct fair_item *it;

	(void)state;
	start(2, NULL);
	put(0, 0, 4);
	fair_drop(&f, &items[0][3]);
	fair_drop(&f, &items[0][0]);
	put(0, 4, 5);
	fair_drop(&f, &items[0][2]);
	it = fair_take(&f, 0, 0);
	assert_ptr_equal(it, &items[0][1]);
	it = fair_take(&f, 0, 0);
	assert_ptr_equal(it, &items[0][4]);
	assert_null(fair_take(&f, 0, 0));
	assert_non_null(f.busy);
	fair_end(&f, &items[0][1]);
	fair_end(&f, &items[0][4]);
	assert_null(f.busy);
	put(1, 0, 1);
	fair_drop(&f, &items[1][0]);
	assert_null(f.busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),  cmocka_unit_test(test_priorities),
		cmocka_unit_test(test_shares), cmocka_unit_test(test_late),
		cmocka_unit_test(test_full),   cmocka_unit_test(test_priority),
		cmocka_unit_test(test_drop),
	};
	return nth_group(tests);
}
