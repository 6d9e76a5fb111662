/* tests/unit/hf/test_special.c - vocabularies of SentencePiece, special tokens, templates and sampling of
 * directories: the keys that the public converter writes (scripts/golden-hf-special.py), and what is
 * refused. */
#include "../nth.h"
#include "open.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infer/file.h>
#include <infer/token.h>
#include "base/jread.h"

#define GOLDEN "tests/golden/hf/special/"

static const struct {
	const char *name, *arch;
} cases[] = {
	{ "alone", "llama" },      { "bert-like", "llama" },    { "both", "llama" },
	{ "code", "llama" },       { "files", "llama" },        { "front", "llama" },
	{ "glm", "glm4moe" },      { "glm-dense", "glm4" },     { "level", "llama" },
	{ "pair", "llama" },       { "roberta", "llama" },      { "small", "llama" },
	{ "spm-llama", "llama" },  { "spm-gemma", "gemma2" },   { "spm-phi3", "phi3" },
	{ "spm-prefix", "llama" }, { "spm-phi3-json", "phi3" }, { "ids-user", "llama" },
	{ "ids-rules", "llama" },  { "ids-unigram", "llama" },
};
enum { CASES = sizeof cases / sizeof *cases };

/* Keys that only we write. */
static int is_ours(const struct infer_meta *m)
{
	static const char *const ours[] = { "tokenizer.infer.", "general.name", "general.type",
		                            "general.quantization_version" };

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (m->key.len >= strlen(ours[i]) && !memcmp(m->key.at, ours[i], strlen(ours[i])))
			return 1;
	return 0;
}

/* The converter keeps names of templates in a set, which has no order. */
static int has_order(const struct infer_meta *m)
{
	return m->key.len != 24 || memcmp(m->key.at, "tokenizer.chat_templates", 24);
}

static int same_value(const struct infer_meta *a, const struct infer_meta *b)
{
	const struct file_value *x = file_value(a), *y = file_value(b);

	return a->type == b->type && a->elem_type == b->elem_type && a->count == b->count &&
	       x->bytes == y->bytes && (!has_order(a) || !memcmp(x->at, y->at, x->bytes));
}

/* A case's keys are those of want.gguf, and no others. */
static void compare(const char *name, const char *arch)
{
	char path[256], want_path[320], key[128];
	struct opened o;
	infer_error err = { 0 };
	infer_file *want;
	uint32_t ours = 0;

	snprintf(path, sizeof path, GOLDEN "%s", name);
	snprintf(want_path, sizeof want_path, "%s/want.gguf", path);
	if (open_special(&o, path, arch, &err))
		fail_msg("%s", err.message);
	if (infer_file_open(&want, want_path, &err))
		fail_msg("%s", err.message);
	for (uint32_t i = 0; i < want->meta.n; i++) {
		const struct infer_meta *w = &want->meta.at[i].meta;
		snprintf(key, sizeof key, "%.*s", (int)w->key.len, w->key.at);
		const struct infer_meta *m = file_meta_get(&o.f.meta, key);
		if (!m || !same_value(m, w))
			fail_msg("%s: %s %s", name, key, m ? "differs" : "is missing");
	}
	for (uint32_t i = 0; i < o.f.meta.n; i++)
		if (!infer_file_meta(want, (snprintf(key, sizeof key, "%.*s",
		                                     (int)o.f.meta.at[i].meta.key.len,
		                                     o.f.meta.at[i].meta.key.at),
		                            key))) {
			if (!is_ours(&o.f.meta.at[i].meta))
				fail_msg("%s: %s is not the converter's", name, key);
			ours++;
		}
	assert_true(ours <= 4);
	infer_file_close(&want);
	close_opened(&o);
}

static void test_keys(void **state)
{
	(void)state;
	for (int i = 0; i < CASES; i++)
		if (strncmp(cases[i].name, "ids-", 4) != 0)
			compare(cases[i].name, cases[i].arch);
}

