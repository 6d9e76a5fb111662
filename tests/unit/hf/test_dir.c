/* tests/unit/hf/test_dir.c - a directory of a small model opens; directories that are damaged, or are
 * something else, are refused in one line with the file and the key or tensor in it. */
#include "../nth.h"
#include "small.h"

#include <errno.h>

#include <infer/file.h>
#include "base/os.h"

static char dir[] = "/tmp/infer-test-dir-XXXXXX";
static int refused; /* directories so far */

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	(void)state;
	small_clear(dir, 0);
	return rmdir(dir);
}

/* The directory is there.  It is refused in one line; says may be NULL. */
static void check_refused(const char *what, const char *file, int code, const char *says)
{
	uint64_t live = mem_live();
	infer_error err = { 0 };
	infer_file *f = (infer_file *)1;
	int rc = infer_file_open(&f, dir, &err);

	if (!rc)
		fail_msg("%s: %s: opened", file, what);
	assert_null(f);
	refused++;
	if (code ? rc != code : rc != INFER_EIO && rc != INFER_EFORMAT && rc != INFER_EUNSUP)
		fail_msg("%s: %s: %s: %s", file, what, infer_status_name(rc), err.message);
	if (strncmp(err.message, dir, sizeof dir - 1) || strchr(err.message, '\n') ||
	    !strstr(err.message, file) || (says && !strstr(err.message, says)))
		fail_msg("%s: %s: says %s, not %s", file, what, err.message,
		         says ? says : "the file");
	if (mem_live() != live)
		fail_msg("%s: %s: %lld blocks left", file, what, (long long)(mem_live() - live));
}

/* --- what is right */

static struct small base;

static int case_open(void)
{
	struct infer_file_info info;
	infer_error err = { 0 };
	infer_file *f = NULL;
	char id[65], sum[65];
	int rc;

	nth_ok(infer_file_open(&f, dir, &err));
	infer_file_info(f, &info);
	assert_string_equal(info.format, "hf");
	/* 5 texts and tokenizer.json, the index, and 2 shards */
	assert_int_equal(info.n_shards, 9);
	assert_int_equal(info.n_tensors, SMALL_TENSORS);
	assert_string_equal(infer_file_path(f), dir);
	assert_int_equal(infer_file_check_unchanged(f, &err), INFER_OK);
	infer_file_id(f, id);
	assert_int_equal(strlen(id), 64);
	for (int i = 0; i < info.n_shards; i++)
		assert_int_equal(infer_file_sha256(f, i, sum, NULL, &err), INFER_OK);
	assert_int_equal(infer_file_sha256(f, info.n_shards, sum, NULL, &err), INFER_EINVAL);
out:
	infer_file_close(&f);
	return rc;
}

static void test_open(void **state)
{
	small_new(&base);
	assert_int_equal(small_write(&base, dir), 0);
	nth_run(state);
	small_free(&base);
}

/* The id of what lies in dir, or in a folder of it. */
static void read_id(const char *folder, char id[65])
{
	infer_error err = { 0 };
	infer_file *f;
	char path[256];

	snprintf(path, sizeof path, "%s%s", dir, folder);
	if (infer_file_open(&f, path, &err))
		fail_msg("%s", err.message);
	infer_file_id(f, id);
	infer_file_close(&f);
}

/* A space at the end of any text, or another byte in any tensor, and the id is another one. */
static void test_id(void **state)
{
	char first[65], again[65], other[65];

	(void)state;
	small_new(&base);
	small_set(&base, "additional_chat_templates/x.jinja", "{{ 1 }}", 7);
	assert_int_equal(small_write(&base, dir), 0);
	read_id("", first);
	read_id("/", again);
	assert_string_equal(first, again);
	for (int i = 0; i < base.n; i++) {
		struct small_file *f = &base.files[i];
		int is_shard = strstr(f->name, ".safetensors") && !strstr(f->name, ".json");

		f->at = realloc(f->at, f->n + 1);
		assert_non_null(f->at);
		if (is_shard) {
			f->at[f->n - 1] ^= 1; /* of the last tensor, which is short */
		} else {
			f->at[f->n++] = ' ';
		}
		assert_int_equal(small_write(&base, dir), 0);
		read_id("", other);
		if (!strcmp(first, other))
			fail_msg("%s does not change the id", f->name);
		if (is_shard)
			f->at[f->n - 1] ^= 1;
		else
			f->n--;
	}
	assert_int_equal(small_write(&base, dir), 0);
	read_id("", again);
	assert_string_equal(first, again);
	small_free(&base);
}

