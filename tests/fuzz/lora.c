/* tests/fuzz/lora.c - any bytes as an adapter of the built-in model: refused with one line, or read; then it is
 * merged into each tensor.  The first byte selects the form of the others: a GGUF file, adapter_model.safetensors or
 * adapter_config.json. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infer/lora.h>
#include "base/err.h"
#include "lora/lora.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MODULE "base_model.model.model.layers.0.self_attn.q_proj"
enum { WIDE = 256 };
static char dir[] = "/tmp/infer-fuzz-lora-XXXXXX";
static infer_model *model;
static volatile float sink;

static void write_file(const char *name, const void *bytes, size_t n)
{
	char path[64];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "wb");
	must(f && fwrite(bytes, 1, n, f) == n && !fclose(f));
}

/* A pair of rank 1 of zeros. */
static void write_tensors(void)
{
	static char all[1024 + 4 * WIDE];
	const char *head = "{\"" MODULE ".lora_A.weight\":{\"dtype\":\"BF16\",\"shape\":[1,256],"
			   "\"data_offsets\":[0,512]},\"" MODULE ".lora_B.weight\":{\"dtype\":"
			   "\"BF16\",\"shape\":[256,1],\"data_offsets\":[512,1024]}}";
	uint64_t n = strlen(head);

	memcpy(all, &n, 8);
	memcpy(all + 8, head, n);
	write_file("adapter_model.safetensors", all, 8 + n + 1024);
}

static void remove_files(void)
{
	static const char *const names[] = { "a.gguf", "adapter_config.json",
		                             "adapter_model.safetensors" };
	char path[64];

	infer_model_close(&model);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* Read every value that is in use. */
static void read_all(const infer_lora *l)
{
	static float w[4 * 768];
	const struct infer_tensor *t;
	struct infer_lora_info info;
	struct infer_lora_entry e;

	for (uint64_t i = 0; (t = infer_file_tensor_at(infer_model_file(model), i)); i++) {
		must(t->ne[0] <= 768);
		for (int64_t row = 0; row < t->ne[1]; row += 4) {
			int64_t n = t->ne[1] - row < 4 ? t->ne[1] - row : 4;
			must(!infer_lora_merge(l, 1, t, 0, row, n, w, NULL));
			sink = w[0];
		}
	}
	infer_lora_info(l, &info);
	must(info.n_entries > 0 && info.bytes > 0 && strlen(info.sha256) == 64);
	for (int32_t i = 0; i < info.n_entries; i++) {
		infer_lora_entry(l, i, &e);
		must(*e.tensor && e.rank >= 0 && e.rank <= INFER_LORA_MAX_RANK);
		must(e.rank <= lora_adapter(l)->max_rank);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char config[] = "{\"peft_type\":\"LORA\",\"r\":1}";
	static const char *const names[] = { "a.gguf", "adapter_model.safetensors",
		                             "adapter_config.json" };
	int which = size ? data[0] % 3 : 0;
	infer_error err = { 0 };
	infer_lora *l;
	char path[64];

	if (!size)
		return 0;
	if (!model) {
		must(mkdtemp(dir) && !infer_model_open(&model, "demo", NULL, NULL));
		must(!atexit(remove_files));
	}
	write_tensors();
	write_file("adapter_config.json", config, sizeof config - 1);
	write_file(names[which], data + 1, size - 1);
	snprintf(path, sizeof path, "%s%s", dir, which ? "" : "/a.gguf");
	int rc = infer_lora_open(&l, model, path, NULL, NULL, &err);
	if (rc) {
		must(rc == err.code && *err.message && !strchr(err.message, '\n'));
		return 0;
	}
	read_all(l);
	infer_lora_close(&l);
	return 0;
}