/* One line of ids.txt: a JSON string, then ids. */
static int check_line(const infer_tokenizer *t, const char *line)
{
	struct arena a;
	const struct json *text;
	const char *end = strrchr(line, '"') + 1;
	infer_error err;
	int32_t *ids;
	size_t n;
	char *p = (char *)end;

	arena_init(&a, MEM_TOK);
	assert_int_equal(jread(&text, &a, line, (size_t)(end - line), "ids.txt", NULL), INFER_OK);
	if (infer_encode(t, text->s, text->n, 0, &ids, &n, &err))
		fail_msg("%s: %s", line, err.message);
	for (size_t i = 0; i < n; i++)
		if (strtol(p, &p, 10) != ids[i])
			fail_msg("%s: id %zu is %d", line, i, ids[i]);
	while (*p == ' ' || *p == '\n')
		p++;
	assert_int_equal(*p, '\0');
	infer_ids_free(ids);
	arena_fini(&a);
	return 1;
}

static void test_ids(void **state)
{
	int lines = 0;

	(void)state;
	for (int i = 0; i < CASES; i++) {
		char path[256], line[1024];
		struct opened o;
		infer_tokenizer *t;

		snprintf(path, sizeof path, GOLDEN "%s/ids.txt", cases[i].name);
		FILE *in = fopen(path, "r");
		if (!in)
			continue;
		*strrchr(path, '/') = '\0';
		assert_int_equal(open_special(&o, path, cases[i].arch, NULL), INFER_OK);
		assert_int_equal(infer_tokenizer_open(&t, &o.f, NULL), INFER_OK);
		while (fgets(line, sizeof line, in))
			lines += check_line(t, line);
		infer_tokenizer_close(&t);
		close_opened(&o);
		fclose(in);
	}
	assert_int_equal(lines, 49);
}

/* ---- what is refused ---- */

static char folder[64];

static void put_file(const char *name, const char *at, size_t n)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(at, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void drop_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	(void)unlink(path);
}

#define PIECE "\x0a\x08\x0a\x01q\x15\0\0\0\0" /* "q", score 0 */
#define P(s) PIECE s, sizeof(PIECE s) - 1
#define Q(s) s, sizeof(s) - 1

