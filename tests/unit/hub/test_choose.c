/* tests/unit/hub/test_choose.c - references, the hub's JSON, and which files of a repository make a model. */
#include "../nth.h"
#include "hub/choose.h"
#include "hub/ref.h"
#include "hub/tree.h"
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

enum { GB = 1000000000, FILES = 16 };

/* One repository and what is chosen: the first file, or DIR, or a code. */
struct want {
	const char *files; /* "path bytes" lines */
	const char *what;
	double memory_gb;
	const char *first;
	int rc;
	size_t n;         /* files of the choice */
	const char *says; /* part of the sentence or of the message; NULL: not compared */
};

static const char
	quants[] = "m-F16.gguf 16\nm-Q8_0.gguf 8\nm-Q6_K.gguf 6\nm-Q4_K_M.gguf 5\n"
		   "m-Q4_K_S.gguf 4\nm-IQ2_XS.gguf 2\nmmproj-F16.gguf 1\nm-imatrix.gguf 1\n",
	unsloth[] = "m-UD-Q4_K_XL.gguf 5\nm-UD-Q2_K_XL.gguf 2\nm-Q4_K_XL.gguf 6\nm-Q8_0.gguf 8\n",
	split[] = "Q8_0/m-Q8_0-00001-of-00003.gguf 1\nQ8_0/m-Q8_0-00003-of-00003.gguf 1\n"
		  "Q8_0/m-Q8_0-00002-of-00003.gguf 1\nQ2_K/m-Q2_K-00001-of-00002.gguf 1\n",
	folder[] = "BF16/model.gguf 16\nTQ1_0/model.gguf 2\n",
	old[] = "m.i1-Q4_K_M.gguf 5\nm_q5_0.gguf 6\nm-q4_k_s-imat.gguf 4\n",
	plain[] = "stories.gguf 1\nREADME.md 1\n",
	two[] = "a-Q4_K_M.gguf 1\nb-Q4_K_M.gguf 1\nc-Q8_0.gguf 1\n",
	foreign[] = "m-Q4_0_4_4.gguf 1\nm-IQ4_K.gguf 1\nm-IQ3_K_R4.gguf 1\n",
	dir[] = "config.json 1\nmodel.safetensors 4\ntokenizer.json 1\npytorch_model.bin 4\n"
		"onnx/model.onnx 4\noriginal/consolidated.00.pth 4\nimage.png 1\n"
		"1_Pooling/config.json 1\n",
	shards[] = "config.json 1\nmodel.safetensors.index.json 1\n"
		   "model-00001-of-00002.safetensors 4\nmodel-00002-of-00002.safetensors 4\n"
		   "consolidated.safetensors 8\n",
	short_dir[] = "config.json 1\nmodel.safetensors.index.json 1\n"
		      "model-00002-of-00002.safetensors 4\n",
	torch[] = "config.json 1\npytorch_model.bin 4\n", nothing[] = "README.md 1\n";

