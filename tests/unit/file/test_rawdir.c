/* tests/unit/file/test_rawdir.c - a directory can be a model: a format that only this test has, with a
 * text for its index and one file of raw bytes for each tensor, registered in a build of file.c of its
 * own.  A model that is opened from such a directory computes the same bits as from its GGUF file.
 *
 * INDEX, a line each:
 *	key TYPE ELEM COUNT NAME HEX	the value as GGUF packs it
 *	tensor TYPE NE0 NE1 NE2 NE3 NAME	its bytes are the file NAME */
#include "../nth.h"
#include "../floor.h"

#define FORMAT_OF_TEST FORMAT(rawdir)
#include "file/file.c"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infer/model.h>
#include "base/arena.h"

static char dir[] = "/tmp/infer-test-rawdir-XXXXXX";
static const char model[] = "tests/golden/logits/qwen3moe.gguf";

/* --- the format */

static void in_dir(char out[512], const char *path, const char *name, size_t n)
{
	snprintf(out, 512, "%s/%.*s", path, (int)n, name);
}

static int knows(const char *path, const struct os_stat *st, const unsigned char *head, size_t n)
{
	char index[512];

	(void)head;
	(void)n;
	in_dir(index, path, "INDEX", 5);
	return st->kind == OS_DIRECTORY && !access(index, R_OK);
}

static int add_key(struct infer_file *f, const char *line, size_t n, infer_error *err)
{
	struct file_value v = { 0 };
	int name = 0, hex = 0;
	unsigned long long count;
	unsigned byte;

	if (sscanf(line, "key %d %d %llu %n%*s%n", &v.meta.type, &v.meta.elem_type, &count, &name,
	           &hex) != 3 ||
	    (size_t)hex >= n)
		return err_set(err, INFER_EFORMAT, "%s: %.*s", f->path, (int)n, line);
	unsigned char *bytes = arena_alloc(f->own, n, 1);
	if (!bytes)
		return err_set(err, INFER_ENOMEM, "%s: no memory", f->path);
	v.meta.key = (struct infer_str){ line + name, (size_t)(hex - name) };
	v.meta.count = count;
	v.at = bytes;
	for (const char *p = line + hex + 1; p < line + n && sscanf(p, "%2x", &byte) == 1; p += 2)
		bytes[v.bytes++] = (unsigned char)byte;
	return file_meta_add(&f->meta, &v);
}

/* Dimensions and bytes of a tensor, of numbers that a stranger wrote. */
static int set_shape(struct infer_tensor *t, const long long ne[4], const char *path,
                     infer_error *err)
{
	const struct infer_type_info *type = infer_type_info(t->type);

	if (!type)
		return err_set(err, INFER_EFORMAT, "%s: no tensor has the type %d", path, t->type);
	if (ne[0] < 1 || ne[0] % type->block)
		return err_set(err, INFER_EFORMAT, "%s: rows of %lld elements", path, ne[0]);
	t->bytes = (uint64_t)type->block_bytes;
	for (int i = 0; i < 4; i++) {
		uint64_t times = (uint64_t)ne[i] / (i ? 1 : (uint64_t)type->block);
		if (ne[i] < 1 || times > INT64_MAX / t->bytes)
			return err_set(err, INFER_EFORMAT, "%s: a dimension of %lld", path, ne[i]);
		t->ne[i] = ne[i];
		t->bytes *= times;
		if (ne[i] > 1)
			t->n_dims = i + 1;
	}
	return INFER_OK;
}

static int add_tensor(struct infer_file *f, const char *line, size_t n, infer_error *err)
{
	struct infer_tensor t = { .shard = f->n_shards };
	char path[512];
	int name = 0;
	long long ne[4];

	if (sscanf(line, "tensor %d %lld %lld %lld %lld %n", &t.type, &ne[0], &ne[1], &ne[2],
	           &ne[3], &name) != 5)
		return err_set(err, INFER_EFORMAT, "%s: %.*s", f->path, (int)n, line);
	t.name = (struct infer_str){ line + name, n - (size_t)name };
	in_dir(path, f->path, t.name.at, t.name.len);
	TRY(file_add_shard(f, path, err));
	TRY(set_shape(&t, ne, path, err));
	t.data = f->shards[t.shard].at;
	if (t.bytes != f->shards[t.shard].bytes)
		return err_set(err, INFER_EFORMAT, "%s: %zu bytes where %llu are wanted", path,
		               f->shards[t.shard].bytes, (unsigned long long)t.bytes);
	return file_tensor_add(f, &t);
}