static const struct {
	const char *at;
	size_t n;
	int code;
	const char *says;
} models[] = {
	{ Q(""), INFER_EUNSUP, "not a file of SentencePiece" },
	{ Q("IQ== 0\nIg== 1\n"), INFER_EUNSUP, "not a file of SentencePiece" },
	{ P("\x0a\x80"), INFER_EFORMAT, "the model, byte 11: a number that does not end" },
	{ P("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), INFER_EFORMAT, "more than 64 bits" },
	{ P("\x0a\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01q"), INFER_EFORMAT,
	  "byte 10: a field that is longer than what follows" },
	{ P("\x0a\x02q"), INFER_EFORMAT, "a field that is longer than what follows" },
	{ P("\0\0"), INFER_EFORMAT, "a field number that must be 1 ... 536870911" },
	{ P("\x0b"), INFER_EFORMAT, "a field of an unknown wire type" },
	{ P("\x0d\0\0\0"), INFER_EFORMAT, "a number that is cut off" },
	{ P("\x08\0"), INFER_EFORMAT, "field 1 of the model must have wire type 2, not 0" },
	{ P("\x32\0"), INFER_EUNSUP, "field 6 of the model is not supported" },
	{ P("\x0a\0"), INFER_EFORMAT, "piece 1 is empty" },
	{ P("\x0a\x03\x0a\x01\xff"), INFER_EFORMAT, "piece 1 is not UTF-8" },
	{ P("\x0a\x05\x0a\x01x\x18\x09"), INFER_EFORMAT, "piece 1 has type 7, not 1 ... 6" },
	{ P("\x0a\x05\x0a\x01x\x18\0"), INFER_EFORMAT, "piece 1 has type 0, not 1 ... 6" },
	{ P("\x0a\x08\x0a\x01x\x15\0\0\xc0\x7f"), INFER_EFORMAT,
	  "the score of piece 1 is not a number" },
	{ P("\x0a\x05\x0a\x01x\x10\0"), INFER_EFORMAT,
	  "field 2 of a piece must have wire type 5, not 0" },
	{ P("\x0a\x05\x0a\x01x\x20\0"), INFER_EUNSUP, "field 4 of piece 1 is not supported" },
	{ P("\x12\x02\x18\x03"), INFER_EUNSUP, "model_type WORD of trainer_spec" },
	{ P("\x12\x02\x18\x04"), INFER_EUNSUP, "model_type CHAR of trainer_spec" },
	{ P("\x12\x02\x18\x07"), INFER_EUNSUP, "model_type (unknown) of trainer_spec" },
	{ P("\x12\x03\xc0\x01\x01"), INFER_EUNSUP, "treat_whitespace_as_suffix of trainer_spec" },
	{ P("\x1a\x02\x28\0"), INFER_EUNSUP, "escape_whitespaces = false of normalizer_spec" },
	{ P("\x1a\x02\x38\0"), INFER_EUNSUP, "field 7 of normalizer_spec is not supported" },
	{ P("\x1a\x02\x12\x05"), INFER_EFORMAT,
	  "normalizer_spec, byte 12: a field that is longer" },
	{ P("\x2a\x03\x12\x01x"), INFER_EUNSUP, "precompiled_charsmap of denormalizer_spec" },
};

static void test_models(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		struct opened o;
		infer_error err = { 0 };

		put_file("config.json", Q("{}"));
		put_file("tokenizer.model", models[i].at, models[i].n);
		int rc = open_special(&o, folder, "llama", &err);
		if (rc != models[i].code || !strstr(err.message, models[i].says) ||
		    !strstr(err.message, "/tokenizer.model: "))
			fail_msg("row %zu: %d, %s", i, rc, err.message);
		close_opened(&o);
	}
	drop_file("tokenizer.model");
}

/* name and text of a file beside a config.json and a tokenizer.json of nothing */
static const struct {
	const char *name, *text;
	int code;
	const char *says;
} texts[] = {
	{ "config.json", "{\"vocab_size\": 0}", INFER_EFORMAT, "vocab_size" },
	{ "config.json", "{\"vocab_size\": 1e9}", INFER_EFORMAT, "vocab_size" },
	{ "config.json", "{\"bos_token_id\": \"1\"}", INFER_EFORMAT,
	  "config.json: bos_token_id must be an integer" },
	{ "config.json", "{\"bos_token_id\": [1]}", INFER_EFORMAT,
	  "bos_token_id must be an integer" },
	{ "config.json", "{\"eos_token_id\": [1, \"2\"]}", INFER_EFORMAT,
	  "config.json: eos_token_id must be an integer or" },
	{ "generation_config.json", "{\"eos_token_id\": {}}", INFER_EFORMAT,
	  "generation_config.json: eos_token_id must be" },
	{ "generation_config.json", "{\"top_k\": 1.5}", INFER_EFORMAT,
	  "generation_config.json: top_k must be an integer" },
	{ "generation_config.json", "{\"top_k\": 4294967296}", INFER_EFORMAT,
	  "top_k must be an integer" },
	{ "generation_config.json", "{\"temperature\": \"warm\"}", INFER_EFORMAT,
	  "temperature must be a number" },
	{ "tokenizer_config.json", "{\"bos_token\": 1}", INFER_EFORMAT,
	  "bos_token must be a string or an object" },
	{ "tokenizer_config.json", "{\"eos_token\": {\"content\": 2}}", INFER_EFORMAT,
	  "eos_token must be a string or" },
	{ "tokenizer_config.json", "{\"add_eos_token\": 1}", INFER_EFORMAT,
	  "add_eos_token must be true or false" },
	{ "tokenizer_config.json", "{\"chat_template\": 1}", INFER_EFORMAT,
	  "chat_template must be a string or an array" },
	{ "tokenizer_config.json", "{\"chat_template\": [{\"name\": \"a\"}]}", INFER_EFORMAT,
	  "an element must have a name and a template" },
	{ "tokenizer_config.json", "{\"chat_template\": [{\"name\": \"\", \"template\": \"\"}]}",
	  INFER_EFORMAT, "must have 1 ... 64 bytes" },
	{ "tokenizer_config.json",
	  "{\"chat_template\": [{\"name\": \"a b\", \"template\": \"\"}, {\"name\": \"a_b\", "
	  "\"template\": \"\"}]}",
	  INFER_EFORMAT, "two chat templates are called a_b" },
	{ "tokenizer_config.json",
	  "{\"chat_template\": [{\"name\": \"default\", \"template\": \"\"}, {\"name\": "
	  "\"default\", \"template\": \"\"}]}",
	  INFER_EFORMAT, "two chat templates are the default" },
	{ "chat_template.json", "[]", INFER_EFORMAT, "chat_template.json: must be a JSON object" },
	{ "chat_template.json", "{\"chat_template\": {}}", INFER_EFORMAT,
	  "chat_template.json: chat_template must be" },
	{ "special_tokens_map.json", "[]", INFER_EFORMAT,
	  "special_tokens_map.json: must be a JSON object" },
	{ "tokenizer.json", "{\"added_tokens\": {}}", INFER_EFORMAT,
	  "added_tokens must be an array" },
	{ "tokenizer.json", "{\"post_processor\": []}", INFER_EFORMAT,
	  "post_processor must be an object" },
	{ "tokenizer.json", "{\"post_processor\": {\"type\": \"Sequence\", \"processors\": {}}}",
	  INFER_EFORMAT, "post_processor must be an object" },
	{ "tokenizer.json", "{\"post_processor\": {\"type\": \"Other\"}}", INFER_EUNSUP,
	  "post_processor of type Other is not supported" },
	{ "tokenizer.json", "{\"post_processor\": {}}", INFER_EUNSUP,
	  "post_processor of type (none)" },
	{ "tokenizer.json",
	  "{\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": 1}}", INFER_EFORMAT,
	  "single and pair must be arrays" },
};

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct opened o;
		infer_error err = { 0 };

		put_file("config.json", Q("{}"));
		put_file("tokenizer.json", Q("{\"a\": [\"]\\\"\"], \"added_tokens\": []}"));
		put_file(texts[i].name, texts[i].text, strlen(texts[i].text));
		int rc = open_special(&o, folder, "llama", &err);
		if (rc != texts[i].code || !strstr(err.message, texts[i].says))
			fail_msg("row %zu: %d, %s", i, rc, err.message);
		close_opened(&o);
		drop_file(texts[i].name);
	}
	drop_file("config.json");
	drop_file("tokenizer.json");
}