static const struct want wants[] = {
	{ quants, "Q8_0", 1, "m-Q8_0.gguf", 0, 1, "" },
	{ quants, "q4_k_m", 0, "m-Q4_K_M.gguf", 0, 1, NULL },
	{ quants, "m-F16.gguf", 0, "m-F16.gguf", 0, 1, NULL },
	{ quants, "mmproj-F16.gguf", 0, "mmproj-F16.gguf", 0, 1, NULL },
	{ quants, "Q5_K_M", 0, NULL, INFER_EINVAL, 0, "F16, IQ2_XS, Q4_K_M, Q4_K_S, Q6_K, Q8_0" },
	{ quants, NULL, 0, "m-Q4_K_M.gguf", 0, 1, "mmproj-F16.gguf is not used" },
	{ quants, NULL, 64, "m-Q4_K_M.gguf", 0, 1, "Q4_K_M of 6 GGUF models, 5.0 GB" },
	{ quants, NULL, 5.5, "m-Q4_K_S.gguf", 0, 1, NULL },
	{ quants, NULL, 3, "m-IQ2_XS.gguf", 0, 1, NULL },
	{ quants, NULL, 2, NULL, INFER_ENOMEM, 0,
	  "m-IQ2_XS.gguf, has 2.0 GB, and this machine 2.0" },
	{ unsloth, "Q4_K_XL", 0, "m-Q4_K_XL.gguf", 0, 1, NULL },
	{ unsloth, "ud-q4_k_xl", 0, "m-UD-Q4_K_XL.gguf", 0, 1, NULL },
	{ unsloth, "Q2_K_XL", 0, "m-UD-Q2_K_XL.gguf", 0, 1, NULL },
	{ unsloth, "UD-Q8_0", 0, NULL, INFER_EINVAL, 0, "UD-Q4_K_XL" },
	{ unsloth, NULL, 7, "m-UD-Q4_K_XL.gguf", 0, 1, "UD-Q4_K_XL" },
	{ split, "Q8_0", 0, "Q8_0/m-Q8_0-00001-of-00003.gguf", 0, 3, NULL },
	{ split, "Q8_0/m-Q8_0-00002-of-00003.gguf", 0, "Q8_0/m-Q8_0-00001-of-00003.gguf", 0, 3,
	  NULL },
	{ split, "Q2_K", 0, NULL, INFER_EFORMAT, 0, "1 of 2 parts" },
	{ split, NULL, 0, "Q8_0/m-Q8_0-00001-of-00003.gguf", 0, 3, NULL },
	{ folder, "bf16", 0, "BF16/model.gguf", 0, 1, NULL },
	{ folder, NULL, 8, "TQ1_0/model.gguf", 0, 1, NULL },
	{ old, NULL, 0, "m.i1-Q4_K_M.gguf", 0, 1, NULL },
	{ old, "Q5_0", 0, "m_q5_0.gguf", 0, 1, NULL },
	{ old, "Q4_K_S", 0, "m-q4_k_s-imat.gguf", 0, 1, NULL },
	{ plain, NULL, 0, "stories.gguf", 0, 1, "stories.gguf, 1.0 GB" },
	{ two, NULL, 0, NULL, INFER_EINVAL, 0, "a-Q4_K_M.gguf or :b-Q4_K_M.gguf" },
	{ two, "Q4_K_M", 0, NULL, INFER_EINVAL, 0, "several models" },
	{ two, "Q8_0", 0, "c-Q8_0.gguf", 0, 1, NULL },
	{ foreign, NULL, 0, NULL, INFER_EUNSUP, 0, NULL },
	{ foreign, "Q4_0_4_4", 0, "m-Q4_0_4_4.gguf", 0, 1, NULL },
	{ dir, NULL, 0, NULL, 0, 4, "the directory, 4 files, 7.0 GB" },
	{ dir, NULL, 8, NULL, 0, 4, "7.0 GB; this machine has 8.0 GB of memory" },
	{ dir, "tokenizer.json", 0, "tokenizer.json", 0, 1, NULL },
	{ dir, "Q4_K_M", 0, NULL, INFER_EINVAL, 0, "no GGUF files" },
	{ shards, NULL, 0, NULL, 0, 4, NULL },
	{ short_dir, NULL, 0, NULL, INFER_EFORMAT, 0, "1 of 2 parts" },
	{ torch, NULL, 0, NULL, INFER_EUNSUP, 0, "PyTorch's .bin" },
	{ nothing, NULL, 0, NULL, INFER_EUNSUP, 0, NULL },
	{ "", NULL, 0, NULL, INFER_EUNSUP, 0, NULL },
};

static size_t read_files(struct hub_entry *e, char *text)
{
	size_t n = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *space = strrchr(line, ' ');

		*space = 0;
		e[n++] = (struct hub_entry){ line, strtoull(space + 1, NULL, 10) * GB };
	}
	return n;
}

