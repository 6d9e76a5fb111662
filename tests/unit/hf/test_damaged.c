/* tests/unit/hf/test_damaged.c - directories that are damaged: one line with the file and the key or
 * tensor, the right code, little memory. */
#include "../nth.h"
#include "damage.h"

#define EF INFER_EFORMAT
#define EU INFER_EUNSUP
#define IDX "model.safetensors.index.json"
#define S1 "model-00001-of-00002.safetensors"
#define S2 "model-00002-of-00002.safetensors"
#define Q "model.layers.1.self_attn.q_proj.weight"
/* the value of Q in the index becomes v */
#define AT(v) IDX, SWAP, "\"" Q "\": \"" S1 "\"", "\"" Q "\": " v

static const struct damage indexes[] = {
	{ AT("\"../" S1 "\""), EF, IDX ": weight_map: " Q ": \"../" S1 "\" must be the name" },
	{ AT("\"/etc/passwd\""), EF, IDX ": weight_map: " Q },
	{ AT("\"/tmp/" S1 "\""), EF, IDX ": weight_map: " Q },
	{ AT("\"a/" S1 "\""), EF, IDX ": weight_map: " Q },
	{ AT("\"./" S1 "\""), EF, IDX ": weight_map: " Q },
	{ AT("\"..\""), EF, IDX ": weight_map: " Q },
	{ AT("\".\""), EF, IDX ": weight_map: " Q },
	{ AT("\"\""), EF, IDX ": weight_map: " Q },
	{ AT("\".safetensors\""), EF, IDX ": weight_map: " Q },
	{ AT("\"..safetensors\""), EF, IDX ": weight_map: " Q },
	{ AT("\"model.bin\""), EF, IDX ": weight_map: " Q },
	{ AT("\"config.json\""), EF, IDX ": weight_map: " Q },
	{ AT("\"a\\u0000.safetensors\""), EF, "a\\x00.safetensors" },
	{ AT("\"a\\u002f.safetensors\""), EF, "\"a/.safetensors\"" },
	{ AT("3"), EF, IDX ": weight_map: " Q ": \"the value\" must be" },
	{ AT("null"), EF, IDX ": weight_map: " Q },
	{ AT("[]"), EF, IDX ": weight_map: " Q },
	{ AT("{}"), EF, IDX ": weight_map: " Q },
	{ AT("true"), EF, IDX ": weight_map: " Q },
	{ AT("\"model-3.safetensors\""), INFER_EIO, "/model-3.safetensors: there is no such file" },
	{ AT("\"" S2 "\""), EF, IDX ": weight_map: " Q ": " S2 " has no such tensor" },
	{ AT("\"" S1 "\", \"x.weight\": \"" S1 "\""), EF,
	  IDX ": weight_map: x.weight: " S1 " has no" },
	{ AT("\"" S1 "\", \"" Q "\": \"" S1 "\""), EF, IDX },
	{ IDX, SWAP, "\"" Q "\": \"" S1 "\", ", "", EF,
	  S1 ": tensor " Q ": " IDX " does not name it" },
	{ IDX, SWAP, "\"weight_map\"", "\"weights\"", EF,
	  IDX ": \"weight_map\" must be an object" },
	{ IDX, SET, "{\"weight_map\": {}}", NULL, EF, IDX ": \"weight_map\" must be an object" },
	{ IDX, SET, "{\"weight_map\": []}", NULL, EF, IDX ": \"weight_map\" must be an object" },
	{ IDX, SET, "{\"weight_map\": null}", NULL, EF, IDX ": \"weight_map\" must be an object" },
	{ IDX, SET, "{\"weight_map\": \"" S1 "\"}", NULL, EF, IDX ": \"weight_map\" must be" },
	{ IDX, SET, "{}", NULL, EF, IDX ": \"weight_map\" must be an object" },
	{ IDX, SWAP, "{\"total_size\": 1}", "3", EF, IDX ": \"metadata\" must be an object" },
	{ IDX, SWAP, "{\"total_size\": 1}", "[]", EF, IDX ": \"metadata\" must be an object" },
	{ IDX, SWAP, "{\"metadata\"", "{\"b\": 1, \"metadata\"", EU, IDX ": the member \"b\"" },
	{ IDX, REMOVE, NULL, NULL, EF, S1 ": there is no " IDX ", which names the files" },
	{ "model-00003-of-00003.safetensors", SET, "x", NULL, EF, IDX " does not name this file" },
	{ "model.safetensors", SET, "x", NULL, EF,
	  "model.safetensors: " IDX " does not name this" },
	{ S2, REMOVE, NULL, NULL, INFER_EIO, S2 ": there is no such file, but " IDX " names it" },
};

