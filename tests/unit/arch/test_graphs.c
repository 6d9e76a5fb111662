/* tests/unit/arch/test_graphs.c - the graph of each architecture, node by node, compared with
 * tests/golden/graphs (scripts/golden-graphs rewrites them). */
#include "../nth.h"
#include "dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	"llama-bias",
	"granite",
	"qwen2-tied",
	"qwen3",
	"qwen3moe",
	"mixtral",
	"gemma2",
	"gemma3",
	"phi3",
	"gpt-oss-hub",
	"qwen2moe-hub",
	"smollm3-hub",
	"olmo3-hub",
	"glm4-hub",
	"glm4moe-hub",
	"granitemoe-hub",
	"granitehybrid-hub",
	"granitehybrid-dense-hub",
	"mistral3-hub",
	"qwen3next-hub",
	"qwen35-hub",
	"qwen35moe-hub",
	"deepseek2-hub",
	"deepseek2-old",
	"minimaxm2-hub",
	"gemma4-hub",
	"gemma4-small-hub",
	"gemma4-moe-hub",
	"lfm2-hub",
	"lfm2moe-hub",
	"llama4-chunks-hub",
	"mistral4-grows-hub",
	"gemma3n-hub",
};
enum { NAMES = sizeof names / sizeof names[0] };

static char *read_file(const char *name)
{
	char path[256], *text = calloc(1, 1 << 16);
	FILE *f;

	snprintf(path, sizeof path, "tests/golden/graphs/%s.txt", name);
	f = fopen(path, "rb");
	if (!f || !text)
		fail_msg("%s cannot be read", path);
	text[fread(text, 1, (1 << 16) - 1, f)] = 0;
	fclose(f);
	return text;
}

static void check_graph(void **state)
{
	const char *name = *state;
	char path[256], *want = read_file(name);
	infer_error e = { 0 };
	infer_model *m;
	struct buf b;

	snprintf(path, sizeof path, "tests/golden/logits/%s.gguf", name);
	if (infer_model_open(&m, path, NULL, &e))
		fail_msg("%s", e.message);
	buf_init(&b, MEM_ARCH);
	dump_model(m, &b);
	assert_false(b.bad);
	assert_string_equal(b.at, want);
	buf_fini(&b);
	infer_model_close(&m);
	free(want);
}

int main(void)
{
	struct CMUnitTest tests[NAMES];

	for (int i = 0; i < NAMES; i++)
		tests[i] = (struct CMUnitTest){ names[i], check_graph, NULL, NULL,
			                        (void *)(uintptr_t)names[i] };
	return nth_group(tests);
}