static int case_choose(void)
{
	struct hub_entry e[FILES];
	char text[1024];
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
		const struct want *w = &wants[i];
		struct hub_choice c;
		struct arena mem;
		infer_error err = { 0 };

		snprintf(text, sizeof text, "%s", w->files);
		arena_init(&mem, MEM_HUB);
		rc = hub_choose(&c, &mem, e, read_files(e, text), w->what,
		                (uint64_t)(w->memory_gb * GB), "hf:o/r", &err);
		int no_memory = rc == INFER_ENOMEM && w->rc != INFER_ENOMEM;

		if (!no_memory && !(rc == INFER_ENOMEM && strstr(err.message, "out of memory"))) {
			const char *says = rc ? err.message : c.note;

			if (rc != w->rc || (!rc && c.n != w->n) ||
			    (!rc && w->first && (!c.first || strcmp(c.first, w->first) != 0)) ||
			    (!rc && !w->first && !c.is_dir) || (w->says && !strstr(says, w->says)))
				fail_msg("%zu: %s: %d, %s, %zu files: %s", i,
				         w->what ? w->what : "-", rc,
				         !rc && c.first ? c.first : "none", rc ? 0 : c.n, says);
		}
		arena_fini(&mem);
		if (no_memory)
			return rc;
	}
	return INFER_OK;
}