/* Files that go with tokenizer.model. */
static void test_added(void **state)
{
	static const struct {
		const char *name, *text, *says;
	} rows[] = {
		{ "added_tokens.json", "[]", "added_tokens.json: must be an object" },
		{ "added_tokens.json", "{\"x\": -1}", "x must be a token's number" },
		{ "added_tokens.json", "{\"x\": \"1\"}", "x must be a token's number" },
		{ "tokenizer_config.json", "{\"added_tokens_decoder\": []}",
		  "added_tokens_decoder must be an object" },
		{ "tokenizer_config.json",
		  "{\"added_tokens_decoder\": {\"-1\": {\"content\": \"a\"}}}",
		  "-1 must be a token's number" },
		{ "tokenizer_config.json",
		  "{\"added_tokens_decoder\": {\"99999999999\": {\"content\": \"a\"}}}",
		  "99999999999 must be" },
		{ "tokenizer_config.json", "{\"added_tokens_decoder\": {\"1\": {\"content\": 1}}}",
		  "1 must be a token's number with its content" },
		{ "tokenizer_config.json",
		  "{\"added_tokens_decoder\": {\"1\": {\"content\": \"a\", \"special\": 1}}}",
		  "1 must be" },
		{ "tokenizer_config.json",
		  "{\"added_tokens_decoder\": {\"0\": {\"content\": \"a\", \"lstrip\": 1}}}",
		  "lstrip of an added token must be true or false" },
		{ "tokenizer_config.json", "{\"add_prefix_space\": 1}",
		  "add_prefix_space must be true or false" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct opened o;
		infer_error err = { 0 };

		put_file("config.json", Q("{}"));
		put_file("tokenizer.model", P(""));
		put_file(rows[i].name, rows[i].text, strlen(rows[i].text));
		int rc = open_special(&o, folder, "llama", &err);
		if (rc != INFER_EFORMAT || !strstr(err.message, rows[i].says))
			fail_msg("row %zu: %d, %s", i, rc, err.message);
		close_opened(&o);
		drop_file(rows[i].name);
	}
	drop_file("config.json");
	drop_file("tokenizer.model");
}

/* Added tokens that take white space next to them have keys; one outside the vocabulary has none. */
static void test_edges(void **state)
{
	static const char text[] = "{\"added_tokens_decoder\": {\"0\": {\"content\": \"<a>\", "
				   "\"lstrip\": true, \"rstrip\": true},"
				   " \"1\": {\"content\": \"<b>\", \"lstrip\": false, "
				   "\"single_word\": true}, \"2\": {\"content\": \"<c>\"},"
				   " \"9\": {\"content\": \"<d>\", \"rstrip\": true}}}";
	struct opened o;

	(void)state;
	put_file("config.json", Q("{\"vocab_size\": 4}"));
	put_file("tokenizer.model", P(""));
	put_file("tokenizer_config.json", Q(text));
	assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
	const struct infer_meta *m = file_meta_get(&o.f.meta, "tokenizer.infer.added.ids");
	assert_non_null(m);
	assert_int_equal(m->count, 2);
	assert_memory_equal(file_value(m)->at, "\0\0\0\0\1\0\0\0", 8);
	m = file_meta_get(&o.f.meta, "tokenizer.infer.added.flags");
	assert_memory_equal(file_value(m)->at, "\3\4", 2);
	m = file_meta_get(&o.f.meta, "tokenizer.infer.added.content");
	assert_memory_equal(file_value(m)->at, "\3\0\0\0\0\0\0\0<a>\3\0\0\0\0\0\0\0<b>", 22);
	close_opened(&o);
	drop_file("config.json");
	drop_file("tokenizer.model");
	drop_file("tokenizer_config.json");
}

/* Ids that generation_config.json and config.json list end generation, each once; ids outside the
 * vocabulary are left out. */
static void test_ends(void **state)
{
	static const char generation[] = "{\"eos_token_id\": [7, 3, 7, 99, -1, 4]}",
			  config[] = "{\"vocab_size\": 12, \"eos_token_id\": [4, 5]}";
	struct opened o;
	int64_t id;

	(void)state;
	put_file("config.json", Q(config));
	put_file("generation_config.json", Q(generation));
	put_file("tokenizer.json", Q("{}"));
	assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
	const struct infer_meta *m = file_meta_get(&o.f.meta, "tokenizer.infer.eos_token_ids");
	static const int64_t want[] = { 3, 4, 5 };
	assert_non_null(m);
	assert_int_equal(m->count, 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(infer_meta_elem_i64(&o.f, m, i, &id, NULL), INFER_OK);
		assert_int_equal(id, want[i]);
	}
	m = file_meta_get(&o.f.meta, "tokenizer.ggml.eos_token_id");
	assert_non_null(m);
	assert_int_equal(infer_meta_elem_i64(&o.f, m, 0, &id, NULL), INFER_OK);
	assert_int_equal(id, 7);
	assert_true(o.d.n_notes > 0);
	close_opened(&o);
	drop_file("config.json");
	drop_file("generation_config.json");
	drop_file("tokenizer.json");
}

/* Where tokenizer_config.json has no added_tokens_decoder, tokenizer.json says what is added. */
static void test_json(void **state)
{
	static const char text[] =
		"{\"added_tokens\": [{\"id\": 0, \"content\": \"q\", \"special\": true}, {\"id\": "
		"1, \"content\": \"<|x|>\"},"
		" {\"id\": 2, \"content\": \"a\xe2\x96\x81z\", \"rstrip\": true}]}";
	struct infer_token_info info;
	infer_tokenizer *t;
	struct opened o;

	(void)state;
	put_file("config.json", Q("{\"vocab_size\": 4, \"bos_token_id\": 0, \"eos_token_id\": 1}"));
	put_file("tokenizer.model", P("\x12\x02\x18\x02"));
	put_file("tokenizer.json", Q(text));
	assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
	assert_int_equal(infer_tokenizer_open(&t, &o.f, NULL), INFER_OK);
	static const int kinds[] = { 1, 3, 4, 5 };
	for (int i = 0; i < 4; i++) {
		assert_int_equal(infer_token_info(t, i, &info, NULL), INFER_OK);
		assert_int_equal(info.kind, kinds[i]);
	}
	assert_int_equal(infer_token_find(t, "a z", 3), 2);
	infer_tokenizer_close(&t);
	const struct infer_meta *m = file_meta_get(&o.f.meta, "tokenizer.infer.added.flags");
	assert_non_null(m);
	assert_int_equal(m->count, 1);
	close_opened(&o);
	drop_file("config.json");
	drop_file("tokenizer.model");
	drop_file("tokenizer.json");
}

/* The tokenizer takes them as ends. */
static void test_eog(void **state)
{
	static const char config[] =
		"{\"vocab_size\": 6, \"bos_token_id\": 0, \"eos_token_id\": [1, 4]}";
	infer_tokenizer *t;
	struct opened o;

	(void)state;
	put_file("config.json", Q(config));
	put_file("tokenizer.model", P("\x12\x02\x18\x02"));
	assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
	assert_int_equal(infer_tokenizer_open(&t, &o.f, NULL), INFER_OK);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(infer_token_is_eog(t, i), i == 1 || i == 4);
	}
	infer_tokenizer_close(&t);
	close_opened(&o);
	drop_file("config.json");
	drop_file("tokenizer.model");
}

