/* tests/unit/arch/test_model.c - opening models: what is bound, counted and copied; what is
 * refused, by name; and no leaks if memory runs out. */
#include "../nth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "arch/arch.h"
#include "base/num.h"
#include "base/os.h"
#include "file/gguf_write.h"

static const char golden[] = "tests/golden/logits/llama-bias.gguf";
static char path[64] = "/tmp/test_model-XXXXXX";

/* The golden file, or another of them, again with one thing changed. */
struct edit {
	const char *from;        /* NULL: llama-bias */
	const char *rename, *to; /* a tensor's name */
	const char *again, *as;  /* a tensor that is there once more, under another name */
	const char *drop;        /* a tensor that is left out */
	const char *half;        /* a vector written as F16 */
	const char *integer;     /* a matrix written as I32 */
	const char *key;
	uint32_t value;            /* a key that is written as this u32, or added */
	const char *no_key;        /* a key that is left out */
	const char *str_key, *str; /* a key that is written as this string */
};

static int write_rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct infer_tensor *t = user;

	(void)err;
	memcpy(dst, (const char *)t->data + row * t->ne[0] * 4, (size_t)(n * t->ne[0] * 4));
	return INFER_OK;
}

static int write_half(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct infer_tensor *t = user;
	uint16_t *h = dst;

	(void)err;
	for (int64_t i = 0; i < n * t->ne[0]; i++)
		h[i] = num_to_f16(((const float *)t->data)[row * t->ne[0] + i]);
	return INFER_OK;
}

static int is(struct infer_str a, const char *b)
{
	return b && a.len == strlen(b) && !memcmp(a.at, b, a.len);
}

static int write_tensor(struct gguf_write *w, const struct infer_tensor *t, const struct edit *x,
                        infer_error *e)
{
	if (is(t->name, x->again)) {
		int rc = gguf_write_tensor(w, x->as, INFER_F32, t->n_dims, t->ne, write_rows,
		                           (void *)(uintptr_t)t, e);
		if (rc)
			return rc;
	}
	char name[64];
	int type = is(t->name, x->half)      ? INFER_F16
	           : is(t->name, x->integer) ? INFER_I32
	                                     : INFER_F32;

	if (is(t->name, x->drop))
		return INFER_OK;
	snprintf(name, sizeof name, "%.*s", (int)t->name.len, t->name.at);
	return gguf_write_tensor(w, is(t->name, x->rename) ? x->to : name, type, t->n_dims, t->ne,
	                         type == INFER_F16 ? write_half : write_rows, (void *)(uintptr_t)t,
	                         e);
}

static int rewrite(const struct edit *x, infer_error *e)
{
	const struct infer_tensor *t;
	const struct infer_meta *k;
	struct gguf_write *w = NULL;
	infer_file *f;
	char from[96];

	snprintf(from, sizeof from, "tests/golden/logits/%s.gguf",
	         x->from ? x->from : "llama-bias");
	int rc = infer_file_open(&f, from, e);

	if (!rc)
		rc = gguf_write_new(&w, path, e);
	for (uint64_t i = 0; !rc && (k = infer_file_meta_at(f, i)); i++)
		if (!is(k->key, x->key) && !is(k->key, x->no_key) && !is(k->key, x->str_key))
			gguf_write_copy(w, k);
	if (!rc && x->key)
		gguf_write_u32(w, x->key, x->value);
	if (!rc && x->str_key)
		gguf_write_str(w, x->str_key, x->str, strlen(x->str));
	for (uint64_t i = 0; !rc && (t = infer_file_tensor_at(f, i)); i++)
		rc = write_tensor(w, t, x, e);
	if (!rc)
		rc = gguf_write_end(w, e);
	gguf_write_free(w);
	infer_file_close(&f);
	return rc;
}

