/* lora/gguf.c - read adapters in GGUF, as the public converter writes them:
 *
 *   general.type "adapter", general.architecture, adapter.type "lora", adapter.lora.alpha
 *   X.lora_a  [rows of rank][columns of X]     X.lora_b  [rows of X][rank]
 *   token_embd.weight.lora_a  [tokens][rank]   token_embd.weight.lora_b  [columns][rank]
 *   X, a whole tensor: the converter passes norms through
 *
 * alpha 0: the factor is 1 instead of alpha / rank.
 * https://github.com/ggml-org/llama.cpp/blob/master/convert_lora_to_gguf.py */
#include "lora/inner.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

static const char suffix_a[] = ".lora_a", suffix_b[] = ".lora_b";
enum { SUFFIX = sizeof suffix_a - 1 };

/* --- keys */

static int refuse_key(const infer_lora *l, int code, const char *key, const char *what,
                      struct infer_str value, infer_error *err)
{
	char text[FILE_QUOTE];

	return err_set(err, code, "%s: key %s: %s%s", file_label(l->info.path), key, what,
	               file_quote(text, value.at, value.len));
}

/* Check that the file is an adapter of the model's architecture. */
static int check_kind(const infer_lora *l, infer_error *err)
{
	struct infer_str type = { "model", 5 }, arch = { "", 0 }, method = { "", 0 };
	int found;

	TRY(infer_meta_str(l->file, "general.architecture", &arch, NULL, err));
	if (lora_str_is(arch, "controlvector"))
		return err_set(err, INFER_EINVAL, "%s: a control vector, not an adapter",
		               file_label(l->info.path));
	TRY(infer_meta_str(l->file, "general.type", &type, NULL, err));
	if (!lora_str_is(type, "adapter"))
		return refuse_key(l, INFER_EINVAL, "general.type", "not an adapter, but: ", type,
		                  err);
	TRY(infer_meta_str(l->file, "adapter.type", &method, &found, err));
	if (!found)
		return err_set(err, INFER_EFORMAT, "%s: key adapter.type: missing",
		               file_label(l->info.path));
	if (!lora_str_is(method, "lora"))
		return refuse_key(l, INFER_EUNSUP, "adapter.type", "must be lora, not ", method,
		                  err);
	if (!lora_str_is(arch, l->m->arch->gguf))
		return err_set(
			err, INFER_EUNSUP,
			"%s: key general.architecture: the adapter is for %.*s, the model is "
			"%s",
			file_label(l->info.path), (int)(arch.len < 32 ? arch.len : 32), arch.at,
			l->m->arch->gguf);
	return INFER_OK;
}

/* Refuse a key that could change what the adapter does. */
static int check_key(const infer_lora *l, const struct infer_meta *m, infer_error *err)
{
	static const char *const known[] = { "adapter.type", "adapter.lora.alpha",
		                             "adapter.lora.task_name",
		                             "adapter.lora.prompt_prefix" };

	if (lora_str_begins(m->key, "general."))
		return INFER_OK;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (lora_str_is(m->key, known[i]))
			return INFER_OK;
	if (lora_str_begins(m->key, "adapter.alora."))
		return err_set(err, INFER_EUNSUP,
		               "%s: an activated LoRA (aLoRA), which is not supported: key "
		               "adapter.alora.invocation_tokens",
		               file_label(l->info.path));
	char text[FILE_QUOTE];
	return err_set(err, INFER_EUNSUP, "%s: key %s: not known in an adapter",
	               file_label(l->info.path), file_quote(text, m->key.at, m->key.len));
}

static int read_keys(infer_lora *l, infer_error *err)
{
	const struct infer_meta *m;
	struct infer_file_info info;

	infer_file_info(l->file, &info);
	TRY(check_kind(l, err));
	if (info.n_shards > 1)
		return err_set(err, INFER_EUNSUP,
		               "%s: an adapter in several files is not supported",
		               file_label(l->info.path));
	for (uint64_t i = 0; (m = infer_file_meta_at(l->file, i)); i++)
		TRY(check_key(l, m, err));
	TRY(infer_meta_f64(l->file, "adapter.lora.alpha", &l->info.alpha, NULL, err));
	if (!isfinite(l->info.alpha))
		return err_set(err, INFER_ENAN, "%s: key adapter.lora.alpha: must be finite",
		               file_label(l->info.path));
	TRY(infer_meta_str(l->file, "general.name", &l->info.name, NULL, err));
	TRY(infer_meta_str(l->file, "adapter.lora.task_name", &l->info.task, NULL, err));
	return infer_meta_str(l->file, "adapter.lora.prompt_prefix", &l->info.prefix, NULL, err);
}

