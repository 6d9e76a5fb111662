/* tests/unit/hub/test_ollama.c - names, manifests and templates of Ollama. */
#include "../nth.h"
#include "hub/store.h"
#include <infer/chat.h>

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LAYER(type, digest, size) \
	"{\"mediaType\":\"application/vnd.ollama.image." type "\",\"digest\":\"" digest \
	"\",\"size\":" size "}"
#define MODEL LAYER("model", "sha256:" HEX, "12")
#define MANIFEST(layers) "{\"schemaVersion\":2,\"config\":{},\"layers\":[" layers "]}"

static void test_names(void **state)
{
	static const struct {
		const char *text, *path, *shown;
	} good[] = {
		{ "llama3.2", "registry.ollama.ai/library/llama3.2/latest", "llama3.2:latest" },
		{ "llama3.2:1b", "registry.ollama.ai/library/llama3.2/1b", "llama3.2:1b" },
		{ "me/my_model:q4_K_M", "registry.ollama.ai/me/my_model/q4_K_M",
		  "me/my_model:q4_K_M" },
		{ "hf.co/Org/Repo-GGUF:Q8_0", "hf.co/Org/Repo-GGUF/Q8_0",
		  "hf.co/Org/Repo-GGUF:Q8_0" },
		{ "localhost:5000/a/b", "localhost:5000/a/b/latest", "localhost:5000/a/b:latest" },
	};
	static const char *const bad[] = {
		"",        ":",    "a:",   ":b",       "../a",      "a/../b", "..",
		"a/b/c/d", "/a",   "a/",   "a//b",     "a:../../x", "a:b/c",  "a b",
		".a",      "a:.b", "a\nb", "\xff\xfe", "a:b:c",     "-a",     "a/b:c\\..\\d",
	};
	struct ollama_name n;
	char lengthy[2000];
	infer_error err;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(ollama_name_parse(&n, good[i].text, &err), INFER_OK);
		assert_string_equal(n.path, good[i].path);
		assert_string_equal(n.shown, good[i].shown);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (ollama_name_parse(&n, bad[i], &err) != INFER_EINVAL)
			fail_msg("'%s' is taken", bad[i]);
	memset(lengthy, 'a', sizeof lengthy);
	lengthy[sizeof lengthy - 1] = 0;
	assert_int_equal(ollama_name_parse(&n, lengthy, &err), INFER_EINVAL);
}

static int read_text(struct ollama_layers *l, const char *text, infer_error *err)
{
	return ollama_manifest(l, text, strlen(text), "m", err);
}

static int case_manifest(void)
{
	struct ollama_layers l;
	int rc;

	nth_ok(read_text(&l,
	                 MANIFEST(MODEL "," LAYER("params", "x", "1") "," LAYER(
				 "system", "x", "1") "," LAYER("license", "x",
	                                                       "1") "," LAYER("params", "x", "1")),
	                 NULL));
	assert_string_equal(l.model, HEX);
	assert_int_equal(l.model_bytes, 12);
	assert_string_equal(l.unused, "params, system");
	assert_string_equal(l.chat, "");
	nth_ok(read_text(&l,
	                 MANIFEST(LAYER("template", "sha256:" HEX,
	                                "1") "," LAYER("projector", "sha256:" HEX, "1") "," MODEL),
	                 NULL));
	assert_string_equal(l.chat, HEX);
	assert_string_equal(l.projector, HEX);
out:
	return rc;
}

