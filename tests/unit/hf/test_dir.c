/* tests/unit/hf/test_dir.c - a directory of a small model opens; directories that are damaged, or are
 * something else, are refused in one line with the file and the key or tensor in it. */
#include "../nth.h"
#include "damage.h"

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

/* The id of the checkpoint in dir, or in a folder of it. */
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
	static const char *const names[] = { "model_index.json", "adapter_config.json",
		                             "qmodel.pt" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		check_damage(&(struct damage){ names[i], SET, "{}", NULL, INFER_EUNSUP, NULL }, 1);
}

static const struct {
	const char *member, *says;
} quantised[] = {
	{ "\"quantization_config\":{\"quant_method\":\"exl2\"}", "with EXL2" },
	{ "\"quantization_config\":{\"quant_method\":\"exl3\"}",
	  "with EXL3, which cannot be read: take it in BF16, F16 or F32" },
	{ "\"quantization_config\":{\"quant_method\":\"new\\n\"}", "with new\\x0a, which cannot" },
	{ "\"quantization_config\":{}", "with an unknown method" },
	{ "\"quantization_config\":{\"bits\":4}", "with an unknown method" },
	{ "\"text_config\":{\"quantization_config\":{\"quant_method\":\"aqlm\"}}", "with AQLM" },
	{ "\"quantization_config\":3", "\"quantization_config\" must be an object" },
	{ "\"quantization_config\":[]", "\"quantization_config\" must be an object" },
	{ "\"quantization_config\":{\"quant_method\":3}", "\"quant_method\" must be a string" },
	{ "\"quantization_config\":{\"quant_method\":\"gptq\"},"
	  "\"text_config\":{\"quantization_config\":{\"quant_method\":\"awq\"}}",
	  "\"quantization_config\" and \"quantization_config\" are two different quantisations" },
	{ "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4},"
	  "\"quantization\":{\"quant_method\":\"gptq\",\"bits\":8}",
	  "\"quantization_config\" and \"quantization\" are two different quantisations" },
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

/* --- a quantisation in a file of its own */

static const struct {
	const char *file, *text, *member, *says;
} files[] = {
	{ "quantize_config.json", "[]", "", "/quantize_config.json: must be a JSON object" },
	{ "quantize_config.json", "{\"quant_method\":\"aqlm\"}", "",
	  "/quantize_config.json: quantised with AQLM, which cannot be read" },
	{ "quant_config.json", "{\"quant_method\":\"aqlm\"}", "",
	  "/quant_config.json: quantised with AQLM" },
	{ "hf_quant_config.json", "{\"quant_method\":\"aqlm\"}", "",
	  "/hf_quant_config.json: quantised with AQLM" },
	{ "quantize_config.json", "{\"bits\":8}", "\"quant_method\":\"gptq\",\"bits\":4",
	  "/quantize_config.json: \"bits\" contradicts \"bits\" of quantization_config" },
	{ "quantize_config.json", "{\"sym\":true}", "\"quant_method\":\"gptq\",\"sym\":false",
	  "/quantize_config.json: \"sym\" contradicts \"sym\"" },
	{ "quantize_config.json", "{\"quant_method\":\"awq\"}", "\"quant_method\":\"gptq\"",
	  "/quantize_config.json: \"quant_method\" contradicts \"quant_method\"" },
	{ "quant_config.json", "{\"w_bit\":8}", "\"quant_method\":\"awq\",\"bits\":4",
	  "/quant_config.json: \"w_bit\" contradicts \"bits\"" },
	{ "quant_config.json", "{\"q_group_size\":64}",
	  "\"quant_method\":\"awq\",\"group_size\":128",
	  "/quant_config.json: \"q_group_size\" contradicts \"group_size\"" },
	{ "hf_quant_config.json", "{\"quantization\":{\"quant_algo\":\"FP8\"}}",
	  "\"quant_method\":\"gptq\",\"quant_algo\":\"NVFP4\"",
	  "/hf_quant_config.json: \"quant_algo\" contradicts \"quant_algo\"" },
};

static void test_files(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const struct damage d = {
			"config.json", SWAP, "{\"architectures\"", text, 0, NULL
		};
		struct small s;

		snprintf(text, sizeof text, "{\"quantization_config\":%s%s%s,\"architectures\"",
		         *files[i].member ? "{" : "null", files[i].member,
		         *files[i].member ? "}" : "");
		small_new(&s);
		damage(&s, &d);
		small_set(&s, files[i].file, files[i].text, strlen(files[i].text));
		assert_int_equal(small_write(&s, dir), 0);
		small_free(&s);
		check_refused(files[i].text, "", 0, files[i].says);
	}
}

/* --- a vocabulary that is not read */

static void test_vocabularies(void **state)
{
	static const char *const names[] = { "vocab.json",  "merges.txt",    "vocab.txt",
		                             "tekken.json", "qwen.tiktoken", "tiktoken.model",
		                             "spiece.model" };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "case_open", test_open, NULL, NULL, &(struct nth){ case_open } },
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_markers),
		cmocka_unit_test(test_quantised),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_vocabularies),
	};
	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