/* What generation_config.json recommends and nothing applies is noted. */
static void test_unused(void **state)
{
	static const char text[] = "{\"typical_p\": 0.9, \"num_beams\": 1, \"suppress_tokens\": "
				   "[], \"bad_words_ids\": [[1]], \"min_length\": null}";
	struct opened o;

	(void)state;
	put_file("config.json", Q("{}"));
	put_file("generation_config.json", Q(text));
	put_file("tokenizer.json", Q("{}"));
	assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
	assert_int_equal(o.d.n_notes, 2);
	assert_string_equal(o.d.notes[0], "generation_config.json: typical_p is not applied");
	assert_string_equal(o.d.notes[1], "generation_config.json: bad_words_ids is not applied");
	close_opened(&o);
	drop_file("config.json");
	drop_file("generation_config.json");
	drop_file("tokenizer.json");
}

/* The name of the model, as the converter writes it. */
static void test_names(void **state)
{
	static const char *const rows[][2] = {
		{ "org/tiny-model-7b-v1.5", "Tiny Model 7b v1.5" },
		{ "Qwen2.5-0.5B-instruct", "Qwen2.5 0.5B Instruct" },
		{ "org/x2y-ABC--def", "X2Y ABC Def" },
		{ "A model of words", "A model of words" },
	};

	(void)state;
	put_file("tokenizer.json", Q("{}"));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[128];
		struct opened o;

		snprintf(text, sizeof text, "{\"_name_or_path\": \"%s\"}", rows[i][0]);
		put_file("config.json", text, strlen(text));
		assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
		const struct file_value *v = file_value(file_meta_get(&o.f.meta, "general.name"));
		assert_int_equal(v->bytes, 8 + strlen(rows[i][1]));
		assert_memory_equal(v->at + 8, rows[i][1], strlen(rows[i][1]));
		close_opened(&o);
	}
	drop_file("config.json");
	drop_file("tokenizer.json");
}