static void test_index(void **state)
{
	(void)state;
	check_damage(indexes, sizeof indexes / sizeof *indexes);
}

#define HEAD(name, shape, from, to) \
	"\"" name "\":{\"dtype\":\"BF16\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"
#define FIRST HEAD("model.layers.1.input_layernorm.weight", "[32]", "0", "64")
#define NORM "tensor model.layers.1.input_layernorm.weight: "

static const struct damage shards[] = {
	{ S1, CUT, "0", NULL, EF, S1 ": a safetensors file must have at least 8 bytes, not 0" },
	{ S1, CUT, "7", NULL, EF, S1 ": a safetensors file must have at least 8 bytes, not 7" },
	{ S1, CUT, "8", NULL, EF, S1 ": a header of " },
	{ S1, CUT, "100", NULL, EF, S1 ": a header of " },
	{ S1, CUT, "4000", NULL, EF, S1 ": tensor " },
	{ S2, CUT, "8000", NULL, EF, S2 ": tensor " },
	{ S1, APPEND, "x", NULL, EF, S1 ": the tensors have " },
	{ S1, FOLDER, NULL, NULL, INFER_EIO, S1 ": not a regular file" },
	{ S1, FIFO, NULL, NULL, INFER_EIO, S1 ": not a regular file" },
	{ S1, LINK, "nowhere", NULL, INFER_EIO, S1 ": No such file" },
	{ S1, LINK, S1, NULL, INFER_EIO, S1 ": Too many levels" },
	{ S1, LINK, "/dev/null", NULL, INFER_EIO, S1 ": not a regular file" },
	{ S1, LINK, ".", NULL, INFER_EIO, S1 ": not a regular file" },
	{ S1, LINK, S2, NULL, EF, S2 ": tensor " },
	{ S1, SET, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", NULL, EU,
	  S1 ": this is a git-lfs pointer, not the file: run `git lfs pull`" },
	{ S1, SET, "<!DOCTYPE html><html></html>", NULL, EF, S1 ": a header of " },
	{ S1, SWAP, "\"shape\":[32],\"data_offsets\":[0,64]",
	  "\"shape\":[32],\"data_offsets\":[0,62]", EF,
	  S1 ": " NORM "data_offsets [0, 62] are 62 bytes" },
	{ S1, SWAP, "\"shape\":[32],\"data_offsets\":[0,64]",
	  "\"shape\":[32],\"data_offsets\":[2,66]", EF, NORM "data_offsets [2, 66] leave a gap" },
	{ S1, SWAP, "\"data_offsets\":[64,", "\"data_offsets\":[62,", EF, S1 ": tensor " Q },
	{ S1, SWAP, "\"data_offsets\":[0,64]", "\"data_offsets\":[0,18446744073709551616]", EF,
	  NORM },
	{ S1, SWAP, "\"data_offsets\":[0,64]", "\"data_offsets\":[0,-64]", EF, NORM },
	{ S1, SWAP, "\"data_offsets\":[0,64]", "\"data_offsets\":[0,6.4e1]", EF, NORM },
	{ S1, SWAP, "\"data_offsets\":[0,64]", "\"data_offsets\":[0,9223372036854775807]", EF,
	  NORM },
	{ S1, SWAP, "\"data_offsets\":[0,64]", "\"data_offsets\":[\"0\",\"64\"]", EF, NORM },
	{ S1, SWAP, "\"data_offsets\":[0,64]", "\"data_offsets\":null", EF, NORM },
	{ S1, SWAP, "\"shape\":[32],", "", EF, NORM "\"shape\" must be" },
	{ S1, SWAP, "\"shape\":[32]", "\"shape\":[4294967296,4294967296]", EF,
	  NORM "\"shape\" needs 2^63" },
	{ S1, SWAP, "\"shape\":[32]", "\"shape\":[-32]", EF, NORM },
	{ S1, SWAP, "\"shape\":[32]", "\"shape\":[0]", EF, NORM },
	{ S1, SWAP, "\"shape\":[32]", "\"shape\":32", EF, NORM },
	{ S1, SWAP, "\"shape\":[32]", "\"shape\":[1,1,1,1,1,1,1,1,32]", EF, NORM },
	{ S1, SWAP, "\"BF16\"", "\"F4\"", EU, NORM "dtype F4 is not supported" },
	{ S1, SWAP, "\"BF16\"", "\"C64\"", EU, NORM "dtype C64 is not supported" },
	{ S1, SWAP, "\"BF16\"", "16", EF, NORM "\"dtype\" must be a string" },
	{ S1, SWAP, "\"dtype\":\"BF16\"", "\"dtype\":\"BF16\",\"dtype\":\"F32\"", EF, NORM },
	{ S1, SWAP, "\"dtype\":\"BF16\",", "", EF, NORM },
	{ S1, SWAP, FIRST, FIRST "," FIRST, EF, NORM },
	{ S1, SWAP, "input_layernorm", "input_\\u0000layernorm", EF, "1 to 4096 bytes and no NUL" },
	{ S1, SWAP, "input_layernorm", "input_\xfflayernorm", EF, S1 ": the value at byte" },
	{ S1, SWAP, "input_layernorm", "input_\\ud800layernorm", EF, S1 ": the value at byte" },
	{ S1, SWAP, "\"model.layers.1.input_layernorm.weight\"", "\"\"", EF, "1 to 4096 bytes" },
	{ S1, SWAP, "\"model.layers.1.input_layernorm.weight\"", "3", EF,
	  "the name of a tensor must" },
	{ S1, SWAP, "{\"__metadata__\"", "[{\"__metadata__\"", EF, S1 ": the header must be" },
	{ S1, SWAP, "{\"format\":\"pt\"}", "{\"format\":1}", EF,
	  "__metadata__: \"format\" must be" },
	{ S1, SWAP, "{\"format\":\"pt\"}", "[]", EF, "__metadata__" },
	{ S1, SWAP, "\"format\":\"pt\"},", "\"format\":\"pt\"}", EF, "\",\" or \"}\" must follow" },
	{ S2, SWAP, "model.layers.0.mlp.down_proj.weight", Q, EF,
	  S2 ": tensor " Q ": it is there twice" },
};

