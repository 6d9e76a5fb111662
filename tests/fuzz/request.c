/* tests/fuzz/request.c - any bytes as a request line: a job that can run, or one that says why not. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <infer/request.h>
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const infer_job *j)
{
	must(*j->id && j->line == 42);
	if (j->error.code) {
		must(*j->error.message && !strchr(j->error.message, '\n'));
		return;
	}
	if (j->is_other)
		return;
	must(j->request.n_prompt > 0 && j->n >= 1 && j->n <= INFER_JOB_MOST);
	must(j->logprobs >= -1 && j->request.top >= 0 && j->request.top <= INFER_MAX_TOP);
	must(infer_job_seed(j, 0) == j->request.sample.seed);
	for (int32_t i = 0; i < j->request.n_stop; i++)
		must(j->request.stop[i].len > 0);
	infer_sampler *s = NULL;
	infer_error err;

	/* what was taken is what a sampler takes */
	must(!infer_sampler_new(&s, &j->request.sample, 1 << 20, NULL, &err));
	infer_sampler_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static infer_model *model;       /* the built-in one, opened once */
	char *line = malloc(size + !size);
	infer_job *j = NULL, *id = NULL;

	must(line);
	if (size)
		memcpy(line, data, size);
	if (!model)
		must(!infer_model_open(&model, "demo", &(struct infer_model_opts){ 0 }, NULL));
	const struct infer_job_opts o = { .model = model, .max_tokens = -1, .logprobs = -1 };

	must(!infer_job_read(&j, line, size, 42, 0, &o, NULL));
	must(!infer_job_read(&id, line, size, 42, INFER_JOB_ID, &o, NULL));
	must(!strcmp(j->id, id->id) && j->form == id->form && j->is_other == id->is_other);
	check(j);
	infer_job_free(j);
	infer_job_free(id);
	free(line);
	return 0;
}
