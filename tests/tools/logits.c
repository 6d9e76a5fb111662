/* logits MODEL CONTEXT ID... - the logits after each id, float32 in the order of the vocabulary, on standard output: for
 * comparisons with other programs, bit by bit.  The cache holds f32, and the ids are one step. */
#include "../unit/floor.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct infer_model_opts o = { .ctx = argc > 2 ? atoi(argv[2]) : 0 };
	infer_error err = { 0 };
	struct floor f = { 0 };
	infer_model *m;
	int32_t ids[256];
	int n = argc - 3, rc;

	if (n < 1 || n > 256) {
		fputs("usage: logits MODEL CONTEXT ID...\n", stderr);
		return 2;
	}
	for (int i = 0; i < n; i++)
		ids[i] = atoi(argv[i + 3]);
	rc = infer_model_open(&m, argv[1], &o, &err);
	size_t wide = rc ? 0 : (size_t)arch_outputs(m), count = (size_t)n * wide;
	float *y = calloc(count + 1, sizeof *y);

	if (!rc && !y)
		rc = INFER_ENOMEM;
	if (!rc)
		rc = floor_open(&f, m, NULL, 1, n, &err);
	if (!rc)
		rc = floor_run(&f, ids, 0, n, y, &err);
	if (!rc && fwrite(y, sizeof *y, count, stdout) != count)
		rc = INFER_EIO;
	if (rc)
		fprintf(stderr, "logits: %s\n", err.message);
	floor_close(&f);
	infer_model_close(&m);
	free(y);
	return rc != INFER_OK;
}
