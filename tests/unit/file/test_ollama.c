/* tests/unit/file/test_ollama.c - files of Ollama's converter have the keys and tensors of the public converter's: golden models,
 * written again in Ollama's form, are read as they were. */
#include "../nth.h"
#include "file/gguf_write.h"
#include "file/file.h"
#include <infer/model.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN "tests/golden/logits/"

struct pair {
	const char *ours, *theirs;
};
struct form {
	const char *path, *ours, *theirs;
	struct pair keys[4], tensors[4];
	const char *left_out[4]; /* keys that Ollama does not write */
	const char *more[3];     /* and integers that it writes */
	const char *extra[3];    /* tensors */
};
static const struct form forms[] = {
	{ GOLDEN "gpt-oss-hub.gguf", "gpt-oss", "gptoss",
	  .tensors = { { "attn_output", "attn_out" },
	               { "attn_sinks.weight", "attn_sinks" },
	               { "post_attention_norm", "ffn_norm" } },
	  .left_out = { "gpt-oss.rope.scaling.type", "gpt-oss.expert_feed_forward_length" } },
	{ GOLDEN "gemma3.gguf", "gemma3", "gemma3",
	  .keys = { { "gemma3.rope.freq_base", "gemma3.rope.global.freq_base" },
	            { "gemma3.rope.freq_base_swa", "gemma3.rope.local.freq_base" } },
	  .left_out = { "gemma3.attention.layer_norm_rms_epsilon" },
	  .more = { "gemma3.vision.block_count", "gemma3.mm.tokens_per_image" },
	  .extra = { "v.blk.0.attn_q.weight", "mm.mm_input_projection.weight" } },
};
enum { FORMS = sizeof forms / sizeof *forms };

static int same(struct infer_str a, const char *b)
{
	return a.len == strlen(b) && !memcmp(a.at, b, a.len);
}

static int is_left_out(const struct form *t, struct infer_str key)
{
	for (int i = 0; i < 4 && t->left_out[i]; i++)
		if (same(key, t->left_out[i]))
			return 1;
	return 0;
}

struct rows {
	const unsigned char *at;
	size_t row;
};

static int copy_rows(void *user, int64_t row, int64_t n, void *dst, infer_error *err)
{
	const struct rows *r = user;

	(void)err;
	memcpy(dst, r->at + (size_t)row * r->row, (size_t)n * r->row);
	return INFER_OK;
}

/* An array of the vocabulary with one element more, for a token without an embedding.  Returns 0 if m is another key. */
static int write_longer(struct gguf_write *w, const struct infer_meta *m)
{
	static const char *const names[] = { "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
		                             "tokenizer.ggml.token_type" };
	const struct file_value *v = file_value(m);
	struct buf b;
	int i = 0;

	while (i < 3 && !same(m->key, names[i]))
		i++;
	if (i == 3)
		return 0;
	buf_init(&b, MEM_FILE);
	buf_put(&b, v->at, v->bytes);
	if (i)
		buf_put(&b, (const unsigned char[4]){ 1 }, 4);
	else
		gguf_put_str(&b, "<image_soft_token>", 18);
	gguf_write_array(w, names[i], m->elem_type, m->count + 1, b.at, b.len);
	buf_fini(&b);
	return 1;
}

/* A key of the golden file as Ollama writes it. */
static void write_key(struct gguf_write *w, const struct form *t, const struct infer_meta *m)
{
	struct file_value v = *file_value(m);
	char name[200];
	size_t head = strlen(t->ours);

	if (is_left_out(t, m->key) || (*t->extra && write_longer(w, m)))
		return;
	if (same(m->key, "general.architecture")) {
		gguf_write_str(w, "general.architecture", t->theirs, strlen(t->theirs));
		return;
	}
	if (same(m->key, "tokenizer.ggml.pre")) {
		gguf_write_str(w, "tokenizer.ggml.pre", "default", 7);
		return;
	}
	if (m->key.len > head && !memcmp(m->key.at, t->ours, head) && m->key.at[head] == '.')
		snprintf(name, sizeof name, "%s%.*s", t->theirs, (int)(m->key.len - head),
		         m->key.at + head);
	else
		snprintf(name, sizeof name, "%.*s", (int)m->key.len, m->key.at);
	for (int i = 0; i < 4 && t->keys[i].ours; i++)
		if (same(m->key, t->keys[i].ours))
			snprintf(name, sizeof name, "%s", t->keys[i].theirs);
	v.meta.key = (struct infer_str){ name, strlen(name) };
	gguf_write_copy(w, &v.meta);
}

/* The names of rows of an extra tensor stay until the file is written. */
static struct rows rows[200];
static const float ones[32];

