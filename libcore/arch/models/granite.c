/* Granite 3: llama with four scalars.  IBM 2024,
 * https://github.com/ibm-granite/granite-3.0-language-models */
#include "arch/arch.h"

extern const struct arch arch_llama;

const struct arch arch_granite = {
	.gguf = "granite",
	.hf = { "GraniteForCausalLM" },
	.like = &arch_llama,
	.read = { arch_read_scales },
};
