/* tests/unit/quant/test_write.c - what is written is what the encoders make of the tensors, with the
 * importances of each expert; nothing is left where memory fails. */
#include "../nth.h"
#include <infer/quant.h>
#include "file/gguf_write.h"
#include "quant/importance.h"
#include "type/type.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 512, ROWS = 3, EXPERTS = 4, VALUES = COLUMNS * ROWS * EXPERTS };
static char dir[] = "/tmp/infer-test-quant-XXXXXX";
static char in[64], out[64], imatrix[64];

static float value(int64_t i) { return (float)((i * 7919) % 2003 - 1001) / 512; }
static float importance(int64_t i) { return (float)((i * 31) % 17 + 1); }

struct partial {
	int64_t width;
	float (*at)(int64_t i);
};

static int rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct partial *p = user;

	(void)err;
	for (int64_t i = 0; i < n * p->width; i++)
		((float *)dst)[i] = p->at(row * p->width + i);
	return INFER_OK;
}

static float one(int64_t i)
{
	(void)i;
	return 1;
}

static int write_model(void)
{
	static struct partial wide = { COLUMNS, value }, norm = { COLUMNS, value };
	const int64_t ne[3] = { COLUMNS, ROWS, EXPERTS };
	struct gguf_write *w = NULL;
	int rc = gguf_write_new(&w, in, NULL);

	if (rc)
		return rc;
	gguf_write_str(w, "general.architecture", "llama", 5);
	gguf_write_u32(w, "general.file_type", 0);
	gguf_write_alignment(w, 64);
	gguf_write_u32(w, "llama.block_count", 1);
	rc = gguf_write_tensor(w, "blk.0.ffn_up_exps.weight", INFER_F32, 3, ne, rows, &wide, NULL);
	if (!rc)
		rc = gguf_write_tensor(w, "output_norm.weight", INFER_F32, 1, ne, rows, &norm,
		                       NULL);
	if (!rc)
		rc = gguf_write_end(w, NULL);
	gguf_write_free(w);
	return rc;
}

static int write_importance(void)
{
	static struct partial sums = { COLUMNS, importance }, counts = { 1, one };
	const int64_t ne[2] = { COLUMNS, EXPERTS }, each[2] = { 1, EXPERTS };
	struct gguf_write *w = NULL;
	int rc = gguf_write_new(&w, imatrix, NULL);

	if (rc)
		return rc;
	gguf_write_str(w, "general.type", "imatrix", 7);
	gguf_write_u32(w, "imatrix.chunk_count", 3);
	rc = gguf_write_tensor(w, "blk.0.ffn_up_exps.weight.in_sum2", INFER_F32, 2, ne, rows, &sums,
	                       NULL);
	if (!rc)
		rc = gguf_write_tensor(w, "blk.0.ffn_up_exps.weight.counts", INFER_F32, 2, each,
		                       rows, &counts, NULL);
	if (!rc)
		rc = gguf_write_end(w, NULL);
	gguf_write_free(w);
	return rc;
}

/* The whole tensor at once, each value with the importance of its column in its expert. */
static void expect(unsigned char *want, int type, int weighed)
{
	static float x[VALUES], w[VALUES];

	for (int i = 0; i < VALUES; i++) {
		x[i] = value(i);
		w[i] = importance(i / (COLUMNS * ROWS) * COLUMNS + i % COLUMNS);
	}
	if (weighed)
		importance_weigh(w, type, x, w, VALUES);
	else
		weighed = importance_alone(w, type, x, VALUES);
	type_encode(type, want, x, weighed ? w : NULL,
	            (size_t)(VALUES / infer_type_info(type)->block), 0);
}

static int unfinished(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += strstr(e->d_name, ".part") || strstr(e->d_name, ".resume");
	closedir(d);
	return n;
}

static int quantise(const char *type, const char *weights, int threads)
{
	static const char *const keep[] = { "nothing|exps=Q5_K" };
	struct infer_quant_opts o = { .type = type, .imatrix = weights, .verify = threads > 1 };
	static unsigned char want[VALUES * 4];
	struct infer_quant_result result;
	struct infer_quant_info info;
	infer_file *f = NULL, *got = NULL;
	infer_quant *q = NULL;
	uint64_t chunks = 0;
	int rc, to;

	if (!strcmp(type, "Q4_K")) {
		o.keep = keep;
		o.n_keep = 1;
	}
	nth_ok(infer_file_open(&f, in, NULL));
	nth_ok(infer_quant_new(&q, f, &o, NULL));
	infer_quant_info(q, &info);
	assert_int_equal(info.n_encoded, 1);
	rc = infer_quant_write(q, out, threads, NULL, &result, NULL);
	assert_int_equal(unfinished(), 0);
	nth_ok(rc);
	nth_ok(infer_file_open(&got, out, NULL));
	const struct infer_tensor *t = infer_file_tensor(got, "blk.0.ffn_up_exps.weight");
	to = t->type;
	assert_int_equal(to, o.n_keep ? INFER_Q5_K : INFER_Q4_0);
	assert_int_equal(t->offset % 64, 0);
	expect(want, to, weights != NULL);
	assert_memory_equal(t->data, want, t->bytes);
	t = infer_file_tensor(got, "output_norm.weight");
	assert_memory_equal(t->data, infer_file_tensor(f, "output_norm.weight")->data, t->bytes);
	assert_int_equal(infer_meta_u64(got, "quantize.imatrix.chunks_count", &chunks, NULL, NULL),
	                 0);
	assert_int_equal(chunks, weights ? 3 : 0);
	/* what is there already keeps its place, what is new comes behind */
	assert_memory_equal(infer_file_meta_at(got, 1)->key.at, "general.file_type", 17);
	assert_memory_equal(infer_file_meta_at(got, 4)->key.at, "general.quantization_version", 28);
out:
	infer_quant_free(q);
	infer_file_close(&got);
	infer_file_close(&f);
	return rc;
}

static int case_plain(void) { return quantise("Q4_0", NULL, 1); }
static int case_weighed(void) { return quantise("Q4_K", imatrix, 1); }
static int case_threads(void) { return quantise("Q4_0", imatrix, 3); }

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_plain), nth_case(case_weighed),
		                            nth_case(case_threads) };

	if (!mkdtemp(dir))
		return 1;
	snprintf(in, sizeof in, "%s/in.gguf", dir);
	snprintf(out, sizeof out, "%s/out.gguf", dir);
	snprintf(imatrix, sizeof imatrix, "%s/imatrix.gguf", dir);
	int failed = write_model() || write_importance() || nth_group(tests);

	unlink(in);
	unlink(out);
	unlink(imatrix);
	rmdir(dir);
	return failed;
}
