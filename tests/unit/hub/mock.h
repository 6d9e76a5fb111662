/* tests/unit/hub/mock.h - mockhub in a folder of the test's own, and connections to it. */
#ifndef TESTS_HUB_MOCK_H
#define TESTS_HUB_MOCK_H
#include "../nth.h"
#include "base/sha1.h"
#include "base/sha256.h"
#include "base/err.h"
#include "hub/net.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOCK_COMMIT "0123456789abcdef0123456789abcdef01234567"
static char mock_dir[64], mock_tool[4096], mock_url[64];
static pid_t mock_pid;

static void mock_stop(void)
{
	if (mock_pid > 0) {
		kill(mock_pid, SIGKILL);
		waitpid(mock_pid, NULL, 0);
	}
	mock_pid = 0;
}

/* Start the server; cert and key: files in its folder, or NULL. */
static void mock_start(const char *cert, const char *key)
{
	char root[80], paths[2][128];
	int out[2];
	ssize_t n;

	mock_stop();
	snprintf(root, sizeof root, "%s/hub", mock_dir);
	for (int i = 0; cert && i < 2; i++)
		snprintf(paths[i], sizeof paths[i], "%s/%s", mock_dir, i ? key : cert);
	assert_int_equal(pipe(out), 0);
	mock_pid = fork();
	if (!mock_pid) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl(mock_tool, mock_tool, root, cert ? paths[0] : NULL, paths[1], NULL);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], mock_url, sizeof mock_url - 1);
	close(out[0]);
	if (n <= 1)
		fail_msg("%s does not run: make build/.../tests/tools/mockhub", mock_tool);
	mock_url[n - 1] = 0;
}

static void mock_cleanup(void)
{
	char command[128];

	mock_stop();
	if (*mock_dir && snprintf(command, sizeof command, "rm -rf '%s'", mock_dir) > 0 &&
	    system(command))
		fprintf(stderr, "cannot remove %s\n", mock_dir);
}

/* Write a file of the server's folder, with the folders that it needs. */
static void mock_write(const char *name, const void *bytes, size_t n)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/hub/%s", mock_dir, name);
	for (char *p = path + strlen(mock_dir) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0777);
		*p = '/';
	}
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}
static void mock_text(const char *name, const char *text) { mock_write(name, text, strlen(text)); }

/* Set the faults, and forget the log. */
static void mock_modes(const char *text)
{
	char path[128];

	mock_text(".modes", text);
	snprintf(path, sizeof path, "%s/hub/.log", mock_dir);
	if (truncate(path, 0))
		perror(path);
}

/* Lines of the log that contain both. */
static int mock_count(const char *a, const char *b)
{
	char path[128], *line = NULL;
	size_t room = 0;
	int n = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/hub/.log", mock_dir);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0)
		n += strstr(line, a) && strstr(line, b);
	free(line);
	if (f)
		fclose(f);
	return n;
}

/* argv[0] is .../tests/unit/hub/test_x; mockhub is in .../tests/tools. */
static void mock_init(const char *self)
{
	const char *tmp = getenv("TMPDIR");
	int n = (int)(strlen(self) - strlen(strrchr(self, '/') ? strrchr(self, '/') : self));

	snprintf(mock_tool, sizeof mock_tool, "%.*s/../../tools/mockhub", n, self);
	snprintf(mock_dir, sizeof mock_dir, "%.40s/hub-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(mock_dir))
		exit(99);
	atexit(mock_cleanup);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	unsetenv("https_proxy");
	unsetenv("HTTPS_PROXY");
	mock_text("org/tiny/main", MOCK_COMMIT "\n");
	mock_text("org/tiny/" MOCK_COMMIT "/config.json", "{\"a\": 1}\n");
	mock_start(NULL, NULL);
}

/* A connection with short pauses. */
static int mock_open(struct hub_net **n, struct infer_hub_opts *o, infer_error *err)
{
	o->endpoint = mock_url;
	TRY(hub_net_open(n, o, err));
	hub_net_limits(*n)->backoff_ns = 1000000;
	return INFER_OK;
}
#endif
