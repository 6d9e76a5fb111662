/* quant/mix.c - the rules of mixes, as tables: those of llama.cpp (llama_tensor_get_type in
 * src/llama-quant.cpp), so that a name means the same mix in all programs. */
#include "quant/mix.h"
#include "base/err.h"
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* values of general.file_type */
enum file_type {
	FT_F32 = 0,
	FT_F16 = 1,
	FT_Q4_0 = 2,
	FT_Q4_1 = 3,
	FT_Q8_0 = 7,
	FT_Q5_0 = 8,
	FT_Q5_1 = 9,
	FT_Q2_K = 10,
	FT_Q3_K_S = 11,
	FT_Q3_K_M = 12,
	FT_Q3_K_L = 13,
	FT_Q4_K_S = 14,
	FT_Q4_K_M = 15,
	FT_Q5_K_S = 16,
	FT_Q5_K_M = 17,
	FT_Q6_K = 18,
	FT_IQ2_XXS = 19,
	FT_IQ2_XS = 20,
	FT_Q2_K_S = 21,
	FT_IQ3_XS = 22,
	FT_IQ3_XXS = 23,
	FT_IQ1_S = 24,
	FT_IQ4_NL = 25,
	FT_IQ3_S = 26,
	FT_IQ3_M = 27,
	FT_IQ2_S = 28,
	FT_IQ2_M = 29,
	FT_IQ4_XS = 30,
	FT_IQ1_M = 31,
	FT_BF16 = 32,
	FT_TQ1_0 = 36,
	FT_TQ2_0 = 37,
	FT_MXFP4_MOE = 38,
	FT_NVFP4 = 39,
	FT_Q1_0 = 40,
	FT_Q2_0 = 41,
};

/* clang-format off */
static const struct mix_name names[] = {
	{ "F32", FT_F32, INFER_F32 },         { "F16", FT_F16, INFER_F16 },
	{ "BF16", FT_BF16, INFER_BF16 },      { "Q8_0", FT_Q8_0, INFER_Q8_0 },
	{ "Q6_K", FT_Q6_K, INFER_Q6_K },      { "Q5_K_M", FT_Q5_K_M, INFER_Q5_K },
	{ "Q5_K_S", FT_Q5_K_S, INFER_Q5_K },  { "Q4_K_M", FT_Q4_K_M, INFER_Q4_K },
	{ "Q4_K_S", FT_Q4_K_S, INFER_Q4_K },  { "Q3_K_L", FT_Q3_K_L, INFER_Q3_K },
	{ "Q3_K_M", FT_Q3_K_M, INFER_Q3_K },  { "Q3_K_S", FT_Q3_K_S, INFER_Q3_K },
	{ "Q2_K", FT_Q2_K, INFER_Q2_K },      { "Q2_K_S", FT_Q2_K_S, INFER_Q2_K },
	{ "Q5_1", FT_Q5_1, INFER_Q5_1 },      { "Q5_0", FT_Q5_0, INFER_Q5_0 },
	{ "Q4_1", FT_Q4_1, INFER_Q4_1 },      { "Q4_0", FT_Q4_0, INFER_Q4_0 },
	{ "IQ4_NL", FT_IQ4_NL, INFER_IQ4_NL },    { "IQ4_XS", FT_IQ4_XS, INFER_IQ4_XS },
	{ "IQ3_M", FT_IQ3_M, INFER_IQ3_S },       { "IQ3_S", FT_IQ3_S, INFER_IQ3_S },
	{ "IQ3_XS", FT_IQ3_XS, INFER_IQ3_S },     { "IQ3_XXS", FT_IQ3_XXS, INFER_IQ3_XXS },
	{ "IQ2_M", FT_IQ2_M, INFER_IQ2_S },       { "IQ2_S", FT_IQ2_S, INFER_IQ2_XS },
	{ "IQ2_XS", FT_IQ2_XS, INFER_IQ2_XS },    { "IQ2_XXS", FT_IQ2_XXS, INFER_IQ2_XXS },
	{ "IQ1_M", FT_IQ1_M, INFER_IQ1_M },       { "IQ1_S", FT_IQ1_S, INFER_IQ1_S },
	{ "TQ2_0", FT_TQ2_0, INFER_TQ2_0 },       { "TQ1_0", FT_TQ1_0, INFER_TQ1_0 },
	{ "Q2_0", FT_Q2_0, INFER_Q2_0 },          { "Q1_0", FT_Q1_0, INFER_Q1_0 },
	{ "MXFP4_MOE", FT_MXFP4_MOE, INFER_MXFP4 },
	/* single types without a mix of that name; file_type as llama-quantize --pure sets it */
	{ "Q5_K", FT_Q5_K_M, INFER_Q5_K, 1 },     { "Q4_K", FT_Q4_K_M, INFER_Q4_K, 1 },
	{ "Q3_K", FT_Q3_K_M, INFER_Q3_K, 1 },     { "MXFP4", FT_MXFP4_MOE, INFER_MXFP4, 1 },
	{ "NVFP4", FT_NVFP4, INFER_NVFP4, 1 },
};
/* clang-format on */

