/* tests/unit/file/test_gguf_write.c - a written file is read back the same, and no partial file
 * is left. */
#include "../nth.h"
#include "file/file.h"
#include "file/gguf_write.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/infer-test-write-XXXXXX";

static int files(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* user: how many rows it gives before it fails; row r is full of bytes r. */
static int rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	for (int64_t i = 0; i < n; i++)
		memset((char *)dst + 34 * i, (int)(row + i), 34);
	if (row + n > *(int *)user) {
		if (err)
			snprintf(err->message, sizeof err->message, "no more rows");
		return INFER_ENAN;
	}
	return INFER_OK;
}

static int write_it(const char *path, const infer_file *from, int *most, infer_error *err)
{
	struct gguf_write *w;
	struct buf strings;
	int rc = gguf_write_new(&w, path, err);

	if (rc)
		return rc;
	buf_init(&strings, MEM_FILE);
	gguf_put_str(&strings, "x", 1);
	gguf_put_str(&strings, "yy", 2);
	gguf_write_alignment(w, 64);
	if (!strings.bad)
		gguf_write_array(w, "strings", INFER_META_STR, 2, strings.at, strings.len);
	rc = strings.bad ? INFER_ENOMEM : INFER_OK;
	gguf_write_bool(w, "bool", 3);
	gguf_write_f32(w, "f32", 1.5f);
	gguf_write_i32(w, "i32", -4);
	gguf_write_u16(w, "u16", 16);
	gguf_write_str(w, "str", "a\0b", 3);
	if (from)
		gguf_write_copy(w, infer_file_meta(from, "strings"));
	for (int i = 0; !rc && i < 40; i++) {
		char name[16];
		snprintf(name, sizeof name, "t%d", i);
		rc = gguf_write_tensor(w, name, INFER_Q8_0, 3, (int64_t[]){ 32, 2, 3 }, rows, most,
		                       err);
	}
	if (!rc)
		rc = gguf_write_end(w, err);
	buf_fini(&strings);
	gguf_write_free(w);
	return rc;
}

static int case_round(void)
{
	infer_file *f = NULL;
	struct infer_str s;
	struct infer_file_info info;
	struct infer_gguf_info gguf;
	int64_t i = 0;
	int rc, b = 0, most = 6;
	char path[128];

	snprintf(path, sizeof path, "%s/a.gguf", dir);
	nth_ok(write_it(path, NULL, &most, NULL));
	assert_int_equal(files(), 1);
	nth_ok(infer_file_open(&f, path, NULL));
	infer_file_info(f, &info);
	assert_int_equal(infer_file_gguf(f, &gguf, NULL), INFER_OK);
	assert_int_equal(gguf.alignment, 64);
	assert_int_equal(info.n_tensors, 40);
	assert_int_equal(infer_meta_str(f, "str", &s, NULL, NULL), INFER_OK);
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.at, "a\0b", 3);
	assert_int_equal(infer_meta_elem_i64(f, infer_file_meta(f, "i32"), 0, &i, NULL), INFER_OK);
	assert_int_equal(i, -4);
	assert_int_equal(infer_meta_bool(f, "bool", &b, NULL, NULL), INFER_OK);
	assert_int_equal(b, 1);
	const struct infer_tensor *t = infer_file_tensor(f, "t39");
	assert_int_equal(t->type, INFER_Q8_0);
	assert_int_equal(t->n_dims, 3);
	assert_int_equal(t->bytes, 6 * 34);
	assert_int_equal(t->offset % 64, 0);
	for (int r = 0; r < 6; r++)
		assert_int_equal(((const unsigned char *)t->data)[34 * r + 33], r);
out:
	infer_file_close(&f);
	unlink(path);
	assert_int_equal(files(), 0);
	return rc;
}

/* A failure in the middle leaves the old file as it was, and no other. */
static void test_fails(void **state)
{
	char path[128];
	infer_error err = { 0 };
	int most = 5;
	struct stat st;
	FILE *f;

	(void)state;
	snprintf(path, sizeof path, "%s/a.gguf", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs("old", f) >= 0 && !fclose(f));
	assert_int_equal(write_it(path, NULL, &most, &err), INFER_ENAN);
	assert_string_equal(err.message, "no more rows");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(files(), 1);
	unlink(path);
	snprintf(path, sizeof path, "%s/none/a.gguf", dir);
	assert_int_equal(write_it(path, NULL, &most, &err), INFER_EIO);
	assert_int_equal(files(), 0);
}

static void test_refuses(void **state)
{
	struct gguf_write *w;
	infer_error err;
	char name[65];

	(void)state;
	memset(name, 'n', 64);
	name[64] = '\0';
	assert_int_equal(gguf_write_new(&w, "never", NULL), INFER_OK);
	assert_int_equal(
		gguf_write_tensor(w, name, INFER_F32, 1, (int64_t[]){ 1 }, rows, NULL, &err),
		INFER_EINVAL);
	assert_int_equal(gguf_write_tensor(w, "", INFER_F32, 1, (int64_t[]){ 1 }, rows, NULL, &err),
	                 INFER_EINVAL);
	assert_int_equal(gguf_write_tensor(w, "a", INFER_F32, 5, (int64_t[]){ 1, 1, 1, 1, 1 }, rows,
	                                   NULL, &err),
	                 INFER_EINVAL);
	assert_int_equal(
		gguf_write_tensor(w, "a", INFER_Q4_K, 1, (int64_t[]){ 128 }, rows, NULL, &err),
		INFER_EINVAL);
	assert_non_null(strstr(err.message, "Q4_K"));
	gguf_write_free(w);
	gguf_write_free(NULL);
}

/* Every key of a file copied to another: the same bytes, and twice the same key is for the reader
 * to refuse. */
static void test_copy(void **state)
{
	infer_file *a, *b;
	struct gguf_write *w;
	struct infer_file_info info;
	char from[128], to[128];
	int most = 6;

	(void)state;
	snprintf(from, sizeof from, "%s/a.gguf", dir);
	snprintf(to, sizeof to, "%s/b.gguf", dir);
	assert_int_equal(write_it(from, NULL, &most, NULL), INFER_OK);
	assert_int_equal(infer_file_open(&a, from, NULL), INFER_OK);
	assert_int_equal(gguf_write_new(&w, to, NULL), INFER_OK);
	infer_file_info(a, &info);
	for (uint64_t i = 0; i < info.n_meta; i++)
		gguf_write_copy(w, infer_file_meta_at(a, i));
	assert_int_equal(gguf_write_end(w, NULL), INFER_OK);
	gguf_write_free(w);
	assert_int_equal(infer_file_open(&b, to, NULL), INFER_OK);
	for (uint64_t i = 0; i < info.n_meta; i++) {
		const struct infer_meta *x = infer_file_meta_at(a, i),
					*y = infer_file_meta_at(b, i);
		assert_int_equal(file_value(x)->bytes, file_value(y)->bytes);
		assert_memory_equal(x->key.at - 8, y->key.at - 8, 8 + x->key.len + 4);
		assert_memory_equal(file_value(x)->at, file_value(y)->at, file_value(x)->bytes);
	}
	assert_null(infer_file_meta_at(b, info.n_meta));
	infer_file_close(&b);
	assert_int_equal(write_it(to, a, &most, NULL), INFER_OK);
	assert_int_equal(infer_file_open(&b, to, NULL), INFER_EFORMAT);
	infer_file_close(&a);
	unlink(from);
	unlink(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_round),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_copy),
	};
	int rc;

	if (!mkdtemp(dir))
		return 1;
	rc = nth_group(tests);
	rmdir(dir);
	return rc;
}
