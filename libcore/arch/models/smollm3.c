/* SmolLM 3: llama, every fourth layer without RoPE. Hugging Face 2025,
 * https://huggingface.co/blog/smollm3 */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_smollm3 = {
	.gguf = "smollm3",
	.hf = { "SmolLM3ForCausalLM" },
	.like = &arch_llama,
	.must = "num_key_value_heads rope.rope_theta",
	.read = { arch_read_no_rope, arch_read_all_slide },
};
