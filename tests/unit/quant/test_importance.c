/* tests/unit/quant/test_importance.c - importance matrices are read in both forms, damaged ones are
 * refused, and the cost of an error follows from them. */
#include "../nth.h"
#include "base/buf.h"
#include "file/gguf_write.h"
#include "quant/importance.h"
#include "type/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* a file that is written a hundred times, each time to the disk: in memory, where there is such a directory */
static char in_memory[] = "/dev/shm/infer-test-importance-XXXXXX",
	    on_disk[] = "/tmp/infer-test-importance-XXXXXX";
static char *path = in_memory;

static struct infer_str str(const char *s) { return (struct infer_str){ s, strlen(s) }; }

/* sums of two tensors: one of 4 columns, one of 2 columns and 2 matrices, the second never used */
static const float sums[] = { 2, 4, 6, 8 }, counts[] = { 2 };
static const float expert_sums[] = { 3, 6, 5, 5 }, expert_counts[] = { 3, 0 };
struct partial {
	const float *at;
	int64_t width;
};

static int rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct partial *p = user;

	(void)err;
	memcpy(dst, p->at + row * p->width, (size_t)(n * p->width) * sizeof(float));
	return INFER_OK;
}

static int put(struct gguf_write *w, const char *name, int64_t columns, int64_t matrices,
               struct partial *p)
{
	const int64_t ne[2] = { columns, matrices };

	return gguf_write_tensor(w, name, INFER_F32, 2, ne, rows, p, NULL);
}

static int write_gguf(const char *type)
{
	static struct partial parts[4] = {
		{ sums, 4 }, { counts, 1 }, { expert_sums, 2 }, { expert_counts, 1 }
	};
	struct gguf_write *w = NULL;
	struct buf sets;
	int rc = gguf_write_new(&w, path, NULL);

	if (rc)
		return rc;
	buf_init(&sets, MEM_FILE);
	gguf_put_str(&sets, "a text", 6);
	gguf_write_str(w, "general.type", type, strlen(type));
	if (!sets.bad)
		gguf_write_array(w, "imatrix.datasets", INFER_META_STR, 1, sets.at, sets.len);
	rc = sets.bad ? INFER_ENOMEM : INFER_OK;
	gguf_write_u32(w, "imatrix.chunk_count", 7);
	if (!rc)
		rc = put(w, "blk.0.attn_q.weight.in_sum2", 4, 1, &parts[0]);
	if (!rc)
		rc = put(w, "blk.0.attn_q.weight.counts", 1, 1, &parts[1]);
	if (!rc)
		rc = put(w, "blk.0.ffn_up_exps.weight.in_sum2", 2, 2, &parts[2]);
	if (!rc)
		rc = put(w, "blk.0.ffn_up_exps.weight.counts", 1, 2, &parts[3]);
	if (!rc)
		rc = gguf_write_end(w, NULL);
	gguf_write_free(w);
	buf_fini(&sets);
	return rc;
}

static int case_gguf(void)
{
	struct importance *m = NULL;
	const float *at;
	size_t n;
	int rc;

	nth_ok(write_gguf("imatrix"));
	nth_ok(importance_open(&m, path, NULL));
	assert_int_equal(importance_entries(m), 2);
	assert_int_equal(importance_chunks(m), 7);
	assert_int_equal(importance_dataset(m).len, 6);
	at = importance_get(m, str("blk.0.attn_q.weight"), &n);
	assert_int_equal(n, 4);
	for (int i = 0; i < 4; i++)
		assert_true(at[i] == (float)(i + 1));
	at = importance_get(m, str("blk.0.ffn_up_exps.weight"), &n);
	assert_int_equal(n, 4);
	assert_true(at[0] == 1 && at[1] == 2 && at[2] == 1 && at[3] == 1);
	assert_null(importance_get(m, str("blk.0.attn_k.weight"), &n));
out:
	importance_free(m);
	return rc;
}

static void put_u32(struct buf *b, uint32_t v) { buf_put(b, &v, 4); }

static void put_name(struct buf *b, const char *s)
{
	put_u32(b, (uint32_t)strlen(s));
	buf_puts(b, s);
}

/* two tensors of 2 values, after 4 calls and after none */
static void dat(struct buf *b, float first)
{
	static const float none[2] = { 5, 6 };
	const float v[2] = { first, 8 };

	put_u32(b, 2);
	put_name(b, "a");
	put_u32(b, 4);
	put_u32(b, 2);
	buf_put(b, v, sizeof v);
	put_name(b, "b");
	put_u32(b, 0);
	put_u32(b, 2);
	buf_put(b, none, sizeof none);
	put_u32(b, 11);
	put_name(b, "text");
}

static int write_bytes(const struct buf *b, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fwrite(b->at, 1, n, f);
	fclose(f);
	return b->bad ? INFER_ENOMEM : INFER_OK;
}

static int case_dat(void)
{
	struct importance *m = NULL;
	struct buf b;
	const float *at;
	size_t n;
	int rc;

	buf_init(&b, MEM_BASE);
	dat(&b, 2);
	nth_need(!b.bad);
	write_bytes(&b, b.len);
	nth_ok(importance_open(&m, path, NULL));
	assert_int_equal(importance_chunks(m), 11);
	assert_int_equal(importance_dataset(m).len, 4);
	at = importance_get(m, str("a"), &n);
	assert_true(n == 2 && at[0] == 0.5f && at[1] == 2);
	at = importance_get(m, str("b"), &n);
	assert_true(n == 2 && at[0] == 5 && at[1] == 6);
out:
	importance_free(m);
	buf_fini(&b);
	return rc;
}

