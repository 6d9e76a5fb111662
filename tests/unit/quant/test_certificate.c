/* tests/unit/quant/test_certificate.c - figures that are written into a file, with every allocation
 * failing: the file is the old one or the new one. */
#include "../nth.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <infer/certificate.h>
#include "file/gguf_write.h"

static char dir[] = "/tmp/test_certificate.XXXXXX", path[64];
static infer_engine *engine;

static int fill(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	(void)err;
	memset(dst, *(const int *)user + (int)row, (size_t)n * 8 * 4);
	return INFER_OK;
}

/* One tensor, an alignment of 64, and a figure of another time. */
static int write_file(void)
{
	static const int64_t ne[] = { 8, 3 };
	static const int value = 5;
	static const char list[] = "\3\0\0\0\0\0\0\0one\3\0\0\0\0\0\0\0two";
	struct gguf_write *w;

	if (gguf_write_new(&w, path, NULL))
		return INFER_ENOMEM;
	gguf_write_str(w, "general.architecture", "llama", 5);
	gguf_write_alignment(w, 64);
	gguf_write_str(w, "infer.quant.type", "Q4_K", 4);
	gguf_write_f32(w, "infer.quant.eval.of_old", 1);
	gguf_write_array(w, "last", INFER_META_STR, 2, list, sizeof list - 1);
	int rc = gguf_write_tensor(w, "x", INFER_F32, 2, ne, fill, (void *)(size_t)&value, NULL);

	if (!rc)
		rc = gguf_write_end(w, NULL);
	gguf_write_free(w);
	return rc;
}

static int files(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

static double element(const infer_file *f, const char *key, uint64_t i)
{
	double x = -1;

	assert_int_equal(infer_meta_elem_f64(f, infer_file_meta(f, key), i, &x, NULL), 0);
	return x;
}

static int expect(int written, const infer_file *old)
{
	infer_file *f;
	int rc;

	nth_ok(infer_file_open(&f, path, NULL));
	assert_int_equal(infer_file_tensor(f, "x")->bytes, 96);
	assert_memory_equal(infer_file_tensor(f, "x")->data, infer_file_tensor(old, "x")->data, 96);
	assert_int_equal(infer_file_tensor(f, "x")->offset % 64, 0);
	assert_int_equal(infer_file_meta(f, "last")->count, 2);
	assert_int_equal(infer_file_meta(f, "infer.quant.eval.of_old") != NULL, !written);
	assert_non_null(infer_file_meta(f, "infer.quant.type"));
	if (written) {
		assert_true(element(f, "infer.quant.eval.perplexity", 0) == 12.5);
		assert_true(element(f, "infer.quant.eval.perplexity", 1) == 0.25);
		assert_true(element(f, "infer.quant.eval.text.bytes", 0) == 77);
		assert_true(element(f, "infer.quant.eval.kl.p99", 2) == 3);
		assert_true(element(f, "infer.quant.eval.top5", 0) == 0.5);
	}
	infer_file_close(&f);
out:
	return rc;
}

static int case_write(void)
{
	const struct infer_eval_text got = {
		.tokens = 300,
		.windows = 4,
		.scored = 100,
		.window = 64,
		.perplexity = { 12.5, 0.25 },
		.has_ref = 1,
		.ref_perplexity = { 12, 0.25 },
		.ratio = { 1.04, 0.01 },
		.kl_p99 = { 2, 1, 3 },
		.top5 = { 0.5, 0.4, 0.6 },
	};
	const char *sha = "1234567890123456789012345678901234567890123456789012345678901234";
	struct infer_certificate c = { &got, sha, 77, engine, NULL };
	infer_file *f = NULL;
	int rc;

	nth_ok(write_file());
	nth_ok(infer_file_open(&f, path, NULL));
	c.ref = f;
	rc = infer_certificate_write(f, &c, NULL);
	assert_int_equal(files(), 1);
	int found = expect(!rc, f);

	nth_ok(rc);
	nth_ok(found);
out:
	infer_file_close(&f);
	return rc;
}

static void test_refused(void **state)
{
	static const char bytes[24] __attribute__((aligned(8))) = "GGUF\3";
	const struct infer_certificate c = { 0 };
	infer_error err;
	infer_file *f;

	(void)state;
	assert_int_equal(infer_file_open_bytes(&f, bytes, sizeof bytes, "memory", NULL), 0);
	assert_int_equal(infer_certificate_write(f, &c, &err), INFER_EINVAL);
	assert_string_equal(err.message, "memory: is not a file that figures can be written into");
	infer_file_close(&f);
	assert_true(infer_certificate_is((struct infer_str){ "infer.quant.type", 16 }));
	assert_false(infer_certificate_is((struct infer_str){ "infer.quant.", 12 }));
	assert_false(infer_certificate_is((struct infer_str){ "infer.quantity", 14 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_write), cmocka_unit_test(test_refused) };

	infer_model *model;

	if (!mkdtemp(dir) ||
	    infer_model_open(&model, "tests/golden/logits/llama-gqa.gguf", NULL, NULL) ||
	    infer_engine_open(&engine, model,
	                      &(struct infer_engine_opts){ .threads = 1, .ctx = 64 }, NULL))
		return 1;
	snprintf(path, sizeof path, "%s/a.gguf", dir);
	int failed = nth_group(tests);

	infer_engine_close(&engine);
	infer_model_close(&model);
	unlink(path);
	rmdir(dir);
	return failed;
}
