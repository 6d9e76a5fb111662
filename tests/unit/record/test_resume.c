/* tests/unit/record/test_resume.c - files of records to go on with; sequence breakers */
#include "../engine/run.h"
#include <errno.h>
#include <fcntl.h>

#include <infer/record.h>

static infer_model *model;

/* Each token that holds a text, once; several tokens that spell one. */
static int case_breakers(void)
{
	const infer_tokenizer *t = infer_model_tokenizer(model);
	const struct infer_str texts[] = { { "th", 2 }, { "zqzqz", 5 } };
	struct infer_sample_opts o = { 0 };
	infer_breakers *b = NULL;
	infer_error err;
	int32_t singles = 0;
	int rc, spelled = 0;

	nth_ok(infer_breakers_new(&b, t, texts, 2, &err));
	infer_breakers_use(b, &o);
	for (int32_t i = 0; i < o.n_dry_breakers; i++) {
		const char *bytes;
		size_t n;

		assert_int_equal(infer_token_bytes(t, o.dry_breakers[i][0], 0, &bytes, &n, &err),
		                 INFER_OK);
		singles += o.n_dry_breaker[i] == 1;
		spelled += o.n_dry_breaker[i] > 1 && bytes[0] == 'z';
		assert_true(o.n_dry_breaker[i] > 1 || memmem(bytes, n, "th", 2) ||
		            memmem(bytes, n, "zqzqz", 5));
	}
	assert_int_equal(spelled, 1);
	for (int32_t id = 0; id < infer_tokenizer_count(t); id++) {
		const char *bytes;
		size_t n;

		assert_int_equal(infer_token_bytes(t, id, 0, &bytes, &n, &err), INFER_OK);
		singles -= n && memmem(bytes, n, "th", 2) != NULL;
	}
	assert_int_equal(singles, 0);
out:
	infer_breakers_free(b);
	return rc;
}

struct met {
	int n, failed, without_id;
	int64_t line;
	char last[16];
};
static int on_done(void *user, struct infer_done *d, infer_error *err)
{
	struct met *m = user;

	(void)err;
	m->n++;
	m->failed += d->failed;
	m->without_id += !d->id;
	m->line += d->line;
	snprintf(m->last, sizeof m->last, "%s", d->id ? d->id : "");
	return INFER_OK;
}

static const char kept[] =
	"{\"v\":1,\"kind\":\"completion\",\"id\":\"a\"}\n{\"kind\":\"meta\",\"id\":\"no\"}\n"
	"{\"kind\":\"error\",\"id\":null,\"line\":4}\n"
	"{\"id\":\"x\",\"custom_id\":\"o\",\"response\":{\"status_code\":400}}\n";

static int case_resume(void)
{
	static const char torn[] = "{\"kind\":\"completion\",\"id\":\"b\"}";
	char path[128], text[512];
	infer_writer *w = NULL, *second = NULL;
	struct met m = { 0 };
	infer_error err, e = { INFER_EINVAL, "x" };
	int rc, fd;

	snprintf(path, sizeof path, "%s/kept", run_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, kept, sizeof kept - 1), sizeof kept - 1);
	assert_int_equal(write(fd, torn, sizeof torn - 1), sizeof torn - 1);
	close(fd);
	nth_ok(infer_writer_resume(&w, path, on_done, &m, &err));
	assert_int_equal(m.n, 3);
	assert_int_equal(m.failed, 2);
	assert_int_equal(m.without_id, 1);
	assert_int_equal(m.line, 4);
	assert_string_equal(m.last, "o");
	nth_fails(infer_writer_resume(&second, path, on_done, &m, &err), INFER_EIO);
	assert_null(second);
	nth_ok(infer_write_error(w, "b", &e, NULL, &err));
	nth_ok(infer_writer_sync(w, &err));
	fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof text);

	close(fd);
	assert_true(n > (ssize_t)sizeof kept);
	assert_memory_equal(text, kept, sizeof kept - 1);
	assert_memory_equal(text + sizeof kept - 1, "{\"kind\":\"error\",\"id\":\"b\"", 24);
out:
	infer_writer_free(w);
	return rc;
}

static int case_not_records(void)
{
	char path[128];
	infer_writer *w = NULL;
	infer_error err;
	struct met m;
	int rc, fd;

	snprintf(path, sizeof path, "%s/notes", run_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, "{}\nnotes\n", 9), 9);
	close(fd);
	nth_fails(infer_writer_resume(&w, path, on_done, &m, &err), INFER_EFORMAT);
	assert_null(w);
	nth_fails(infer_writer_resume(&w, "/dev/null", on_done, &m, &err), INFER_EIO);
	nth_fails(infer_writer_resume(&w, "/nowhere/x", on_done, &m, &err), INFER_EIO);
out:
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		nth_case(case_breakers),
		nth_case(case_resume),
		nth_case(case_not_records),
	};
	infer_error err;
	int failed;

	(void)argc;
	run_init(argv[0]);
	if (infer_model_open(&model, run_model("resume", "--ctx 256"),
	                     &(struct infer_model_opts){ 0 }, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	failed = nth_group(tests);
	infer_model_close(&model);
	return failed;
}
