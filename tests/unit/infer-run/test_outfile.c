/* tests/unit/infer-run/test_outfile.c - records through descriptors that take little at a time, and
 * files of records to go on with */
#include "../nth.h"
#include "infer-run/outfile.h"
#include "common/records.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/test_outfile.XXXXXX";

static int start(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	static const char *const names[] = { "kept", "notes" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

struct reader {
	int fd;
	size_t bytes;
	uint64_t hash;
};

static void *read_all(void *user)
{
	struct reader *r = user;
	char part[1000];
	ssize_t n;

	while ((n = read(r->fd, part, sizeof part)) != 0)
		for (ssize_t i = 0; i < n; i++, r->bytes++)
			r->hash = r->hash * 31 + (unsigned char)part[i];
	return NULL;
}

static void on_alarm(int sig) { (void)sig; }

/* A full pipe, blocking and not, with signals in between: the line comes whole. */
static void test_pipe(void **state)
{
	const struct infer_event ev = { .text = calloc(1, 1 << 20), .text_bytes = 1 << 20 };
	struct sigaction sa = { .sa_handler = on_alarm };
	timer_t timer;

	(void)state;
	memset((char *)ev.text, 'x', 1 << 20);
	sigaction(SIGALRM, &sa, NULL); /* without SA_RESTART */
	assert_int_equal(timer_create(CLOCK_MONOTONIC,
	                              &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL,
	                                                  .sigev_signo = SIGALRM },
	                              &timer),
	                 0);
	timer_settime(timer, 0, &(struct itimerspec){ { 0, 200000 }, { 0, 200000 } }, NULL);
	for (int nonblock = 0; nonblock < 2; nonblock++) {
		struct reader r = { 0 };
		infer_records *w;
		pthread_t thread;
		uint64_t want = 0;
		size_t sent;
		int fd[2];
		static const char head[] =
			"{\"v\":1,\"kind\":\"token\",\"i\":0,\"id\":0,\"text\":\"",
				  tail[] = "\",\"logprob\":0,\"top\":[]}\n";

		assert_int_equal(pipe(fd), 0);
		if (nonblock)
			fcntl(fd[1], F_SETFL, O_NONBLOCK);
		r.fd = fd[0];
		pthread_create(&thread, NULL, read_all, &r);
		assert_int_equal(infer_records_new(&w, NULL), INFER_OK);
		assert_int_equal(infer_write_token(w, &ev, NULL), INFER_OK);
		assert_int_equal(records_send(w, fd[1], &sent, NULL), INFER_OK);
		assert_int_equal(infer_records_text(w).len, 0);
		infer_records_free(w);
		close(fd[1]);
		pthread_join(thread, NULL);
		close(fd[0]);
		for (size_t i = 0; i + 1 < sizeof head; i++)
			want = want * 31 + (unsigned char)head[i];
		for (size_t i = 0; i < 1 << 20; i++)
			want = want * 31 + 'x';
		for (size_t i = 0; i + 1 < sizeof tail; i++)
			want = want * 31 + (unsigned char)tail[i];
		assert_int_equal(r.bytes, (1 << 20) + sizeof head + sizeof tail - 2);
		assert_true(r.hash == want);
		assert_int_equal(sent, r.bytes);
	}
	timer_delete(timer);
	free((char *)ev.text);
}

static void test_refused(void **state)
{
	const struct infer_event ev = { .text = "" };
	infer_records *w;
	infer_error err;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(infer_records_new(&w, &err), INFER_OK);
	assert_int_equal(records_put(infer_write_token(w, &ev, &err), w, fd[1], &err), INFER_EIO);
	assert_int_equal(infer_records_text(w).len, 0);
	assert_non_null(strstr(err.message, strerror(EPIPE)));
	infer_records_free(w);
	infer_records_free(NULL);
	close(fd[1]);
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
	struct outfile f = { .fd = -1 }, second = { .fd = -1 };
	infer_records *w = NULL;
	struct met m = { 0 };
	infer_error err, e = { INFER_EINVAL, "x" };
	int rc, fd;

	snprintf(path, sizeof path, "%s/kept", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, kept, sizeof kept - 1), sizeof kept - 1);
	assert_int_equal(write(fd, torn, sizeof torn - 1), sizeof torn - 1);
	close(fd);
	nth_ok(infer_records_new(&w, &err));
	nth_ok(outfile_open(&f, path, w, on_done, &m, &err));
	assert_int_equal(m.n, 3);
	assert_int_equal(m.failed, 2);
	assert_int_equal(m.without_id, 1);
	assert_int_equal(m.line, 4);
	assert_string_equal(m.last, "o");
	nth_fails(outfile_open(&second, path, w, on_done, &m, &err), INFER_EIO);
	assert_int_equal(second.fd, -1);
	nth_ok(infer_write_error(w, "b", &e, NULL, &err));
	nth_ok(outfile_add(&f, w, &err));
	nth_ok(outfile_sync(&f, &err));
	fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof text);

	close(fd);
	assert_true(n > (ssize_t)sizeof kept);
	assert_memory_equal(text, kept, sizeof kept - 1);
	assert_memory_equal(text + sizeof kept - 1, "{\"kind\":\"error\",\"id\":\"b\"", 24);
out:
	outfile_close(&f);
	infer_records_free(w);
	return rc;
}

static int case_not_records(void)
{
	char path[128];
	struct outfile f;
	infer_records *w = NULL;
	infer_error err;
	struct met m;
	int rc, fd;

	snprintf(path, sizeof path, "%s/notes", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, "{}\nnotes\n", 9), 9);
	close(fd);
	nth_ok(infer_records_new(&w, &err));
	nth_fails(outfile_open(&f, path, w, on_done, &m, &err), INFER_EFORMAT);
	assert_int_equal(f.fd, -1);
	nth_fails(outfile_open(&f, "/dev/null", w, on_done, &m, &err), INFER_EIO);
	snprintf(path, sizeof path, "%s/missing/x", dir);
	nth_fails(outfile_open(&f, path, w, on_done, &m, &err), INFER_EIO);
out:
	infer_records_free(w);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_refused),
		nth_case(case_resume),
		nth_case(case_not_records),
	};

	return cmocka_run_group_tests(tests, start, end);
}
