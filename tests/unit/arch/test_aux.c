/* tests/unit/arch/test_aux.c - companion tensors: a scale of a matrix multiplies its results,
 * and every other companion is refused by name. */
#include "../nth.h"
#include "../floor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file/gguf_write.h"

static char path[] = "/tmp/infer-test-aux-XXXXXX";
static const char model[] = "tests/golden/logits/llama-gqa.gguf";

/* What is written instead of the model's own tensors. */
struct change {
	const char *halved;    /* a tensor; NULL: none */
	const char *companion; /* and one more, of n floats x */
	int64_t n;
	float x;
	int code;
	const char *says;
};

struct rows {
	const struct infer_tensor *t;
	float mul, fill;
};

static int rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct rows *r = user;
	int64_t cols = r->t ? r->t->ne[0] : 1;

	(void)err;
	for (int64_t i = 0; i < n * cols; i++)
		((float *)dst)[i] =
			r->t ? r->mul * ((const float *)r->t->data)[row * cols + i] : r->fill;
	return INFER_OK;
}

static int write_changed(const struct change *c)
{
	static struct rows all[64];
	const struct infer_tensor *t;
	const struct infer_meta *k;
	struct gguf_write *w;
	infer_file *f;
	char name[64];
	int rc, n = 0;

	TRY(infer_file_open(&f, model, NULL));
	rc = gguf_write_new(&w, path, NULL);
	for (uint64_t i = 0; !rc && (k = infer_file_meta_at(f, i)); i++)
		gguf_write_copy(w, k);
	for (uint64_t i = 0; !rc && (t = infer_file_tensor_at(f, i)); i++) {
		snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.at);
		all[n] = (struct rows){ t, c->halved && !strcmp(c->halved, name) ? 0.5f : 1, 0 };
		rc = gguf_write_tensor(w, name, t->type, t->n_dims, t->ne, rows, &all[n++], NULL);
	}
	/* a row for each value */
	const int64_t ne[2] = { 1, c->n };
	all[n] = (struct rows){ NULL, 0, c->x };
	if (!rc && c->companion)
		rc = gguf_write_tensor(w, c->companion, INFER_F32, c->n > 1 ? 2 : 1, ne, rows,
		                       &all[n], NULL);
	if (!rc)
		rc = gguf_write_end(w, NULL);
	gguf_write_free(w);
	infer_file_close(&f);
	return rc;
}

enum { ROWS = 16, VOCAB = 80 };
static float y[2][ROWS * VOCAB];

static int run(const char *from, float *to, infer_error *err)
{
	struct floor f = { 0 };
	infer_model *m;
	int ids[ROWS], rc = infer_model_open(&m, from, NULL, err);

	for (int i = 0; i < ROWS; i++)
		ids[i] = i * 5 % 60;
	if (!rc)
		assert_int_equal(m->h.n_vocab, VOCAB);
	if (!rc)
		rc = floor_open(&f, m, NULL, 1, ROWS, err);
	if (!rc)
		rc = floor_run(&f, ids, 0, ROWS, to, err);
	floor_close(&f);
	infer_model_close(&m);
	return rc;
}

/* Half of a matrix and a scale of 2 are the matrix, to the bit; without the scale they are not. */
static int case_scale(void)
{
	static const char *const names[] = { "token_embd", "output", "blk.0.attn_q",
		                             "blk.1.ffn_down" };
	char whole[64], scale[64];
	infer_error err;
	int rc;

	nth_ok(run(model, y[0], &err));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(whole, sizeof whole, "%s.weight", names[i]);
		snprintf(scale, sizeof scale, "%s.scale", names[i]);
		struct change c = { whole, scale, 1, 2 };
		nth_ok(write_changed(&c));
		nth_ok(run(path, y[1], &err));
		assert_memory_equal(y[0], y[1], sizeof y[0]);
		c.companion = NULL;
		nth_ok(write_changed(&c));
		nth_ok(run(path, y[1], &err));
		assert_int_not_equal(memcmp(y[0], y[1], sizeof y[0]), 0);
	}
out:
	return rc;
}

static void test_refused(void **state)
{
	static const struct change bad[] = {
		{ NULL, "output.scale", 2, 1, INFER_EUNSUP,
		  "tensor output.weight: its scale is the tensor output.scale, which no kernel "
		  "supports" },
		{ NULL, "blk.0.attn_norm.scale", 1, 1, INFER_EUNSUP,
		  "tensor blk.0.attn_norm.weight: its scale is the tensor blk.0.attn_norm.scale" },
		{ NULL, "output.scale", 1, NAN, INFER_ENAN, "tensor output.scale: " },
		{ NULL, "output.scale", 1, INFINITY, INFER_ENAN, "tensor output.scale: inf" },
		{ NULL, "nobody.scale", 1, 1, INFER_EUNSUP, "tensor nobody.scale: has no use" },
		{ NULL, ".scale", 1, 1, INFER_EUNSUP, "tensor .scale: has no use" },
	};
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(write_changed(&bad[i]), INFER_OK);
		int rc = run(path, y[1], &err);
		if (rc != bad[i].code || !strstr(err.message, bad[i].says))
			fail_msg("%s: %d %s", bad[i].companion, rc, rc ? err.message : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_scale), cmocka_unit_test(test_refused) };
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	int failed = nth_group(tests);
	unlink(path);
	return failed;
}
