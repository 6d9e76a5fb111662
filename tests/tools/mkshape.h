/* tests/tools/mkshape.h - models with the sizes of known ones: their keys are here, their tensors follow from the
 * architecture's rows. */
#ifndef TESTS_MKSHAPE_H
#define TESTS_MKSHAPE_H
#include <strings.h>
#include "arch/arch.h"
#include "base/buf.h"
#include "file/gguf_write.h"
#include "mkfill.h"

#define SHAPES "gpt-oss-20b qwen3.5-4b qwen3.5-35b-a3b deepseek-v2-lite granite-4-h-tiny"

/* kind: u32, f32, b(ool), s(tring), l(ist): v in each `every`-th layer from number `from` on, else 0 */
struct shape_key {
	const char *name;
	char kind;
	double v;
	const char *s;
	int every, from;
};
struct shape {
	const char *name, *arch, *type, *expert_type;
	long layers, vocab;
	enum arch_slot more[8]; /* of the tensors that files may have */
	struct shape_key keys[32];
};

static const struct shape shapes[] = {
	{ "gpt-oss-20b",
	  "gpt-oss",
	  "q8_0",
	  "mxfp4",
	  24,
	  201088,
	  { W_OUTPUT, W_Q_BIAS, W_K_BIAS, W_V_BIAS, W_O_BIAS },
	  { { "context_length", 'u', 131072 },
	    { "embedding_length", 'u', 2880 },
	    { "feed_forward_length", 'u', 2880 },
	    { "expert_feed_forward_length", 'u', 2880 },
	    { "attention.head_count", 'u', 64 },
	    { "attention.head_count_kv", 'u', 8 },
	    { "attention.key_length", 'u', 64 },
	    { "attention.value_length", 'u', 64 },
	    { "attention.sliding_window", 'u', 128 },
	    { "attention.layer_norm_rms_epsilon", 'f', 1e-5 },
	    { "expert_count", 'u', 32 },
	    { "expert_used_count", 'u', 4 },
	    { "rope.freq_base", 'f', 150000 },
	    { "rope.scaling.type", 's', 0, "yarn" },
	    { "rope.scaling.factor", 'f', 32 },
	    { "rope.scaling.original_context_length", 'u', 4096 } } },
#define QWEN35 \
	{ "context_length", 'u', 262144 }, { "attention.head_count", 'u', 16 }, \
		{ "attention.key_length", 'u', 256 }, { "attention.value_length", 'u', 256 }, \
		{ "attention.layer_norm_rms_epsilon", 'f', 1e-6 }, \
		{ "rope.dimension_count", 'u', 64 }, { "rope.freq_base", 'f', 1e7 }, \
		{ "rope.dimension_sections", 'r', 11 }, { "full_attention_interval", 'u', 4 }, \
		{ "ssm.conv_kernel", 'u', 4 }, { "ssm.state_size", 'u', 128 }, \
		{ "ssm.group_count", 'u', 16 }, { "ssm.time_step_rank", 'u', 32 }, \
	{ \
		"ssm.inner_size", 'u', 4096 \
	}
	{ "qwen3.5-4b",
	  "qwen35",
	  "q4_k",
	  "q4_k",
	  32,
	  248320,
	  { W_OUTPUT },
	  { QWEN35,
	    { "embedding_length", 'u', 2560 },
	    { "feed_forward_length", 'u', 9216 },
	    { "attention.head_count_kv", 'u', 4 } } },
	{ "qwen3.5-35b-a3b",
	  "qwen35moe",
	  "q2_k",
	  "q2_k",
	  40,
	  248320,
	  { W_OUTPUT, W_SHARED_ROUTER },
	  { QWEN35,
	    { "embedding_length", 'u', 2048 },
	    { "attention.head_count_kv", 'u', 2 },
	    { "expert_count", 'u', 256 },
	    { "expert_used_count", 'u', 8 },
	    { "expert_feed_forward_length", 'u', 512 },
	    { "expert_shared_feed_forward_length", 'u', 512 } } },
#undef QWEN35
	{ "deepseek-v2-lite",
	  "deepseek2",
	  "q4_0",
	  "q4_0",
	  27,
	  102400,
	  { W_OUTPUT, W_K_B, W_V_B },
	  { { "context_length", 'u', 163840 },
	    { "embedding_length", 'u', 2048 },
	    { "feed_forward_length", 'u', 10944 },
	    { "leading_dense_block_count", 'u', 1 },
	    { "attention.head_count", 'u', 16 },
	    { "attention.head_count_kv", 'u', 1 },
	    { "attention.key_length", 'u', 576 },
	    { "attention.value_length", 'u', 512 },
	    { "attention.key_length_mla", 'u', 192 },
	    { "attention.value_length_mla", 'u', 128 },
	    { "attention.kv_lora_rank", 'u', 512 },
	    { "attention.layer_norm_rms_epsilon", 'f', 1e-6 },
	    { "rope.dimension_count", 'u', 64 },
	    { "rope.freq_base", 'f', 10000 },
	    { "rope.scaling.type", 's', 0, "yarn" },
	    { "rope.scaling.factor", 'f', 40 },
	    { "rope.scaling.original_context_length", 'u', 4096 },
	    { "rope.scaling.yarn_log_multiplier", 'f', 0.0707 },
	    { "expert_count", 'u', 64 },
	    { "expert_used_count", 'u', 6 },
	    { "expert_shared_count", 'u', 2 },
	    { "expert_feed_forward_length", 'u', 1408 },
	    { "expert_weights_scale", 'f', 1 },
	    { "expert_gating_func", 'u', 1 } } },
	{ "granite-4-h-tiny",
	  "granitehybrid",
	  "q4_0",
	  "q4_0",
	  40,
	  100352,
	  { W_STATE_CONV_BIAS },
	  { { "context_length", 'u', 1 << 20 },
	    { "embedding_length", 'u', 1536 },
	    { "feed_forward_length", 'u', 512 },
	    { "attention.head_count", 'u', 12 },
	    { "attention.head_count_kv", 'l', 4, NULL, 10, 5 },
	    { "attention.layer_norm_rms_epsilon", 'f', 1e-5 },
	    { "attention.scale", 'f', 0.0078125 },
	    { "rope.dimension_count", 'u', 128 },
	    { "rope.scaling.finetuned", 'b', 0 },
	    { "embedding_scale", 'f', 12 },
	    { "residual_scale", 'f', 0.22 },
	    { "logit_scale", 'f', 6 },
	    { "expert_count", 'u', 64 },
	    { "expert_used_count", 'u', 6 },
	    { "expert_shared_feed_forward_length", 'u', 1024 },
	    { "ssm.conv_kernel", 'u', 4 },
	    { "ssm.state_size", 'u', 128 },
	    { "ssm.group_count", 'u', 1 },
	    { "ssm.inner_size", 'u', 3072 },
	    { "ssm.time_step_rank", 'u', 48 } } },
};