static int case_refused(void)
{
	static const struct {
		const char *text, *says;
		int rc;
	} bad[] = {
		{ "", "m: line 1", INFER_EFORMAT },
		{ "[]", "no array layers", INFER_EFORMAT },
		{ "{\"layers\":{}}", "no array layers", INFER_EFORMAT },
		{ MANIFEST("1"), "no mediaType", INFER_EFORMAT },
		{ MANIFEST("{\"mediaType\":1}"), "no mediaType", INFER_EFORMAT },
		{ MANIFEST(""), "no model", INFER_EUNSUP },
		{ MANIFEST(MODEL "," MODEL), "several files", INFER_EUNSUP },
		{ MANIFEST(MODEL "," LAYER("adapter", "sha256:" HEX, "1")), "image.adapter",
		  INFER_EUNSUP },
		{ MANIFEST(LAYER("tensor", "sha256:" HEX, "1")), "image.tensor", INFER_EUNSUP },
		{ MANIFEST(LAYER("model", "sha256:" HEX, "0")), "size", INFER_EFORMAT },
		{ MANIFEST(LAYER("model", "sha256:" HEX, "-1")), "size", INFER_EFORMAT },
		{ MANIFEST(LAYER("model", "sha256:" HEX, "\"1\"")), "size", INFER_EFORMAT },
		{ MANIFEST(LAYER("model", HEX, "1")), "digest", INFER_EFORMAT },
		{ MANIFEST(LAYER("model", "sha256:" HEX "0", "1")), "digest", INFER_EFORMAT },
		{ MANIFEST(LAYER("model",
		                 "sha256:../../../../../../../../../../../../../../../../../"
		                 "etc/passwd.....",
		                 "1")),
		  "digest", INFER_EFORMAT },
		{ MANIFEST(LAYER("model",
		                 "sha256:0123456789abcdef0123456789abcdef\\u0000../../../../etc/"
		                 "passwd........",
		                 "1")),
		  "digest", INFER_EFORMAT },
	};
	struct ollama_layers l;
	infer_error err;
	int rc = INFER_OK;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		rc = read_text(&l, bad[i].text, &err);
		if (rc == INFER_ENOMEM)
			goto out;
		if (rc != bad[i].rc || !strstr(err.message, bad[i].says))
			fail_msg("%s: %d, %s", bad[i].text, rc, err.message);
	}
	rc = INFER_OK;
out:
	return rc;
}

