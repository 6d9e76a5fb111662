/* plan/usual.c - the shapes of usual models, and their names */
#include "plan/usual.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
/* From the config.json of each model on huggingface.co: name, layers, embd, heads, kv_heads, head, ff, vocab, ctx, tied,
 * then experts, used, expert_ff. */
static const struct usual by_size[] = {
	{ 0.135, 0.135, { "SmolLM2-135M", 30, 576, 9, 3, 64, 1536, 49152, 8192, 1 } },
	{ 0.36, 0.36, { "SmolLM2-360M", 32, 960, 15, 5, 64, 2560, 49152, 8192, 1 } },
	{ 0.6, 0.6, { "Qwen3-0.6B", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1 } },
	{ 1.24, 1.24, { "Llama-3.2-1B", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 1 } },
	{ 1.72, 1.72, { "Qwen3-1.7B", 28, 2048, 16, 8, 128, 6144, 151936, 40960, 1 } },
	{ 3.21, 3.21, { "Llama-3.2-3B", 28, 3072, 24, 8, 128, 8192, 128256, 131072, 1 } },
	{ 4.02, 4.02, { "Qwen3-4B", 36, 2560, 32, 8, 128, 9728, 151936, 40960, 1 } },
	{ 7.25, 7.25, { "Mistral-7B-v0.3", 32, 4096, 32, 8, 128, 14336, 32768, 32768, 0 } },
	{ 8.03, 8.03, { "Llama-3.1-8B", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 0 } },
	{ 12.25, 12.25, { "Mistral-Nemo-2407", 40, 5120, 32, 8, 128, 14336, 131072, 131072, 0 } },
	{ 14.77, 14.77, { "Qwen3-14B", 40, 5120, 40, 8, 128, 17408, 151936, 40960, 0 } },
	{ 23.57, 23.57, { "Mistral-Small-24B-2501", 40, 5120, 32, 8, 128, 32768, 131072, 32768, 0 } },
	{ 32.76, 32.76, { "Qwen3-32B", 64, 5120, 64, 8, 128, 25600, 151936, 40960, 0 } },
	{ 70.55, 70.55, { "Llama-3.1-70B", 80, 8192, 64, 8, 128, 28672, 128256, 131072, 0 } },
	{ 122.6, 122.6, { "Mistral-Large-2407", 88, 12288, 96, 8, 128, 28672, 32768, 131072, 0 } },
	{ 405.9, 405.9, { "Llama-3.1-405B", 126, 16384, 128, 8, 128, 53248, 128256, 131072, 0 } },
	{ 20.9, 3.6, { "gpt-oss-20b", 24, 2880, 64, 8, 64, 2880, 201088, 131072, 0, 32, 4, 2880,
		       .windowed = 12, .window = 128, .expert_type = INFER_MXFP4 } },
	{ 30.5, 3.3, { "Qwen3-30B-A3B", 48, 2048, 32, 4, 128, 768, 151936, 40960, 0, 128, 8, 768 } },
	{ 46.7, 12.9, { "Mixtral-8x7B", 32, 4096, 32, 8, 128, 14336, 32000, 32768, 0, 8, 2, 14336 } },
	{ 116.8, 5.1, { "gpt-oss-120b", 36, 2880, 64, 8, 64, 2880, 201088, 131072, 0, 128, 4, 2880,
			.windowed = 18, .window = 128, .expert_type = INFER_MXFP4 } },
	{ 235.1, 22.2, { "Qwen3-235B-A22B", 94, 4096, 64, 4, 128, 1536, 151936, 40960, 0, 128, 8, 1536 } },
	{ 671, 37, { "DeepSeek-V3", 61, 7168, 128, 128, 128, 18432, 129280, 163840, 0, 256, 8, 2048,
		     .shared_ff = 2048, .dense = 3, .q_rank = 1536, .kv_rank = 512, .rope = 64, .nope = 128,
		     .v_head = 128 } },
};

