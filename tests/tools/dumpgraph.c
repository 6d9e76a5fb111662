/* tests/tools/dumpgraph.c - print what a model binds and the graph it becomes: dumpgraph MODEL.gguf
 * scripts/golden-graphs makes tests/golden/graphs/ with it. */
#include <stdio.h>
#include <string.h>

#include "../unit/arch/dump.h"

int main(int argc, char **argv)
{
	infer_error err;
	infer_model *m;
	struct buf b;

	if (argc != 2 || argv[1][0] == '-') {
		printf("usage: dumpgraph MODEL.gguf\n");
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	if (infer_model_open(&m, argv[1], NULL, &err)) {
		fprintf(stderr, "dumpgraph: %s\n", err.message);
		return 3;
	}
	buf_init(&b, MEM_ARCH);
	dump_model(m, &b);
	if (!b.bad)
		fwrite(b.at, 1, b.len, stdout);
	buf_fini(&b);
	infer_model_close(&m);
	return b.bad;
}
