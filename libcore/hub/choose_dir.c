/* hub/choose_dir.c - choose the files of a safetensors model. */
#include "hub/choose_inner.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char single[] = "model.safetensors", index_name[] = "model.safetensors.index.json";

/* Files that libcore/hf reads, and vocabularies that it refuses by name. */
static const char *const texts[] = {
	"config.json",
	"generation_config.json",
	"tokenizer_config.json",
	"tokenizer.json",
	"tokenizer.model",
	"special_tokens_map.json",
	"added_tokens.json",
	"vocab.json",
	"vocab.txt",
	"merges.txt",
	"chat_template.jinja",
	"chat_template.json",
	"modules.json",
	"README.md",
	"vocab.bpe",
	"tekken.json",
	"tiktoken.model",
	"spiece.model",
	"spm.model",
	"sentencepiece.bpe.model",
	index_name,
};

static int has_entry(const struct hub_entry *e, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(e[i].path, path))
			return 1;
	return 0;
}

/* model-00001-of-00002.safetensors at the top, but not Mistral's own consolidated.safetensors. */
static int is_shard(const char *path)
{
	return !strchr(path, '/') && hub_ends(path, ".safetensors") &&
	       strncmp(path, "consolidated", 12) != 0 && strcmp(path, single) != 0 &&
	       strstr(path, "-of-") != NULL;
}

/* True for folders of sentence-transformers (1_Pooling, 2_Dense) and of additional templates. */
static int is_extra_folder(const char *path)
{
	const char *slash = strchr(path, '/');

	if (!slash || strchr(slash + 1, '/'))
		return 0;
	if (!strncmp(path, "additional_chat_templates/", 26))
		return hub_ends(path, ".jinja");
	return path[0] >= '0' && path[0] <= '9' && path[1] == '_' &&
	       (!strcmp(slash + 1, "config.json") || !strcmp(slash + 1, single));
}

static int is_text_file(const char *path)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strcmp(path, texts[i]))
			return 1;
	return 0;
}

/* Fail for a repository without safetensors.  The message names the weights that it has instead. */
static int refuse_dir(const struct hub_entry *e, size_t n, const char *ref, infer_error *err)
{
	static const struct {
		const char *ending, *is;
	} other[] = {
		{ "adapter_model.safetensors",
		  "an adapter without its model (infer-quant --merge-lora takes one from a file)" },
		{ ".safetensors", "safetensors under other names than model.safetensors" },
		{ ".bin",
		  "PyTorch's .bin, which is not read: look for a GGUF file or safetensors of it" },
		{ ".pth",
		  "PyTorch's .pth, which is not read: look for a GGUF file or safetensors of it" },
		{ ".pt",
		  "PyTorch's .pt, which is not read: look for a GGUF file or safetensors of it" },
		{ ".onnx", "ONNX, which is not read" },
		{ ".mlmodel", "Core ML, which is not read" },
		{ ".npz", "MLX or Flax, which is not read" },
		{ ".msgpack", "Flax, which is not read" },
		{ ".h5", "TensorFlow, which is not read" },
		{ ".gguf", "only GGUF files that are no model of text (mmproj, imatrix)" },
	};

	for (size_t k = 0; k < sizeof other / sizeof *other; k++)
		for (size_t i = 0; i < n; i++)
			if (hub_ends(e[i].path, other[k].ending))
				return err_set(err, INFER_EUNSUP,
				               "%s: nothing in it can be run: it has %s", ref,
				               other[k].is);
	return err_set(err, INFER_EUNSUP, "%s: nothing in it can be run: neither GGUF files nor %s",
	               ref, single);
}

/* Fail if a part of the weights, model-00001-of-00003.safetensors, is missing. */
static int check_shards(const struct hub_entry *e, size_t n, const char *ref, infer_error *err)
{
	size_t have = 0;
	unsigned all = 0, k;

	for (size_t i = 0; i < n; i++) {
		if (!is_shard(e[i].path))
			continue;
		have++;
		if (sscanf(strstr(e[i].path, "-of-"), "-of-%5u", &k) == 1 && k > all)
			all = k;
	}
	return have < all ? err_set(err, INFER_EFORMAT,
	                            "%s: %zu of %u parts of the weights are there", ref, have, all)
	                  : INFER_OK;
}

struct by_bytes {
	size_t at;
	uint64_t bytes;
};

static int compare_bytes(const void *a, const void *b)
{
	const struct by_bytes *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

int hub_choose_dir(struct hub_choice *c, struct arena *mem, const struct hub_entry *e, size_t n,
                   const char *ref, infer_error *err)
{
	int indexed = has_entry(e, n, index_name), shards = 0;
	struct by_bytes *all;

	for (size_t i = 0; indexed && i < n; i++)
		shards |= is_shard(e[i].path);
	if (!has_entry(e, n, "config.json") || !(shards || has_entry(e, n, single)))
		return refuse_dir(e, n, ref, err);
	if (shards)
		TRY(check_shards(e, n, ref, err));
	all = arena_alloc(mem, n, sizeof *all);
	c->at = arena_alloc(mem, n, sizeof *c->at);
	if (!all || !c->at)
		return err_set(err, INFER_ENOMEM, "out of memory for %zu files", n);
	for (size_t i = 0; i < n; i++) {
		const char *path = e[i].path;

		if (!is_text_file(path) && !is_extra_folder(path) &&
		    !(shards ? is_shard(path) : !strcmp(path, single)))
			continue;
		all[c->n++] = (struct by_bytes){ i, e[i].bytes };
		c->bytes += e[i].bytes;
	}
	/* small files first: errors in them show before gigabytes are downloaded */
	qsort(all, c->n, sizeof *all, compare_bytes);
	for (size_t i = 0; i < c->n; i++)
		c->at[i] = all[i].at;
	c->is_dir = 1;
	return INFER_OK;
}