/* Models that are meant by their names only: a size of theirs means one of those above. */
static const struct usual by_name[] = {
	{ 1.71, 1.71, { "SmolLM2-1.7B", 24, 2048, 32, 32, 64, 8192, 49152, 8192, 1 } },
	{ 8.19, 8.19, { "Qwen3-8B", 36, 4096, 32, 8, 128, 12288, 151936, 40960, 0 } },
	{ 0.494, 0.494, { "Qwen2.5-0.5B", 24, 896, 14, 2, 64, 4864, 151936, 32768, 1 } },
	{ 1.544, 1.544, { "Qwen2.5-1.5B", 28, 1536, 12, 2, 128, 8960, 151936, 32768, 1 } },
	{ 3.086, 3.086, { "Qwen2.5-3B", 36, 2048, 16, 2, 128, 11008, 151936, 32768, 1 } },
	{ 7.616, 7.616, { "Qwen2.5-7B", 28, 3584, 28, 4, 128, 18944, 152064, 32768, 0 } },
	{ 14.77, 14.77, { "Qwen2.5-14B", 48, 5120, 40, 8, 128, 13824, 152064, 32768, 0 } },
	{ 32.76, 32.76, { "Qwen2.5-32B", 64, 5120, 40, 8, 128, 27648, 152064, 32768, 0 } },
	{ 72.71, 72.71, { "Qwen2.5-72B", 80, 8192, 64, 8, 128, 29568, 152064, 32768, 0 } },
	{ 8.03, 8.03, { "Llama-3-8B", 32, 4096, 32, 8, 128, 14336, 128256, 8192, 0 } },
	{ 70.55, 70.55, { "Llama-3-70B", 80, 8192, 64, 8, 128, 28672, 128256, 8192, 0 } },
	{ 70.55, 70.55, { "Llama-3.3-70B", 80, 8192, 64, 8, 128, 28672, 128256, 131072, 0 } },
	{ 140.6, 39.1, { "Mixtral-8x22B", 56, 6144, 48, 8, 128, 16384, 32000, 65536, 0, 8, 2, 16384 } },
	{ 3.84, 3.84, { "Phi-4-mini", 32, 3072, 24, 8, 128, 8192, 200064, 131072, 1 } },
	{ 14.66, 14.66, { "Phi-4", 40, 5120, 40, 10, 128, 17920, 100352, 16384, 0 } },
	{ 1.0, 1.0, { "gemma-3-1b", 26, 1152, 4, 1, 256, 6912, 262144, 32768, 1,
		      .windowed = 22, .window = 512 } },
	{ 3.88, 3.88, { "gemma-3-4b", 34, 2560, 8, 4, 256, 10240, 262208, 131072, 1,
			.windowed = 29, .window = 1024 } },
	{ 11.77, 11.77, { "gemma-3-12b", 48, 3840, 16, 8, 256, 15360, 262208, 131072, 1,
			  .windowed = 40, .window = 1024 } },
	{ 27.01, 27.01, { "gemma-3-27b", 62, 5376, 32, 16, 128, 21504, 262208, 131072, 1,
			  .windowed = 52, .window = 1024 } },
	{ 1.777, 1.777, { "DeepSeek-R1-Distill-Qwen-1.5B", 28, 1536, 12, 2, 128, 8960, 151936, 131072, 0 } },
	{ 7.616, 7.616, { "DeepSeek-R1-Distill-Qwen-7B", 28, 3584, 28, 4, 128, 18944, 152064, 131072, 0 } },
	{ 14.77, 14.77, { "DeepSeek-R1-Distill-Qwen-14B", 48, 5120, 40, 8, 128, 13824, 152064, 131072, 0 } },
	{ 32.76, 32.76, { "DeepSeek-R1-Distill-Qwen-32B", 64, 5120, 40, 8, 128, 27648, 152064, 131072, 0 } },
};

/* Other names of models above. */
static const struct other { const char *name, *of; } others[] = {
	{ "Mistral-7B", "Mistral-7B-v0.3" },
	{ "Mistral-Nemo", "Mistral-Nemo-2407" },
	{ "Mistral-Small-24B", "Mistral-Small-24B-2501" },
	{ "Mistral-Large", "Mistral-Large-2407" },
	{ "DeepSeek-R1", "DeepSeek-V3" },
	{ "DeepSeek-R1-Distill-Llama-8B", "Llama-3.1-8B" },
	{ "DeepSeek-R1-Distill-Llama-70B", "Llama-3.3-70B" },
};
/* clang-format on */

enum {
	N_SIZES = sizeof by_size / sizeof *by_size,
	N_NAMES = sizeof by_name / sizeof *by_name,
	N_OTHERS = sizeof others / sizeof *others
};

const struct usual *usual_of_size(int i) { return i < N_SIZES ? &by_size[i] : NULL; }

const char *infer_dims_usual(int i)
{
	if (i < 0 || i >= N_SIZES + N_NAMES + N_OTHERS)
		return NULL;
	return i < N_SIZES             ? by_size[i].is.name
	       : i < N_SIZES + N_NAMES ? by_name[i - N_SIZES].is.name
	                               : others[i - N_SIZES - N_NAMES].name;
}

/* Return the model whose name is the first n bytes, case ignored. */
static const struct usual *find_part(const char *name, size_t n)
{
	for (int i = 0; i < N_OTHERS; i++)
		if (strlen(others[i].name) == n && !strncasecmp(others[i].name, name, n))
			return find_part(others[i].of, strlen(others[i].of));
	for (int i = 0; i < N_SIZES + N_NAMES; i++) {
		const struct usual *u = i < N_SIZES ? &by_size[i] : &by_name[i - N_SIZES];

		if (strlen(u->is.name) == n && !strncasecmp(u->is.name, name, n))
			return u;
	}
	return NULL;
}

const struct usual *usual_find(const char *name)
{
	static const char *const endings[] = { "-instruct", "-it", "-chat", "-base" };
	size_t n = strlen(name);
	const struct usual *found = find_part(name, n);

	for (size_t i = 0; !found && i < sizeof endings / sizeof *endings; i++) {
		size_t k = strlen(endings[i]);

		if (n > k && !strcasecmp(name + n - k, endings[i]))
			found = find_part(name, n - k);
	}
	return found;
}