static void write_form(const struct form *t, const infer_file *f, const char *path)
{
	const struct infer_meta *m;
	const struct infer_tensor *one;
	struct gguf_write *w;
	char name[64];
	int n = 0;

	assert_int_equal(gguf_write_new(&w, path, NULL), INFER_OK);
	for (uint64_t i = 0; (m = infer_file_meta_at(f, i)); i++)
		write_key(w, t, m);
	for (int i = 0; i < 3 && t->more[i]; i++)
		gguf_write_u32(w, t->more[i], 2);
	for (uint64_t i = 0; (one = infer_file_tensor_at(f, i)); i++) {
		snprintf(name, sizeof name, "%.*s", (int)one->name.len, one->name.at);
		for (int k = 0; k < 4 && t->tensors[k].ours; k++) {
			char *at = strstr(name, t->tensors[k].ours), rest[64];
			if (at) {
				snprintf(rest, sizeof rest, "%s", at + strlen(t->tensors[k].ours));
				sprintf(at, "%s%s", t->tensors[k].theirs, rest);
				break;
			}
		}
		rows[n] =
			(struct rows){ one->data, one->bytes / (size_t)(one->ne[1] * one->ne[2]) };
		assert_int_equal(gguf_write_tensor(w, name, one->type, one->n_dims, one->ne,
		                                   copy_rows, &rows[n], NULL),
		                 INFER_OK);
		n++;
	}
	for (int i = 0; i < 3 && t->extra[i]; i++) {
		rows[n] = (struct rows){ (const unsigned char *)ones, sizeof ones };
		assert_int_equal(gguf_write_tensor(w, t->extra[i], INFER_F32, 1, (int64_t[]){ 32 },
		                                   copy_rows, &rows[n++], NULL),
		                 INFER_OK);
	}
	assert_int_equal(gguf_write_end(w, NULL), INFER_OK);
	gguf_write_free(w);
}

static void compare(const struct form *t, const infer_file *a, const infer_file *b)
{
	const struct infer_meta *m, *o;
	const struct infer_tensor *x, *y;
	char key[200];
	struct infer_str arch, pre;

	for (uint64_t i = 0; (m = infer_file_meta_at(a, i)); i++) {
		snprintf(key, sizeof key, "%.*s", (int)m->key.len, m->key.at);
		if (!strcmp(key, "tokenizer.ggml.pre"))
			continue;
		o = infer_file_meta(b, key);
		if (!o)
			fail_msg("%s: no key %s", t->path, key);
		if (!same(m->key, "gemma3.attention.layer_norm_rms_epsilon")) {
			assert_int_equal(m->type, o->type);
			assert_int_equal(m->count, o->count);
			assert_int_equal(file_value(m)->bytes, file_value(o)->bytes);
			assert_memory_equal(file_value(m)->at, file_value(o)->at,
			                    file_value(m)->bytes);
		}
	}
	for (uint64_t i = 0; (x = infer_file_tensor_at(a, i)); i++) {
		snprintf(key, sizeof key, "%.*s", (int)x->name.len, x->name.at);
		y = infer_file_tensor(b, key);
		if (!y)
			fail_msg("%s: no tensor %s", t->path, key);
		assert_int_equal(x->type, y->type);
		assert_memory_equal(x->ne, y->ne, sizeof x->ne);
		assert_memory_equal(x->data, y->data, x->bytes);
		assert_string_equal(key, infer_file_tensor_at(b, i)->name.at ? key : "");
	}
	assert_null(infer_file_tensor_at(b, (uint64_t)a->n_tensors));
	for (int i = 0; i < 3 && t->more[i]; i++)
		assert_null(infer_file_meta(b, t->more[i]));
	assert_int_equal(infer_meta_str(b, "general.architecture", &arch, NULL, NULL), INFER_OK);
	assert_true(same(arch, t->ours));
	assert_int_equal(infer_meta_str(b, "tokenizer.ggml.pre", &pre, NULL, NULL), INFER_OK);
	assert_true(same(pre, strcmp(t->ours, "gpt-oss") ? "default" : "gpt-4o") || !pre.len);
}

static char paths[FORMS][64];

static void test_forms(void **state)
{
	infer_file *a, *b;
	infer_model *m;
	infer_error err;

	(void)state;
	for (int i = 0; i < FORMS; i++) {
		assert_int_equal(infer_file_open(&a, forms[i].path, NULL), INFER_OK);
		snprintf(paths[i], sizeof paths[i], "/tmp/test_ollama.%d.%d.gguf", (int)getpid(),
		         i);
		write_form(&forms[i], a, paths[i]);
		assert_int_equal(infer_file_open(&b, paths[i], NULL), INFER_OK);
		compare(&forms[i], a, b);
		infer_file_close(&b);
		infer_file_close(&a);
		if (infer_model_open(&m, paths[i], NULL, &err))
			fail_msg("%s", err.message);
		infer_model_close(&m);
	}
}

static int case_memory(void)
{
	infer_file *f = NULL;
	int rc = INFER_OK;

	for (int i = 0; i < FORMS; i++) {
		nth_ok(infer_file_open(&f, paths[i], NULL));
		infer_file_close(&f);
	}
out:
	infer_file_close(&f);
	return rc;
}

/* The last: paths are removed. */
static void test_both(void **state)
{
	infer_file *a, *b;
	infer_error err;
	struct form t = forms[1];

	(void)state;
	t.more[2] = "gemma3.rope.freq_base"; /* next to Ollama's name */
	assert_int_equal(infer_file_open(&a, t.path, NULL), INFER_OK);
	write_form(&t, a, paths[1]);
	assert_int_equal(infer_file_open(&b, paths[1], &err), INFER_EFORMAT);
	assert_non_null(strstr(err.message, "both in Ollama's form and in the usual one"));
	infer_file_close(&a);
	for (int i = 0; i < FORMS; i++)
		unlink(paths[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		nth_case(case_memory),
		cmocka_unit_test(test_both),
	};

	return nth_group(tests);
}