/* Go templates as such models have them, and the prompt of system, user, assistant and user. */
static const struct {
	const char *go, *family, *prompt;
} templates[] = {
	{ "{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}{{ if .Prompt "
	  "}}<|im_start|>user\n"
	  "{{ .Prompt }}<|im_end|>\n{{ end }}<|im_start|>assistant\n{{ .Response }}<|im_end|>\n",
	  "ChatML",
	  "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>"
	  "assistant\nA<|im_end|>\n"
	  "<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n" },
	{ "<|im_start|>system<|im_sep|>{{ .System }}<|im_end|>", "Phi-4",
	  "<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>U<|im_end|>"
	  "<|im_start|>assistant<|im_sep|>A<|im_end|><|im_start|>user<|im_sep|>V<|im_end|><|im_"
	  "start|>assistant<|im_sep|>" },
	{ "<|start_header_id|>system<|end_header_id|>\n\n{{ .System }}<|eot_id|>", "Llama 3",
	  "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_"
	  "header_id|>\n\nU<|eot_id|>"
	  "<|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|><|start_header_id|>user<|"
	  "end_header_id|>\n\nV<|eot_id|>"
	  "<|start_header_id|>assistant<|end_header_id|>\n\n" },
	{ "<|header_start|>system<|header_end|>\n\n{{ .System }}<|eot|>", "Llama 4",
	  "<|header_start|>system<|header_end|>\n\nS<|eot|><|header_start|>user<|header_end|>\n\nU<"
	  "|eot|>"
	  "<|header_start|>assistant<|header_end|>\n\nA<|eot|><|header_start|>user<|header_end|>"
	  "\n\nV<|eot|>"
	  "<|header_start|>assistant<|header_end|>\n\n" },
	{ "<start_of_turn>user\n{{ .System }} {{ .Prompt }}<end_of_turn>\n<start_of_turn>model\n",
	  "Gemma",
	  "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
	  "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n" },
	{ "{{ .System }}<｜User｜>{{ .Prompt }}<｜Assistant｜>{{ .Response }}", "DeepSeek",
	  "S<｜User｜>U<｜Assistant｜>A<｜end▁of▁sentence｜><｜User｜>V<｜Assistant｜>" },
	{ "<|system|>\n{{ .System }}<|end|>\n<|user|>\n{{ .Prompt }}<|end|>\n<|assistant|>\n",
	  "Phi-3",
	  "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n<"
	  "|assistant|>\n" },
	{ "<|system|>\n{{ .System }}</s>\n<|user|>\n{{ .Prompt }}</s>\n<|assistant|>\n", "Zephyr",
	  "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\nA</s>\n<|user|>\nV</"
	  "s>\n<|assistant|>\n" },
	{ "[gMASK]<sop><|system|>\n{{ .System }}<|user|>\n{{ .Prompt }}<|assistant|>", "GLM-4",
	  "[gMASK]<sop><|system|>\nS<|user|>\nU<|assistant|>\nA<|user|>\nV<|assistant|>" },
	{ "[INST] <<SYS>>{{ .System }}<</SYS>>\n\n{{ .Prompt }} [/INST]\n", "Llama 2",
	  "[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A [INST] V [/INST]" },
	{ "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December "
	  "2023\n\n{{ .System }}<|eot_id|>",
	  "Llama 3.1",
	  "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December "
	  "2023\n\nS<|eot_id|>"
	  "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|"
	  "end_header_id|>\n\nA<|eot_id|>"
	  "<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant<|"
	  "end_header_id|>\n\n" },
	{ "<|start|>system<|message|>{{ .System }}<|end|><|start|>assistant<|channel|>final",
	  "gpt-oss",
	  "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
	  "Knowledge cutoff: 2024-06\nCurrent date: 1970-01-01\n\nReasoning: medium\n\n"
	  "# Valid channels: analysis, commentary, final. Channel must be included for every "
	  "message.<|end|>"
	  "<|start|>developer<|message|># "
	  "Instructions\n\nS\n\n<|end|><|start|>user<|message|>U<|end|>"
	  "<|start|>assistant<|channel|>final<|message|>A<|end|><|start|>user<|message|>V<|end|><|"
	  "start|>assistant" },
	{ "[INST]{{ .System }}{{ .Prompt }}[/INST]", "Mistral (Tekken)",
	  "[INST]U[/INST]A[INST]S\n\nV[/INST]" },
	{ "[INST] {{ .System }} {{ .Prompt }} [/INST]", "Mistral",
	  "[INST] S U [/INST] A[INST] V [/INST]" },
	{ "[INST] {{ .System }} {{ .Prompt }}[/INST]", "Mistral (version 3)",
	  "[INST] U[/INST] A[INST] S\n\nV[/INST]" },
	{ "[SYSTEM_PROMPT]{{ .System }}[/SYSTEM_PROMPT][INST]{{ .Prompt }}[/INST]",
	  "Mistral (version 7)", "[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]A[INST]V[/INST]" },
};

static int case_templates(void)
{
	static const char talk[] =
		"[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\",\"content\":\"U\"},"
		"{\"role\":\"assistant\",\"content\":\"A\"},{\"role\":\"user\",\"content\":\"V\"}]";
	const struct infer_conversation c = { .messages = talk, .messages_n = sizeof talk - 1 };
	infer_chat *chat = NULL;
	char *text = NULL;
	int rc = INFER_OK;
	size_t n;

	for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
		const char *go = templates[i].go, *family = "none",
			   *jinja = ollama_template(go, strlen(go), &family);

		assert_non_null(jinja);
		assert_string_equal(family, templates[i].family);
		nth_ok(infer_chat_open(&chat, jinja, strlen(jinja), family, NULL));
		nth_ok(infer_chat_render(chat, NULL, &c, &text, NULL, &n, NULL));
		assert_string_equal(text, templates[i].prompt);
		infer_chat_free(text);
		text = NULL;
		infer_chat_close(&chat);
	}