static void test_paths(void **state)
{
	static const char *const good[] = { "a",   "a/b.gguf", "..a/b..",
		                            "a b", "\xc3\xa9", "\xc2\xa0" };
	static const char *const bad[] = { "",
		                           "/a",
		                           "a/",
		                           "a//b",
		                           "..",
		                           "a/../b",
		                           ".",
		                           "./a",
		                           "a\\b",
		                           "a\nb",
		                           "a/.",
		                           "\x7f",
		                           "a\xc2\x9b"
		                           "31m",
		                           "a\xff",
		                           "\x9b"
		                           "1m" };
	char wide[HUB_PATH_MOST + 2];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(hub_path_ok(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(hub_path_ok(bad[i], strlen(bad[i])));
	assert_false(hub_path_ok("a\0b", 3));
	memset(wide, 'a', sizeof wide);
	for (size_t i = 1; i < 2 * HUB_PARTS_MOST; i += 2)
		wide[i] = '/';
	assert_true(hub_path_ok(wide, 2 * HUB_PARTS_MOST - 1));
	assert_false(hub_path_ok(wide, 2 * HUB_PARTS_MOST + 1));
	memset(wide, 'a', sizeof wide);
	assert_true(hub_path_ok(wide, 255));
	assert_false(hub_path_ok(wide, 256));
	for (size_t i = 100; i < sizeof wide; i += 100)
		wide[i] = '/';
	assert_true(hub_path_ok(wide, HUB_PATH_MOST));
	assert_false(hub_path_ok(wide, HUB_PATH_MOST + 1));
}

static void test_refs(void **state)
{
	static const char *const bad[] = {
		"hf:",         "hf:a",        "hf:/b",      "hf:a/",       "hf:a/b/c", "hf:../b",
		"hf:a/..",     "hf:.a/b",     "hf:a/b-",    "hf:a--b/c",   "hf:a/b c", "hf:a/b@",
		"hf:a/b@../c", "hf:a/b@/x",   "hf:a/b@x/",  "hf:a/b@x//y", "hf:a/b:",  "hf:a/b@x y",
		"hf:a/b@-x",   "hf:a/b@x/.y", "hf:a\xc3/b", "hf:a/b@.hid", "x:a/b",    "a/b",
	};
	static const char *const meant[][2] = {
		{ "hf://a/b", ": must be hf:a/b" },
		{ "hf://a/b@v1:Q8_0", ": must be hf:a/b@v1:Q8_0" },
		{ "hf:a/b/c/d.gguf", ": must be hf:a/b:c/d.gguf" },
		{ "hf:https://huggingface.co/a/b?x", ": must be hf:a/b" },
		{ "hf:https://hf.co/a/b/blob/main/c.gguf", ": must be hf:a/b:c.gguf" },
		{ "hf:https://x.org/a/b", "'https' must be ORG/REPO" },
	};
	struct hub_ref r;
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (hub_ref_parse(&r, bad[i], &err) != INFER_EINVAL)
			fail_msg("%s is taken", bad[i]);
	for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
		assert_int_equal(hub_ref_parse(&r, meant[i][0], &err), INFER_EINVAL);
		if (!strstr(err.message, meant[i][1]))
			fail_msg("%s: %s", meant[i][0], err.message);
	}
	assert_int_equal(hub_ref_parse(&r, "hf:Org/Re.po_1", &err), 0);
	assert_string_equal(r.folder, "models--Org--Re.po_1");
	assert_string_equal(r.rev, "main");
	assert_null(r.what);
	assert_false(r.has_rev);
	assert_int_equal(hub_ref_parse(&r, "hf:a/b@refs/pr/1:x/y:z.gguf", &err), 0);
	assert_string_equal(r.rev, "refs/pr/1");
	assert_string_equal(r.what, "x/y:z.gguf");
	assert_string_equal(r.base, "hf:a/b@refs/pr/1");
	assert_false(r.is_commit);
	assert_int_equal(
		hub_ref_parse_bare(&r, "a/b@0123456789abcdef0123456789abcdef01234567", &err), 0);
	assert_true(r.is_commit);
	assert_int_equal(hub_ref_parse_bare(&r, "hf:a/b:Q4_K_M", &err), 0);
	assert_string_equal(r.base, "hf:a/b");
}

static int case_tree(void)
{
	static const char page[] =
		"[{\"type\":\"directory\",\"path\":\"../x\",\"size\":0},"
		"{\"type\":\"file\",\"path\":\"a/b.gguf\",\"size\":130,\"oid\":\"1\","
		"\"lfs\":{\"oid\":\"2\",\"size\":5000000000}},"
		"{\"type\":\"file\",\"path\":\"c.json\",\"size\":7}]";
	static const char *const bad[] = { "[",
		                           "{}",
		                           "[{\"type\":\"file\"}]",
		                           "[{\"type\":\"file\",\"path\":\"../x\",\"size\":1}]",
		                           "[{\"type\":\"file\",\"path\":\"a\\u0000\",\"size\":1}]",
		                           "[{\"type\":\"file\",\"path\":\"a\",\"size\":-1}]",
		                           "[{\"type\":\"file\",\"path\":\"a\",\"size\":1e40}]",
		                           "[{\"type\":\"file\",\"path\":\"a\"}]" };
	char commit[HUB_COMMIT];
	struct arena mem;
	struct hub_tree t = { .mem = &mem };
	int rc;

	arena_init(&mem, MEM_HUB);
	nth_ok(hub_tree_add(&t, page, sizeof page - 1, NULL));
	nth_ok(hub_tree_add(&t, "[]", 2, NULL));
	assert_int_equal(t.n, 2);
	assert_string_equal(t.at[0].path, "a/b.gguf");
	assert_int_equal(t.at[0].bytes, 5000000000);
	assert_int_equal(t.at[1].bytes, 7);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		nth_fails(hub_tree_add(&t, bad[i], strlen(bad[i]), NULL), INFER_EFORMAT);
	nth_ok(hub_revision_read(commit, "{\"sha\":\"0123456789abcdef0123456789abcdef01234567\"}",
	                         50, NULL));
	nth_fails(hub_revision_read(commit, "{\"sha\":\"../../x\"}", 17, NULL), INFER_EFORMAT);
	nth_fails(hub_revision_read(commit, "[]", 2, NULL), INFER_EFORMAT);
out:
	arena_fini(&mem);
	return rc;
}

/* A repository of more files than any model has. */
static void test_many_files(void **state)
{
	struct arena mem;
	struct hub_tree t = { .mem = &mem };
	struct buf b;
	int rc = 0;

	(void)state;
	arena_init(&mem, MEM_HUB);
	buf_init(&b, MEM_HUB);
	for (int page = 0; !rc && page < 1000; page++) {
		buf_clear(&b);
		for (int i = 0; i < 1000; i++)
			buf_printf(&b, "%s{\"type\":\"file\",\"path\":\"%d/%d\",\"size\":1}",
			           i ? "," : "[", page, i);
		buf_putc(&b, ']');
		rc = hub_tree_add(&t, b.at, b.len, NULL);
	}
	assert_int_equal(rc, INFER_EUNSUP);
	assert_in_range(t.n, HUB_FILES, 2 * HUB_FILES);
	buf_fini(&b);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_choose),
		nth_case(case_tree),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_refs),
		cmocka_unit_test(test_many_files),
	};

	return nth_group(tests);
}
