/* tests/unit/golden_edit.h - edits of model files, as scripts/golden-logits.py defines them: bytes that
 * change in place. */
#ifndef TESTS_GOLDEN_EDIT_H
#define TESTS_GOLDEN_EDIT_H
#include "golden_logits.h"

#include <fcntl.h>
#include <unistd.h>

#include <infer/type.h>
#include "file/file.h"

struct image {
	unsigned char *at;
	size_t n;
	infer_file *file;
};

static inline void image_read(struct image *im, const char *dir, const char *name)
{
	char path[512];
	infer_error err = { 0 };
	FILE *f;

	snprintf(path, sizeof path, "%s%s", dir, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	im->n = (size_t)ftell(f);
	rewind(f);
	im->at = malloc(im->n);
	assert_non_null(im->at);
	assert_int_equal(fread(im->at, 1, im->n, f), im->n);
	fclose(f);
	if (infer_file_open_bytes(&im->file, im->at, im->n, name, &err))
		fail_msg("%s", err.message);
}

static inline void image_free(struct image *im)
{
	infer_file_close(&im->file);
	free(im->at);
}

static inline float *tensor(struct image *im, const char *name, int64_t *cols, int64_t *rows)
{
	const struct infer_tensor *t = infer_file_tensor(im->file, name);

	if (!t || t->type != INFER_F32)
		fail_msg("edit: no f32 tensor %s", name);
	*cols = t->n_dims == 1 ? 1 : t->ne[0]; /* elements of a vector count as rows */
	*rows = (int64_t)(t->bytes / 4) / *cols;
	return (float *)(im->at + ((const unsigned char *)t->data - im->at));
}

static inline void edit_key(struct image *im, const char *key, const char *value)
{
	const struct infer_meta *m = infer_file_meta(im->file, key);
	unsigned char *at;
	uint32_t u = (uint32_t)strtoul(value, NULL, 10);
	float f = strtof(value, NULL);

	if (!m)
		fail_msg("edit: no key %s", key);
	at = im->at + (file_value(m)->at - im->at);
	switch (m->type) {
	case INFER_META_U32:
		memcpy(at, &u, 4);
		break;
	case INFER_META_F32:
		memcpy(at, &f, 4);
		break;
	case INFER_META_BOOL:
		*at = !strcmp(value, "true");
		break;
	case INFER_META_STR: {
		struct infer_str s;

		assert_int_equal(infer_meta_str(im->file, key, &s, NULL, NULL), INFER_OK);
		assert_int_equal(s.len, strlen(value));
		memcpy(im->at + ((const unsigned char *)s.at - im->at), value, s.len);
		break;
	}
	case INFER_META_ARR: { /* in the same bytes: "one" string, or "bytes" */
		int one = !strcmp(value, "one");
		uint64_t n = file_value(m)->bytes, count = one ? 1 : n, len = n - 8;

		u = one ? INFER_META_STR : INFER_META_U8;
		memcpy(at - 12, &u, 4);
		memcpy(at - 8, &count, 8);
		if (one)
			memcpy(at, &len, 8);
		break;
	}
	default:
		fail_msg("edit: key %s has type %d", key, m->type);
	}
}

static inline void swap_floats(float *a, float *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float t = a[i];

		a[i] = b[i];
		b[i] = t;
	}
}

/* Rows of each head of d: from halves (m, m + d/2) to pairs (2m, 2m + 1), or back. */
static inline void edit_heads(float *x, int64_t cols, int64_t rows, int d, int to_pairs)
{
	float *old = malloc((size_t)(cols * rows) * sizeof *old);

	assert_non_null(old);
	memcpy(old, x, (size_t)(cols * rows) * sizeof *old);
	for (int64_t r = 0; r < rows; r++) {
		int64_t head = r / d * d, i = r % d;
		int64_t from = to_pairs ? i / 2 + i % 2 * (d / 2) : i % (d / 2) * 2 + i / (d / 2);

		memcpy(x + r * cols, old + (head + from) * cols, (size_t)cols * sizeof *x);
	}
	free(old);
}

static inline void edit(struct image *im, const char *line)
{
	char op[16], name[NAME], arg[NAME] = "";
	int64_t cols, rows, ucols, urows;
	int j = 0, n = 0;
	float *x, v;

	if (sscanf(line, "%15s %63s %63s %d %d", op, name, arg, &j, &n) < 3)
		fail_msg("edit: %s", line);
	if (!strcmp(op, "key")) {
		edit_key(im, name, arg);
		return;
	}
	x = tensor(im, name, &cols, &rows);
	v = strtof(arg, NULL);
	if (!strcmp(op, "fill") || !strcmp(op, "mul")) {
		for (int64_t i = 0; i < rows * cols; i++)
			x[i] = *op == 'f' ? v : x[i] * v;
	} else if (!strcmp(op, "copy")) {
		const float *u = tensor(im, arg, &ucols, &urows);

		assert_true(ucols == cols && urows == rows);
		memcpy(x, u, (size_t)(rows * cols) * sizeof *x);
	} else if (!strcmp(op, "pairs") || !strcmp(op, "halves")) {
		edit_heads(x, cols, rows, (int)v, *op == 'p');
	} else if (!strcmp(op, "swaprows")) {
		swap_floats(x + (int64_t)v * cols, x + j * cols, n * cols);
	} else if (!strcmp(op, "swapcols")) {
		for (int64_t r = 0; r < rows; r++)
			swap_floats(x + r * cols + (int64_t)v, x + r * cols + j, n);
	} else {
		fail_msg("edit: no such edit: %s", line);
	}
}

/* The file of a case with its edits and more, under a name of its own that the caller unlinks. */
static inline void golden_write_edited(const char *dir, const char *file, const struct edits *its,
                                       const struct edits *more, char path[64])
{
	struct image im = { 0 };
	const char *tmp = getenv("TMPDIR");
	int fd;

	image_read(&im, dir, file);
	for (int i = 0; i < its->n; i++)
		edit(&im, its->line[i]);
	for (int i = 0; more && i < more->n; i++)
		edit(&im, more->line[i]);
	if (snprintf(path, 64, "%s/logits-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp") >= 64)
		fail_msg("TMPDIR");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, im.at, im.n), (ssize_t)im.n);
	close(fd);
	image_free(&im);
}
#endif
