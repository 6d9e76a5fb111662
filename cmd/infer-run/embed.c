/* infer-run/embed.c - --embed: the embedding of a text. */
#include "prompt.h"
#include "common/records.h"
#include "common/say.h"
#include "base/err.h"

#include <time.h>
#include <unistd.h>

int embed_pooling(int *embed, const struct run_opts *o, const infer_model *m, infer_error *err)
{
	static const int of_option[] = { INFER_EMBED_MEAN, INFER_EMBED_LAST, INFER_EMBED_CLS,
		                         INFER_EMBED_RANK };

	if (o->embed == EMBED_MODEL)
		return infer_embed_of(embed, m, err);
	*embed = of_option[o->embed];
	return INFER_OK;
}

void embed_line(struct buf *to, const struct infer_choice *c)
{
	for (int32_t i = 0; i < c->n_embedding; i++)
		buf_printf(to, i ? " %.9g" : "%.9g", (double)c->embedding[i]);
	buf_putc(to, '\n');
}

static int print_embedding(const struct run *r, const infer_task *t, infer_error *err)
{
	struct infer_answer a = { .created = (int64_t)time(NULL), .load_ms = r->load_ms };
	struct infer_sample_opts sample = r->sampling.o;
	struct infer_run_info info;
	infer_records *w;
	struct buf line;
	int rc;

	infer_task_answer(t, &a);
	if (r->o->output != OUTPUT_JSONL) {
		buf_init(&line, MEM_BASE);
		embed_line(&line, a.choices);
		rc = line.bad ? err_set(err, INFER_ENOMEM, "out of memory for an embedding")
		              : say_out(line.at, line.len, err);
		buf_fini(&line);
		return rc;
	}
	TRY(run_writer(&w, r, err));
	run_info(&info, r);
	sample.seed = 0; /* no token is sampled: write no random seed */
	info.sample = &sample;
	info.seed_random = 0;
	rc = records_put(infer_write_answer(w, &a, &info, err), w, STDOUT_FILENO, err);
	infer_records_free(w);
	return rc;
}

static int embed_ids(struct run *r, const int32_t *ids, size_t n, infer_error *err)
{
	infer_job j = { .id = "1",
		        .n = 1,
		        .logprobs = -1,
		        .no_normalize = r->o->no_normalize,
		        .request = { .prompt = ids, .n_prompt = n, .flags = INFER_REQ_NO_TEXT } };
	const struct infer_fault *f;
	struct infer_got got;
	infer_task *task;
	int rc;

	adapters_use(&j, &r->adapters);
	TRY(embed_pooling(&j.request.embed, r->o, r->model, err));
	TRY(infer_runner_start(&task, r->runner, &j, NULL, 0, err));
	rc = INFER_OK;
	while (!rc && !infer_task_ended(task)) {
		rc = run_step(r, err);
		while (!rc && !(rc = infer_runner_next(r->runner, &got, err)) && got.task) {
		}
	}
	f = infer_task_fault(task);
	if (!rc && f->kind)
		rc = err_set(err, f->error.code, "%s", f->error.message);
	rc = run_unchanged(r, rc, err);
	if (!rc)
		rc = print_embedding(r, task, err);
	infer_task_free(task);
	return rc;
}

int embed(const struct run_opts *o, const struct opt_rest *rest)
{
	infer_error err = { 0 };
	int32_t *ids = NULL;
	struct run r;
	struct buf prompt;
	size_t n = 0;
	int rc = run_open(&r, o, rest, &err);

	if (rc)
		return say_fail(&err);
	rc = prompt_read(&prompt, o, rest, NULL, &err);
	if (!rc)
		rc = run_confine(o, 0, &err);
	if (!rc)
		rc = prompt_ids(&ids, &n, o, infer_model_tokenizer(r.model), &prompt, &err);
	if (!rc && !n)
		rc = err_set(&err, INFER_EINVAL, "the text is empty: it has no embedding");
	if (!rc)
		rc = embed_ids(&r, ids, n, &err);
	if (!rc && o->stats)
		stats_take(&r, NULL, 0);
	infer_ids_free(ids);
	buf_fini(&prompt);
	run_close(&r);
	return rc ? say_fail(&err) : EXIT_DONE;
}