static void test_shards(void **state)
{
	(void)state;
	check_damage(shards, sizeof shards / sizeof *shards);
}

/* Lengths of headers: 0, too short, too long, beyond the file, 2^63 and more. */
static void test_lengths(void **state)
{
	static const uint64_t lengths[] = { 0,
		                            1,
		                            2,
		                            200,
		                            8000,
		                            100000000,
		                            100000001,
		                            UINT32_MAX,
		                            (uint64_t)1 << 32,
		                            (uint64_t)1 << 62,
		                            (uint64_t)1 << 63,
		                            ((uint64_t)1 << 63) - 1,
		                            UINT64_MAX,
		                            UINT64_MAX - 7,
		                            UINT64_MAX - 8 };
	char what[32];

	(void)state;
	for (size_t i = 0; i < 2 * (sizeof lengths / sizeof *lengths); i++) {
		const char *name = i % 2 ? S2 : S1;
		struct small s;

		small_new(&s);
		memcpy(small_file(&s, name)->at, &lengths[i / 2], 8);
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		snprintf(what, sizeof what, "length %#llx", (unsigned long long)lengths[i / 2]);
		check_refused(what, name, INFER_EFORMAT, NULL);
	}
}

/* Texts that are no JSON, or JSON of another kind, in the place of each file. */
static void test_texts(void **state)
{
	static const char *const files[] = {
		"config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json",
		IDX,           "special_tokens_map.json"
	};
	static const char *const texts[] = {
		"",
		" \n",
		"{",
		"}",
		"[]",
		"3",
		"null",
		"\"x\"",
		"nul",
		"{\"a\" 1}",
		"{\"a\":1,}",
		"{'a':1}",
		"{\"a\":1e999}",
		"{\"a\":01}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\\ud800\"}",
		"{\"a\":\"\n\"}",
		"{\"a\":1}{\"a\":1}",
		"\xef\xbb\xbf{}",
		"{\"a\":NaN}",
		"<html></html>",
		"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
	};
	static const enum how kinds[] = { FOLDER, FIFO, LINK };

	(void)state;
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			check_damage(&(struct damage){ files[k], SET, texts[i], NULL, 0, NULL }, 1);
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			check_damage(&(struct damage){ files[k], kinds[i], "nowhere", NULL,
			                               INFER_EIO, NULL },
			             1);
	}
}

