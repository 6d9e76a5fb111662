/* tests/unit/infer-run/test_order.c - what comes in any order goes out in the order of its
 * tickets */
#include "../nth.h"
#include "infer-run/order.h"
#include "base/rng.h"

enum { N = 1000, AT_ONCE = 150 };

/* Many at once, coming in an order drawn by lot: each goes out once, behind those before it. */
static int case_order(void)
{
	struct order o;
	int what[N], n = 0, begun = 0, out = 0, *p, rc = INFER_OK;
	uint64_t open[AT_ONCE], ticket, drawn = 0;

	order_init(&o, 8, 1000);
	assert_null(order_next(&o));
	while (out < N) {
		while (n < AT_ONCE && begun < N && !order_full(&o)) {
			nth_ok(order_take(&o, &ticket));
			assert_int_equal(ticket, begun);
			open[n++] = ticket;
			begun++;
		}
		size_t i = (size_t)(rng_hash(7, &drawn, sizeof drawn) % (uint64_t)n);

		drawn++;
		ticket = open[i];
		open[i] = open[--n];
		what[ticket] = (int)ticket;
		order_put(&o, ticket, &what[ticket], 1);
		while ((p = order_next(&o)))
			assert_int_equal(*p, out++);
		assert_int_equal(o.waiting, o.bytes);
		assert_int_equal(o.next - o.first, (uint64_t)n + o.waiting);
	}
	assert_null(order_next(&o));
	assert_int_equal(o.waiting, 0);
out:
	order_fini(&o);
	return rc;
}

/* It is full by number and by bytes, and what was begun before still has its place. */
static int case_full(void)
{
	struct order o;
	uint64_t t[4];
	int what, rc;

	order_init(&o, 2, 100);
	for (int i = 0; i < 4; i++)
		nth_ok(order_take(&o, &t[i]));
	assert_false(order_full(&o));
	order_put(&o, t[1], &what, 1);
	assert_false(order_full(&o));
	order_put(&o, t[2], &what, 1);
	assert_true(order_full(&o));
	order_put(&o, t[3], &what, 1);
	assert_null(order_next(&o));
	order_put(&o, t[0], &what, 1);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(order_next(&o), &what);
	assert_null(order_next(&o));
	assert_false(order_full(&o));

	nth_ok(order_take(&o, &t[0]));
	nth_ok(order_take(&o, &t[1]));
	order_put(&o, t[1], &what, 100);
	assert_true(order_full(&o));
	order_put(&o, t[0], &what, 0);
	assert_non_null(order_next(&o));
	assert_true(order_full(&o));
	assert_non_null(order_next(&o));
	assert_false(order_full(&o));
out:
	order_fini(&o);
	return rc;
}

/* Without memory no ticket is given out, and what has come by then goes out. */
static int case_grow(void)
{
	struct order o;
	uint64_t ticket, n = 0;
	int what, rc = INFER_OK, out = 0;

	order_init(&o, 8, 8);
	while (n < 200 && !(rc = order_take(&o, &ticket)))
		assert_int_equal(ticket, n++);
	for (uint64_t i = n; i-- > 0;)
		order_put(&o, i, &what, 0);
	while (order_next(&o))
		out++;
	assert_int_equal(out, n);
	order_fini(&o);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_order),
		nth_case(case_full),
		nth_case(case_grow),
	};

	return nth_group(tests);
}
