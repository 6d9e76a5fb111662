/* LFM 2: most layers are short convolutions, the others attend. Liquid AI 2025, arXiv:2511.23404 */
#include "arch/arch.h"

#include <math.h>

extern const struct arch arch_llama;

/* FFN width: 2/3 of intermediate_size * block_ffn_dim_multiplier, rounded up to
 * block_multiple_of. */
static int member(const struct arch_keys *k, enum arch_key key, const struct json **v,
                  struct json *room)
{
	const struct json *times = arch_keys_plain(k, K_FF_TIMES),
			  *of = arch_keys_plain(k, K_FF_MULTIPLE);
	double ff;

	if (key != K_FF || !json_is(arch_keys_plain(k, K_FF_ADJUST), JSON_TRUE) ||
	    !json_is(*v, JSON_INT) || !json_is_number(times) || !json_is(of, JSON_INT) || of->i < 1)
		return 0;
	ff = floor(json_double(times) * floor(2 * (double)(*v)->i / 3));
	*room = arch_json_real(ff);
	if (ff >= 0 && ff < 1e9 && of->i < 1 << 30)
		*room = arch_json_int(((int64_t)ff + of->i - 1) / of->i * of->i);
	*v = room;
	return 1;
}

const struct arch arch_lfm2 = {
	.gguf = "lfm2",
	.hf = { "Lfm2ForCausalLM" },
	.like = &arch_llama,
	.tensors = { group_lfm2 },
	.rope = { ROPE_HALVES, ROPE_HALVES },
	.member = member,
	.must = "num_key_value_heads layer_types rope.rope_theta conv_L_cache "
		"block_auto_adjust_ff_dim "
		"block_ffn_dim_multiplier block_multiple_of",
	.read = { arch_read_short_conv },
};
