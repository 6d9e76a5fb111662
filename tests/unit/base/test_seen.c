/* tests/unit/base/test_seen.c - what was there before, all of it or the latest */
#include "../nth.h"
#include <stdio.h>
#include <string.h>

#include "base/seen.h"

static int case_all(void)
{
	struct seen s;
	char text[24];
	int rc = INFER_OK;

	seen_init(&s, MEM_BASE, 0);
	assert_false(seen_has(&s, "", 0));
	nth_ok(seen_add(&s, "", 0));
	assert_true(seen_has(&s, "", 0));
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof text, "id %d", i);
		assert_false(seen_has(&s, text, strlen(text)));
		nth_ok(seen_add(&s, text, strlen(text)));
		nth_fails(seen_add(&s, text, strlen(text)), INFER_EINVAL);
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof text, "id %d", i);
		assert_true(seen_has(&s, text, strlen(text)));
	}
	assert_false(seen_has(&s, "id 3000", 7));
	assert_false(seen_has(&s, "id ", 3));
out:
	seen_fini(&s);
	return rc;
}

/* With a limit the latest are known, and at most twice as many. */
static int case_latest(void)
{
	struct seen s;
	int rc = INFER_OK, known = 0;

	seen_init(&s, MEM_BASE, 100);
	for (int i = 0; i < 1050; i++)
		nth_ok(seen_add(&s, &i, sizeof i));
	for (int i = 0; i < 1050; i++) {
		int has = seen_has(&s, &i, sizeof i);

		known += has;
		assert_true(has || i < 950);
	}
	assert_in_range(known, 100, 200);
	assert_true(s.young.cap <= 512 && s.old.cap <= 512);
out:
	seen_fini(&s);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_all), nth_case(case_latest) };
	return nth_group(tests);
}