static int open_rawdir(struct infer_file *f, infer_error *err)
{
	char path[512];
	int rc = INFER_OK;

	f->own = mem_zalloc(MEM_FILE, 1, sizeof(struct arena));
	if (!f->own)
		return err_set(err, INFER_ENOMEM, "%s: no memory", f->path);
	arena_init(f->own, MEM_FILE);
	TRY(file_meta_init(&f->meta, err));
	if (map_init(&f->tensor_map, MEM_FILE, 64))
		return err_set(err, INFER_ENOMEM, "%s: no memory", f->path);
	in_dir(path, f->path, "INDEX", 5);
	TRY(file_add_shard(f, path, err));
	f->version = 1;
	f->shards[0].header_bytes = f->shards[0].bytes;
	const char *at = (const char *)f->shards[0].at, *end = at + f->shards[0].bytes;
	for (; !rc && at < end; at += strcspn(at, "\n") + 1)
		rc = *at == 'k' ? add_key(f, at, strcspn(at, "\n"), err)
		                : add_tensor(f, at, strcspn(at, "\n"), err);
	file_trim(f);
	return rc;
}

static void close_rawdir(struct infer_file *f)
{
	if (f->own)
		arena_fini(f->own);
	mem_free(f->own);
	f->own = NULL;
}

const struct format format_rawdir = { "rawdir", knows, open_rawdir, close_rawdir };

/* --- the directory */

static FILE *create(const char *name, size_t n)
{
	char path[512];

	in_dir(path, dir, name, n);
	return fopen(path, "wb");
}

static int write_dir(void **state)
{
	const struct infer_meta *m;
	const struct infer_tensor *t;
	infer_file *f;
	FILE *index, *data;

	(void)state;
	if (!mkdtemp(dir) || infer_file_open(&f, model, NULL) || !(index = create("INDEX", 5)))
		return -1;
	for (uint64_t i = 0; (m = infer_file_meta_at(f, i)); i++) {
		fprintf(index, "key %d %d %llu %.*s ", m->type, m->elem_type,
		        (unsigned long long)m->count, (int)m->key.len, m->key.at);
		for (size_t k = 0; k < file_value(m)->bytes; k++)
			fprintf(index, "%02x", file_value(m)->at[k]);
		fputc('\n', index);
	}
	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		fprintf(index, "tensor %d %lld %lld %lld %lld %.*s\n", t->type, (long long)t->ne[0],
		        (long long)t->ne[1], (long long)t->ne[2], (long long)t->ne[3],
		        (int)t->name.len, t->name.at);
		data = create(t->name.at, t->name.len);
		if (!data || fwrite(t->data, 1, t->bytes, data) != t->bytes || fclose(data))
			return -1;
	}
	infer_file_close(&f);
	return fclose(index);
}

static int drop_dir(void **state)
{
	const struct infer_tensor *t;
	char path[512];
	infer_file *f;

	(void)state;
	if (infer_file_open(&f, model, NULL))
		return -1;
	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		in_dir(path, dir, t->name.at, t->name.len);
		unlink(path);
	}
	infer_file_close(&f);
	in_dir(path, dir, "INDEX", 5);
	return unlink(path) || rmdir(dir) ? -1 : 0;
}

/* --- tests */

enum { ROWS = 24, VOCAB = 72 };
static float y[2][ROWS * VOCAB];

