/* tests/unit/backend/test_cache.c - pages of the CPU cache: their sizes, refused types, copies,
 * and memory that is returned. */
#include "../nth.h"
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/host.h"
#include "base/os.h"

static const int layers[] = { 0, 2, 4 };

static struct host host;
static struct backend *device;

static const struct backend_kind *cpu(void) { return backend_find("cpu"); }

static int set_up(void **state)
{
	const struct backend_opts o = { 0 };

	(void)state;
	return host_open(&host, 1, NULL, NULL) || cpu()->open(&device, &host, &o, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	cpu()->close(device);
	host_close(&host);
	return 0;
}

/* What a page holds, from the format: 34 and 18 bytes for 32 numbers, K and V of a layer each from
 * a multiple of 64 on. */
static int case_bytes(void)
{
	const int types[] = { INFER_F32, INFER_F16, INFER_Q8_0, INFER_Q4_0 },
		  bytes[] = { 128, 64, 34, 18 };
	uint64_t page = os_page(), want;
	struct backend_cache *c;
	infer_error err;
	int rc = INFER_OK;

	for (int i = 0; i < 16; i++) {
		struct backend_group g = { 3, layers, types[i / 4], types[i % 4], 5, 96, 32 };

		want = 3 * 5 * KERN_PAGE * (uint64_t)(bytes[i / 4] * 3 + bytes[i % 4]);
		nth_ok(cpu()->kv_new(&c, device, &g, 7, &err));
		assert_int_equal(c->page_bytes, (want + page - 1) / page * page);
		assert_int_equal(c->layer_bytes % 64 + c->v_at % 64, 0);
		assert_int_equal(c->reserved, 7 * c->page_bytes);
		cpu()->kv_free(c);
	}
out:
	return rc;
}

static void test_refused(void **state)
{
	const struct {
		struct backend_group g;
		const char *says;
	} bad[] = {
		{ { 3, layers, INFER_Q8_0, INFER_F16, 1, 40, 32 },
		  "Q8_0 needs heads of a multiple of 32; this model's have 40" },
		{ { 3, layers, INFER_F16, INFER_Q4_0, 1, 32, 8 },
		  "Q4_0 needs heads of a multiple of 32; this model's have 8" },
		{ { 3, layers, INFER_F16, INFER_Q5_0, 1, 32, 32 },
		  "cache type Q5_0 is not supported: F16, F32, Q8_0 and Q4_0 are" },
	};
	struct backend_cache *c;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(cpu()->kv_new(&c, device, &bad[i].g, 1, &err), INFER_EUNSUP);
		assert_null(c);
		assert_non_null(strstr(err.message, bad[i].says));
	}
}

/* A new cache is not touched; a page that is dropped gives its memory back. */
static void test_memory(void **state)
{
	const struct backend_group g = { 3, layers, INFER_F16, INFER_F16, 8, 128, 128 };
	struct os_usage before, after;
	struct backend_cache *c;

	(void)state;
	os_usage(&before);
	assert_int_equal(cpu()->kv_new(&c, device, &g, 1 << 16, NULL), INFER_OK);
	os_usage(&after);
	assert_true(after.minor_faults - before.minor_faults < 50);
	memset(c->base + 5 * c->page_bytes, 7, c->page_bytes);
	memset(c->base + 6 * c->page_bytes, 9, c->page_bytes);
	cpu()->kv_copy(c, 8, 5, 3);
	assert_memory_equal(c->base + 8 * c->page_bytes, c->base + 5 * c->page_bytes,
	                    c->page_bytes);
	cpu()->kv_drop(c, 5);
	for (size_t i = 0; i < c->page_bytes; i++) {
		assert_int_equal(c->base[5 * c->page_bytes + i], 0);
		assert_int_equal(c->base[6 * c->page_bytes + i], 9);
	}
	cpu()->kv_free(c);
	cpu()->kv_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_bytes), cmocka_unit_test(test_refused),
		                            cmocka_unit_test(test_memory) };
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