/* Every cut but the one behind the last value is refused, and so is what is no importance. */
static int case_damaged(void)
{
	struct importance *m = NULL;
	size_t whole;
	struct buf b;
	int rc;

	buf_init(&b, MEM_BASE);
	dat(&b, 2);
	nth_need(!b.bad);
	whole = b.len - 12;
	for (size_t n = 0; n < b.len; n++) {
		write_bytes(&b, n);
		if (n == whole)
			nth_ok(importance_open(&m, path, NULL));
		else
			nth_fails(importance_open(&m, path, NULL), INFER_EFORMAT);
		importance_free(m);
		m = NULL;
	}
	static const float bad[] = { -1, INFINITY, NAN };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		buf_clear(&b);
		dat(&b, bad[i]);
		write_bytes(&b, b.len);
		nth_fails(importance_open(&m, path, NULL), INFER_EFORMAT);
	}
	buf_clear(&b);
	put_u32(&b, 2);
	for (int i = 0; i < 2; i++) {
		put_name(&b, "twice");
		put_u32(&b, 1);
		put_u32(&b, 1);
		put_u32(&b, 0);
	}
	write_bytes(&b, b.len);
	nth_fails(importance_open(&m, path, NULL), INFER_EFORMAT);
	nth_ok(write_gguf("model"));
	nth_fails(importance_open(&m, path, NULL), INFER_EFORMAT);
out:
	importance_free(m);
	buf_fini(&b);
	return rc;
}

/* In double: the importance times the root of the mean square of the block, once or twice, and the
 * square of the value. */
static void test_weigh(void **state)
{
	static const struct {
		int type, times;
	} cases[] = { { INFER_Q4_K, 2 },   { INFER_Q2_K, 1 }, { INFER_Q5_0, 1 },
		      { INFER_Q4_0, 0 },   { INFER_Q8_0, 0 }, { INFER_IQ3_XXS, 0 },
		      { INFER_IQ4_NL, 2 }, { INFER_Q6_K, 0 } };
	float x[512], columns[512], w[512];

	(void)state;
	for (int i = 0; i < 512; i++) {
		x[i] = (float)((i * 29) % 101 - 50) / 8;
		columns[i] = (float)(i % 7);
	}
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		int block = infer_type_info(cases[c].type)->block;

		importance_weigh(w, cases[c].type, x, columns, 512);
		for (int i = 0; i < 512; i++) {
			double mean = 0, want = (double)columns[i];

			for (int j = i / block * block; j < (i / block + 1) * block; j++)
				mean += (double)x[j] * (double)x[j] / block;
			if (cases[c].times)
				want *= sqrt(cases[c].times * mean + (double)x[i] * (double)x[i]);
			assert_true(fabs((double)w[i] - want) <= 1e-6 * want);
		}
	}
	/* never more than an encoder takes */
	x[0] = 3e38f;
	columns[0] = 3e38f;
	importance_weigh(w, INFER_Q4_K, x, columns, 256);
	for (int i = 0; i < 256; i++)
		assert_true(w[i] >= 0 && w[i] <= 1e30f);
}

static uint64_t splitmix(uint64_t i)
{
	uint64_t z = i * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* The values and importances of scripts/golden-encode.py */
static void flat(float *x, float *columns, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t z = splitmix((uint64_t)i + 1);
		int sum = (int)(z & 65535) + (int)(z >> 16 & 65535) + (int)(z >> 32 & 65535) +
		          (int)(z >> 48);

		x[i] = (float)(sum - 131070) * 0x1p-18f;
		columns[i] = 1 + (float)(splitmix((uint64_t)i + 2000000) >> 60) / 64;
	}
}

/* No type has a larger weighted error than another quantiser, even where the importances are nearly the
 * same. */
static void test_flat(void **state)
{
	enum { N = 2048 };
	static float x[N], y[N], w[N], columns[N];
	static uint8_t code[4 * N];
	FILE *f = fopen("tests/golden/encode-flat.txt", "r");
	char line[80], name[16];
	double limit;
	int types = 0;

	(void)state;
	assert_non_null(f);
	flat(x, columns, N);
	while (fgets(line, sizeof line, f)) {
		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%15s %lf", name, &limit), 2);
		int type = 0;
		while (strcmp(infer_type_info(type)->name, name))
			type++;
		const struct type *t = type_get(type);
		double sum = 0;

		importance_weigh(w, type, x, columns, N);
		t->encode(code, x, w, N / (size_t)t->info.block, 0);
		t->decode(y, code, N / (size_t)t->info.block);
		for (int i = 0; i < N; i++) {
			double e = (double)x[i] - (double)y[i];

			sum += (double)columns[i] * e * e;
		}
		if (sum > limit)
			fail_msg("%s: %g, more than %g", name, sum, limit);
		types++;
	}
	fclose(f);
	assert_int_equal(types, 25);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_gguf), nth_case(case_dat),
		                            nth_case(case_damaged), cmocka_unit_test(test_weigh),
		                            cmocka_unit_test(test_flat) };

	int fd = mkstemp(path);

	if (fd < 0)
		fd = mkstemp(path = on_disk);
	if (fd < 0)
		return 99;
	close(fd);
	int failed = nth_group(tests);
	unlink(path);
	return failed;
}