static const struct shape *shape_of(const struct spec *s)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (!strcmp(shapes[i].name, s->shape))
			return &shapes[i];
	die(2, "unknown shape", s->shape);
}

static int type_named(const char *name)
{
	int id = 0;

	while (strcasecmp(infer_type_info(id)->name, name))
		if (++id == INFER_TYPE_COUNT)
			die(2, "unknown type", name);
	if (infer_type_info(id)->file_only || !type_get(id)->decode || id == INFER_F64 ||
	    (id >= INFER_I8 && id <= INFER_I64))
		die(2, "no type of weights", name);
	return id;
}

/* What the shape says and no option does. */
static void shape_begin(struct spec *s)
{
	const struct shape *of = shape_of(s);

	s->arch = of->arch;
	if (!s->expert_type)
		s->expert_type = s->type ? s->type : of->expert_type;
	s->type = s->type ? s->type : of->type;
	s->layers = s->layers < 0 ? of->layers : s->layers;
	s->vocab = s->vocab < 0 ? of->vocab : s->vocab;
}

static void shape_list(struct gguf_write *w, const char *name, const struct shape_key *k,
                       long layers)
{
	uint32_t v[ARCH_MAX_LAYERS];

	for (long i = 0; i < layers; i++)
		v[i] = i % k->every == k->from ? (uint32_t)k->v : 0;
	gguf_write_array(w, name, INFER_META_U32, (uint64_t)layers, v, (size_t)layers * sizeof *v);
}

static void shape_keys(struct gguf_write *w, const struct spec *s)
{
	const struct shape *of = shape_of(s);
	const int32_t sections[4] = { 11, 11, 10, 0 };
	char name[128];

	gguf_write_str(w, "general.architecture", s->arch, strlen(s->arch));
	gguf_write_str(w, "general.name", s->shape, strlen(s->shape));
	gguf_write_u32(w, "general.quantization_version", 2);
	snprintf(name, sizeof name, "%s.block_count", s->arch);
	gguf_write_u32(w, name, (uint32_t)s->layers);
	snprintf(name, sizeof name, "%s.vocab_size", s->arch);
	gguf_write_u32(w, name, (uint32_t)s->vocab);
	for (const struct shape_key *k = of->keys; k->name; k++) {
		snprintf(name, sizeof name, "%s.%s", s->arch, k->name);
		if (k->kind == 'u')
			gguf_write_u32(w, name, (uint32_t)k->v);
		else if (k->kind == 'f')
			gguf_write_f32(w, name, (float)k->v);
		else if (k->kind == 'b')
			gguf_write_bool(w, name, k->v != 0);
		else if (k->kind == 's')
			gguf_write_str(w, name, k->s, strlen(k->s));
		else if (k->kind == 'r')
			gguf_write_array(w, name, INFER_META_I32, 4, sections, sizeof sections);
		else
			shape_list(w, name, k, s->layers);
	}
}

