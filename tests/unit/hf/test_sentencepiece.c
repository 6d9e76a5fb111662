/* tests/unit/hf/test_sentencepiece.c - tokenizer.model: the ids that sentencepiece gives
 * (scripts/golden-hf-special.py), what is refused by field, and tokens that are added. */
#include "../nth.h"
#include "open.h"

#include <infer/token.h>
#include "base/jread.h"

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

static const struct {
	const char *name, *arch;
} cases[] = {
	{ "spm-llama", "llama" },    { "spm-gemma", "gemma2" }, { "spm-phi3", "phi3" },
	{ "spm-phi3-json", "phi3" }, { "ids-user", "llama" },   { "ids-rules", "llama" },
	{ "ids-unigram", "llama" },
};

static void test_ids(void **state)
{
	int lines = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
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

/* The tokenizer takes every id of a list as an end. */
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

static int case_memory(void)
{
	struct opened o;
	int rc = open_special(&o, GOLDEN "ids-unigram", "llama", NULL);

	close_opened(&o);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test_setup_teardown(test_models, make_folder, NULL),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_json),
		cmocka_unit_test_setup_teardown(test_eog, NULL, drop_folder),
		nth_case(case_memory),
	};

	return nth_group(tests);
}
