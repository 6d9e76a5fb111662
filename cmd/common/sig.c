/* common/sig.c - signals. */
#include "common/sig.h"
#include "common/progress.h"
#include "common/say.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *program = "infer", *volatile mapped, *volatile unfinished, *volatile last_words;

static struct iovec part(const char *s) { return (struct iovec){ (void *)(size_t)s, strlen(s) }; }

/* Handle SIGBUS. Only async-signal-safe calls: strlen, pause, unlink, writev, _exit. */
static void on_bus(int sig, siginfo_t *info, void *context)
{
	const char *path = mapped;
	const struct iovec line[] = { part(progress_wiper()), part(program), part(": error: "),
		                      part(path ? path : "a mapped file"),
		                      part(": became shorter while it was in use\n") };

	static atomic_flag said = ATOMIC_FLAG_INIT;

	(void)context;
	/* not a truncated file: a signal sent by a process, or a bug */
	if (info->si_code != BUS_ADRERR) {
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	/* other threads that read the file get the signal too: the first prints the message */
	while (atomic_flag_test_and_set(&said))
		pause();
	if (unfinished)
		unlink(unfinished);
	if (writev(STDERR_FILENO, line, sizeof line / sizeof *line) < 0) {
		/* stderr is closed: only the exit code reports the error */
	}
	_exit(EXIT_FAILED);
}

void sig_init(const char *name)
{
	struct sigaction a = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

	program = name;
	sigemptyset(&a.sa_mask);
	sigaction(SIGBUS, &a, NULL);
	/* makes write(2) beyond `ulimit -f` fail with EFBIG, which is reported */
	signal(SIGXFSZ, SIG_IGN);
}

void sig_mapped(const char *path) { mapped = path; }

static void on_end(int sig)
{
	const char *words = last_words;
	const struct iovec line[] = { part(progress_wiper()), part(program), part(": "),
		                      part(words ? words : "") };

	if (unfinished)
		unlink(unfinished);
	if (words && writev(STDERR_FILENO, line, sizeof line / sizeof *line) < 0) {
		/* stderr is closed: nothing can be printed */
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_ends(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction a = { .sa_handler = on_end }, old;

	sigemptyset(&a.sa_mask);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		/* a signal that was ignored stays ignored */
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(ends[i], &a, NULL);
}

void sig_unfinished(const char *path)
{
	unfinished = path;
	if (path)
		catch_ends();
}

void sig_last_words(const char *line)
{
	last_words = line;
	if (line)
		catch_ends();
}