out:
	infer_chat_free(text);
	infer_chat_close(&chat);
	return rc;
}

static void test_unknown_templates(void **state)
{
	static const char *const go[] = {
		"", "{{ .Prompt }}", "### Instruction:\n{{ .Prompt }}", "<|im_start|>",
		"<|start|>user<|message|>{{ .Prompt }}<|end|><|user|><|assistant|>"
	};
	const char *family;

	(void)state;
	for (size_t i = 0; i < sizeof go / sizeof *go; i++)
		assert_null(ollama_template(go[i], strlen(go[i]), &family));
}

/* ---- stores on disk ---- */

static char home[64];

static void make_file(const char *path, const char *text)
{
	char at[512];
	FILE *f;

	snprintf(at, sizeof at, "%s/%s", home, path);
	for (char *s = at + strlen(home) + 1; *s; s++)
		if (*s == '/') {
			*s = 0;
			mkdir(at, 0700);
			*s = '/';
		}
	f = fopen(at, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make_stores(void **state)
{
	(void)state;
	snprintf(home, sizeof home, "/tmp/test_ollama_XXXXXX");
	assert_non_null(mkdtemp(home));
	make_file(".ollama/models/manifests/registry.ollama.ai/library/m/latest",
	          MANIFEST(MODEL "," LAYER("template", "sha256:" HEX, "12") "," LAYER("params", "",
	                                                                              "1")));
	make_file(".ollama/models/blobs/sha256-" HEX, "<|im_start|><|im_end|>");
	make_file(".lmstudio/models/org/repo/a-Q8_0.gguf", "GGUF");
	make_file(".lmstudio/settings.json", "{\"downloadsFolder\": \"/nowhere\"}");
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int remove_stores(void **state)
{
	(void)state;
	return nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void hear(void *user, const char *sentence)
{
	(void)sentence;
	++*(int *)user;
}

static int case_get(void)
{
	int heard = 0, rc = INFER_OK;
	char *path = NULL, *chat = NULL, want[300];
	const struct infer_hub_opts o = {
		.home = home, .say = hear, .note = hear, .user = &heard, .chat = &chat
	};

	rc = hub_ollama_get(&path, "ollama:m", &o, NULL);
	if (rc == INFER_ENOMEM)
		goto out;
	assert_int_equal(rc, INFER_EFORMAT); /* 22 bytes instead of 12 */
	assert_null(path);
	snprintf(want, sizeof want, "%s/.ollama/models/blobs/sha256-" HEX, home);
	assert_int_equal(truncate(want, 12), 0);
	nth_ok(hub_ollama_get(&path, "ollama:m", &o, NULL));
	assert_string_equal(path, want);
	assert_string_equal(chat, ""); /* what is left of the template is of no family */
	assert_int_equal(heard, 1);
	make_file(".ollama/models/blobs/sha256-" HEX, "<|im_start|><|im_end|>");
	mem_free(path);
	path = NULL;
	nth_fails(hub_ollama_get(&path, "ollama:other", &o, NULL), INFER_EIO);
	nth_ok(hub_lmstudio_get(&path, "lmstudio:org/repo", &o, NULL));
	snprintf(want, sizeof want, "%s/.lmstudio/models/org/repo/a-Q8_0.gguf", home);
	assert_string_equal(path, want);
	mem_free(path);
	path = NULL;
	nth_fails(hub_lmstudio_get(&path, "lmstudio:org/other", &o, NULL), INFER_EIO);
	rc = INFER_OK;
out:
	make_file(".ollama/models/blobs/sha256-" HEX, "<|im_start|><|im_end|>");
	mem_free(path);
	mem_free(chat);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		nth_case(case_manifest),
		nth_case(case_refused),
		nth_case(case_templates),
		cmocka_unit_test(test_unknown_templates),
		nth_case(case_get),
	};

	return cmocka_run_group_tests(tests, make_stores, remove_stores);
}
