/* Granite 4: most layers are Mamba 2, the others attend without RoPE; with experts and a shared
 * one, or dense. IBM 2025, https://huggingface.co/ibm-granite/granite-4.0-h-small; Dao+ 2024,
 * arXiv:2405.21060 */
#include "arch/arch.h"

extern const struct arch arch_granitemoe;

/* Mamba 2 has no limit of the context. In dense models the FFN is as wide as the shared expert. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	const struct json *all = arch_keys_plain(k, K_EXPERTS);
	int turns = json_equals(arch_keys_plain(k, K_POSITIONS), "rope");

	switch (key) {
	case K_FINETUNED:
		*room = (struct json){ .kind = turns ? JSON_TRUE : JSON_FALSE };
		*v = room;
		return 1;
	case K_CONTEXT:
		*room = arch_json_int(1 << 20);
		*v = turns ? *v : room;
		return 1;
	case K_FF:
		if (json_is(all, JSON_INT) && !all->i && arch_keys_plain(k, K_SHARED_EXPERT_FF))
			*v = arch_keys_plain(k, K_SHARED_EXPERT_FF);
		return 1;
	default:
		return 0;
	}
}

const struct arch arch_granitehybrid = {
	.gguf = "granitehybrid",
	.hf = { "GraniteMoeHybridForCausalLM" },
	.like = &arch_granitemoe,
	.tensors = { group_ssd, group_shared_mlp },
	.member = member,
	.must = "num_key_value_heads layer_types num_local_experts shared_intermediate_size "
		"mamba_d_head",
	.read = { arch_read_scales, arch_read_some_shared_ff, arch_read_ssd, arch_read_positions },
};