/* As the cache of the hub has it: a snapshot of links to files that lie elsewhere. */
static void test_links(void **state)
{
	char id[65], linked[65], to[256], at[256];

	(void)state;
	small_new(&base);
	assert_int_equal(small_write(&base, dir), 0);
	read_id("", id);
	snprintf(at, sizeof at, "%s/snapshot", dir);
	assert_int_equal(mkdir(at, 0777), 0);
	for (int i = 0; i < base.n; i++) {
		snprintf(to, sizeof to, "../%s", base.files[i].name);
		snprintf(at, sizeof at, "%s/snapshot/%s", dir, base.files[i].name);
		assert_int_equal(symlink(to, at), 0);
	}
	read_id("/snapshot", linked);
	assert_string_equal(id, linked);
	small_free(&base);
}

/* One file without an index, or with an index that names it; without a vocabulary; other files next to
 * them. */
static void test_single(void **state)
{
	static const char *const gone[] = { "model-00001-of-00002.safetensors",
		                            "model-00002-of-00002.safetensors",
		                            "model.safetensors.index.json" };
	char id[65];

	(void)state;
	small_new(&base);
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
		struct small_file *f = small_file(&base, gone[i]);
		free(f->at);
		f->at = NULL;
	}
	small_weights_in(&base, "model.safetensors");
	small_set(&base, "README.md", "x", 1);
	small_set(&base, "consolidated.safetensors", "x", 1);
	small_set(&base, "pytorch_model.bin", "x", 1);
	assert_int_equal(small_write(&base, dir), 0);
	read_id("", id);
	free(small_file(&base, "model.safetensors.index.json")->at);
	small_file(&base, "model.safetensors.index.json")->at = NULL;
	assert_int_equal(small_write(&base, dir), 0);
	read_id("", id);
	small_set(&base, "model.fp16.safetensors", "x", 1);
	assert_int_equal(small_write(&base, dir), 0);
	check_refused("two", "model.fp16.safetensors", INFER_EFORMAT, "next to model.safetensors");
	free(small_file(&base, "model.fp16.safetensors")->at);
	small_file(&base, "model.fp16.safetensors")->at = NULL;
	free(small_file(&base, "tokenizer.json")->at);
	small_file(&base, "tokenizer.json")->at = NULL;
	assert_int_equal(small_write(&base, dir), 0);
	read_id("", id);
	small_free(&base);
}

/* --- damage */

enum how { SET, SWAP, REMOVE, CUT, APPEND, FOLDER, FIFO, LINK };

struct damage {
	const char *file;
	enum how how;
	const char *a, *b; /* SET: the content a; SWAP: b for the first a; CUT: a: bytes left */
	int code;          /* 0: EIO, EFORMAT or EUNSUP */
	const char *says;
};

/* In a safetensors file the header's length follows. */
static void swap(struct small *s, const char *name, const char *a, const char *b)
{
	struct small_file *f = small_file(s, name);
	size_t na = strlen(a), nb = strlen(b);
	char *at = memmem(f->at, f->n, a, na), *to;
	int64_t h;

	if (!at)
		fail_msg("%s has no %s", name, a);
	to = malloc(f->n + nb);
	assert_non_null(to);
	memcpy(to, f->at, (size_t)(at - f->at));
	memcpy(to + (at - f->at), b, nb);
	memcpy(to + (at - f->at) + nb, at + na, f->n - na - (size_t)(at - f->at));
	if (strstr(name, ".safetensors") && !strstr(name, ".json")) {
		memcpy(&h, to, 8);
		h += (int64_t)nb - (int64_t)na;
		memcpy(to, &h, 8);
	}
	small_set(s, name, to, f->n + nb - na);
	free(to);
}

static void damage(struct small *s, const struct damage *d)
{
	struct small_file *f = small_file(s, d->file);

	switch (d->how) {
	case SET:
		small_set(s, d->file, d->a, strlen(d->a));
		break;
	case SWAP:
		swap(s, d->file, d->a, d->b);
		break;
	case CUT:
		f->n = (size_t)strtoul(d->a, NULL, 10);
		break;
	case APPEND:

		f->at = realloc(f->at, f->n + strlen(d->a) + 1);
		assert_non_null(f->at);
		memcpy(f->at + f->n, d->a, strlen(d->a) + 1);
		f->n += strlen(d->a);
		break;
	default:
		free(f->at);
		f->at = NULL;
	}
}