static int case_open(void)
{
	struct infer_model_info info;
	infer_model *m = NULL;
	infer_error e;
	int rc;

	nth_ok(infer_model_open(&m, golden, NULL, &e));
	infer_model_info(m, &info);
	assert_string_equal(info.arch, "llama");
	assert_int_equal(info.n_layers, m->h.n_layers);
	assert_int_equal(info.n_vocab, 72);
	assert_int_equal(info.private_bytes, 0);
	assert_int_equal(info.weight_bytes, info.n_params * 4); /* F32 */
	/* all of it but the table of embeddings, of which it is a row */
	assert_int_equal(info.token_bytes, info.weight_bytes - 71ull * (uint64_t)info.n_embd * 4);
	assert_int_equal(info.kv_elems, (uint64_t)info.n_layers * (uint64_t)info.n_head_kv * 2 *
	                                        (uint64_t)info.head_dim);
	assert_non_null(infer_model_tokenizer(m));
	assert_int_equal(infer_model_adds_bos(m), 0);
	/* weights lie in the mapping */
	const struct infer_tensor *t =
		infer_file_tensor(infer_model_file(m), "blk.1.ffn_down.weight");
	assert_ptr_equal(m->weights[m->layer[1][W_DOWN]].at[0], t->data);
	assert_int_equal(m->layer[1][W_Q_NORM], -1);
out:
	infer_model_close(&m);
	assert_null(m);
	return rc;
}

static const struct {
	struct edit edit;
	int code;
	const char *named;
} bad[] = {
	{ { .rename = "blk.0.attn_q.weight", .to = "blk.0.attn_z.weight" },
	  INFER_EUNSUP,
	  "blk.0.attn_z.weight" },
	{ { .rename = "blk.0.attn_q.weight", .to = "blk.00.attn_q.weight" },
	  INFER_EUNSUP,
	  "blk.00.attn_q.weight" },
	{ { .rename = "blk.0.attn_q.weight", .to = "blk.99999999999.attn_q.weight" },
	  INFER_EUNSUP,
	  "blk.99999999999.attn_q" },
	{ { .rename = "blk.0.attn_q.weight", .to = "attn_q.weight" },
	  INFER_EUNSUP,
	  "attn_q.weight" },
	{ { .rename = "output.weight", .to = "blk.0.output.weight" },
	  INFER_EUNSUP,
	  "blk.0.output.weight" },
	{ { .drop = "blk.1.ffn_norm.weight" }, INFER_EFORMAT, "blk.1.ffn_norm.weight" },
	{ { .drop = "output_norm.weight" }, INFER_EFORMAT, "output_norm.weight" },
	{ { .drop = "token_embd.weight" }, INFER_EFORMAT, "token_embd.weight" },
	{ { .integer = "blk.0.ffn_up.weight" }, INFER_EUNSUP, "blk.0.ffn_up.weight" },
	{ { .key = "llama.block_count", .value = 1 }, INFER_EUNSUP, "blk.1." },
	{ { .key = "llama.block_count", .value = 3 }, INFER_EFORMAT, "blk.2." },
	{ { .key = "llama.feed_forward_length", .value = 8 }, INFER_EFORMAT, "ffn_" },
	{ { .key = "llama.attention.head_count_kv", .value = 1 }, INFER_EFORMAT, "attn_k" },
	{ { .key = "llama.expert_count", .value = 2 }, INFER_EFORMAT, "expert_used_count" },
	{ { .str_key = "general.architecture", .str = "perceptron" },
	  INFER_EUNSUP,
	  "perceptron is not supported; these run: llama, granite, qwen2" },
	{ { .no_key = "general.architecture" }, INFER_EFORMAT, "general.architecture" },
	{ { .str_key = "general.type", .str = "adapter" }, INFER_EUNSUP, "adapter" },
	{ { .str_key = "tokenizer.ggml.model", .str = "abacus" }, INFER_EUNSUP, "abacus" },
	{ { .str_key = "llama.rope.scaling.type", .str = "longrope" },
	  INFER_EFORMAT,
	  "rope_factors" },
	/* tensors of a right shape that nothing reads */
	{ { .from = "mixtral", .again = "blk.0.ffn_norm.weight", .as = "blk.0.ffn_down.bias" },
	  INFER_EUNSUP,
	  "tensor blk.0.ffn_down.bias: has no use with the other tensors and keys of this file" },
	{ { .from = "llama-longrope",
	    .again = "rope_factors_long.weight",
	    .as = "rope_freqs.weight" },
	  INFER_EUNSUP,
	  "rope_freqs.weight" },
	{ { .from = "llama-longrope", .str_key = "llama.rope.scaling.type", .str = "yarn" },
	  INFER_EUNSUP,
	  "rope_factors_long.weight" },
	{ { .from = "llama-longrope", .str_key = "llama.rope.scaling.type", .str = "none" },
	  INFER_EUNSUP,
	  "rope_factors_long.weight" },
	{ { .from = "llama-longrope", .drop = "rope_factors_long.weight" },
	  INFER_EFORMAT,
	  "rope_factors_long.weight" },
};

