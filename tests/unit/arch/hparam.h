/* tests/unit/arch/hparam.h - parameters read from keys that a test says; a small llama's are there already. */
#ifndef TESTS_HPARAM_H
#define TESTS_HPARAM_H
#include "../file/make.h"

#include <math.h>

#include "arch/arch.h"

enum kind { NONE, U32, I32, U64, F32, BOOL, STR, ARR_U32, ARR_BOOL, ARR_F32 };
struct key {
	const char *key;
	enum kind kind;
	double v;
	const char *s;
	double more[8];
	int n;
};

static const struct key llama[] = {
	{ "llama.block_count", U32, 4 },
	{ "llama.context_length", U32, 512 },
	{ "llama.embedding_length", U32, 64 },
	{ "llama.feed_forward_length", U32, 172 },
	{ "llama.attention.head_count", U32, 8 },
	{ "llama.attention.head_count_kv", U32, 4 },
	{ "llama.rope.dimension_count", U32, 8 },
	{ "llama.attention.layer_norm_rms_epsilon", F32, 1e-5 },
	{ "llama.attention.layer_norm_epsilon", F32, 1e-5 },
};
enum { LLAMA = sizeof llama / sizeof llama[0] };
/* and of those with recurrent layers */
static const struct key states[] = {
	{ "llama.ssm.conv_kernel", U32, 4 },    { "llama.ssm.state_size", U32, 8 },
	{ "llama.ssm.inner_size", U32, 80 },    { "llama.ssm.group_count", U32, 2 },
	{ "llama.ssm.time_step_rank", U32, 4 },
};
enum { STATES = sizeof states / sizeof states[0] };
static const struct key conv[] = { { "llama.shortconv.l_cache", U32, 3 } };

static void put_key(struct make *m, const struct key *k, const char *name)
{
	/* the bits of a negative number are those of its own type */
	const int whole = k->kind == U32 || k->kind == I32 || k->kind == U64;
	uint64_t w = !whole ? 0 : k->v < 0 ? (uint64_t)(int64_t)k->v : (uint64_t)k->v;
	int32_t i = (int32_t)w;
	float f = (float)k->v;

	switch (k->kind) {
	case NONE:
		break;
	case U32:
		make_key_u32(m, name, (uint32_t)w);
		break;
	case I32:
		make_key(m, name, INFER_META_I32);
		make_put(m, &i, 4);
		break;
	case U64:
		make_key(m, name, INFER_META_U64);
		make_put(m, &w, 8);
		break;
	case F32:
		make_key(m, name, INFER_META_F32);
		make_put(m, &f, 4);
		break;
	case BOOL:
		make_key(m, name, INFER_META_BOOL);
		make_put(m, &(unsigned char){ k->v != 0 }, 1);
		break;
	case STR:
		make_key_str(m, name, k->s);
		break;
	case ARR_U32:
		make_array(m, name, INFER_META_U32, (uint64_t)k->n);
		for (int a = 0; a < k->n; a++)
			make_u32(m, (uint32_t)k->more[a]);
		break;
	case ARR_F32:
		make_array(m, name, INFER_META_F32, (uint64_t)k->n);
		for (int a = 0; a < k->n; a++)
			make_put(m, &(float){ (float)k->more[a] }, 4);
		break;
	case ARR_BOOL:
		make_array(m, name, INFER_META_BOOL, (uint64_t)k->n);
		for (int a = 0; a < k->n; a++)
			make_put(m, &(unsigned char){ k->more[a] != 0 }, 1);
		break;
	}
}

/* The keys of a llama under another name, with those of `with` on top or instead. */
static int read_with(struct arch_hparam *h, const char *arch, const struct key *with, int n,
                     infer_error *e)
{
	static struct make m;
	infer_file *f;
	int count = 0, rc, own = LLAMA;
	char name[128];
	const struct arch *a = arch_find((struct infer_str){ arch, strlen(arch) });
	const struct key *its = arch_row(a, W_SHORT_CONV) ? conv : states;

	own += arch_row(a, W_SHORT_CONV) ? 1 : arch_row(a, W_STATE_CONV) ? STATES : 0;
	for (int pass = 0; pass < 2; pass++) {
		make_head(&m, 0, (uint64_t)count);
		count = 0;
		for (int i = 0; i < own + n; i++) {
			const struct key *k = i < LLAMA ? &llama[i]
			                      : i < own ? &its[i - LLAMA]
			                                : &with[i - own];
			int replaced = k->kind == NONE;
			for (int j = 0; j < n && i < own; j++)
				replaced |= !strcmp(with[j].key, k->key);
			if (replaced)
				continue;
			snprintf(name, sizeof name, "%s%s", arch, k->key + 5);
			put_key(&m, k, name);
			count++;
		}
	}
	make_pad(&m, 32);
	rc = infer_file_open_bytes(&f, m.at, m.n, "made", e);
	if (rc)
		return rc;
	const struct infer_str s = { arch, strlen(arch) };
	const struct arch_keys keys = arch_keys_gguf(f, arch_find(s));
	rc = arch_hparam_read(h, &keys, e);
	infer_file_close(&f);
	return rc;
}

/* Latent attention, with groups of experts. */
static const struct key latent[] = {
	{ "llama.attention.head_count_kv", U32, 1 },
	{ "llama.attention.key_length", U32, 12 },
	{ "llama.attention.value_length", U32, 8 },
	{ "llama.attention.key_length_mla", U32, 10 },
	{ "llama.attention.value_length_mla", U32, 6 },
	{ "llama.attention.kv_lora_rank", U32, 8 },
	{ "llama.attention.q_lora_rank", U32, 6 },
	{ "llama.rope.dimension_count", U32, 4 },
	{ "llama.expert_count", U32, 8 },
	{ "llama.expert_used_count", U32, 3 },
	{ "llama.expert_group_count", U32, 4 },
	{ "llama.expert_group_used_count", U32, 2 },
};
enum { LATENT = sizeof latent / sizeof latent[0], MORE = 4 };

/* With n keys on top or instead. */
__attribute__((unused)) static int read_latent(struct arch_hparam *h, const char *arch,
                                               const struct key *with, int n, infer_error *e)
{
	struct key k[LATENT + MORE];
	int count = 0;

	for (int i = 0; i < LATENT; i++) {
		int replaced = 0;
		for (int j = 0; j < n; j++)
			replaced |= !strcmp(with[j].key, latent[i].key);
		if (!replaced)
			k[count++] = latent[i];
	}
	for (int j = 0; j < n; j++)
		k[count++] = with[j];
	return read_with(h, arch, k, count, e);
}

#endif
