/* logits [--lora FILE[=SCALE]]... MODEL CONTEXT ID... - the logits after each id, float32 in the order of the vocabulary, on
 * standard output: for comparisons with other programs, bit by bit.  The cache holds f32, and the ids are one step.  --lora:
 * with adapters, in order. */
#include "../unit/floor.h"

#include <stdio.h>
#include <stdlib.h>

#include "lora/lora.h"

static infer_lora *loras[INFER_LORA_USES];
static struct backend_use uses[INFER_LORA_USES];
static int n_uses;

/* Open the adapter FILE[=SCALE]. */
static int open_lora(char *text, const infer_model *m, infer_error *err)
{
	char *eq = strrchr(text, '=');
	int rc;

	if (n_uses == INFER_LORA_USES)
		return err_set(err, INFER_EINVAL, "more than %d adapters", INFER_LORA_USES);
	if (eq)
		*eq = 0;
	rc = infer_lora_open(&loras[n_uses], m, text, NULL, NULL, err);
	if (!rc)
		uses[n_uses] = (struct backend_use){ lora_adapter(loras[n_uses]),
			                             eq ? strtof(eq + 1, NULL) : 1 };
	n_uses += !rc;
	return rc;
}

/* Return the index of MODEL in argv. */
static int find_model(char **argv)
{
	int i = 1;

	while (argv[i] && !strcmp(argv[i], "--lora") && argv[i + 1])
		i += 2;
	return i;
}

int main(int argc, char **argv)
{
	int at = find_model(argv), n = argc - at - 2, rc, rank = 0;
	struct infer_model_opts o = { .ctx = n > 0 ? atoi(argv[at + 1]) : 0 };
	infer_error err = { 0 };
	struct floor f = { 0 };
	infer_model *m = NULL;
	int32_t ids[256];

	if (n < 1 || n > 256) {
		fputs("usage: logits [--lora FILE[=SCALE]]... MODEL CONTEXT ID...\n", stderr);
		return 2;
	}
	for (int i = 0; i < n; i++)
		ids[i] = atoi(argv[at + 2 + i]);
	rc = infer_model_open(&m, argv[at], &o, &err);
	for (int i = 1; !rc && i < at; i += 2)
		rc = open_lora(argv[i + 1], m, &err);
	for (int i = 0; i < n_uses; i++)
		rank += uses[i].adapter->max_rank;
	size_t wide = rc ? 0 : (size_t)arch_outputs(m), count = (size_t)n * wide;
	float *y = calloc(count + 1, sizeof *y);

	if (!rc && !y)
		rc = INFER_ENOMEM;
	if (!rc)
		rc = floor_open_rank(&f, m, NULL, 1, n, rank, &err);
	f.uses = n_uses ? uses : NULL;
	f.n_uses = n_uses;
	if (!rc)
		rc = floor_run(&f, ids, 0, n, y, &err);
	if (!rc && fwrite(y, sizeof *y, count, stdout) != count)
		rc = INFER_EIO;
	if (rc)
		fprintf(stderr, "logits: %s\n", err.message);
	floor_close(&f);
	while (n_uses)
		infer_lora_close(&loras[--n_uses]);
	infer_model_close(&m);
	free(y);
	return rc != INFER_OK;
}