/* What has no bytes is made once the rest is written. */
static void make_special(const struct damage *d)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, d->file);
	if (d->how == FOLDER)
		assert_int_equal(mkdir(path, 0777), 0);
	if (d->how == FIFO)
		assert_int_equal(mkfifo(path, 0666), 0);
	if (d->how == LINK)
		assert_int_equal(symlink(d->a, path), 0);
}

static void check_damage(const struct damage *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct small s;

		small_new(&s);
		damage(&s, &d[i]);
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		make_special(&d[i]);
		check_refused(d[i].b   ? d[i].b
		              : d[i].a ? d[i].a
		                       : "",
		              d[i].says ? "" : d[i].file, d[i].code, d[i].says);
	}
}

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
	{ S1, CUT, "0", NULL, EF, S1 ": 0 bytes are no safetensors file" },
	{ S1, CUT, "7", NULL, EF, S1 ": 7 bytes are no safetensors file" },
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
	  NORM "\"shape\" says 2^63" },
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
	char *text = malloc(N + 16), cut[16];

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
	static const char *const values[] = { "-1", "4294967296", "1e308", "\"x\"",
		                              "[]", "{}",         "true",  "9223372036854775807" };
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

/* --- directories of another kind */

static const struct {
	const char *name, *text, *config; /* a file; config.json, NULL: none */
	const char *says;
} others[] = {
	{ NULL, NULL, NULL, ": this is a directory, not a model: it has no config.json" },
	{ "README.md", "x", NULL, ": this is a directory, not a model: it has no config.json" },
	{ "model.safetensors", "x", NULL,
	  ": this is a directory, not a model: it has no config.json" },
	{ NULL, NULL, "{}", ": this directory has no weights: there is no model.safetensors" },
	{ "pytorch_model.bin", "x", "{}",
	  "/pytorch_model.bin: a PyTorch checkpoint: save it again" },
	{ "pytorch_model-00001-of-00002.bin", "x", "{}",
	  "pytorch_model-00001-of-00002.bin: a PyTorch" },
	{ "pytorch_model.bin.index.json", "{}", "{}", "the index of a PyTorch checkpoint" },
	{ "consolidated.00.pth", "x", NULL, "/consolidated.00.pth: a PyTorch checkpoint" },
	{ "model.pt", "x", NULL, "/model.pt: a PyTorch checkpoint" },
	{ "model.ckpt", "x", NULL, "/model.ckpt: a PyTorch checkpoint" },
	{ "weights.bin", "x", "{}", "/weights.bin: not safetensors, and if it is a PyTorch" },
	{ "consolidated.safetensors", "x", "{}",
	  "/consolidated.safetensors: weights in Mistral's own" },
	{ "other.safetensors", "x", "{}", "/other.safetensors: not called model.safetensors" },
	{ "x.gguf", "GGUF", NULL, "/x.gguf: a GGUF file: give its own name" },
	{ "x.gguf.zst", "x", "{}", "/x.gguf.zst: a GGUF file: give its own name" },
	{ "flax_model.msgpack", "x", "{}", "/flax_model.msgpack: weights of Flax" },
	{ "tf_model.h5", "x", "{}", "/tf_model.h5: weights of TensorFlow" },
	{ "weights.npz", "x", "{}", "/weights.npz: weights of NumPy or MLX" },
	{ "model.onnx", "x", "{}", "/model.onnx: an ONNX model" },
	{ "onnx/model.onnx", "x", "{}", "/onnx: a folder of ONNX models" },
	{ "openvino_model.xml", "x", "{}", "/openvino_model.xml: an OpenVINO model" },
	{ "model.nemo", "x", NULL, "/model.nemo: a NeMo checkpoint" },
	{ "rank0.engine", "x", "{}", "/rank0.engine: a TensorRT engine" },
	{ "model_index.json", "{}", NULL, "/model_index.json: a pipeline of diffusers" },
	{ "adapter_config.json", "{}", NULL,
	  "/adapter_config.json: an adapter (PEFT), not a model" },
	{ "quantize_config.json", "{}", "{}", "/quantize_config.json: quantised with GPTQ" },
	{ "quant_config.json", "{}", "{}", "/quant_config.json: quantised with AWQ" },
	{ "hf_quant_config.json", "{}", "{}", "/hf_quant_config.json: quantised with ModelOpt" },
	{ "qmodel.pt", "x", "{}", "/qmodel.pt: quantised with HQQ" },
	{ "snapshots/0123abcd", "x", NULL,
	  ": a repository of the hub's cache: give a snapshot, 0123abcd" },
};

