/* tests/unit/file/test_refuse.c - files that people open by mistake are called by their name,
 * with a sentence that helps; files that only resemble them are not. */
#include "../nth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infer/file.h>

struct bytes {
	const char *at;
	size_t n;
	const char *says;
};
#define B(s) s, sizeof(s) - 1

static const struct bytes known[] = {
	{ B("<!DOCTYPE html>\n<html>"), "an HTML page" },
	{ B("\xef\xbb\xbf \n\t<HTML lang=\"en\">"), "an HTML page" },
	{ B("<?xml version=\"1.0\"?><Error>"), "an HTML page" },
	{ B("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"),
	  "this is a git-lfs pointer, not the file: run `git lfs pull`" },
	{ B("\x1f\x8b\x08\0\0\0\0\0"), "compressed with gzip" },
	{ B("\x28\xb5\x2f\xfd\0\0\0\0"), "compressed with zstd" },
	{ B("\xfd"
	    "7zXZ\0\0\0"),
	  "compressed with xz" },
	{ B("BZh91AY&SY"), "compressed with bzip2" },
	{ B("PK\3\4\24\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.txt"), "a zip archive" },
	{ B("PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\0\12\0archive/data.pklFB"),
	  "a PyTorch checkpoint" },
	{ B("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), "a PyTorch checkpoint" },
	{ B("\x40\0\0\0\0\0\0\0{\"__metadata__\":"), "a safetensors file" },
	{ B("\x08\x07\x12\x07pytorch\x1a\5"), "an ONNX model" },
	{ B("\x08\x08:\xff\x01\n"), "an ONNX model" },
	{ B("tjgg\1\0\0\0"), "a GGML file from before GGUF" },
	{ B("lmgg\1\0\0\0"), "a GGML file from before GGUF" },
};
static const struct bytes unknown[] = {
	{ B("<xtml>"), "but text: it begins with \"<xtml>\"" },
	{ B("version 3 of it"), "begins with \"version 3 of it\"" },
	{ B("# a title\nof it"), "begins with \"# a title\"" },
	{ B("text\1and not"), "begins with 74 65 78 74" },
	{ B("\x40\0\0\0\0\0\0\1{"), "begins with 40 00 00 00" }, /* 2^56 bytes of header */
	{ B("\x40\0\0\0\0\0\0\0["), "begins with 40 00 00 00" },
	{ B("\x08\x07\x2a\x07"), "begins with 08 07 2a 07" },
	{ B("\x80\x06zz"), "begins with 80 06 7a 7a" },
	{ B("abc"), "a file of 3 bytes is not a model" },
	{ B(""), "a file of 0 bytes is not a model" },
	{ B("<"), "a file of 1 bytes is not a model" },
	{ B("\x1f"), "a file of 1 bytes is not a model" },
	{ B("PK\3\4"), "a zip archive" }, /* cut short */
	{ B("GGUF"), "ends inside" },
};

static _Alignas(8) unsigned char room[256];

static void check(const struct bytes *b, size_t n, int code)
{
	infer_error err = { 0 };
	infer_file *f;

	for (size_t i = 0; i < n; i++) {
		memcpy(room, b[i].at, b[i].n);
		int rc = infer_file_open_bytes(&f, room, b[i].n, "x.gguf", &err);
		assert_null(f);
		assert_int_equal(strncmp(err.message, "x.gguf: ", 8), 0);
		if (!strstr(err.message, b[i].says))
			fail_msg("row %zu: %s", i, err.message);
		assert_true(strlen(err.message) < 120);
		assert_null(strchr(err.message, '\n'));
		if (code)
			assert_int_equal(rc, code);
		else
			assert_true(rc == INFER_EFORMAT || rc == INFER_EUNSUP);
	}
}

static void test_known(void **state)
{
	(void)state;
	check(known, sizeof known / sizeof *known, INFER_EUNSUP);
}

static void test_unknown(void **state)
{
	(void)state;
	check(unknown, sizeof unknown / sizeof *unknown, 0);
}

static char dir[] = "/tmp/infer-test-refuse-XXXXXX";

/* By path, the same; and a directory. */
static int case_path(void)
{
	infer_error err = { 0 };
	infer_file *f;
	char name[64];
	int rc;

	snprintf(name, sizeof name, "%s/a.gguf", dir);
	nth_fails(infer_file_open(&f, name, &err), INFER_EUNSUP);
	assert_non_null(strstr(err.message, "a.gguf: this is an HTML page"));
	nth_fails(infer_file_open(&f, dir, &err), INFER_EUNSUP);
	assert_non_null(strstr(err.message, "/a.gguf: a GGUF file: give its own name"));
	snprintf(name, sizeof name, "%sc/config.json", dir);
	nth_fails(infer_file_open(&f, name, &err), INFER_EUNSUP);
	assert_non_null(strstr(err.message, "this describes a model: give the directory"));
	rc = INFER_OK;
out:
	return rc;
}

static int write_file(const char *name, const char *text)
{
	FILE *out = fopen(name, "wb");

	return !out || fputs(text, out) < 0 || fclose(out) ? -1 : 0;
}

static int make_dir(void **state)
{
	char name[64], folder[64];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(folder, sizeof folder, "%sc", dir);
	if (mkdir(folder, 0700))
		return -1;
	snprintf(name, sizeof name, "%sc/config.json", dir);
	if (write_file(name, "{\"model_type\": \"llama\"}"))
		return -1;
	snprintf(name, sizeof name, "%s/a.gguf", dir);
	return write_file(name, "<!DOCTYPE html>");
}

static int drop_dir(void **state)
{
	char name[64], other[64], folder[64];

	(void)state;
	snprintf(name, sizeof name, "%s/a.gguf", dir);
	snprintf(other, sizeof other, "%sc/config.json", dir);
	snprintf(folder, sizeof folder, "%sc", dir);
	return unlink(name) || unlink(other) || rmdir(folder) || rmdir(dir) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_unknown),
		nth_case(case_path),
	};
	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