/* --- tensors */

static struct lora_values values_of(const struct infer_tensor *t)
{
	return (struct lora_values){
		.type = t->type, .at = t->data, .cols = t->ne[0], .rows = t->ne[1], .mats = t->ne[2]
	};
}

/* Return the other half of a pair, or NULL. */
static const struct infer_tensor *find_half(const infer_lora *l, const struct infer_tensor *t,
                                            const char *suffix)
{
	char name[128];

	if (t->name.len >= sizeof name)
		return NULL;
	memcpy(name, t->name.at, t->name.len - SUFFIX);
	memcpy(name + t->name.len - SUFFIX, suffix, SUFFIX + 1);
	return infer_file_tensor(l->file, name);
}

/* Add the pair whose A is t. */
static int read_pair(infer_lora *l, const struct infer_tensor *t, infer_error *err)
{
	const struct infer_tensor *half = find_half(l, t, suffix_b);
	struct infer_str name = { t->name.at, t->name.len - SUFFIX };
	struct lora_target target;
	struct lora_item item = { .entry.kind = INFER_LORA_PAIR, .a = values_of(t) };

	if (!half)
		return lora_fail(l, t->name, INFER_EFORMAT, err, "its half %s is missing",
		                 suffix_b);
	item.b = values_of(half);
	TRY(lora_find(l, name, &target, err));
	if (t->ne[3] != 1 || half->ne[3] != 1)
		return lora_fail(l, t->name, INFER_EFORMAT, err,
		                 "it must have at most 3 dimensions");
	if (half->ne[0] > INFER_LORA_MAX_RANK)
		return lora_fail(l, half->name, INFER_EFORMAT, err,
		                 "its rank must be 1 to %d, not %lld", INFER_LORA_MAX_RANK,
		                 (long long)half->ne[0]);
	item.entry.rank = (int32_t)half->ne[0];
	item.entry.scale = l->info.alpha ? l->info.alpha / item.entry.rank : 1;
	TRY(lora_settle(l, &item.a, t->name, err));
	TRY(lora_settle(l, &item.b, half->name, err));
	return lora_add(l, &target, t->name, &item, err);
}

static int read_tensor(infer_lora *l, const struct infer_tensor *t, infer_error *err)
{
	struct lora_target target;
	struct lora_item item = { .entry = { .kind = INFER_LORA_WHOLE, .scale = 1 } };

	if (lora_str_ends(t->name, suffix_a))
		return read_pair(l, t, err);
	if (lora_str_ends(t->name, suffix_b))
		return find_half(l, t, suffix_a) ? INFER_OK
		                                 : lora_fail(l, t->name, INFER_EFORMAT, err,
		                                             "its half %s is missing", suffix_a);
	TRY(lora_find(l, t->name, &target, err));
	if (t->ne[3] != 1)
		return lora_fail(l, t->name, INFER_EFORMAT, err,
		                 "it must have at most 3 dimensions");
	item.a = values_of(t);
	TRY(lora_settle(l, &item.a, t->name, err));
	return lora_add(l, &target, t->name, &item, err);
}

int lora_read_gguf(infer_lora *l, infer_error *err)
{
	const struct infer_tensor *t;

	TRY(infer_file_open(&l->file, l->info.path, err));
	l->is_gguf = 1;
	TRY(read_keys(l, err));
	for (uint64_t i = 0; (t = infer_file_tensor_at(l->file, i)); i++)
		TRY(read_tensor(l, t, err));
	TRY(infer_file_check_finite(l->file, NULL, err));
	return infer_file_sha256(l->file, 0, l->sha256, NULL, err);
}
