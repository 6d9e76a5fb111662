/* tests/unit/file/test_hostile.c - hundreds of damaged files: each is refused, or opens if its
 * container is sound, and likewise its tokenizer; none takes much memory or time. */
#include "../nth.h"
#include "../../tools/hostile_model.h"
#include "base/clock.h"
#include "base/os.h"
#include <infer/token.h>

#include <malloc.h>

static struct os_file good[2];
static int n_cases, n_refused, n_tokenizers;

static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* What opens can be asked; its vocabulary is well or refused, as the list says. */
static void ask(const infer_file *f, const unsigned char *at, size_t n, const char *name, char want)
{
	infer_tokenizer *t;
	infer_error err = { 0 };
	int32_t *ids = NULL;
	size_t n_ids;

	for (uint64_t i = 0; infer_file_meta_at(f, i); i++) {
		struct infer_str s;
		size_t cursor = 0;
		while (!infer_meta_next_str(infer_file_meta_at(f, i), &cursor, &s))
			assert_true((const unsigned char *)s.at + s.len <= at + n);
	}
	infer_file_check_finite(f, NULL, NULL);
	int rc = infer_tokenizer_open(&t, f, &err);
	if (want == '0' && rc)
		fail_msg("%s: %s", name, err.message);
	if ((want == '3' || rc) && rc != INFER_EFORMAT && rc != INFER_EUNSUP)
		fail_msg("%s: its tokenizer opens with code %d", name, rc);
	if (rc)
		return;
	n_tokenizers++;
	rc = infer_encode(t, "the word \xff\xc3\xbc", 12, INFER_ENCODE_ADD | INFER_ENCODE_SPECIAL,
	                  &ids, &n_ids, &err);
	for (size_t i = 0; !rc && i < n_ids; i++)
		assert_true(ids[i] >= 0 && ids[i] < infer_tokenizer_count(t));
	infer_ids_free(ids);
	infer_tokenizer_close(&t);
}

static void one(void *user, const char *name, const void *bytes, size_t n, const char want[3])
{
	static _Alignas(32) unsigned char at[1 << 19];
	infer_file *f;
	infer_error err = { 0 };
	int64_t from = clock_now_ns();
	uint64_t calls = mem_calls_all();
	size_t before = in_use();

	(void)user;
	assert_true(n <= sizeof at);
	memcpy(at, bytes, n);
	int rc = infer_file_open_bytes(&f, at, n, name, &err);
	size_t after = in_use();
	n_cases++;
	n_refused += rc != 0;
	if (want[0] == '0' && rc)
		fail_msg("%s: %s", name, err.message);
	if (want[0] == '3' && rc != INFER_EFORMAT && rc != INFER_EUNSUP)
		fail_msg("%s: opens with code %d", name, rc);
	if (rc && (f || !strstr(err.message, name)))
		fail_msg("%s: \"%s\"", name, err.message);
	if (after > before && after - before > (1 << 20))
		fail_msg("%s: takes %zu bytes", name, after - before);
	if (mem_calls_all() - calls > 64 || clock_ms(from, clock_now_ns()) > 1000)
		fail_msg("%s: %d calls for memory", name, (int)(mem_calls_all() - calls));
	if (f)
		ask(f, at, n, name, want[1]);
	infer_file_close(&f);
}

static void test_all(void **state)
{
	(void)state;
	assert_int_equal(hostile_all(good[0].at, good[0].bytes, "bpe-", one, NULL), 0);
	assert_int_equal(hostile_all(good[1].at, good[1].bytes, "spm-", one, NULL), 0);
	printf("# %d files, %d refused, %d tokenizers\n", n_cases, n_refused, n_tokenizers);
	assert_true(n_cases > 600 && n_refused > 500);
}

static struct os_file *now;

/* The good file with memory running out, and a bad one. */
static int case_memory(void)
{
	infer_file *f;
	int rc;

	nth_ok(infer_file_open_bytes(&f, now->at, now->bytes, "good", NULL));
	infer_file_close(&f);
	nth_fails(infer_file_open_bytes(&f, now->at, now->bytes - 1, "bad", NULL), INFER_EFORMAT);
out:
	infer_file_close(&f);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all), nth_case(case_memory) };

	if (os_file_map(&good[0], "tests/fuzz/corpus/gguf/tiny-bpe.gguf", NULL) ||
	    os_file_map(&good[1], "tests/fuzz/corpus/gguf/tiny-spm.gguf", NULL))
		return 1;
	now = &good[1];
	return nth_group(tests);
}
