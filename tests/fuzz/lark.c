/* tests/fuzz/lark.c - any bytes as a Lark grammar: refused in one line, or a grammar whose random texts can be
 * followed.
 * Input: the grammar. */
#include <stdint.h>
#include <stdlib.h>
#include "walk.h"
#include "lark/lark.h"

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
	(void)lark_is(tight, size);
	int rc = lark_compile(&g, tight, size, NULL, NULL, &left, &err);
	walk_all(g, rc, &err, &left, BYTES);
	free(tight);
	return 0;
}
