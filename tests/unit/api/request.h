/* tests/unit/api/request.h - a model, options and a reader for tests of request lines. */
#ifndef TESTS_UNIT_JOB_REQUEST_H
#define TESTS_UNIT_JOB_REQUEST_H
#include "../engine/run.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>

#include <infer/record.h>
#include "api/fields.h"

static infer_model *model;
static infer_breakers *breakers;
static const struct infer_str colon = { ":", 1 };
static struct infer_job_opts opts;
static struct infer_job_reader reader; /* as infer_job_reader_new makes it from opts */

static int read_line(infer_job **j, const char *line, infer_error *err)
{
	reader.o = opts;
	return infer_line_read(j, line, strlen(line), 7, 0, &reader, err);
}

/* Open the model and fill the options; nonzero, with a message, if that fails.  name: of the model's
 * file, for this program alone. */
static int request_init(const char *program, const char *name)
{
	infer_error err;

	run_init(program);
	if (infer_model_open(&model, run_model(name, "--ctx 256"), &(struct infer_model_opts){ 0 },
	                     &err) ||
	    infer_breakers_new(&breakers, infer_model_tokenizer(model), &colon, 1, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	opts = (struct infer_job_opts){
		.model = model,
		.sample = { .temp = 0.8f, .repeat_window = 64, .seed = 5 },
		.breaker_texts = &colon,
		.n_breaker_texts = 1,
		.where = " in a batch",
		.max_tokens = 33,
		.logprobs = -1,
	};
	reader.breakers = breakers;
	return 0;
}

static void request_end(void)
{
	infer_breakers_free(breakers);
	infer_model_close(&model);
}

/* A line that is refused: the code, the field, and words of the message. */
struct bad {
	const char *line;
	int code;
	const char *param, *says;
};
static const struct bad *bad_now;
static int case_bad(void)
{
	infer_job *j = NULL;
	infer_error err;
	int rc;

	nth_ok(read_line(&j, bad_now->line, &err));
	if (j->fault.error.code != bad_now->code ||
	    !strstr(j->fault.error.message, bad_now->says) ||
	    strcmp(j->fault.param ? j->fault.param : "", bad_now->param ? bad_now->param : ""))
		fail_msg("%s: %d, %s, %s", bad_now->line, j->fault.error.code,
		         j->fault.param ? j->fault.param : "-", j->fault.error.message);
out:
	infer_job_free(j);
	return rc;
}

#endif