static void test_bad(void **state)
{
	infer_error e;
	infer_model *m;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (rewrite(&bad[i].edit, &e))
			fail_msg("%s", e.message);
		int rc = infer_model_open(&m, path, NULL, &e);
		if (rc != bad[i].code || m)
			fail_msg("%zu: code %d, %s", i, rc, rc ? e.message : "taken");
		if (!strstr(e.message, bad[i].named))
			fail_msg("%s is not named in: %s", bad[i].named, e.message);
	}
	assert_int_equal(infer_model_open(&m, golden, &(struct infer_model_opts){ .ctx = -1 }, &e),
	                 INFER_EINVAL);
	assert_int_equal(infer_model_open(&m, "tests/golden/logits/no-such.gguf", NULL, &e),
	                 INFER_EIO);
}

/* Factors without a type are longrope all the same, and without attn_factor the contexts say it. */
static void test_longrope(void **state)
{
	static const struct edit edits[] = {
		{ .from = "llama-longrope", .no_key = "llama.rope.scaling.type" },
		{ .from = "llama-longrope", .no_key = "llama.rope.scaling.attn_factor" },
		{ .from = "llama-longrope", .str_key = "llama.rope.scaling.type", .str = "linear" },
	};
	infer_error e;
	infer_model *m;

	(void)state;
	for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
		if (rewrite(&edits[i], &e) || infer_model_open(&m, path, NULL, &e))
			fail_msg("%zu: %s", i, e.message);
		assert_int_equal(m->h.rope[0].scaling, SCALING_LONGROPE);
		/* sqrt(1 + ln(256 / 32) / ln 32), and the last of the long factors, 31 */
		assert_true(fabs(m->ropes[0].mscale - 1.2649110640673518) < 1e-7);
		assert_true(fabs(m->ropes[0].freq[7] * 31 * pow(10000, 7.0 / 8) - 1) < 1e-7);
		infer_model_close(&m);
	}
}

/* The biases of qwen2 are not demanded, nor the one by which lfm2moe may choose experts. */
static void test_no_bias(void **state)
{
	infer_error e;
	infer_model *m;

	(void)state;
	if (rewrite(&(struct edit){ .from = "qwen2", .drop = "blk.1.attn_k.bias" }, &e) ||
	    infer_model_open(&m, path, NULL, &e))
		fail_msg("%s", e.message);
	assert_true(m->layer[0][W_K_BIAS] >= 0 && m->layer[1][W_K_BIAS] < 0);
	infer_model_close(&m);
	if (rewrite(&(struct edit){ .from = "lfm2moe-hub", .drop = "blk.1.exp_probs_b.bias" },
	            &e) ||
	    infer_model_open(&m, path, NULL, &e))
		fail_msg("%s", e.message);
	assert_true(m->layer[1][W_ROUTER_SELECT_BIAS] < 0 &&
	            m->layer[2][W_ROUTER_SELECT_BIAS] >= 0);
	infer_model_close(&m);
}

static void hear(void *user, int level, const char *line)
{
	(void)level;
	if (strstr(line, "blk.1.ffn_norm.weight"))
		++*(int *)user;
}

static void hear_packed(void *user, int level, const char *line)
{
	*(int *)user += level == INFER_LOG_WARN && strstr(line, "compressed: unpacked to ");
}

