/* hf/refuse.c - refuse directories that cannot be run; messages name a way to get one that can. */
#include "base/err.h"
#include "hf/hf.h"

#include <stdlib.h>
#include <string.h>

#define ORIGINAL "take it in BF16, F16 or F32 (infer-quant quantises it), or a GGUF file"
#define SAVE \
	"save it again as safetensors (transformers: from_pretrained, then save_pretrained), or " \
	"take " \
	"a GGUF file"

/* Files that mark an unsupported directory, even if it contains a whole checkpoint. */
static const struct {
	const char *name, *what;
} markers[] = {
	{ "model_index.json", "a pipeline of diffusers, which makes images: not a language model" },
	{ "adapter_config.json", "an adapter (PEFT), not a model: give it with --lora, and its "
	                         "base model with -m" },
	{ "qmodel.pt", "quantised with HQQ, which cannot be read: " ORIGINAL },
};

/* Weights in other formats, reported if there are none in safetensors.  The first row that matches
 * a file is used. */
static const struct {
	const char *begins, *ends, *what;
} weights[] = {
	{ "", ".gguf", "a GGUF file: give its own name, not that of the directory" },
	{ "", ".gguf.zst", "a GGUF file: give its own name, not that of the directory" },
	{ "consolidated", ".safetensors",
	  "weights in Mistral's own form, which is not read: take the model.safetensors of the "
	  "same "
	  "model, or a GGUF file" },
	{ "", ".safetensors",
	  "not called model.safetensors, nor in an index "
	  "model.safetensors.index.json: rename it if it is the whole model" },
	{ "pytorch_model", ".bin", "a PyTorch checkpoint: " SAVE },
	{ "pytorch_model", ".json", "the index of a PyTorch checkpoint: " SAVE },
	{ "", ".pth", "a PyTorch checkpoint: " SAVE },
	{ "", ".pt", "a PyTorch checkpoint: " SAVE },
	{ "", ".ckpt", "a PyTorch checkpoint: " SAVE },
	{ "", ".bin", "not safetensors, and if it is a PyTorch checkpoint: " SAVE },
	{ "", ".msgpack", "weights of Flax: " SAVE },
	{ "", ".h5", "weights of TensorFlow: " SAVE },
	{ "", ".npz", "weights of NumPy or MLX: " SAVE },
	{ "", ".onnx", "an ONNX model, which cannot be run: take safetensors or a GGUF file" },
	{ "onnx", "onnx",
	  "a folder of ONNX models, which cannot be run: take safetensors or a GGUF "
	  "file" },
	{ "openvino_", ".xml",
	  "an OpenVINO model, which cannot be run: take safetensors or a GGUF "
	  "file" },
	{ "", ".nemo", "a NeMo checkpoint, which is not read: take safetensors or a GGUF file" },
	{ "", ".engine",
	  "a TensorRT engine, which cannot be run: take safetensors or a GGUF file" },
};

/* Known values of quant_method without a row in packing_list.h. */
static const struct {
	const char *method, *what;
} methods[] = {
	{ "exl2", "EXL2" },
	{ "exl3", "EXL3" },
	{ "nvfp4", "NVFP4" },
	{ "auto-round", "AutoRound" },
	{ "intel/auto-round", "AutoRound" },
	{ "torchao", "torchao" },
	{ "quark", "Quark" },
	{ "quanto", "Quanto" },
	{ "aqlm", "AQLM" },
	{ "higgs", "HIGGS" },
	{ "vptq", "VPTQ" },
	{ "spqr", "SpQR" },
	{ "eetq", "EETQ" },
	{ "bitnet", "BitNet" },
	{ "fp_quant", "FP-Quant" },
};

static int matches_form(const char *name, const char *begins, const char *ends)
{
	size_t n = strlen(name), b = strlen(begins), e = strlen(ends);

	return n >= b && n >= e && !memcmp(name, begins, b) && !memcmp(name + n - e, ends, e);
}

static int compare_file_names(const void *key, const void *at)
{
	return strcmp(key, *(const char *const *)at);
}

struct names {
	const char *const *at; /* [n] sorted names */
	int n;
};

static int has_file(const struct names *l, const char *name)
{
	return l->n &&
	       bsearch(name, l->at, (size_t)l->n, sizeof *l->at, compare_file_names) != NULL;
}

static int has_safetensors(const struct names *l)
{
	for (int i = 0; i < l->n; i++)
		if (matches_form(l->at[i], "model", ".safetensors"))
			return 1;
	return has_file(l, "model.safetensors.index.json");
}

/* Fail if there are weights in another format, with a message that names it. */
static int refuse_weights(struct hf_dir *d, const struct names *l, infer_error *err)
{
	char name[FILE_QUOTE];

	for (size_t k = 0; k < sizeof weights / sizeof *weights; k++)
		for (int i = 0; i < l->n; i++)
			if (matches_form(l->at[i], weights[k].begins, weights[k].ends))
				return err_set(err, INFER_EUNSUP, "%s/%.60s: %s",
				               file_label(d->path),
				               file_quote(name, l->at[i], strlen(l->at[i])),
				               weights[k].what);
	return INFER_OK;
}

/* Fail for a repository of the hub's cache, which has a folder for each revision. */
static int refuse_cache(struct hf_dir *d, const struct names *l, infer_error *err)
{
	const char *const *names;
	char name[FILE_QUOTE];
	int n;

	if (!has_file(l, "snapshots"))
		return INFER_OK;
	TRY(hf_list(d, "snapshots", &names, &n, err));
	if (!n)
		return hf_fail(d, "snapshots", INFER_EUNSUP, err, "there is no snapshot in it");
	return err_set(err, INFER_EUNSUP,
	               "%s: a repository of the hub's cache: give a snapshot, %s",
	               file_label(d->path),
	               n == 1 ? file_quote(name, names[0], strlen(names[0]))
	                      : "one of the folders in snapshots/");
}

int hf_refuse_other(struct hf_dir *d, infer_error *err)
{
	struct names l;

	TRY(hf_list(d, "", &l.at, &l.n, err));
	for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
		if (has_file(&l, markers[i].name))
			return hf_fail(d, markers[i].name, INFER_EUNSUP, err, "%s",
			               markers[i].what);
	if (!has_safetensors(&l)) {
		TRY(refuse_weights(d, &l, err));
		TRY(refuse_cache(d, &l, err));
	}
	if (!has_file(&l, "config.json"))
		return err_set(err, INFER_EUNSUP,
		               "%s: this is a directory, not a model: it has no config.json",
		               file_label(d->path));
	if (!has_safetensors(&l))
		return err_set(
			err, INFER_EUNSUP,
			"%s: this directory has no weights: there is no model.safetensors, nor "
			"model.safetensors.index.json",
			file_label(d->path));
	return INFER_OK;
}

int hf_refuse_method(const struct hf_dir *d, const struct hf_quant *q, infer_error *err)
{
	char name[FILE_QUOTE];
	const char *what = "an unknown method";

	if (q->method)
		what = file_quote(name, q->method, strlen(q->method));
	for (size_t i = 0; q->method && i < sizeof methods / sizeof *methods; i++)
		if (!strcmp(q->method, methods[i].method))
			what = methods[i].what;
	return hf_fail(d, q->file, INFER_EUNSUP, err,
	               "%s%squantised with %.40s, which cannot be read: " ORIGINAL, q->key,
	               *q->key ? ": " : "", what);
}
