/* tests/unit/infer-serve/test_parts.c - events, keys, counters, addresses */
#include "../nth.h"
#include "infer-serve/ops/keys.h"
#include "infer-serve/endpoints/table.h"
#include "infer-serve/http/listen.h"
#include "infer-serve/ops/metrics.h"
#include "infer-serve/http/sse.h"
#include "base/buf.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* For every size of the room, the pieces join to the whole, and end with an event if one fits. */
static void test_cut(void **state)
{
	static const char text[] = "data: 1\n\ndata: a long one that is long\n\ndata: 3\n\n";
	const size_t all = sizeof text - 1;

	(void)state;
	for (size_t room = 1; room <= all + 1; room++)
		for (size_t at = 0, n; at < all; at += n) {
			n = sse_cut(text + at, all - at, room);
			assert_in_range(n, 1, room);
			/* if an event ends within the room, the piece ends there */
			if (memmem(text + at, n < room ? all - at : room, "\n\n", 2))
				assert_memory_equal(text + at + n - 2, "\n\n", 2);
		}
	assert_int_equal(sse_cut(text, all, 9), 9);
	assert_int_equal(sse_cut(text, all, 20), 9);
	assert_int_equal(sse_cut(text, all, 8), 8);
}

static void write_keys(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
}

static int case_keys(void)
{
	static const char text[] = "# a comment\n\n one \r\ntwo weight=100  priority=-7\n\tthree";
	static const char *const bad[] = { "a b",          "a weight=0",  "a weight=101",
		                           "a weight=",    "a weight=x",  "a priority=-101",
		                           "a priority=-", "a weight=1x", "a\x01" };
	char path[] = "/tmp/infer-keys-XXXXXX", longest[KEYS_LONGEST + 2];
	struct keys k = { NULL, 0 };
	infer_error err;
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	close(fd);
	write_keys(path, text, sizeof text - 1);
	nth_ok(keys_read(&k, path, &err));
	assert_int_equal(k.n, 3);
	assert_true(keys_match(&k, "one", 3));
	assert_int_equal(keys_match(&k, "two", 3), 2);
	assert_int_equal(k.at[0].weight, 1);
	assert_int_equal(k.at[1].weight, 100);
	assert_int_equal(k.at[1].priority, -7);
	assert_true(keys_match(&k, "three", 5));
	assert_false(keys_match(&k, "tw", 2));
	assert_false(keys_match(&k, "", 0));
	assert_false(keys_match(&k, "# a comment", 11));
	keys_fini(&k);
	assert_false(keys_match(&k, "one", 3));
	write_keys(path, "# none\n\n", 8);
	nth_fails(keys_read(&k, path, &err), INFER_EFORMAT);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		write_keys(path, bad[i], strlen(bad[i]));
		nth_fails(keys_read(&k, path, &err), INFER_EFORMAT);
	}
	write_keys(path, "a\0b\n", 4);
	nth_fails(keys_read(&k, path, &err), INFER_EFORMAT);
	memset(longest, 'k', sizeof longest);
	write_keys(path, longest, KEYS_LONGEST + 1);
	nth_fails(keys_read(&k, path, &err), INFER_EFORMAT);
	assert_null(k.at);
	write_keys(path, longest, KEYS_LONGEST);
	nth_ok(keys_read(&k, path, &err));
	assert_true(keys_match(&k, longest, KEYS_LONGEST));
	assert_false(keys_match(&k, longest, KEYS_LONGEST - 1));
out:
	keys_fini(&k);
	unlink(path);
	return rc;
}

static void test_bearer(void **state)
{
	size_t n = 0;

	(void)state;
	assert_null(keys_bearer(NULL, &n));
	assert_null(keys_bearer("Basic abc", &n));
	assert_null(keys_bearer("Bearer", &n));
	assert_memory_equal(keys_bearer("Bearer abc", &n), "abc", 3);
	assert_int_equal(n, 3);
	assert_memory_equal(keys_bearer("bEARER  abc  ", &n), "abc", 3);
	assert_int_equal(n, 3);
	assert_non_null(keys_bearer("Bearer ", &n));
	assert_int_equal(n, 0);
}