static void see(void *user, uint64_t done, uint64_t all) { *(int *)user += done == all; }

/* All weights of a compressed file are private, which is said. */
static void test_packed(void **state)
{
	struct infer_model_info info;
	struct os_file f;
	infer_error e;
	infer_model *m;
	int heard = 0, seen = 0;

	(void)state;
	assert_int_equal(os_file_map(&f, golden, NULL), INFER_OK);
	size_t room = ZSTD_compressBound(f.bytes);
	void *packed = malloc(room);
	FILE *out = fopen(path, "wb");
	assert_true(packed && out);
	size_t n = ZSTD_compress(packed, room, f.at, f.bytes, 1);
	assert_int_equal(fwrite(packed, 1, n, out), n);
	assert_int_equal(fclose(out), 0);
	free(packed);
	os_file_unmap(&f);
	if (infer_model_open(&m, path,
	                     &(struct infer_model_opts){ .log = hear_packed,
	                                                 .log_user = &heard,
	                                                 .watch = { see, &seen } },
	                     &e))
		fail_msg("%s", e.message);
	infer_model_info(m, &info);
	assert_int_equal(info.private_bytes, info.weight_bytes);
	assert_int_equal(heard, 1);
	assert_true(seen > 0);
	infer_model_close(&m);
}

/* A vector of halves is copied once, counted and named; no vocabulary, no tokenizer. */
static void test_copy(void **state)
{
	struct infer_model_info info;
	infer_error e;
	infer_model *m;
	int heard = 0;

	(void)state;
	assert_int_equal(rewrite(&(struct edit){ .half = "blk.1.ffn_norm.weight",
	                                         .str_key = "tokenizer.ggml.model",
	                                         .str = "no_vocab" },
	                         &e),
	                 INFER_OK);
	if (infer_model_open(&m, path,
	                     &(struct infer_model_opts){ .log = hear, .log_user = &heard }, &e))
		fail_msg("%s", e.message);
	infer_model_info(m, &info);
	assert_int_equal(info.private_bytes, (uint64_t)info.n_embd * 4);
	assert_int_equal(heard, 1);
	const struct weight *w = &m->weights[m->layer[1][W_FFN_NORM]];
	const struct infer_tensor *t =
		infer_file_tensor(infer_model_file(m), "blk.1.ffn_norm.weight");
	assert_int_equal(w->type, INFER_F32);
	for (int i = 0; i < info.n_embd; i++)
		assert_true(((const float *)w->at[0])[i] ==
		            num_f16(num_u16((const char *)t->data + 2 * i)));
	assert_null(infer_model_tokenizer(m));
	infer_model_close(&m);
}

/* Parts of one tensor are views into it, one behind the other. */
static void test_views(void **state)
{
	infer_error e;
	infer_model *m;

	(void)state;
	if (infer_model_open(&m, "tests/golden/logits/phi3.gguf", NULL, &e))
		fail_msg("%s", e.message);
	const struct infer_tensor *t =
		infer_file_tensor(infer_model_file(m), "blk.0.attn_qkv.weight");
	const struct weight *q = &m->weights[m->layer[0][W_Q]], *k = &m->weights[m->layer[0][W_K]],
			    *v = &m->weights[m->layer[0][W_V]];
	assert_ptr_equal(q->at[0], t->data);
	assert_ptr_equal(k->at[0], (const char *)t->data + (size_t)q->ne[1] * q->row_bytes);
	assert_ptr_equal(v->at[0], (const char *)k->at[0] + (size_t)k->ne[1] * k->row_bytes);
	assert_int_equal(q->ne[1] + k->ne[1] + v->ne[1], t->ne[1]);
	infer_model_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { nth_case(case_open),
		                            cmocka_unit_test(test_bad),
		                            cmocka_unit_test(test_longrope),
		                            cmocka_unit_test(test_no_bias),
		                            cmocka_unit_test(test_copy),
		                            cmocka_unit_test(test_packed),
		                            cmocka_unit_test(test_views) };
	int rc, fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	rc = nth_group(tests);
	remove(path);
	return rc;
}
