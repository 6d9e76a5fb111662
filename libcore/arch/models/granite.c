/* Granite 3: llama with four scalars.  IBM 2024,
 * https://github.com/ibm-granite/granite-3.0-language-models */
#include "arch/arch.h"

extern const struct arch arch_llama;

static int hparam(struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	float divisor = 0;
	int rc;

	rc = arch_key_float(r, K_EMBD_SCALE, &h->embd_scale, 1e-6, 1e6, err);
	if (!rc)
		rc = arch_key_float(r, K_RESIDUAL_SCALE, &h->residual_scale, 1e-6, 1e6, err);
	if (!rc)
		rc = arch_key_float(r, K_LOGIT_SCALE, &divisor, 1e-6, 1e6, err);
	if (!rc && divisor != 0)
		h->logit_scale = 1 / divisor;
	return rc;
}

const struct arch arch_granite = {
	.gguf = "granite", .hf = { "GraniteForCausalLM" }, .like = &arch_llama, .hparam = hparam
};