static int case_metrics(void)
{
	static struct metrics m;
	const struct infer_usage u = { .prompt_tokens = 5, .completion_tokens = 3 };
	static struct metrics none;
	const struct metrics_now now[] = {
		{ .of = &m, .running = 2, .model = "a\"b\\c\nd" },
		{ .of = &none, .model = "second", .loaded = 1 },
		{ .of = &none, .model = "" },
	};
	const struct metrics_process process = { .resident_bytes = 77, .endpoint = endpoint_path };
	struct buf b;
	int rc;

	m = none = (struct metrics){ .prompt_tokens = 0 };
	metrics_observe(&m, METRICS_TTFT, .001);
	metrics_observe(&m, METRICS_TTFT, .0011);
	metrics_observe(&m, METRICS_TTFT, 1e9);
	metrics_sample(&m, &u, INFER_FINISH_STOP, 1);
	metrics_sample(&m, &u, INFER_FINISH_LENGTH, 0);
	metrics_request(&m, -1, 404);
	metrics_request(&m, 0, 418);
	buf_init(&b, MEM_BASE);
	metrics_request(&none, -1, 401);
	metrics_put(&b, now, 2, &process);
	rc = b.bad ? INFER_ENOMEM : INFER_OK;
	if (!rc) {
#define L "{model_name=\"a\\\"b\\\\c\\nd\""
		static const char *const has[] = {
			"\ninfer_time_to_first_token_seconds_bucket" L ",le=\"0.001\"} 1\n",
			"\ninfer_time_to_first_token_seconds_bucket" L ",le=\"0.005\"} 2\n",
			"\ninfer_time_to_first_token_seconds_bucket" L ",le=\"10\"} 2\n",
			"\ninfer_time_to_first_token_seconds_bucket" L ",le=\"+Inf\"} 3\n",
			"\ninfer_time_to_first_token_seconds_count" L "} 3\n",
			"infer_prompt_tokens_total" L "} 5\n",
			"\ninfer_generation_tokens_total" L "} 6\n",
			"\ninfer_num_requests_running" L
			"} 2\ninfer_num_requests_running{model_name=\"second\"} 0\n",
			"\ninfer_model_loaded{model_name=\"second\"} 1\n",
			"\ninfer_http_requests_total{model_name=\"\",endpoint=\"none\",status="
			"\"401\"} 1\n",
			"\nprocess_resident_memory_bytes 77\n",
			"\ninfer_request_success_total" L ",finished_reason=\"stop\"} 1\n",
			"\ninfer_request_success_total" L ",finished_reason=\"length\"} 1\n",
			"\ninfer_http_requests_total" L ",endpoint=\"none\",status=\"404\"} 1\n",
		};
		for (size_t i = 0; i < sizeof has / sizeof *has; i++)
			assert_non_null(strstr(b.at, has[i]));
	}
	buf_fini(&b);
	return rc;
}

static void test_listen(void **state)
{
	static const char *const bad[] = {
		"",       "a",     "127.0.0.1",        "127.0.0.1:", "127.0.0.1:1x",
		"::1:80", "[::1]", "127.0.0.1:123456", "unix:"
	};
	struct listener l;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(listen_open(&l, bad[i], &err), INFER_EINVAL);
		assert_int_equal(l.fd, -1);
	}
	assert_int_equal(listen_open(&l, "127.0.0.1:0", &err), INFER_OK);
	assert_true(l.local);
	assert_memory_equal(l.url, "http://127.0.0.1:", 17);
	assert_true(strtol(l.url + 17, NULL, 10) > 0);
	close(l.fd);
	assert_int_equal(listen_open(&l, ":0", &err), INFER_OK);
	assert_false(l.local);
	close(l.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),    nth_case(case_keys),
		cmocka_unit_test(test_bearer), nth_case(case_metrics),
		cmocka_unit_test(test_listen),
	};
	return nth_group(tests);
}