const struct mix_name *mix_at(int i)
{
	return i >= 0 && i < (int)(sizeof names / sizeof *names) ? &names[i] : NULL;
}

const struct mix_name *mix_find(const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcasecmp(names[i].name, name))
			return &names[i];
	return NULL;
}

void mix_similar(char to[MIX_SIMILAR], const char *name)
{
	char upper[NEAREST_NAME] = "";
	struct nearest n;

	*to = 0;
	if (strlen(name) >= sizeof upper)
		return;
	for (size_t i = 0; name[i]; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	nearest_begin(&n, upper);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		nearest_try(&n, names[i].name);
	if (n.best)
		snprintf(to, MIX_SIMILAR, "; did you mean %s?", n.best);
}

int mix_type(const char *name)
{
	for (int i = 0; i < INFER_TYPE_COUNT; i++)
		if (!strcasecmp(infer_type_info(i)->name, name))
			return i;
	return -1;
}

/* Roles of tensors in the model, by their names. */
enum role {
	OUTPUT = 1 << 0,
	EMBD = 1 << 1,
	QKV = 1 << 2,
	KV_B = 1 << 3,
	V = 1 << 4,
	K = 1 << 5,
	Q = 1 << 6,
	O = 1 << 7,
	UP = 1 << 8,
	GATE = 1 << 9,
	DOWN = 1 << 10,
	REST = 1 << 11,
	VS = V | QKV | KV_B,
	ANY = (1 << 12) - 1,
	TIED = OUTPUT /* an embedding that is also the output */
};
static const struct {
	const char *part;
	enum role role;
} roles[] = {
	{ "attn_qkv.weight", QKV }, { "attn_kv_b.weight", KV_B }, { "attn_v.weight", V },
	{ "attn_k.weight", K },     { "attn_q.weight", Q },       { "attn_output.weight", O },
	{ "ffn_up", UP },           { "ffn_gate", GATE },         { "ffn_down", DOWN },
};

/* Parts of the names of tensors that are never quantised. */
static const char *const stay[] = {
	"_norm.weight",
	"ffn_gate_inp.weight",
	"ffn_gate_tid2eid.weight",
	"altup",
	"laurel",
	"per_layer_model_proj",
	"ssm_conv1d",
	"shortconv.conv.weight",
	"indexer.k_proj.weight",
	"indexer.q_proj.weight",
	"time_mix_first.weight",
	"time_mix_w0.weight",
	"time_mix_w1.weight",
	"time_mix_w2.weight",
	"time_mix_v0.weight",
	"time_mix_v1.weight",
	"time_mix_v2.weight",
	"time_mix_a0.weight",
	"time_mix_a1.weight",
	"time_mix_a2.weight",
	"time_mix_g1.weight",
	"time_mix_g2.weight",
	"time_mix_decay_w1.weight",
	"time_mix_decay_w2.weight",
	"time_mix_lerp_fused.weight",
	"attn_rel_b.weight",
	".position_embd",
	"sam.pos_embd",
	"sam.neck.",
	"sam.net_",
	".rel_pos",
	".patch_embd",
	".patch_merger",
	"a.rvq.codebook",
	"mm.a.code_embd",
};
static const char *const stay_glm5[] = {
	"hc_",
	"indexer.attn_q_b",
	"indexer.attn_k",
	"indexer.proj",
	"indexer_compressor_gate",
	"indexer_compressor_ape",
	"ssm_f_a.weight",
	"ssm_f_b.weight",
	"ssm_g_a.weight",
	"ssm_g_b.weight",
	"ssm_beta.weight",
	"attn_kv_a_mqa.weight",
	"attn_k_b.weight",
	"attn_v_b.weight",
};

/* Conditions on the model, a tensor and its layer.  A rule applies if all its conditions hold. */
enum fact {
	GQA4 = 1 << 0,  /* 4 heads or more share a head of K and V */
	WIDE = 1 << 1,  /* GQA4, or 4 experts or more */
	EIGHT = 1 << 2, /* the model has 8 experts */
	NOT_EIGHT = 1 << 3,
	FALCON = 1 << 4,
	NOT_FALCON = 1 << 5,
	PLAIN = 1 << 6, /* without importances; WEIGHED: with */
	WEIGHED = 1 << 7,
	SEVENTY = 1 << 8,  /* models shaped like Llama 70B, see `seventy` */
	RAGGED = 1 << 9,   /* rows are not whole blocks of the base type */
	STACKED = 1 << 10, /* three-dimensional: the matrices of all experts */
	FIRST_2 = 1 << 11, /* first two tensors that count as V */
	FIRST_4 = 1 << 12,
	MORE = 1 << 13,   /* first and last eighth of the layers, and every third layer between */
	EIGHTH = 1 << 14, /* first eighth of the layers */
	SIXTEENTH = 1 << 15,
	MIDDLE = 1 << 16, /* layers outside the first and last eighth */
};

#define F(x) (UINT64_C(1) << FT_##x)
#define ALL UINT64_MAX
#define IQ2_BETTER (F(IQ2_S) | F(IQ2_M))
#define IQ1 (F(IQ1_S) | F(IQ1_M))
#define LOW (F(IQ2_XXS) | F(IQ2_XS) | IQ2_BETTER | IQ1)
#define IQ4 (F(IQ4_NL) | F(IQ4_XS))

/* The first rule that applies sets the type.  If none applies, the type is the base type. */
static const struct rule {
	uint64_t files; /* mask of file types, F() */
	uint32_t roles, facts;
	uint8_t type;
} rules[] = {
	{ F(MXFP4_MOE), OUTPUT, 0, INFER_Q8_0 },
	{ ALL, OUTPUT, FALCON, INFER_Q8_0 },
	{ ALL, OUTPUT, RAGGED, INFER_Q8_0 },
	{ LOW | F(IQ3_XXS), OUTPUT, 0, INFER_Q5_K },
	{ ~F(Q8_0), OUTPUT, 0, INFER_Q6_K },
	{ F(MXFP4_MOE), ANY & ~OUTPUT, STACKED, INFER_MXFP4 },
	{ F(MXFP4_MOE), ANY & ~OUTPUT, 0, INFER_Q8_0 },

	{ F(IQ2_XXS) | F(IQ2_XS) | IQ1, EMBD, 0, INFER_Q2_K },
	{ IQ2_BETTER | F(IQ3_XXS), EMBD, 0, INFER_IQ3_S },
	{ F(TQ1_0) | F(TQ2_0) | F(Q2_0), EMBD, 0, INFER_Q4_K },

	{ LOW, VS, WIDE, INFER_Q4_K },
	{ IQ2_BETTER, VS, 0, INFER_IQ3_S },
	{ LOW, VS, 0, INFER_Q2_K },
	{ LOW, K, EIGHT, INFER_Q4_K },
	{ IQ2_BETTER, DOWN, EIGHTH, INFER_IQ3_S },
	{ LOW, DOWN, EIGHTH, INFER_Q2_K },
	{ LOW, O, EIGHT, INFER_Q5_K },
	{ IQ1, O, 0, INFER_IQ2_XXS },
	{ IQ2_BETTER, O, 0, INFER_IQ3_S },

	{ ~LOW, VS | K, EIGHT, INFER_Q8_0 },
	{ F(Q2_K) | F(Q2_K_S), VS, GQA4, INFER_Q4_K },
	{ F(Q2_K), VS, 0, INFER_Q3_K },
	{ F(IQ3_XXS), VS, GQA4, INFER_Q4_K },
	{ F(IQ3_XXS), VS, PLAIN, INFER_IQ3_S },
	{ F(IQ3_XS) | F(IQ3_S), VS, GQA4, INFER_Q4_K },
	{ F(IQ3_M), VS, 0, INFER_Q4_K },
	{ F(Q3_K_M), VS, FIRST_2, INFER_Q5_K },
	{ F(Q3_K_M), VS, 0, INFER_Q4_K },
	{ F(Q3_K_L), VS, 0, INFER_Q5_K },
	{ IQ4, VS, GQA4, INFER_Q5_K },
	{ F(Q4_K_M) | F(Q5_K_M), VS, MORE, INFER_Q6_K },
	{ F(Q4_K_S), VS, FIRST_4, INFER_Q5_K },

	{ F(IQ3_XS), K | Q, 0, INFER_IQ3_XXS },
	{ F(IQ3_XXS), K | Q, 0, INFER_IQ2_S },

	{ F(Q2_K), DOWN, 0, INFER_Q3_K },
	{ F(Q2_K_S), DOWN, EIGHTH, INFER_Q4_K },
	{ F(IQ3_XXS), DOWN, PLAIN | EIGHTH, INFER_Q4_K },
	{ F(IQ3_XXS), DOWN, PLAIN, INFER_Q3_K },
	{ F(Q3_K_M), DOWN, SIXTEENTH, INFER_Q5_K },
	{ F(Q3_K_M), DOWN, NOT_FALCON, INFER_Q4_K },
	{ F(Q3_K_M), DOWN, MORE, INFER_Q4_K },
	{ F(IQ3_M), DOWN, EIGHTH, INFER_Q4_K },
	{ F(IQ3_M), DOWN, EIGHT | MORE, INFER_Q4_K },
	{ F(Q3_K_L), DOWN, FALCON, INFER_Q4_K },
	{ F(Q3_K_L), DOWN, 0, INFER_Q5_K },
	{ F(Q4_K_M), DOWN, FALCON | SIXTEENTH, INFER_Q6_K },
	{ F(Q4_K_M), DOWN, FALCON | MORE, INFER_Q5_K },
	{ F(Q4_K_M), DOWN, FALCON, INFER_Q4_K },
	{ F(Q4_K_M) | F(Q5_K_M), DOWN, MORE, INFER_Q6_K },
	{ IQ4, DOWN, PLAIN | EIGHTH, INFER_Q5_K },
	{ F(Q4_K_S), DOWN, NOT_FALCON | EIGHTH, INFER_Q5_K },
	{ F(Q4_0), DOWN, WEIGHED | EIGHTH, INFER_Q4_1 },
	{ F(Q5_0), DOWN, WEIGHED | EIGHTH, INFER_Q5_1 },

	{ F(Q2_K) | F(IQ3_XS) | F(IQ3_XXS) | F(Q3_K_S) | F(Q3_K_M) | IQ4 | F(Q4_K_S) | F(Q4_K_M) |
	          F(IQ3_S) | F(IQ3_M),
	  O, EIGHT | NOT_FALCON, INFER_Q5_K },
	{ F(Q2_K), O, NOT_EIGHT | NOT_FALCON, INFER_Q3_K },
	{ F(IQ3_XXS), O, NOT_EIGHT | NOT_FALCON, INFER_IQ3_S },
	{ F(Q3_K_M) | F(IQ3_M), O, NOT_EIGHT | NOT_FALCON, INFER_Q4_K },
	{ F(Q3_K_L), O, NOT_EIGHT | NOT_FALCON, INFER_Q5_K },
	{ F(Q3_K_L), O, FALCON, INFER_Q4_K },

	{ F(IQ3_XS), GATE | UP, MIDDLE, INFER_IQ3_XXS },
};

/* Models whose V is so much smaller than other tensors that it gets more bits. */
static const struct {
	const char *arch;
	int layers;
} seventy[] = { { "llama", 80 }, { "qwen2", 80 }, { "deci", 80 }, { "olmo", 80 }, { "jais2", 68 } };

static int name_is(struct infer_str s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static int name_contains(struct infer_str s, const char *part)
{
	return s.len && memmem(s.at, s.len, part, strlen(part)) != NULL;
}

static int name_contains_any(struct infer_str s, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name_contains(s, parts[i]))
			return 1;
	return 0;
}

static enum role role_of(struct infer_str name)
{
	if (name_is(name, "output.weight"))
		return OUTPUT;
	if (name_is(name, "token_embd.weight") || name_is(name, "per_layer_token_embd.weight"))
		return EMBD;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (name_contains(name, roles[i].part))
			return roles[i].role;
	return REST;
}

int mix_layer(struct infer_str name)
{
	int layer = 0;
	size_t i = 4;

	if (name.len < 5 || memcmp(name.at, "blk.", 4))
		return -1;
	for (; i < name.len && name.at[i] >= '0' && name.at[i] <= '9' && layer < 1 << 24; i++)
		layer = layer * 10 + (name.at[i] - '0');
	return i > 4 ? layer : -1;
}

/* Read an integer key of the architecture, or the first element of an array.  Leaves *v
 * unchanged if it is absent. */
static int read_key(const infer_file *f, struct infer_str arch, const char *what, int64_t *v,
                    infer_error *err)
{
	char name[128];
	const struct infer_meta *m;

	if (arch.len + strlen(what) + 2 > sizeof name)
		return INFER_OK;
	memcpy(name, arch.at, arch.len);
	name[arch.len] = '.';
	strcpy(name + arch.len + 1, what);
	m = infer_file_meta(f, name);
	if (!m || !m->count)
		return INFER_OK;
	return infer_meta_elem_i64(f, m, 0, v, err);
}

static void count_v(struct mix *m, const infer_file *f)
{
	const struct infer_tensor *t;

	m->tied = 1;
	for (uint64_t i = 0; (t = infer_file_tensor_at(f, i)); i++) {
		enum role r = role_of(t->name);

		m->n_v += (r & VS) != 0;
		m->tied &= r != OUTPUT;
	}
}

int mix_init(struct mix *m, const struct mix_name *name, int has_importance, const infer_file *f,
             infer_error *err)
{
	struct infer_str arch = { "", 0 };
	int64_t layers = 0, experts = 0, heads = 0, kv;

	*m = (struct mix){ .name = name, .has_importance = has_importance };
	count_v(m, f);
	TRY(infer_meta_str(f, "general.architecture", &arch, NULL, err));
	TRY(read_key(f, arch, "block_count", &layers, err));
	TRY(read_key(f, arch, "expert_count", &experts, err));
	TRY(read_key(f, arch, "attention.head_count", &heads, err));
	kv = heads;
	TRY(read_key(f, arch, "attention.head_count_kv", &kv, err));
	m->layers = layers >= 0 && layers < 1 << 24 ? (int)layers : 0;
	m->experts = experts >= 0 && experts < 1 << 24 ? (int)experts : 0;
	m->bailing = name_is(arch, "bailingmoe3");
	m->glm5 = name_is(arch, "glm5-next");
	m->always |= has_importance ? WEIGHED : PLAIN;
	m->always |= name_is(arch, "falcon") ? FALCON : NOT_FALCON;
	m->always |= m->experts == 8 ? EIGHT : NOT_EIGHT;
	m->always |= kv > 0 && heads / kv >= 4 ? GQA4 | WIDE : 0;
	m->always |= m->experts >= 4 ? WIDE : 0;
	for (size_t i = 0; i < sizeof seventy / sizeof *seventy; i++)
		if (name_is(arch, seventy[i].arch) && m->layers == seventy[i].layers &&
		    (i || (heads != kv && m->experts != 8)))
			m->always |= SEVENTY;
	return INFER_OK;
}

int mix_takes(const struct mix *m, const struct infer_tensor *t)
{
	struct infer_str s = t->name;

	if (t->ne[1] < 2 && t->ne[2] < 2 && t->ne[3] < 2)
		return 0;
	if (s.len < 6 || memcmp(s.at + s.len - 6, "weight", 6))
		return 0;
	if (name_is(s, "position_embd.weight") || name_is(s, "token_types.weight"))
		return 0;
	if (name_contains_any(s, stay, sizeof stay / sizeof *stay))
		return 0;
	return !m->glm5 || !name_contains_any(s, stay_glm5, sizeof stay_glm5 / sizeof *stay_glm5);
}

static uint32_t layer_facts(int i, int n)
{
	uint32_t facts = 0;

	facts |= i < n / 8 ? EIGHTH : 0;
	facts |= i < n / 16 ? SIXTEENTH : 0;
	facts |= i >= n / 8 && i < 7 * n / 8 ? MIDDLE : 0;
	facts |= i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2 ? MORE : 0;
	return facts;
}

/* Add the conditions on the layer of a feed-forward tensor that hold.  With experts, tensors may be
 * in any order, so the layer is taken from the name; INFER_EUNSUP: the name has none. */
static int ffn_facts(uint32_t *facts, const struct mix *m, const struct infer_tensor *t, int i,
                     infer_error *err)
{
	if (m->experts > 1 && !(LOW >> m->name->file_type & 1)) {
		i = mix_layer(t->name);
		if (i < 0 || i >= m->layers)
			return err_set(err, INFER_EUNSUP,
			               "tensor %.*s: its name has no layer below %d, on which the "
			               "type of experts depends",
			               (int)t->name.len, t->name.at, m->layers);
	}
	*facts |= layer_facts(i, m->layers);
	return INFER_OK;
}

static int gather_facts(uint32_t *facts, struct mix *m, const struct infer_tensor *t, enum role r,
                        infer_error *err)
{
	int experts = m->bailing ? (r & (UP | GATE | DOWN)) != 0 : 1;

	*facts = m->always;
	*facts |= t->ne[2] > 1 && experts ? STACKED : 0;
	*facts |= t->ne[0] % infer_type_info(m->name->base)->block ? RAGGED : 0;
	if (r & VS) {
		*facts |= layer_facts(m->i_v, m->n_v);
		*facts |= m->i_v < 2 ? FIRST_2 : 0;
		*facts |= m->i_v < 4 ? FIRST_4 : 0;
		m->i_v++;
	}
	if (m->name->file_type == FT_MXFP4_MOE)
		return INFER_OK;
	return r == DOWN   ? ffn_facts(facts, m, t, m->i_down++, err)
	       : r == GATE ? ffn_facts(facts, m, t, m->i_gate++, err)
	       : r == UP   ? ffn_facts(facts, m, t, m->i_up++, err)
	                   : INFER_OK;
}

int mix_choose(int *type, struct mix *m, const struct infer_tensor *t, infer_error *err)
{
	uint64_t file = UINT64_C(1) << m->name->file_type;
	enum role r = role_of(t->name);
	uint32_t facts;

	*type = m->name->base;
	if (m->name->alone || infer_type_info(*type)->block == 1)
		return INFER_OK;
	if (m->glm5 && (name_contains(t->name, "attn_q_a") || name_contains(t->name, "attn_q_b") ||
	                name_contains(t->name, "nextn.eh_proj"))) {
		*type = INFER_Q8_0;
		return INFER_OK;
	}
	if (m->tied && r == EMBD)
		r = TIED;
	TRY(gather_facts(&facts, m, t, r, err));
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].files & file && rules[i].roles & r && !(rules[i].facts & ~facts)) {
			*type = rules[i].type;
			break;
		}
	if (facts & SEVENTY && r & VS && file & ~(LOW | F(MXFP4_MOE)) &&
	    (*type == INFER_Q3_K || *type == INFER_Q4_K))
		*type = INFER_Q5_K;
	return INFER_OK;
}