/* Each text cut in its middle, and with many values, or many levels. */
static void test_large_texts(void **state)
{
	static const char *const files[] = { "config.json", "generation_config.json",
		                             "tokenizer_config.json", "tokenizer.json", IDX };
	enum { N = 3 << 20 };
	char *text = malloc(N + 16), cut[24];

	(void)state;
	assert_non_null(text);
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct small s;

		small_new(&s);
		size_t n = small_file(&s, files[k])->n;
		small_free(&s);
		for (size_t part = 1; part < 8; part++) {
			snprintf(cut, sizeof cut, "%zu", n * part / 8);
			check_damage(
				&(struct damage){ files[k], CUT, cut, NULL, INFER_EFORMAT, NULL },
				1);
		}
		memset(text, '[', N);
		text[N] = 0;
		check_damage(&(struct damage){ files[k], SET, text, NULL, 0, NULL }, 1);
		memcpy(text, "{\"a\":", 5);
		check_damage(&(struct damage){ files[k], SET, text, NULL, 0, NULL }, 1);
		for (int i = 6; i < N; i += 2)
			memcpy(text + i, "1,", 2);
		memcpy(text + N - 3, "1]}", 4);
		check_damage(&(struct damage){ files[k], SET, text, NULL, 0, NULL }, 1);
	}
	free(text);
}

/* --- tensors that are not the architecture's */

/* In a shard and in the index. */
static void swap_all(struct small *s, const char *a, const char *b)
{
	static const char *const files[] = { IDX, S1, S2 };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct small_file *f = small_file(s, files[i]);
		if (memmem(f->at, f->n, a, strlen(a)))
			swap(s, files[i], a, b);
	}
}

/* Each tensor under another name, with another dtype of the same size, and with its rows and columns
 * exchanged. */
static void test_tensors(void **state)
{
	struct small_tensor t[SMALL_TENSORS];
	int n = small_tensors(t);
	char a[256], b[256];

	(void)state;
	for (int i = 0; i < 3 * n; i++) {
		const struct small_tensor *x = &t[i / 3];
		struct small s;

		snprintf(a, sizeof a, "\"%s\":{\"dtype\":\"BF16\",\"shape\":[%d,%d]", x->name,
		         x->rows, x->cols);
		if (!x->rows)
			snprintf(a, sizeof a, "\"%s\":{\"dtype\":\"BF16\",\"shape\":[%d]", x->name,
			         x->cols);
		if (i % 3 == 0)
			snprintf(b, sizeof b, "\"%s\":{\"dtype\":\"I16\",\"shape\":[%d,%d]",
			         x->name, x->rows ? x->rows : 1, x->cols);
		else
			snprintf(b, sizeof b, "\"%s\":{\"dtype\":\"BF16\",\"shape\":[%d,%d]",
			         x->name, x->rows ? x->cols : 2, x->rows ? x->rows : x->cols / 2);
		if (i % 3 == 2) {
			snprintf(a, sizeof a, "\"%s\"", x->name);
			snprintf(b, sizeof b, "\"%s_x\"", x->name);
		}
		if (i % 3 == 1 && x->rows == x->cols)
			continue;
		small_new(&s);
		swap_all(&s, a, b);
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		check_refused(b, x->name, 0, NULL);
	}
}

