/* tests/unit/infer-run/test_signals.c - a signal at the worst moment: between a look and a wait, and
 * between a wait that says that there is something to read and the reading, when a terminal that
 * interrupts takes back what was typed.  None may be lost.
 *
 * Each case is a process of its own on a terminal of its own; poll(2) is ours, and lets things
 * happen around the real one. */
#undef _FORTIFY_SOURCE /* poll() would be a function in a header */
#include "../left_out.h"
#include "infer-run/chat/editor.h"
#include "infer-run/chat/input.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { LATE_S = 60, NO_EDITOR = 77, FAILED = 78 };
enum moment { NONE, BEFORE_A_LOOK, BEHIND_A_WAIT, WHILE_A_WINDOW_SETTLES };

static enum moment moment;
static int master = -1;

static void type(const char *s)
{
	if (write(master, s, strlen(s)) != (ssize_t)strlen(s))
		_exit(FAILED);
}

/* What the terminal does for Ctrl-C. */
static void interrupt(void)
{
	tcflush(STDIN_FILENO, TCIFLUSH);
	raise(SIGINT);
}

int poll(struct pollfd *p, nfds_t n, int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
	enum moment now = moment;

	if (now == BEFORE_A_LOOK && ms == 0) {
		moment = NONE;
		raise(SIGINT);
	}
	if (now == BEHIND_A_WAIT && ms != 0)
		type("a\n");
	if (now == WHILE_A_WINDOW_SETTLES && ms < 0)
		raise(SIGWINCH);
	if (now == WHILE_A_WINDOW_SETTLES && ms > 0) {
		moment = NONE;
		raise(SIGTERM);
	}
	int rc = (int)syscall(SYS_ppoll, p, n, ms < 0 ? NULL : &t, NULL, 0);

	if (now == BEHIND_A_WAIT && ms != 0 && rc > 0 && p[n - 1].revents) {
		moment = NONE;
		interrupt();
	}
	return rc;
}

static int edit(void)
{
	struct editor *e;
	struct signals w;
	struct chat_history past;
	enum editor_got got = EDITOR_END;
	const char *line;
	size_t n;

	chat_history_init(&past);
	if (signals_open(&w, NULL))
		return FAILED;
	if (editor_open(&e, &past, &w, 0, NULL, NULL))
		return NO_EDITOR;
	return editor_read(e, ">", NULL, &got, &line, &n, NULL) ? FAILED : (int)got;
}

static int plain(void)
{
	struct chat_input f;
	enum chat_input_got got = CHAT_INPUT_END;

	setenv("TERM", "dumb", 1);
	return chat_input_open(&f, NULL, NULL) || chat_input_read(&f, NULL, &got, NULL) ? FAILED
	                                                                                : (int)got;
}

/* How it ends: its code, or minus the signal; SIGALRM where it waits for ever. */
static int outcome(int (*f)(void), enum moment m)
{
	int slave, status;
	pid_t pid;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setsid();
		dup2(slave, STDIN_FILENO);
		dup2(slave, STDERR_FILENO);
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_DFL);
		alarm(LATE_S);
		moment = m;
		_exit(f());
	}
	close(slave);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(master);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_EDITOR)
		left_out("needs libedit (package libedit2)");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_before_a_look(void **state)
{
	(void)state;
	assert_int_equal(outcome(edit, BEFORE_A_LOOK), EDITOR_CLEARED);
}

static void test_behind_a_wait(void **state)
{
	(void)state;
	assert_int_equal(outcome(edit, BEHIND_A_WAIT), EDITOR_CLEARED);
}

static void test_plain(void **state)
{
	(void)state;
	assert_int_equal(outcome(plain, BEHIND_A_WAIT), CHAT_INPUT_CLEARED);
}

static void test_while_a_window_settles(void **state)
{
	(void)state;
	assert_int_equal(outcome(edit, WHILE_A_WINDOW_SETTLES), -SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_a_look),
		cmocka_unit_test(test_behind_a_wait),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_while_a_window_settles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