int mix_fit(int type, int64_t ne0)
{
	/* replacements with smaller blocks */
	static const uint8_t instead[INFER_TYPE_COUNT] = {
		[INFER_IQ1_S] = INFER_IQ4_NL,   [INFER_IQ1_M] = INFER_IQ4_NL,
		[INFER_IQ2_XXS] = INFER_IQ4_NL, [INFER_IQ2_XS] = INFER_IQ4_NL,
		[INFER_IQ2_S] = INFER_IQ4_NL,   [INFER_IQ3_XXS] = INFER_IQ4_NL,
		[INFER_IQ3_S] = INFER_IQ4_NL,   [INFER_IQ4_XS] = INFER_IQ4_NL,
		[INFER_Q1_0] = INFER_Q4_0,      [INFER_Q2_0] = INFER_Q4_0,
		[INFER_Q2_K] = INFER_Q4_0,      [INFER_Q3_K] = INFER_Q4_0,
		[INFER_TQ1_0] = INFER_Q4_0,     [INFER_TQ2_0] = INFER_Q4_0,
		[INFER_Q4_K] = INFER_Q5_0,      [INFER_Q5_K] = INFER_Q5_1,
		[INFER_Q6_K] = INFER_Q8_0,      [INFER_NVFP4] = INFER_MXFP4,
	};

	if (ne0 % infer_type_info(type)->block && instead[type])
		type = instead[type];
	return ne0 % infer_type_info(type)->block ? INFER_F16 : type;
}

int mix_needs_importance(const struct mix *m, const struct infer_tensor *t, int type)
{
	if (role_of(t->name) & (OUTPUT | EMBD))
		return 0;
	switch (type) {
	case INFER_IQ3_XXS:
	case INFER_IQ2_XXS:
	case INFER_IQ2_XS:
	case INFER_IQ2_S:
	case INFER_IQ1_M:
	case INFER_IQ1_S:
		return 1;
	default:
		return type == INFER_Q2_K && m->name->file_type == FT_Q2_K_S;
	}
}
