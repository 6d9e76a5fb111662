/* tests/unit/kv/test_devices.c - a cache over two devices, each with a budget of its own */
#include "world.h"

/* Two devices, each with a budget of its own: the fuller one decides, whichever it is, and what is
 * evicted for one device is what frees memory there. */
static void test_walk_devices(void **state)
{
	struct kv_group far = GROUP(KV_FULL, 0, marks, odd, 20480), far_window = window;
	const uint64_t budgets[][2] = { { 40, 25 }, { 25, 60 }, { 30, 30 } };

	(void)state;
	far.device = far_window.device = 1;
	for (uint64_t i = 0; i < 3; i++) {
		struct world two = { .groups = { full, far }, .n_groups = 2, .seed = 20 + i };
		struct world mixed = { .groups = { full, far_window },
			               .n_groups = 2,
			               .seed = 30 + i };

		walk_two(&two, 40000, budgets[i][0] * full.page_bytes,
		         budgets[i][1] * far.page_bytes);
		if (i < 2)
			assert_int_equal(two.refused_by[i], 0);
		walk_two(&mixed, 40000, (budgets[i][0] < 30 ? 22 : 40) * full.page_bytes,
		         (budgets[i][0] < 30 ? 20 : 11) * window.page_bytes);
		assert_true(i == 1 ? mixed.refused_by[0] : mixed.refused_by[1]);
	}
}

/* A page that a window has let go is evicted where its device is short, and not for another. */
static int case_evict_there(void)
{
	struct kv_group groups[2] = { full, window };
	uint64_t pf = full.page_bytes, pw = window.page_bytes, ids[CTX], two[CTX];
	struct kv_opts o = { groups, 2, LAYERS, { 10 * pf, 7 * pw }, CTX, 2, 0, 0 };
	struct kv_stats st;
	struct kv *kv = NULL;
	int rc;

	groups[1].device = 1;
	for (int i = 0; i < CTX; i++) {
		ids[i] = (uint64_t)i;
		two[i] = (uint64_t)i + 100000;
	}
	nth_ok(kv_open(&kv, &o, NULL));
	assert_int_equal(kv_view(kv, 0)->n_groups, 1);
	assert_int_equal(kv_view(kv, 1)->n_groups, 1);
	assert_int_equal(kv_view(kv, 2)->n_groups, 0);
	run_through(kv, 1, ids, 193, 0);
	kv_stats(kv, &st);
	assert_int_equal(st.evicted, 0);
	assert_int_equal(st.columns, 7);
	assert_int_equal(st.columns_used, 6);
	run_through(kv, 1, two, 65, 0); /* two of the window's go, and none of the others */
	kv_stats(kv, &st);
	assert_int_equal(st.evicted, 2);
	run_through(kv, 1, ids, 193, 192);
	kv_close(&kv);
	o.bytes[0] = 7 * pf;
	o.bytes[1] = 20 * pw;
	nth_ok(kv_open(&kv, &o, NULL));
	run_through(kv, 1, ids, 193, 0);
	run_through(kv, 1, two, 65, 0); /* the last two pages of the path go, of both devices */
	kv_stats(kv, &st);
	assert_int_equal(st.evicted, 4);
	run_through(kv, 1, ids, 129, 128); /* sees pages 1 to 3 */
out:
	kv_close(&kv);
	return rc;
}

static int case_refuse_one(void)
{
	struct kv_group groups[2] = { full, window };
	struct kv_opts o = { groups, 2, LAYERS, { 1 << 20, 49151 }, CTX, 2, 0, 0 };
	struct kv *kv = NULL;
	infer_error err;

	groups[1].device = 1;
	strcpy(groups[1].on.name, "far1");
	assert_int_equal(kv_open(&kv, &o, &err), INFER_ENOMEM);
	assert_null(kv);
	assert_string_equal(err.message,
	                    "far1: a cache of 49151 bytes does not hold one page of 32 "
	                    "positions: 49152 bytes do");
	return INFER_OK;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_evict_there), nth_case(case_refuse_one),
		                            cmocka_unit_test(test_walk_devices) };

	return nth_group(tests);
}
