/* tests/fuzz/gbnf.c - any bytes as rules of GBNF: refused in one line, or a grammar in which random
 * texts meet no dead end.
 * Input: the rules. */
#include <stdint.h>
#include <stdlib.h>
#include "walk.h"
#include "grammar/grammar.h"

enum { STEPS = 3000000, BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget left = { STEPS, BYTES };
	char *tight = malloc(size + !size);
	infer_error err = { 0 };
	struct grammar *g = NULL;

	if (!tight)
		abort();
	memcpy(tight, data, size);
	int rc = gbnf_compile(&g, tight, size, &left, &err);
	walk_all(g, rc, &err, &left, BYTES);
	free(tight);
	return 0;
}
