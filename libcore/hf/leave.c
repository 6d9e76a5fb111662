/* hf/leave.c - normalise tensor names, and find tensors that a text model does not use. */
#include "hf/tensors.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int hf_bad_tensor(const struct hf_dir *d, const struct safetensors_tensor *t, int code,
                  infer_error *err, const char *fmt, ...)
{
	const char *path = d->f->shards[t->shard].path, *slash = path ? strrchr(path, '/') : NULL;
	char why[160], name[FILE_QUOTE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return hf_fail(d, slash ? slash + 1 : "model.safetensors", code, err, "tensor %s: %s",
	               file_quote(name, t->name.at, t->name.len), why);
}

static int has_prefix(struct infer_str s, const char *with)
{
	size_t n = strlen(with);

	return s.len >= n && !memcmp(s.at, with, n);
}

static int has_suffix(struct infer_str s, const char *with)
{
	size_t n = strlen(with);

	return s.len >= n && !memcmp(s.at + s.len - n, with, n);
}

static struct infer_str strip_prefix(struct infer_str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return has_prefix(s, prefix) ? (struct infer_str){ s.at + n, s.len - n } : s;
}

/* Replace the suffix `old` of s by `now`; .at NULL: out of memory. */
static struct infer_str replace_suffix(struct hf_making *k, struct infer_str s, const char *old,
                                       const char *now)
{
	size_t n = s.len - strlen(old);
	char *to = arena_raw(&k->d->brief, n + strlen(now));

	if (!to)
		return (struct infer_str){ NULL, 0 };
	memcpy(to, s.at, n);
	memcpy(to + n, now, strlen(now));
	return (struct infer_str){ to, n + strlen(now) };
}

/* Replace MLX's names of expert tensors: "mlp.switch_mlp.", "block_sparse_moe.switch_mlp.".
 * .at NULL: out of memory */
static struct infer_str rename_mlx_experts(struct hf_making *k, struct infer_str s)
{
	static const char mlx[] = ".switch_mlp.", before[] = "mlp", dense[] = "block_sparse_moe",
			  ours[] = "mlp.experts.";
	const char *at = memmem(s.at, s.len, mlx, sizeof mlx - 1);
	struct infer_str head = { s.at, at ? (size_t)(at - s.at) : 0 };

	if (!at || !(has_suffix(head, before) || has_suffix(head, dense)))
		return s;
	head.len -= has_suffix(head, before) ? sizeof before - 1 : sizeof dense - 1;
	at += sizeof mlx - 1;
	size_t rest = (size_t)(s.at + s.len - at);
	char *to = arena_raw(&k->d->brief, s.len + sizeof ours);
	if (!to)
		return (struct infer_str){ NULL, 0 };
	char *end =
		mempcpy(mempcpy(mempcpy(to, head.at, head.len), ours, sizeof ours - 1), at, rest);
	return (struct infer_str){ to, (size_t)(end - to) };
}

struct infer_str hf_plain_name(struct hf_making *k, struct infer_str name)
{
	/* "model.language_model.layers", "language_model.model.layers", "language_model.lm_head" */
	name = strip_prefix(strip_prefix(name, "model.language_model."), "language_model.");
	name = rename_mlx_experts(k, arch_strip_prefix(k->m->arch, ARCH_HF, name));
	if (!name.at)
		return name;
	if (k->m->h.bidirectional && has_suffix(name, ".gamma")) /* BERT checkpoints until 2019 */
		return replace_suffix(k, name, ".gamma", ".weight");
	if (k->m->h.bidirectional && has_suffix(name, ".beta"))
		return replace_suffix(k, name, ".beta", ".bias");
	return name;
}

/* Return the expert number at the beginning of s and set *rest to the text after it; -1: none. */
static int parse_expert(struct infer_str s, struct infer_str *rest)
{
	int n = 0;

	if (!s.len || *s.at < '0' || *s.at > '9' || (*s.at == '0' && s.len > 1 && s.at[1] != '.'))
		return -1;
	while (s.len && *s.at >= '0' && *s.at <= '9' && n <= ARCH_MAX_EXPERTS)
		n = n * 10 + *s.at++ - '0', s.len--;
	*rest = s;
	return n;
}

static int str_equals(struct infer_str s, const char *to)
{
	return s.len == strlen(to) && has_prefix(s, to);
}

struct arch_parts hf_other_experts(const struct arch *a, struct infer_str rest,
                                   struct arch_tensor spare[2])
{
	static const struct {
		const char *name;
		int slot[2];
	} names[] = { { ".gate_proj.weight", { W_GATE_EXPS } },
		      { ".up_proj.weight", { W_UP_EXPS } },
		      { ".down_proj.weight", { W_DOWN_EXPS } },
		      { "gate_up_proj", { W_GATE_EXPS, W_UP_EXPS } },
		      { "down_proj", { W_DOWN_EXPS } },
		      { "gate_proj.weight", { W_GATE_EXPS } },
		      { "up_proj.weight", { W_UP_EXPS } },
		      { "down_proj.weight", { W_DOWN_EXPS } } };
	struct infer_str s = strip_prefix(rest, "mlp.experts."), name = s;
	struct arch_parts p = { .n = 0, .expert = s.len < rest.len ? parse_expert(s, &name) : -1 };
	const struct arch_tensor *gate = arch_row(a, W_GATE_EXPS), *up = arch_row(a, W_UP_EXPS);
	/* `one`: GGUF stores gate and up as one tensor, which is not supported */
	int one = gate && up && !strcmp(gate->gguf, up->gguf);

	for (size_t i = 0; i < sizeof names / sizeof *names && s.len < rest.len && !one; i++)
		for (int k = 0; str_equals(name, names[i].name) && k < 2 && names[i].slot[k]; k++) {
			const struct arch_tensor *row = arch_row(a, names[i].slot[k]);
			enum arch_transform old = p.expert < 0 ? T_STACK : T_NONE;
			if (!row || row->how != old)
				break;
			spare[k] = *row;
			spare[k].how = old == T_STACK ? T_NONE : T_STACK;
			p.row[p.n++] = &spare[k];
		}
	return p;
}

static int has_any_prefix(struct infer_str s, const char *const *with)
{
	for (; *with; with++)
		if (has_prefix(s, *with))
			return 1;
	return 0;
}

static const char *const media[] = { "vision_tower.",
	                             "vision_model.",
	                             "vision_encoder.",
	                             "visual.",
	                             "multi_modal_projector.",
	                             "mm_projector.",
	                             "audio_tower.",
	                             "embed_vision.",
	                             "embed_audio.",
	                             "patch_merger.",
	                             "vision_language_adapter.",
	                             NULL };

int hf_is_media(struct infer_str name)
{
	return has_any_prefix(strip_prefix(name, "model."), media);
}

static int is_tied(const struct hf_making *k)
{
	const struct json *v = json_get(k->d->text_config, "tie_word_embeddings");

	v = v ? v : json_get(k->d->config, "tie_word_embeddings");
	return json_is(v, JSON_TRUE);
}

/* True if the public converter drops the output matrix of the family. */
static int has_no_output(const struct hf_making *k)
{
	const char *arch = k->m->arch->gguf;

	return !strncmp(arch, "gemma", 5) ||
	       ((!strcmp(arch, "deepseek2") || !strcmp(arch, "mistral4")) && is_tied(k));
}

enum hf_leave hf_leaves_out(const struct hf_making *k, struct infer_str plain,
                            const struct arch_parts *rows, int layer)
{
	static const char *const training[] = { "cls.predictions.", "cls.seq_relationship.", NULL };
	int n = k->m->h.n_layers, slot = rows->n ? rows->row[0]->slot : W_END;

	if (has_any_prefix(plain, media))
		return LEAVE_MEDIA;
	if (has_prefix(plain, "mtp.") || (layer >= n && layer < n + k->layers_next))
		return LEAVE_NEXT;
	if (slot == W_UNUSED || slot == W_UNUSED_IDS || has_suffix(plain, "rotary_emb.inv_freq") ||
	    has_suffix(plain, ".attention.masked_bias"))
		return LEAVE_DERIVED;
	if (slot == W_OUTPUT && has_no_output(k))
		return LEAVE_HEAD;
	if ((slot == W_HEAD || slot == W_HEAD_BIAS) && has_prefix(plain, "pooler.") && !k->ranks)
		return LEAVE_TRAINING;
	if (k->m->h.bidirectional && has_any_prefix(plain, training))
		return LEAVE_TRAINING;
	return LEAVE_NOT;
}

/* Return why a tensor is copied, for notes. */
static const char *copy_reason(const struct hf_rows *h)
{
	static const char *const how[] = {
		[T_PLUS1] = "1 added",
		[T_PAIRS] = "rows in GGUF's order: RoPE pairs adjacent",
		[T_STACK] = "experts, not aligned or of 8 bits",
		[T_EVEN] = "even columns, transposed",
		[T_ODD] = "odd columns, transposed",
		[T_TURN] = "transposed",
		[T_NEG_EXP] = "-exp(x)",
		[T_BY_HEAD] = "rows in GGUF's order",
		[T_BY_HEAD_Z] = "rows in GGUF's order",
		[T_TILED] = "rows in GGUF's order",
		[T_TILED_V] = "rows in GGUF's order",
		[T_TILED_COLS] = "columns in GGUF's order",
		[T_TILED_NEG_EXP] = "-exp(x), rows in GGUF's order",
	};
	int type = hf_type_of(h->from[0]->dtype);

	if (h->how != T_NONE && h->how != T_ROWS)
		return how[h->how];
	return h->zeros                                          ? "rows of 0 appended"
	       : h->type != type                                 ? "converted to F32"
	       : safetensors_dtype_bytes(h->from[0]->dtype) == 1 ? "converted to BF16"
	                                                         : "not aligned in the file";
}

/* Add a note with the number and size of the copies of one slot, over all layers. */
static int note_copies(struct hf_making *k, int slot, infer_error *err)
{
	const struct hf_rows *one = NULL;
	uint64_t bytes = 0;
	int n = 0;

	for (int64_t i = 0; i < k->n; i++) {
		const struct hf_rows *h = k->at[i];
		if (h->slot != slot || !h->to || h->packed)
			continue;
		one = h;
		bytes += (uint64_t)(h->rows * h->mats) * hf_rows_row_bytes(h);
		n++;
	}
	if (!n)
		return INFER_OK;
	return hf_note(k->d, err, "%s: %d copied (%s), %.3g MiB", arch_row(k->m->arch, slot)->gguf,
	               n, copy_reason(one), (double)bytes / (1 << 20));
}

int hf_note_tensors(struct hf_making *k, infer_error *err)
{
	static const char *const left[] = {
		[LEAVE_MEDIA] = "vision or audio",
		[LEAVE_NEXT] = "multi-token prediction",
		[LEAVE_DERIVED] = "computed from config.json instead",
		[LEAVE_HEAD] = "output matrix, tied to the embedding table",
		[LEAVE_TRAINING] = "pretraining heads",
	};

	for (int why = LEAVE_NOT + 1; why < LEAVES; why++)
		if (k->left[why])
			TRY(hf_note(k->d, err, "tensors left out: %d (%s)", k->left[why],
			            left[why]));
	for (int slot = W_END + 1; slot < W_SLOTS; slot++)
		TRY(note_copies(k, slot, err));
	return INFER_OK;
}
