/* hf/dense.c - layers that sentence-transformers puts after a model, each in a folder of its own:
 * FOLDER/config.json and FOLDER/model.safetensors with linear.weight. */
#include "hf/hf.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const char weight[] = "linear.weight";

/* Check that a dense layer has no bias and no activation; others are not supported. */
static int check_config(struct hf_dir *d, const char *folder, infer_error *err)
{
	static const char identity[] = "torch.nn.modules.linear.Identity";
	const struct json *v, *bias, *act;
	struct hf_text text;
	char *name = arena_alloc(&d->arena, strlen(folder) + sizeof "/config.json", 1);

	if (!name)
		return hf_nomem(d, err);
	sprintf(name, "%s/config.json", folder);
	TRY(hf_text_read(d, name, &text, err));
	TRY(hf_json_read(d, &text, &v, err));
	if (!json_is_object(v))
		return hf_fail(d, name, INFER_EFORMAT, err, "must be a JSON object");
	bias = json_get(v, "bias");
	act = json_get(v, "activation_function");
	if (bias && !json_is(bias, JSON_FALSE))
		return hf_fail(d, name, INFER_EUNSUP, err, "\"bias\" must be false");
	if (act && (json_bytes(act) != sizeof identity - 1 ||
	            memcmp(json_str(act), identity, sizeof identity - 1)))
		return hf_fail(d, name, INFER_EUNSUP, err, "\"activation_function\" must be %s",
		               identity);
	return INFER_OK;
}

/* Write the keys of the layer's two sizes. */
static void put_sizes(struct hf_dir *d, int i, const struct safetensors_tensor *t)
{
	char key[128];

	for (int out = 0; out < 2; out++) {
		snprintf(key, sizeof key, "%s.dense_%d_feat_%s", d->arch->gguf, i + 2,
		         out ? "out" : "in");
		gguf_write_u32(d->keys, key, (uint32_t)t->shape[out ? 0 : 1]);
	}
}

int hf_dense(struct hf_dir *d, const char *folder, infer_error *err)
{
	int i = d->n_dense;
	const struct safetensors_tensor *t;
	struct hf_text text;
	char *name = arena_alloc(&d->arena, strlen(folder) + sizeof "/model.safetensors", 1);

	if (!name)
		return hf_nomem(d, err);
	if (i == HF_DENSE || !arch_row(d->arch, W_DENSE_2))
		return hf_fail(d, "modules.json", INFER_EUNSUP, err,
		               "%s: architecture %s has %s Dense layer after it", folder,
		               d->arch->gguf, i ? "no third" : "no");
	TRY(check_config(d, folder, err));
	sprintf(name, "%s/model.safetensors", folder);
	TRY(hf_text_read(d, name, &text, err));
	if (!text.at)
		return hf_fail(d, name, INFER_EIO, err, "there is no such file");
	TRY(safetensors_read(&d->dense[i], d->f, d->f->n_shards - 1, err));
	t = safetensors_find(&d->dense[i], weight, sizeof weight - 1);
	if (!t || d->dense[i].n != 1 || t->n_dims != 2 || t->shape[0] > 1 << 20 ||
	    t->shape[1] > 1 << 20)
		return hf_fail(d, name, INFER_EUNSUP, err, "must have one tensor, the matrix %s",
		               weight);
	put_sizes(d, i, t);
	d->n_dense++;
	return INFER_OK;
}