/* The parameters that the library reads out of the keys. */
static void shape_read(struct arch_hparam *h, const struct spec *s)
{
	struct gguf_write *w;
	struct buf head;
	infer_file *f = NULL;
	infer_error err = { 0 };
	int rc = gguf_write_new(&w, s->out, &err);

	buf_init(&head, MEM_FILE);
	if (!rc) {
		shape_keys(w, s);
		rc = gguf_write_head(w, &head, &err);
	}
	if (!rc)
		rc = infer_file_open_bytes(&f, head.at, head.len, "keys", &err);
	const struct infer_str name = { s->arch, strlen(s->arch) };
	const struct arch_keys keys = arch_keys_gguf(f, arch_find(name));
	if (!rc)
		rc = arch_hparam_read(h, &keys, &err);
	if (rc)
		die(1, err.message, NULL);
	infer_file_close(&f);
	gguf_write_free(w);
	buf_fini(&head);
	h->n_vocab = (int32_t)s->vocab;
}

/* The type of a matrix of rows of n, or one of smaller blocks where these do not divide them. */
static int shape_type(int type, int64_t n)
{
	return n % infer_type_info(type)->block == 0 ? type : n % 32 == 0 ? INFER_Q8_0 : INFER_F32;
}

static void shape_tensor(struct model *m, const infer_model *of, const struct arch_tensor *t,
                         int layer)
{
	const struct spec *s = m->spec;
	int64_t ne[3];
	char name[64];
	struct tensor *to;

	for (int i = 0; i < 3; i++)
		ne[i] = t->shape[i] ? arch_dim_of(&of->h, layer < 0 ? 0 : layer, t->shape[i]) : 0;
	snprintf(name, sizeof name, "blk.%d.%s", layer, t->gguf);
	if (layer < 0)
		snprintf(name, sizeof name, "%s", t->gguf);
	for (to = m->at; to < m->at + m->n; to++)
		if (!strcmp(to->name, name)) { /* parts of one */
			to->ne[1] += ne[1];
			return;
		}
	int flat = !ne[1] || t->shape[1] == D_ONE, is_expert = t->shape[2] == D_EXPERTS,
	    small = flat || t->shape[0] == D_ONE || t->shape[0] == D_TAPS ||
	            t->shape[0] == D_STATE_GROUP || t->slot == W_ROUTER ||
	            (t->shape[1] == D_EXPERTS && !ne[2]);
	enum fill fill = strstr(name, "norm.weight") || t->slot == W_STATE_SKIP ? ONES
	                 : t->slot == W_STATE_DECAY_RATE                        ? FADES
	                                                                        : RANDOM;
	to = tensor(m, fill,
	            small ? INFER_F32
	                  : shape_type(is_expert ? type_named(s->expert_type) : s->type_id, ne[0]),
	            ne[0], flat ? 0 : ne[1], "%s", name);
	to->n_dims = flat ? 1 : ne[2] ? 3 : 2;
	to->ne[2] = ne[2] ? ne[2] : 1;
	if (t->slot == W_TOKEN_EMBD)
		to->scale = 1;
	else if (t->slot == W_OUTPUT)
		to->loud = m->words;
}

static void shape_plan(struct model *m)
{
	const struct shape *of = shape_of(m->spec);
	infer_model *im = need(calloc(1, sizeof *im));

	im->arch = arch_find((struct infer_str){ of->arch, strlen(of->arch) });
	shape_read(&im->h, m->spec);
	for (int layer = -1; layer < im->h.n_layers; layer++)
		for (int slot = layer < 0 ? 1 : W_GLOBALS; slot < (layer < 0 ? W_GLOBALS : W_SLOTS);
		     slot++) {
			const struct arch_tensor *t = arch_row(im->arch, slot);
			int wanted = t ? arch_tensor_need(im, t, layer < 0 ? 0 : layer) : -1;
			for (int i = 0; i < 8 && !wanted; i++)
				wanted = (int)of->more[i] == slot;
			/* recurrent layers have no bias of attention, and others none of states */
			if (layer >= 0 &&
			    slot == (im->h.recurrent[layer] ? W_O_BIAS : W_STATE_CONV_BIAS))
				wanted = 0;
			if (wanted > 0)
				shape_tensor(m, im, t, layer);
		}
	free(im);
}
#endif
