/* lora/peft.c - read adapters in directories of Hugging Face PEFT: adapter_config.json and
 * adapter_model.safetensors. */
#include "lora/peft.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/os.h"
#include "base/sha256.h"

#include <stdio.h>

/* Write the path of a file of the directory to b.  INFER_ENOMEM */
static int path_of(const infer_lora *l, struct buf *b, const char *name, infer_error *err)
{
	buf_clear(b);
	buf_printf(b, "%s/%s", l->info.path, name);
	return b->bad ? lora_nomem(l, err) : INFER_OK;
}

/* True if the directory has a file of this name. */
static int has_file(const infer_lora *l, struct buf *b, const char *name)
{
	struct os_stat st;
	unsigned char head[1];
	size_t n;

	return !path_of(l, b, name, NULL) && !os_look(&st, b->at, head, sizeof head, &n, NULL);
}

/* Refuse a directory without the two files, saying what it is. */
static int check_files(const infer_lora *l, struct buf *b, infer_error *err)
{
	static const struct {
		const char *name, *what;
	} others[] = {
		{ "adapter_model.bin",
		  "its tensors are in adapter_model.bin, a PyTorch checkpoint: save it again as "
		  "safetensors (peft: save_pretrained)" },
		{ PEFT_TENSORS ".index.json", "an adapter in several files is not supported" },
		{ "adapters.safetensors",
		  "an adapter of MLX, which is not read: convert it to PEFT or GGUF" },
	};

	/* so that no path is without memory */
	if (buf_reserve(b, strlen(l->info.path) + 64))
		return lora_nomem(l, err);
	if (!has_file(l, b, PEFT_CONFIG))
		return err_set(err, INFER_EINVAL, "%s: not an adapter: it has no " PEFT_CONFIG,
		               file_label(l->info.path));
	if (has_file(l, b, PEFT_TENSORS))
		return INFER_OK;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (has_file(l, b, others[i].name))
			return err_set(err, INFER_EUNSUP, "%s: %s", file_label(l->info.path),
			               others[i].what);
	return err_set(err, INFER_EFORMAT, "%s: it has no " PEFT_TENSORS, file_label(l->info.path));
}

/* Map both files: the tensors are shard 0, the configuration is shard 1. */
static int map_adapter(infer_lora *l, struct buf *b, infer_error *err)
{
	TRY(check_files(l, b, err));
	l->file = mem_zalloc(MEM_ARCH, 1, sizeof *l->file);
	if (!l->file)
		return lora_nomem(l, err);
	TRY(path_of(l, b, PEFT_TENSORS, err));
	TRY(file_add_shard(l->file, b->at, err));
	TRY(path_of(l, b, PEFT_CONFIG, err));
	return file_add_shard(l->file, b->at, err);
}

static void log_left(const struct peft *p)
{
	char line[200];

	if (!p->left || !p->l->log)
		return;
	snprintf(line, sizeof line,
	         "adapter %.80s: %d tensors belong to parts that the text model does not have, and "
	         "have no effect",
	         file_label(p->l->info.path), p->left);
	p->l->log(p->l->log_user, INFER_LOG_WARN, line);
}

/* Refuse tied weights that the adapter keeps tied: their changes would be the same. */
static int check_ties(const struct peft *p, infer_error *err)
{
	const infer_model *m = p->l->m;

	if (!p->config.ties || m->global[W_OUTPUT] >= 0)
		return INFER_OK;
	for (int32_t i = 0; i < p->l->info.n_entries; i++)
		if (!strcmp(p->l->items[i].entry.tensor, "token_embd.weight") ||
		    !strcmp(p->l->items[i].entry.tensor, "output.weight"))
			return peft_config_fail(
				p->l, INFER_EUNSUP, err,
				"ensure_weight_tying is not supported for a changed "
				"embedding table");
	return INFER_OK;
}

static int read_tensors(struct peft *p, infer_error *err)
{
	infer_lora *l = p->l;
	const struct file_shard *tensors = &l->file->shards[0], *config = &l->file->shards[1];

	TRY(peft_config_read(&p->config, l, config->at ? (const char *)config->at : "",
	                     config->bytes, err));
	TRY(safetensors_read(&p->raw, l->file, 0, err));
	TRY(peft_find_pairs(p, err));
	TRY(peft_add_pairs(p, err));
	TRY(peft_add_whole(p, err));
	TRY(check_ties(p, err));
	l->info.alpha = p->config.alpha;
	sha256_name(l->sha256, tensors->at, tensors->bytes);
	log_left(p);
	return INFER_OK;
}

int lora_read_peft(infer_lora *l, infer_error *err)
{
	struct peft p = { .l = l };
	struct buf path;
	int rc;

	buf_init(&path, MEM_ARCH);
	rc = map_adapter(l, &path, err);
	buf_fini(&path);
	if (!rc)
		rc = read_tensors(&p, err);
	peft_config_fini(&p.config);
	safetensors_fini(&p.raw);
	return rc;
}