static void test_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct small s = { 0 };

		if (others[i].name)
			small_set(&s, others[i].name, others[i].text, strlen(others[i].text));
		if (others[i].config)
			small_set(&s, "config.json", others[i].config, strlen(others[i].config));
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		check_refused(others[i].says, "", INFER_EUNSUP, others[i].says);
	}
}

/* A whole checkpoint next to the file of an adapter or of a quantiser is refused as well. */
static void test_markers(void **state)
{
	static const char *const names[] = { "model_index.json",  "adapter_config.json",
		                             "quant_config.json", "quantize_config.json",
		                             "qmodel.pt",         "hf_quant_config.json" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check_damage(&(struct damage){ names[i], SET, "{}", NULL, INFER_EUNSUP, NULL }, 1);
}

static const struct {
	const char *member, *says;
} quantised[] = {
	{ "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4}", "with GPTQ" },
	{ "\"quantization_config\":{\"quant_method\":\"awq\"}", "with AWQ" },
	{ "\"quantization_config\":{\"quant_method\":\"exl2\"}", "with EXL2" },
	{ "\"quantization_config\":{\"quant_method\":\"exl3\"}", "with EXL3" },
	{ "\"quantization_config\":{\"quant_method\":\"bitsandbytes\"}", "with bitsandbytes" },
	{ "\"quantization_config\":{\"quant_method\":\"hqq\"}", "with HQQ" },
	{ "\"quantization_config\":{\"quant_method\":\"compressed-tensors\"}",
	  "with compressed-tensors" },
	{ "\"quantization_config\":{\"quant_method\":\"fp8\"}", "with FP8 with scales of blocks" },
	{ "\"quantization_config\":{\"quant_method\":\"mxfp4\"}", "with MXFP4" },
	{ "\"quantization_config\":{\"quant_method\":\"modelopt\"}", "with ModelOpt (FP8, NVFP4)" },
	{ "\"quantization_config\":{\"quant_algo\":\"NVFP4\"}", "with ModelOpt (FP8, NVFP4)" },
	{ "\"quantization_config\":{\"group_size\":64,\"bits\":4}", "with MLX" },
	{ "\"quantization\":{\"group_size\":64,\"bits\":4}", "quantization: quantised with MLX" },
	{ "\"quantization_config\":{\"quant_method\":\"new\\n\"}", "with new\\x0a, which cannot" },
	{ "\"quantization_config\":{}", "with an unknown method" },
	{ "\"compression_config\":{\"format\":\"x\"}",
	  "compression_config: quantised with compressed-" },
	{ "\"text_config\":{\"quantization_config\":{\"quant_method\":\"awq\"}}", "with AWQ" },
	{ "\"quantization_config\":3", "\"quantization_config\" must be an object" },
	{ "\"quantization_config\":[]", "\"quantization_config\" must be an object" },
};

static void test_quantised(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++) {
		snprintf(text, sizeof text, "{%s,\"architectures\"", quantised[i].member);
		check_damage(&(struct damage){ "config.json", SWAP, "{\"architectures\"", text, 0,
		                               quantised[i].says },
		             1);
	}
}

/* --- a vocabulary that is not read */

static void test_vocabularies(void **state)
{
	static const char *const names[] = { "vocab.json",  "merges.txt",    "vocab.txt",
		                             "tekken.json", "qwen.tiktoken", "spiece.model" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct small s;

		small_new(&s);
		damage(&s, &(struct damage){ .file = "tokenizer.json", .how = REMOVE });
		small_set(&s, names[i], "{}", 2);
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		check_refused(names[i], names[i], INFER_EUNSUP,
		              "a vocabulary without tokenizer.json");
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
		{ "case_open", test_open, NULL, NULL, &(struct nth){ case_open } },
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_shards),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_large_texts),
		cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_markers),
		cmocka_unit_test(test_quantised),
		cmocka_unit_test(test_vocabularies),
		cmocka_unit_test(test_count),
	};
	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