/* The licence and the name of the model card. */
static void test_card(void **state)
{
	static const struct {
		const char *text, *licence, *name;
	} rows[] = {
		{ "---\nlicense: mit\n---\nlicense: no\n", "mit", NULL },
		{ "---\r\nlanguage:\r\n- en\r\nlicense: 'apache-2.0' # so\r\nmodel_name: My "
		  "model\r\n---\r\n",
		  "apache-2.0", "My model" },
		{ "---\nlicense:\n- mit\n- \"bsd\"\nname: x\n---\n", "mit,bsd", "x" },
		{ "---\nlicense:\n  - mit\ntags: [a]\n---\n", "mit", NULL },
		{ "---\nlicense: [mit]\nname: {a: b}\n---\n", NULL, NULL },
		{ "---\nlicense: \"mit\nname: |\n  x\n---\n", NULL, NULL },
		{ "---\nlicense: m\x01t\n---\n", NULL, NULL },
		{ "---\n---\nlicense: mit\n", NULL, NULL },
		{ "license: mit\n", NULL, NULL },
		{ "---\nlicense", NULL, NULL },
		{ "---\nlicense:", NULL, NULL },
		{ "---\nlicense:\n-", NULL, NULL },
		{ "", NULL, NULL },
	};

	(void)state;
	put_file("config.json", Q("{\"_name_or_path\": \"own\"}"));
	put_file("tokenizer.json", Q("{}"));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct opened o;
		struct infer_str s = { 0 };

		put_file("README.md", rows[i].text, strlen(rows[i].text));
		assert_int_equal(open_special(&o, folder, "llama", NULL), INFER_OK);
		assert_int_equal(infer_meta_str(&o.f, "general.license", &s, NULL, NULL), INFER_OK);
		if (s.len != (rows[i].licence ? strlen(rows[i].licence) : 0) ||
		    (s.len && memcmp(s.at, rows[i].licence, s.len) != 0))
			fail_msg("row %zu: %.*s", i, (int)s.len, s.at);
		assert_int_equal(infer_meta_str(&o.f, "general.name", &s, NULL, NULL), INFER_OK);
		const char *name = rows[i].name ? rows[i].name : "Own";
		if (s.len != strlen(name) || memcmp(s.at, name, s.len) != 0)
			fail_msg("row %zu: %.*s", i, (int)s.len, s.at);
		close_opened(&o);
	}
	drop_file("config.json");
	drop_file("tokenizer.json");
	drop_file("README.md");
}

/* Every allocation may fail. */
static int case_memory(void)
{
	struct opened o;
	int rc = INFER_OK;

	for (int i = 0; i < 2 && !rc; i++) {
		rc = open_special(&o, i ? GOLDEN "both" : GOLDEN "spm-llama", "llama", NULL);
		close_opened(&o);
	}
	return rc;
}

static int make_folder(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof folder, "%.40s/infer-hf-XXXXXX", tmp ? tmp : "/tmp");
	return !mkdtemp(folder);
}

static int drop_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_ids),
		cmocka_unit_test_setup_teardown(test_models, make_folder, NULL),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_eog),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_unused),
		cmocka_unit_test(test_card),
		cmocka_unit_test_setup_teardown(test_names, NULL, drop_folder),
		nth_case(case_memory),
	};

	return nth_group(tests);
}
