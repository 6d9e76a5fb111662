/* tests/unit/kv/test_kv.c - the cache: what it refuses, what it shares, and a long random walk
 * against a plain recount */
#include "world.h"

static void walk(struct world *w, int ops, uint64_t bytes) { walk_two(w, ops, bytes, 0); }

static void test_walk_full(void **state)
{
	(void)state;
	walk(&(struct world){ .groups = { full }, .n_groups = 1, .seed = 1 }, 40000,
	     40 * full.page_bytes);
}

static void test_walk_window(void **state)
{
	(void)state;
	walk(&(struct world){ .groups = { window }, .n_groups = 1, .seed = 2 }, 30000,
	     14 * window.page_bytes);
}

static void test_walk_both(void **state)
{
	(void)state;
	walk(&(struct world){ .groups = { full, window }, .n_groups = 2, .seed = 3 }, 30000,
	     30 * full.page_bytes + 14 * window.page_bytes);
}

static void test_walk_small(void **state)
{
	(void)state;
	walk(&(struct world){ .groups = { small, small_window }, .n_groups = 2, .seed = 7 }, 60000,
	     120 * small.page_bytes + 80 * small_window.page_bytes);
}

static void test_walk_states(void **state)
{
	(void)state;
	walk(&(struct world){ .groups = { full, states }, .n_groups = 2, .seed = 8 }, 30000,
	     16 * full.page_bytes + 12 * states.page_bytes);
}

static void test_walk_no_tree(void **state)
{
	(void)state;
	walk(
		&(struct world){
			.groups = { full, window }, .n_groups = 2, .flags = KV_NO_TREE, .seed = 4 },
		14000, 25 * full.page_bytes + 14 * window.page_bytes);
}

/* What is found, to the position. */
static int case_prefix(void)
{
	struct kv_group groups[2] = { full, window };
	struct kv_opts o = { groups, 2, LAYERS, { 100 * (full.page_bytes + window.page_bytes) },
		             CTX,    2, 0,      0 };
	struct kv *kv = NULL;
	uint64_t ids[CTX], other[CTX];
	infer_error err;
	int rc;

	for (int i = 0; i < CTX; i++)
		ids[i] = other[i] = (uint64_t)i * 7;
	other[200]++;
	nth_ok(kv_open(&kv, &o, &err));
	run_and_leave(kv, 5, ids, 300, 0, ids);
	run_and_leave(kv, 5, ids, 300, 299, ids); /* at most n - 1 */
	run_and_leave(kv, 5, ids, 289, 288, ids);
	run_and_leave(kv, 5, ids, 288, 287, ids);
	run_and_leave(kv, 5, ids, 33, 32, ids);
	run_and_leave(kv, 5, ids, 32, 31, ids);
	run_and_leave(kv, 5, ids, 17, 16, ids);
	run_and_leave(kv, 5, ids, 16, 0, ids); /* less than half a page */
	run_and_leave(kv, 5, ids, 310, 300, ids);
	run_and_leave(kv, 6, ids, 300, 0, ids);       /* another root */
	run_and_leave(kv, 5, other, 300, 200, other); /* they part inside a page */
	run_and_leave(kv, 5, other, 300, 299, other);
	kv_clear(kv);
	run_through(kv, 5, ids, 300, 0);
out:
	kv_close(&kv);
	return rc;
}

/* A window that lost a page in the middle resumes only where W positions lie behind it; and age
 * decides who goes. */