/* --- members of config.json */

static const struct {
	const char *member, *value;
} members[] = {
	{ "rope_theta", "10000.0" },
	{ "hidden_size", "32" },
	{ "intermediate_size", "48" },
	{ "num_hidden_layers", "2" },
	{ "num_attention_heads", "4" },
	{ "num_key_value_heads", "2" },
	{ "head_dim", "8" },
	{ "max_position_embeddings", "512" },
	{ "rms_norm_eps", "1e-05" },
	{ "vocab_size", "260" },
	{ "hidden_act", "\"silu\"" },
	{ "architectures", "[\"LlamaForCausalLM\"]" },
};

static void test_members(void **state)
{
	static const char *const values[] = {
		"-1",   "4294967296",          "1e308",    "\"x\"",    "[]", "{}",
		"true", "9223372036854775807", "Infinity", "-Infinity"
	};
	char a[128], b[128];

	(void)state;
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
			if (!i && k == 1)
				continue; /* it is a number that a base may have */
			snprintf(a, sizeof a, "\"%s\": %s", members[i].member, members[i].value);
			snprintf(b, sizeof b, "\"%s\": %s", members[i].member, values[k]);
			check_damage(
				&(struct damage){ "config.json", SWAP, a, b, 0, members[i].member },
				1);
		}
}

/* Every few bytes of the texts and headers changed: refused in one line, or opened. */
static void test_bytes(void **state)
{
	static const char *const files[] = { "config.json",
		                             "generation_config.json",
		                             "tokenizer_config.json",
		                             "tokenizer.json",
		                             IDX,
		                             S1 };
	int opened = 0;

	(void)state;
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct small s;

		small_new(&s);
		struct small_file *x = small_file(&s, files[k]);
		size_t n = x->n < 1200 ? x->n : 1200;

		for (size_t i = k; i < n; i += 5) {
			infer_error err = { 0 };
			infer_file *f;
			uint64_t live = mem_live();

			x->at[i] = (char)(x->at[i] ^ 1 << i % 7);
			assert_int_equal(small_write(&s, dir), 0);
			int rc = infer_file_open(&f, dir, &err);
			opened += !rc;
			if (rc && ((rc != INFER_EIO && rc != INFER_EFORMAT && rc != INFER_EUNSUP) ||
			           strncmp(err.message, dir, sizeof dir - 1) ||
			           strchr(err.message, '\n')))
				fail_msg("%s: byte %zu: %s: %s", files[k], i, infer_status_name(rc),
				         err.message);
			infer_file_close(&f);
			assert_int_equal(mem_live(), live);
			x->at[i] = (char)(x->at[i] ^ 1 << i % 7);
		}
		small_free(&s);
	}
	assert_true(opened);
}

/* Files that their owner may not read; root may. */
static void test_unreadable(void **state)
{
	static const char *const files[] = { "config.json", "tokenizer.json", IDX, S1, "" };
	char path[256];

	(void)state;
	if (!geteuid()) {
		print_message("root reads everything: left out\n");
		return;
	}
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct small s;

		small_new(&s);
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		snprintf(path, sizeof path, "%s%s%s", dir, *files[k] ? "/" : "", files[k]);
		assert_int_equal(chmod(path, 0), 0);
		check_refused("mode 0", files[k], INFER_EIO, "Permission denied");
		assert_int_equal(chmod(path, 0700), 0);
	}
}

/* --- memory, and the count */

static void test_count(void **state)
{
	struct os_usage u;

	(void)state;
	os_usage(&u);
	print_message("%d damaged directories, at most %llu MiB in use\n", refused,
	              (unsigned long long)u.peak_rss_bytes >> 20);
	assert_true(refused >= 300);
	if (!NTH_SANITIZED)
		assert_true(u.peak_rss_bytes < 64 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index),       cmocka_unit_test(test_shards),
		cmocka_unit_test(test_lengths),     cmocka_unit_test(test_texts),
		cmocka_unit_test(test_large_texts), cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_members),     cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_unreadable),  cmocka_unit_test(test_count),
	};
	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
