/* hf/tied.c - check tie_word_embeddings against the tensors. */
#include "hf/keys.h"
#include "hf/packed.h"

#include <string.h>

/* Return the tensor with this name after any prefix; NULL: there is none. */
static const struct safetensors_tensor *find_by_suffix(const struct hf_dir *d, const char *name)
{
	size_t n = strlen(name);

	for (uint32_t i = 0; i < d->raw.n; i++) {
		const struct infer_str s = d->raw.at[i].name;
		if (s.len >= n && !memcmp(s.at + s.len - n, name, n) &&
		    (s.len == n || s.at[s.len - n - 1] == '.'))
			return &d->raw.at[i];
	}
	return NULL;
}

static int same_data(const struct safetensors_tensor *a, const struct safetensors_tensor *b)
{
	return a->dtype == b->dtype && a->bytes == b->bytes &&
	       !memcmp(a->data, b->data, (size_t)a->bytes);
}

static int same_tensor(const struct safetensors_tensor *a, const struct safetensors_tensor *b)
{
	const struct hf_packed *p = hf_packed_of(a), *q = hf_packed_of(b);

	if (!p || !q)
		return !p && !q && same_data(a, b);
	for (int i = 0; i < PACKED_PARTS;
	     i++) /* the bytes of a quantised weight are in its parts */
		if (!p->part[i] != !q->part[i] ||
		    (p->part[i] && !same_data(p->part[i], q->part[i])))
			return 0;
	return p->how == q->how;
}

/* True if the class has an output matrix lm_head. */
static int has_output(const struct hf_dir *d)
{
	const struct json *name = json_at(json_get(d->config, "architectures"), 0);
	static const char *const ends[] = { "ForCausalLM", "ForConditionalGeneration" };

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(ends[i]), all = json_bytes(name);
		if (all > n && !memcmp(json_str(name) + all - n, ends[i], n))
			return arch_row(d->arch, W_OUTPUT) != NULL;
	}
	return 0;
}

int hf_check_tied(struct hf_dir *d, int embeds, infer_error *err)
{
	const struct safetensors_tensor *table = find_by_suffix(d, "embed_tokens.weight"),
					*head = find_by_suffix(d, "lm_head.weight");
	/* the top-level member counts, but some multimodal configs leave it at its default */
	const struct json *tied = json_get(d->config, "tie_word_embeddings");
	int is_text = !json_get(d->config, "text_config");

	if (!table || !has_output(d) || !json_is_bool(tied))
		return INFER_OK;
	if (tied->kind == JSON_TRUE && is_text && head && !same_tensor(head, table))
		return hf_fail(d, "config.json", INFER_EUNSUP, err,
		               "key tie_word_embeddings: true, but tensor %.*s is not %.*s",
		               (int)head->name.len, head->name.at, (int)table->name.len,
		               table->name.at);
	/* embedding models are saved without lm_head */
	if (tied->kind == JSON_FALSE && !head && !embeds)
		return hf_fail(d, "config.json", INFER_EFORMAT, err,
		               "key tie_word_embeddings: false, but there is no tensor "
		               "lm_head.weight");
	return INFER_OK;
}