static int run(const char *path, float *to, infer_error *err)
{
	struct floor f = { 0 };
	infer_model *m;
	int ids[ROWS], rc = infer_model_open(&m, path, NULL, err);

	for (int i = 0; i < ROWS; i++)
		ids[i] = i * 5 % 60;
	if (!rc)
		assert_int_equal(m->h.n_vocab, VOCAB);
	if (!rc)
		rc = floor_open(&f, m, NULL, 2, ROWS, err);
	if (!rc)
		rc = floor_run(&f, ids, 0, ROWS, to, err);
	floor_close(&f);
	infer_model_close(&m);
	return rc;
}

/* Every allocation of it fails in turn. */
static int case_same(void)
{
	infer_error err = { 0 };
	int rc;

	nth_ok(run(dir, y[1], &err));
	assert_memory_equal(y[0], y[1], sizeof y[0]);
	assert_true(y[0][0] != 0);
out:
	return rc;
}

static void test_gguf(void **state)
{
	infer_error err = { 0 };

	(void)state;
	assert_int_equal(run(model, y[0], &err), INFER_OK);
}

static void test_tables(void **state)
{
	const struct infer_meta *a, *b;
	struct infer_file_info info, own;
	struct infer_gguf_info gguf;
	struct infer_str s, z;
	infer_error err;
	infer_file *f, *g;

	(void)state;
	assert_int_equal(infer_file_open(&f, model, &err), INFER_OK);
	assert_int_equal(infer_file_open(&g, dir, &err), INFER_OK);
	infer_file_info(f, &info);
	infer_file_info(g, &own);
	assert_string_equal(own.format, "rawdir");
	assert_int_equal(own.n_meta, info.n_meta);
	assert_int_equal(own.n_tensors, info.n_tensors);
	assert_int_equal(own.n_shards, info.n_tensors + 1);
	assert_int_equal(infer_file_gguf(g, &gguf, &err), INFER_EUNSUP);
	assert_non_null(strstr(err.message, "a file of the format rawdir, not gguf"));
	for (uint64_t i = 0; (a = infer_file_meta_at(f, i)); i++) {
		b = infer_file_meta_at(g, i);
		assert_int_equal(a->count, b->count);
		for (uint64_t k = 0; a->elem_type == INFER_META_STR && k < a->count; k += 7) {
			assert_int_equal(infer_meta_str_at(f, a, k, &s, NULL), INFER_OK);
			assert_int_equal(infer_meta_str_at(g, b, k, &z, NULL), INFER_OK);
			assert_int_equal(s.len, z.len);
			assert_memory_equal(s.at, z.at, s.len);
		}
	}
	assert_int_equal(infer_file_check_unchanged(g, &err), INFER_OK);
	infer_file_close(&f);
	infer_file_close(&g);
}

static void test_hostile(void **state)
{
	static const struct {
		const char *index, *says;
	} bad[] = {
		{ "tensor 99 4 1 1 1 INDEX\n", "no tensor has the type 99" },
		{ "tensor 0 0 1 1 1 INDEX\n", "rows of 0 elements" },
		{ "tensor 8 33 1 1 1 INDEX\n", "rows of 33 elements" },
		{ "tensor 0 4 -1 1 1 INDEX\n", "a dimension of -1" },
		{ "tensor 0 4 4611686018427387904 1 1 INDEX\n",
		  "a dimension of 4611686018427387904" },
		{ "tensor 0 4 1 1 1 INDEX\n", "bytes where 16 are wanted" },
		{ "tensor 0 4 1 1\n", "tensor 0 4 1 1" },
	};
	char own[] = "/tmp/infer-test-rawdir-XXXXXX", path[64];
	infer_error err;
	infer_file *f;

	(void)state;
	assert_non_null(mkdtemp(own));
	snprintf(path, sizeof path, "%s/INDEX", own);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		FILE *out = fopen(path, "wb");
		assert_non_null(out);
		fputs(bad[i].index, out);
		assert_int_equal(fclose(out), 0);
		assert_int_equal(infer_file_open(&f, own, &err), INFER_EFORMAT);
		if (!strstr(err.message, bad[i].says))
			fail_msg("%s: %s", bad[i].index, err.message);
	}
	unlink(path);
	rmdir(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gguf),
		nth_case(case_same),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, write_dir, drop_dir);
}
