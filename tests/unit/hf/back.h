/* tests/unit/hf/back.h - tensors of a file of the public converter, put back into those of the checkpoint
 * that it was made from. */
#ifndef TESTS_HF_BACK_H
#define TESTS_HF_BACK_H
#include "../nth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infer/file.h>

/* --- a tensor of the checkpoint */

enum { MAX_TENSORS = 512, MAX_PARTS = 4 };
struct tensor {
	char name[128];
	int n_dims;
	int64_t shape[4]; /* as torch has it */
	float *at;
};
static struct tensor tensors[MAX_TENSORS];
static int n_tensors;

static struct tensor *new_tensor(const char *name, int n_dims, int64_t a, int64_t b, int64_t c)
{
	struct tensor *t = &tensors[n_tensors++];

	assert_true(n_tensors <= MAX_TENSORS);
	*t = (struct tensor){ .n_dims = n_dims, .shape = { a, b, c, 1 } };
	snprintf(t->name, sizeof t->name, "%s", name);
	t->at = calloc((size_t)(a * b * c), sizeof *t->at);
	assert_non_null(t->at);
	return t;
}

static void drop_tensors(void)
{
	for (int i = 0; i < n_tensors; i++)
		free(tensors[i].at);
	n_tensors = 0;
}

/* --- back */

/* what transforms depend on, of config.json */
struct sizes {
	int64_t head, nk, nv, dk, dv;
	int64_t next;  /* layers that predict further tokens */
	int64_t first; /* rows of the table of positions before the first that counts */
};

/* Where row r of heads of v of the file is in the checkpoint: heads of a k head are neighbours there. */
static int64_t grouped(const struct sizes *z, int64_t r, int64_t d)
{
	int64_t head = r / d, each = z->nv / z->nk;

	return (head % z->nk * each + head / z->nk) * d + r % d;
}

static int64_t row_back(const struct sizes *z, const char *how, int64_t r, int64_t rows)
{
	int64_t d = z->head, qk = 2 * z->nk * z->dk, each = z->nk ? z->nv / z->nk * z->dv : 0,
		all = 2 * z->dk + 2 * each;

	if (!strcmp(how, "T_PAIRS"))
		return r / d * d + (r % d) % 2 * (d / 2) + (r % d) / 2;
	if (!strncmp(how, "T_TILED_V", 9))
		return r < qk ? r : qk + grouped(z, r - qk, z->dv);
	if (!strcmp(how, "T_TILED") || !strcmp(how, "T_TILED_NEG_EXP"))
		return grouped(z, r, rows / z->nv);
	if (!strcmp(how, "T_BY_HEAD_Z"))
		return r / each * all + 2 * z->dk + each + r % each;
	if (strcmp(how, "T_BY_HEAD") != 0)
		return r;
	if (r < qk / 2)
		return r / z->dk * all + r % z->dk;
	if (r < qk)
		return (r - qk / 2) / z->dk * all + z->dk + r % z->dk;
	r -= qk;
	return r / each * all + 2 * z->dk + r % each;
}

static float value_back(const char *how, float x)
{
	return !strcmp(how, "T_PLUS1") ? x - 1 : strstr(how, "NEG_EXP") ? logf(-x) : x;
}

static const struct infer_tensor *find(const infer_file *f, const char *gguf)
{
	const struct infer_tensor *t = infer_file_tensor(f, gguf);

	if (t)
		assert_int_equal(t->type, INFER_F32);
	return t;
}

