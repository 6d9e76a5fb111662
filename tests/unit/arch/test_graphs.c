/* tests/unit/arch/test_graphs.c - the graph of each model in tests/golden/graphs, node by node
 * (scripts/golden-graphs writes the files). */
#include "../nth.h"
#include "dump.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/golden/graphs/"
enum { MAX_NAMES = 128 };

static char *read_file(const char *name)
{
	char path[256], *text = calloc(1, 1 << 16);
	FILE *f;

	snprintf(path, sizeof path, FOLDER "%s.txt", name);
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
	static char names[MAX_NAMES][64];
	struct CMUnitTest tests[MAX_NAMES];
	glob_t found;
	size_t n = 0;

	if (glob(FOLDER "*.txt", 0, NULL, &found))
		fail_msg("no files in " FOLDER);
	for (; n < found.gl_pathc && n < MAX_NAMES; n++) {
		const char *file = found.gl_pathv[n] + sizeof FOLDER - 1;
		snprintf(names[n], sizeof names[n], "%.*s", (int)(strlen(file) - 4), file);
		tests[n] = (struct CMUnitTest){ names[n], check_graph, NULL, NULL, names[n] };
	}
	globfree(&found);
	return _cmocka_run_group_tests("graphs", tests, n, NULL, NULL);
}
