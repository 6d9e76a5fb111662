/* tests/unit/engine/test_mask_worker.c - the thread that computes masks during a step: items in order, each once; those
 * that it has not begun are left, and the one that it has begun is waited for. */
#include <stdatomic.h>
#include <time.h>

#include "../nth.h"
#include "engine/mask_worker.h"

enum { ITEMS = 50 };

static struct {
	atomic_int n, begun, go;
	int32_t item[ITEMS];
} did;

static void reset(void)
{
	atomic_store(&did.n, 0);
	atomic_store(&did.begun, 0);
	atomic_store(&did.go, 0);
}

static void note(void *user, int32_t i)
{
	assert_ptr_equal(user, &did);
	did.item[atomic_load(&did.n)] = i;
	atomic_fetch_add(&did.n, 1);
}

static void nap(void) { nanosleep(&(struct timespec){ 0, 1000000 }, NULL); }

static void note_later(void *user, int32_t i)
{
	atomic_fetch_add(&did.begun, 1);
	while (!atomic_load(&did.go))
		nap();
	nap(); /* mask_worker_end is called meanwhile */
	note(user, i);
}

static void test_all(void **state)
{
	struct mask_worker *b = mask_worker_new();

	(void)state;
	assert_non_null(b);
	for (int turn = 0; turn < 20; turn++) {
		reset();
		mask_worker_begin(b, ITEMS, note, &did);
		while (atomic_load(&did.n) < ITEMS)
			nap();
		mask_worker_end(b);
		for (int32_t i = 0; i < ITEMS; i++)
			assert_int_equal(did.item[i], i);
	}
	mask_worker_free(b);
}

static void test_begun(void **state)
{
	struct mask_worker *b = mask_worker_new();
	int n;

	(void)state;
	reset();
	mask_worker_begin(b, ITEMS, note_later, &did);
	while (!atomic_load(&did.begun))
		nap();
	atomic_store(&did.go, 1);
	mask_worker_end(b);
	n = atomic_load(&did.n);
	assert_true(n > 0);
	assert_int_equal(atomic_load(&did.begun), n);
	nap();
	mask_worker_free(b);
	assert_int_equal(atomic_load(&did.begun), n);
}

static void test_none(void **state)
{
	(void)state;
	reset();
	mask_worker_begin(NULL, ITEMS, note, &did);
	mask_worker_end(NULL);
	mask_worker_free(NULL);
	assert_int_equal(atomic_load(&did.n), 0);
}

static int case_new(void)
{
	struct mask_worker *b = mask_worker_new();
	int rc = INFER_OK;

	nth_need(b != NULL);
out:
	mask_worker_free(b);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all),
		                            cmocka_unit_test(test_begun),
		                            cmocka_unit_test(test_none), nth_case(case_new) };

	return nth_group(tests);
}