/* Parts of one tensor, one after the other in each matrix; part: those of the file. */
static void put_joined(const char *name, const struct infer_tensor *const *part,
                       const char *const *how, int n, const struct sizes *z)
{
	const struct infer_tensor *one = part[0];
	int64_t cols = one->n_dims == 1 ? 1 : one->ne[0], mats = one->ne[2], rows = 0, from = 0;
	struct tensor *t;

	if (!strcmp(how[0], "T_ROWS"))
		rows = from = z->first;
	for (int i = 0; i < n; i++)
		rows += one->n_dims == 1 ? part[i]->ne[0] : part[i]->ne[1];
	if (strstr(name, "conv1d.weight") || strstr(name, "conv.conv.weight"))
		t = new_tensor(name, 3, rows, 1, cols);
	else if (strstr(name, "mamba.norm") || strstr(name, "mamba.D") ||
	         strstr(name, "mamba.A_log"))
		t = new_tensor(name, 1, rows * cols, 1, 1);
	else if (one->n_dims == 3)
		t = new_tensor(name, 3, mats, rows, cols);
	else
		t = new_tensor(name, one->n_dims, rows, cols, 1);
	for (int i = 0; i < n; i++) {
		int64_t own = one->n_dims == 1 ? part[i]->ne[0] : part[i]->ne[1];
		int by_head = !strncmp(how[i], "T_BY_HEAD", 9);
		for (int64_t m = 0; m < mats; m++)
			for (int64_t r = 0; r < own; r++)
				for (int64_t c = 0; c < cols; c++) {
					int64_t to = m * rows + (by_head ? 0 : from) +
					             row_back(z, how[i], r, own),
						col = strcmp(how[i], "T_TILED_COLS")
					                      ? c
					                      : grouped(z, c, z->dv);
					t->at[to * cols + col] = value_back(
						how[i], ((const float *)part[i]
					                         ->data)[(m * own + r) * cols + c]);
				}
		from += own;
	}
}

/* Experts whose rows are columns there; every other one, or the first and the second half of them. */
static void put_turned(const char *name, const struct infer_tensor *const *part,
                       const char *const *how, int n)
{
	int64_t cols = part[0]->ne[0], rows = part[0]->ne[1], mats = part[0]->ne[2];
	int flat = part[0]->n_dims == 2, turns = !strcmp(how[0], "T_TURN");
	struct tensor *t;

	if (flat) { /* biases: [experts][rows] */
		mats = rows;
		rows = cols;
		cols = 1;
		t = new_tensor(name, 2, mats, rows * n, 1);
	} else {
		t = new_tensor(name, 3, mats, cols, rows * n);
	}
	for (int i = 0; i < n; i++)
		for (int64_t m = 0; m < mats; m++)
			for (int64_t r = 0; r < rows; r++)
				for (int64_t c = 0; c < cols; c++)
					t->at[(m * cols + c) * rows * n +
					      (turns ? i * rows + r : r * n + i)] =
						((const float *)part[i]
					                 ->data)[(m * rows + r) * cols + c];
}

/* Of each expert a tensor; name: that of expert 0. */
static void put_experts(const char *name, const struct infer_tensor *g)
{
	const char *at = strstr(name, "experts.0."), *digit = at ? at + 8 : strrchr(name, '0');
	size_t n = (size_t)(g->ne[0] * g->ne[1]);
	char one[128];

	for (int e = 0; e < g->ne[2]; e++) {
		snprintf(one, sizeof one, "%.*s%d%s", (int)(digit - name), name, e, digit + 1);
		memcpy(new_tensor(one, 2, g->ne[1], g->ne[0], 1)->at,
		       (const float *)g->data + (size_t)e * n, n * sizeof(float));
	}
}

/* kv_b_proj: of each head the rows of keys, which are columns in the file, then those of values */
static void put_latent(const char *name, const struct infer_tensor *k, const struct infer_tensor *v)
{
	int64_t nope = k->ne[0], rank = k->ne[1], heads = k->ne[2], wide = v->ne[1];
	struct tensor *t = new_tensor(name, 2, heads * (nope + wide), rank, 1);

	for (int64_t h = 0; h < heads; h++)
		for (int64_t r = 0; r < nope + wide; r++)
			for (int64_t c = 0; c < rank; c++)
				t->at[(h * (nope + wide) + r) * rank + c] =
					r < nope ? ((const float *)
				                            k->data)[(h * rank + c) * nope + r]
						 : ((const float *)
				                            v->data)[(h * wide + r - nope) * rank +
				                                     c];
}
#endif
