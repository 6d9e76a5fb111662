/* tests/unit/api/test_faults.c - errors of requests, as API formats write them */
#include "../nth.h"
#include <string.h>

#include <infer/api.h>

static int case_faults(void)
{
	struct infer_fault f = { { INFER_EINVAL, "m" }, "p", INFER_FAULT_INVALID, 0, 0 };
	const infer_api *c = infer_api_at("/v1/chat/completions"),
			*t = infer_api_at("/v1/completions"), *own = infer_api_named("own");
	infer_writer *w = NULL;
	infer_error err;
	int rc;

	assert_string_equal(infer_api_name(c), "chat");
	assert_string_equal(infer_api_name(t), "text");
	assert_null(infer_api_at("/completions"));
	assert_null(infer_api_named("x"));
	nth_ok(infer_writer_new(&w, &err));
	nth_ok(infer_api_put_fault(w, c, &f, &err));
	assert_string_equal(infer_writer_text(w).at,
	                    "{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\","
	                    "\"param\":\"p\",\"code\":null}}");
	infer_writer_clear(w);
	f = (struct infer_fault){ { INFER_ENOMEM, "long" }, NULL, INFER_FAULT_TOO_LONG, 9, 8 };
	nth_ok(infer_api_put_fault(w, t, &f, &err));
	assert_string_equal(
		infer_writer_text(w).at,
		"{\"error\":{\"message\":\"long\",\"type\":\"exceed_context_size_error\",\"param\":"
		"null,\"code\":\"context_length_exceeded\",\"n_prompt_tokens\":9,\"n_ctx\":8}}");
	infer_writer_clear(w);
	nth_ok(infer_api_put_fault(w, own, &f, &err));
	assert_string_equal(infer_writer_text(w).at,
	                    "{\"code\":\"INFER_ENOMEM\",\"message\":\"long\",\"param\":null}");
	assert_int_equal(infer_fault_status(INFER_FAULT_BUSY), 429);
	assert_int_equal(infer_fault_status(INFER_FAULT_UNAVAILABLE), 503);
	assert_int_equal(infer_fault_kind(INFER_EAGAIN), INFER_FAULT_BUSY);
	assert_int_equal(infer_fault_kind(INFER_EUNSUP), INFER_FAULT_INVALID);
	assert_int_equal(infer_fault_kind(INFER_EDEVICE), INFER_FAULT_SERVER);
	assert_int_equal(infer_fault_kind(INFER_OK), INFER_FAULT_NONE);
out:
	infer_writer_free(w);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_faults) };

	return nth_group(tests);
}
