/* tests/unit/backend/test_kind.c - rules for every row of backend_list.h: each folder of
 * libcore/backend has a row, each row is complete, and refusals name what is refused. */
#include "../nth.h"
#include "step.h"
#include "toy.h"

#include <dirent.h>
#include <stdio.h>

#define BACKEND(x) #x,
static const char *const names[] = {
#include "backend/backend_list.h"
};
#undef BACKEND
enum { KINDS = sizeof names / sizeof *names };

static const struct toy_shape plain = {
	.type = INFER_F32, .embd = 64, .dk = 32, .dv = 32, .rot = 32, .ff = 96, .window = 40
};
static struct step_shape cache_of(void)
{
	return (struct step_shape){ TOY_LAYERS, TOY_KV, 32, 32, INFER_F16, toy_state(&plain) };
}

/* A folder without a row would never be opened.  That of CUDA has one where nvcc is. */
static void test_folders(void **state)
{
	DIR *dir = opendir("libcore/backend");
	struct dirent *d;
	int n = 0;

	(void)state;
	assert_non_null(dir);
	while ((d = readdir(dir))) {
		int known = !strcmp(d->d_name, "cuda");

		if (strchr(d->d_name, '.')) /* a file, or the folder itself */
			continue;
		for (int i = 0; i < KINDS; i++)
			known |= !strcmp(names[i], d->d_name);
		if (!known)
			fail_msg("libcore/backend/%s has no row in backend_list.h", d->d_name);
		n++;
	}
	closedir(dir);
	assert_true(n >= KINDS);
}

static void test_rows(void **state)
{
	(void)state;
	for (int i = 0; i < KINDS; i++) {
		const struct backend_kind *k = backend_find(names[i]);
		const void *slot;

		assert_non_null(k);
		assert_string_equal(k->name, names[i]);
		assert_true(k->page > 0);
		for (size_t at = offsetof(struct backend_kind, open); at < sizeof *k;
		     at += sizeof slot) {
			memcpy(&slot, (const char *)k + at, sizeof slot);
			if (!slot)
				fail_msg("%s: the slot at byte %zu is empty", names[i], at);
		}
		k->plan_free(NULL);
		k->unload(NULL);
		k->kv_free(NULL);
		k->close(NULL);
	}
	assert_null(backend_find("abacus"));
}

static int case_device(void)
{
	struct host h = { 0 };
	struct backend *b = NULL;
	uint64_t left, total;
	infer_error e;
	int rc = INFER_OK;

	for (int i = 0; i < KINDS; i++) {
		const struct backend_kind *k = backend_find(names[i]);

		nth_ok(host_open(&h, 1, NULL, &e));
		assert_int_equal(k->open(&b, &h, &(struct backend_opts){ 99 }, &e), INFER_EINVAL);
		assert_null(b);
		assert_non_null(strstr(e.message, "99"));
		rc = k->open(&b, &h, &(struct backend_opts){ 0 }, &e);
		if (!rc) {
			k->memory(b, &left, &total);
			assert_true(left > 0 && left <= total);
			k->close(b);
		}
		host_close(&h);
		nth_ok(rc);
	}
out:
	return rc;
}

/* A want is computed or refused by name, and then no step has begun. */
static int case_wants(void)
{
	const struct {
		uint8_t want;
		const char *says;
	} bad[] = { { BACKEND_TOP, "row 2: the cpu does not compute TOP" },
		    { 77, "row 2: the cpu does not compute the wanted output" } };
	const int32_t ids[3] = { 1, 2, 3 }, out[2] = { 0, 2 };
	struct step s = { 0 };
	struct toy t = { 0 };
	struct backend_result res;
	float alone[2 * TOY_VOCAB];
	uint8_t want[2] = { BACKEND_LOGITS, BACKEND_LOGITS };
	infer_error e;
	const struct step_shape cache = cache_of();
	int rc;

	nth_ok(toy_make(&t, &plain, -1));
	nth_ok(step_open(&s, &t.m, &cache, 1, NULL, 8, &e));
	step_states(&s, 0, 3);
	const uint32_t *const *pages = s.tables[0];
	struct backend_run run = { .n = 3, .pages = pages };
	struct backend_step step = { 3, 2, 1, ids, &run, out, &s.kv, .edges = &s.edge };
	nth_ok(backend_compute(s.o.kind, s.o.plan, &step, &res, &e));
	memcpy(alone, res.logits, sizeof alone);
	step.want = want;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		want[1] = bad[i].want;
		assert_int_equal(s.o.kind->begin(s.o.plan, &step, &e), INFER_EUNSUP);
		assert_string_equal(e.message, bad[i].says);
	}
	want[1] = BACKEND_LOGITS;
	nth_ok(backend_compute(s.o.kind, s.o.plan, &step, &res, &e));
	assert_memory_equal(alone, res.logits, sizeof alone);
out:
	step_close(&s);
	toy_free(&t);
	return rc;
}

/* The kernel sets in use are named, also where there is little room for it. */
static void test_host(void **state)
{
	char all[128], some[6];
	struct host h;

	(void)state;
	assert_int_equal(host_open(&h, 2, "ref", NULL), INFER_OK);
	host_describe(&h, all, sizeof all);
	assert_string_equal(all, "ref");
	host_close(&h);
	assert_null(h.pool);
	assert_int_equal(host_open(&h, 1, NULL, NULL), INFER_OK);
	host_describe(&h, all, sizeof all);
	host_describe(&h, some, sizeof some);
	assert_int_equal(strncmp(all, "ref", 3), 0);
	assert_int_equal(strncmp(all, some, strlen(some)), 0);
	host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders), cmocka_unit_test(test_rows), nth_case(case_device),
		nth_case(case_wants),           cmocka_unit_test(test_host),
	};
	return nth_group(tests);
}