static int case_evict(void)
{
	struct kv_group groups[2] = { full, window };
	uint64_t pf = full.page_bytes, pw = window.page_bytes, ids[CTX], two[CTX];
	struct kv_opts o = { groups, 2, LAYERS, { 16 * pf + 8 * pw }, CTX, 2, 0, 0 };
	struct kv_stats st;
	struct kv *kv = NULL;
	infer_error err;
	int rc;

	for (int i = 0; i < CTX; i++) {
		ids[i] = (uint64_t)i;
		two[i] = (uint64_t)i + 100000;
	}
	nth_ok(kv_open(&kv, &o, &err));
	run_through(kv, 1, ids, 200,
	            0); /* six whole pages of each; the first four fell behind the window */
	run_through(kv, 1, two, 132,
	            0); /* room for three more of the window's: its two oldest go */
	kv_stats(kv, &st);
	assert_int_equal(st.evicted, 2);
	assert_true(st.used_bytes <= st.budget_bytes);
	run_through(kv, 1, ids, 193, 192);
	run_through(kv, 1, ids, 161, 160); /* sees pages 2 to 4 */
	run_through(kv, 1, two, 97, 96);
	run_through(kv, 1, ids, 129, 0); /* would need page 1 */
out:
	kv_close(&kv);
	return rc;
}

/* A cache that holds one such sequence: the next one takes over the page that the first one left. */
static int case_tight(void)
{
	struct kv_opts o = { &full, 1, LAYERS, { 3 * 12288 }, CTX, 2, 0 };
	struct kv *kv = NULL;
	infer_error err;
	uint64_t ids[96] = { 0 };
	int rc;

	nth_ok(kv_open(&kv, &o, &err));
	run_and_leave(kv, 0, ids, 90, 0, ids);
	run_and_leave(kv, 0, ids, 96, 90, ids);
	run_and_leave(kv, 0, ids, 96, 95, ids);
out:
	kv_close(&kv);
	return rc;
}

static int case_refuse(void)
{
	const struct kv_group mixed[2] = { full, small_window };
	struct kv_opts o = { &full, 1, LAYERS, { 12287 }, CTX, 2, 0, 0 };
	struct kv *kv = NULL;
	infer_error err;
	int rc = INFER_OK;

	assert_int_equal(kv_open(&kv, &o, &err), INFER_ENOMEM);
	assert_null(kv);
	assert_non_null(strstr(err.message, "12288 bytes do"));
	o = (struct kv_opts){ mixed, 2, LAYERS, { 1 << 20 }, CTX, 2, 0, 0 };
	assert_int_equal(kv_open(&kv, &o, &err), INFER_EINVAL);
	assert_null(kv);
	assert_non_null(strstr(err.message, "pages of 32 positions on marks and of 8 on small"));
	return rc;
}

/* Nothing is touched before it is used, and no call but open allocates. */
static int case_quiet(void)
{
	struct kv_opts o = { &full, 1, LAYERS, { (uint64_t)1 << 36 }, 1 << 20, 64, 0, 0 };
	struct os_usage before, after;
	struct kv *kv = NULL;
	struct kv_seq *s, *f;
	infer_error err;
	uint64_t ids[96] = { 0 }, calls;
	int32_t cached;
	int rc;

	os_usage(&before);
	nth_ok(kv_open(&kv, &o, &err));
	os_usage(&after);
	assert_true(after.minor_faults - before.minor_faults < 200);
	calls = mem_calls_all();
	s = kv_seq_open(kv, 0, ids, 90, &cached);
	assert_int_equal(kv_seq_grow(kv, s, 90), INFER_OK);
	kv_seq_commit(kv, s, ids, 90);
	f = kv_seq_fork(kv, s);
	assert_int_equal(kv_seq_grow(kv, f, 96), INFER_OK);
	kv_seq_commit(kv, f, ids, 96);
	assert_int_equal(kv_seq_trim(kv, f, 3), INFER_OK);
	kv_seq_close(kv, s, ids);
	kv_seq_close(kv, f, ids);
	kv_seq_close(kv, NULL, NULL);
	assert_int_equal(mem_calls_all(), calls);
out:
	kv_close(&kv);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_refuse),
		nth_case(case_tight),
		nth_case(case_prefix),
		nth_case(case_evict),
		nth_case(case_quiet),
		cmocka_unit_test(test_walk_full),
		cmocka_unit_test(test_walk_window),
		cmocka_unit_test(test_walk_both),
		cmocka_unit_test(test_walk_small),
		cmocka_unit_test(test_walk_states),
		cmocka_unit_test(test_walk_no_tree),
	};
	return nth_group(tests);
}
