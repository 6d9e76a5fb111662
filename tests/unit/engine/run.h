/* tests/unit/engine/run.h - small random models from mkmodel, and requests that run to their
 * end. */
#ifndef TESTS_ENGINE_RUN_H
#define TESTS_ENGINE_RUN_H
#include "../nth.h"
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infer/engine.h>
#include "base/buf.h"
#include "base/num.h"
#include "base/rng.h"

enum { RUN_MOST = 1024 };
static char run_dir[64], run_tool[4096];

static void run_cleanup(void)
{
	char command[128];

	if (run_dir[0] && snprintf(command, sizeof command, "rm -rf '%s'", run_dir) > 0 &&
	    system(command))
		fprintf(stderr, "cannot remove %s\n", run_dir);
}

/* argv[0] is .../tests/unit/engine/test_x; mkmodel lies in .../tests/tools. */
__attribute__((unused)) static void run_init(const char *self)
{
	const char *tmp = getenv("TMPDIR");
	int n = (int)(strlen(self) - strlen(strrchr(self, '/') ? strrchr(self, '/') : self));

	snprintf(run_tool, sizeof run_tool, "%.*s/../../tools/mkmodel", n, self);
	snprintf(run_dir, sizeof run_dir, "%.40s/engine-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(run_dir))
		exit(99);
	atexit(run_cleanup);
}

extern char **environ;
/* Words of options, one blank between them; name: of the file.  Returns its path. */
__attribute__((unused)) static const char *run_model(const char *name, const char *options)
{
	static char path[128];
	char words[256], *argv[40] = { run_tool };
	int n = 1, status;
	pid_t pid;

	snprintf(path, sizeof path, "%s/%s.gguf", run_dir, name);
	if (access(path, R_OK) == 0)
		return path;
	snprintf(words, sizeof words, "%s", options);
	for (char *at = strtok(words, " "); at; at = strtok(NULL, " "))
		argv[n++] = at;
	argv[n] = path;
	if (posix_spawn(&pid, run_tool, NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		fail_msg("%s does not run: make build/.../tests/tools/mkmodel", run_tool);
	return path;
}

/* An F32 number of a tensor, by its element, and its new value. */
struct run_change {
	const char *tensor;
	long element;
	float value;
};
/* A copy of a model with some of its numbers changed; the copy before it gives way.  Returns its
 * path. */
__attribute__((unused)) static const char *run_changed(const char *path, const struct run_change *c,
                                                       size_t n)
{
	static char changed[128];
	FILE *from = fopen(path, "rb"), *to;
	infer_model *m;
	int b;

	snprintf(changed, sizeof changed, "%s/changed.gguf", run_dir);
	to = fopen(changed, "wb");
	assert_non_null(from);
	assert_non_null(to);
	while ((b = getc(from)) != EOF)
		putc(b, to);
	fclose(from);
	assert_int_equal(infer_model_open(&m, path, NULL, NULL), INFER_OK);
	for (; n--; c++) {
		const struct infer_tensor *t = infer_file_tensor(infer_model_file(m), c->tensor);

		assert_non_null(t);
		fseek(to, (long)t->offset + c->element * 4, SEEK_SET);
		fwrite(&c->value, 4, 1, to);
	}
	infer_model_close(&m);
	fclose(to);
	return changed;
}

struct result {
	int32_t ids[RUN_MOST];
	float logprobs[RUN_MOST];
	int32_t n; /* TOKEN */
	float scores[RUN_MOST];
	int32_t n_scores;
	char text[8 * RUN_MOST];
	size_t text_bytes;
	struct infer_top top[INFER_MAX_TOP];
	int32_t n_top;                 /* of the first token */
	int done, finish, code, order; /* order: of ending, from 1 */
	char message[252];
	struct infer_usage usage;
};

/* Hand an event to the result that its user pointer names. */
__attribute__((unused)) static void run_take(const struct infer_event *ev, int *ended)
{
	struct result *r = ev->user;

	assert_false(r->done);
	assert_true(r->text_bytes + ev->text_bytes < sizeof r->text);
	memcpy(r->text + r->text_bytes, ev->text, ev->text_bytes);
	r->text_bytes += ev->text_bytes;
	switch (ev->kind) {
	case INFER_EVENT_TOKEN:
		assert_int_equal(ev->index, r->n);
		if (!r->n) {
			r->n_top = ev->n_top;
			memcpy(r->top, ev->top ? ev->top : r->top,
			       (size_t)ev->n_top * sizeof *ev->top);
		}
		r->ids[r->n] = ev->token;
		r->logprobs[r->n++] = ev->logprob;
		break;
	case INFER_EVENT_SCORE:
		assert_int_equal(ev->index, r->n_scores + 1);
		r->scores[r->n_scores++] = ev->logprob;
		break;
	default:
		r->done = 1;
		r->finish = ev->finish;
		r->code = ev->code;
		r->order = ++*ended;
		r->usage = ev->usage;
		snprintf(r->message, sizeof r->message, "%s", ev->message);
		assert_int_equal(ev->usage.completion_tokens, r->n);
	}
}

/* Until nothing is left; events read after every step. */
__attribute__((unused)) static int run_drive(infer_engine *e, infer_error *err)
{
	struct infer_event ev;
	int rc = INFER_OK, ended = 0;

	while (!rc && infer_engine_busy(e)) {
		rc = infer_engine_step(e, err);
		while (infer_engine_next(e, &ev))
			run_take(&ev, &ended);
	}
	return rc;
}

/* n ids of [from, from + width), by seed */
__attribute__((unused)) static void run_ids(int32_t *ids, int32_t n, uint64_t seed, int32_t from,
                                            int32_t width)
{
	for (int32_t i = 0; i < n; i++)
		ids[i] = from + (int32_t)(rng_unit(seed, (uint64_t)i) * width);
}

__attribute__((unused)) static void run_same(const struct result *a, const struct result *b,
                                             const char *what)
{
	if (a->n != b->n || memcmp(a->ids, b->ids, (size_t)a->n * sizeof *a->ids))
		fail_msg("%s: other tokens (%d, %d)", what, (int)a->n, (int)b->n);
	for (int32_t i = 0; i < a->n; i++)
		if (num_bits(a->logprobs[i]) != num_bits(b->logprobs[i]))
			fail_msg("%s: token %d: %.9g, %.9g", what, (int)i, (double)a->logprobs[i],
			         (double)b->logprobs[i]);
	if (a->n_scores != b->n_scores ||
	    memcmp(a->scores, b->scores, (size_t)a->n_scores * sizeof *a->scores))
		fail_msg("%s: other scores", what);
	if (a->text_bytes != b->text_bytes || memcmp(a->text, b->text, a->text_bytes))
		fail_msg("%s: other text", what);
}
#endif
